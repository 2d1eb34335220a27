// Which pieces spell one word: mha_core/text/word_spans.py in JavaScript, for pieces whose runs are the tokenizer's own.
const APOSTROPHES_AND_HYPHENS = "'’‘ʼ`-‐‑_", DECIMAL_MARKS = ".,:";
const JOINER = "\u200d", NON_JOINER = "\u200c";
const EXTENDS = /^[\u200c\u200d\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u;
const FLAG = /^[\u{1f1e6}-\u{1f1ff}]/u;

// Every piece reaches over the marks after it that the tokenizer drops but the eye does not.
export function reach(text, rows, is) {
  rows.forEach((row, i) => {
    const stop = rows[i + 1]?.start ?? text.length;
    while (row.end < stop && belongsToTheLeft(text[row.end], is)) row.end++;
  });
}

// Gives every row of one text its word (null: none) and its mark where it continues one. A run is in one word; joined
// are runs that cut a character apart, or a word that an invisible joiner holds together, and those around an inner mark.
export function findWords(text, rows, is, { list, outside }) {
  const runs = runsOf(rows);
  let word = -1, joins = false, before;
  runs.forEach((run, i) => {
    const held = runs[i - 1]?.end === run.start && isHeld(text, run.start, is);
    const inner = !list && i > 0 && i < runs.length - 1 && isInnerMark(text, runs[i - 1], run, runs[i + 1], is);
    if (!held && !inner && !joins) word++;
    joins = inner;
    run.rows.forEach((row, at) => {
      row.word = outside.includes(row.text) ? null : word;
      const continues = row.word !== null && before === word && (at > 0 || held);
      row.mark = !continues ? "" : row.text.startsWith("##") && row.text.length > 2 ? "##" : "…";
      before = row.word;
    });
  });
}

const belongsToTheLeft = (c, is) => is.mark(c) || is.format(c);

// What the tokenizer did not cut apart first: [{ start, end, rows }, …].
function runsOf(rows) {
  const runs = [];
  rows.forEach((row, i) => {
    if (row.run !== rows[i - 1]?.run) runs.push({ start: row.start, end: row.end, rows: [] });
    const run = runs.at(-1);
    run.end = Math.max(run.end, row.end);
    run.rows.push(row);
  });
  return runs;
}

function isHeld(text, at, is) {
  return isInside(text, at, is) || (text[at - 1] === NON_JOINER && is.alnum(text[at]));
}

// Whether a cut before text[at] falls inside what the eye sees as one character.
function isInside(text, at, is) {
  if (at <= 0 || at >= text.length || is.blank(text[at - 1])) return false;
  if (is.mark(text[at]) || EXTENDS.test(text[at])) return true;
  if (text[at - 1] === JOINER) return is.alnum(text[at]) || is.symbol(text[at]);
  let flags = 0;
  while (FLAG.test(text[at - 1 - flags] ?? "")) flags++;
  return FLAG.test(text[at]) && flags % 2 === 1;
}

function isInnerMark(text, left, here, right, is) {
  if (left.end !== here.start || here.end !== right.start) return false;
  const sign = text.slice(here.start, here.end).join(""), after = text[right.start];
  const before = text.slice(left.start, left.end).findLast((c) => !belongsToTheLeft(c, is)) ?? "";
  const both = (holds) => holds(before) && holds(after);
  if (APOSTROPHES_AND_HYPHENS.includes(sign) && [...sign].length === 1) return both(is.alnum);
  return DECIMAL_MARKS.includes(sign) && sign.length === 1 && both(is.digit);
}
