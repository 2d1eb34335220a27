// Which pieces spell one word: mha_core/word_spans.py in JavaScript, for pieces whose runs are the tokenizer's own.
const APOSTROPHES_AND_HYPHENS = "'’‘ʼ`-‐‑_", DECIMAL_MARKS = ".,:";
const JOINER = "\u200d", NON_JOINER = "\u200c";
const EXTENDS = /^[\u200c\u200d\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u;
const FLAG = /^[\u{1f1e6}-\u{1f1ff}]/u;
const SPACE_SIGNS = /^[▁Ġ ]*$/;

// Every piece reaches over the marks after it that the tokenizer drops but the eye does not.
export function reach(text, rows, is) {
  rows.forEach((row, i) => {
    const stop = rows[i + 1]?.start ?? text.length;
    while (row.end < stop && belongsToTheLeft(text[row.end], is)) row.end++;
  });
}

// Gives rows of one text their word (null: none), their mark where they continue one, and their span without spaces.
export function findWords(text, rows, is, { list, outside }) {
  trim(text, rows, is);
  const [words, starts] = joined(text, ownRuns(rows), is, !list);
  const owners = ownersOf(rows, words);
  rows.forEach((row, i) => { row.word = outside.includes(row.text) ? null : owners[i]; });
  joinSpaces(text, rows, words.length);
  rows.forEach((row, i) => {
    const before = rows[i - 1];
    row.mark = "";
    if (row.word === null || before?.word !== row.word) return;
    if (row.text.startsWith("##") && row.text.length > 2) row.mark = "##";
    else if (!starts.has(row.start) || (before.start === row.start && before.end === row.end)) row.mark = "…";
  });
}

const belongsToTheLeft = (c, is) => is.mark(c) || is.format(c);
const isSpace = (row) => SPACE_SIGNS.test(row.text);

function trim(text, rows, is) {
  for (const row of rows) {
    const { start, end } = row, inner = text.slice(start, end);
    const first = inner.findIndex((c) => !is.blank(c)), last = inner.findLastIndex((c) => !is.blank(c));
    if (first < 0) continue;
    if (isSpace(row) && inner.join("") !== row.text) row.end = start;
    else [row.start, row.end] = [start + first, start + last + 1];
  }
}

function ownRuns(rows) {
  const runs = [];
  rows.forEach((row, i) => {
    if (row.run === rows[i - 1]?.run) runs.at(-1)[1] = Math.max(runs.at(-1)[1], row.end);
    else runs.push([row.start, row.end]);
  });
  return runs;
}

function joined(text, runs, is, byMarks) {
  const words = [], starts = new Set();
  let joins = false;
  runs.forEach(([start, end], i) => {
    const held = i > 0 && runs[i - 1][1] === start && start < end && isHeld(text, start, is);
    const inner = byMarks && i > 0 && i < runs.length - 1 && isInnerMark(text, runs[i - 1], runs[i], runs[i + 1], is);
    if (held || inner || joins) words.at(-1)[1] = end;
    else words.push([start, end]);
    if (!held) starts.add(start);
    joins = inner;
  });
  return [words, starts];
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
  if (left[1] !== here[0] || here[1] !== right[0]) return false;
  const sign = text.slice(...here).join(""), after = text.slice(...right)[0] ?? "";
  const before = text.slice(...left).findLast((c) => !belongsToTheLeft(c, is)) ?? "";
  const both = (holds) => holds(before) && holds(after);
  if (APOSTROPHES_AND_HYPHENS.includes(sign) && [...sign].length === 1) return both(is.alnum);
  return DECIMAL_MARKS.includes(sign) && sign.length === 1 && both(is.digit);
}

// Words that one piece spans are one; a piece outside all words is a word of its own, numbered on.
function ownersOf(rows, words) {
  const into = words.map((_, i) => i);
  let at = 0, extra = words.length - 1, last;
  const found = rows.map((row) => {
    while (at < words.length && words[at][1] <= row.start) at++;
    let owner = at;
    if (at === words.length || words[at][0] >= Math.max(row.end, row.start + 1)) {
      if (!last || last.start !== row.start || last.end !== row.end) extra++;
      owner = extra;
    } else for (let later = at + 1; later < words.length && words[later][0] < row.end; later++) into[later] = into[at];
    last = row;
    return owner;
  });
  return found.map((owner) => into[owner] ?? owner);
}

function joinSpaces(text, rows, count) {
  const isOutside = (row) => row.word !== null && row.word >= count;
  for (let i = rows.length - 2; i >= 0; i--) {
    const [row, next] = [rows[i], rows[i + 1]];
    const beforeAWord = next.word !== null && next.word < count && next.start === row.end;
    if (isOutside(row) && beforeAWord && ["", " "].includes(text.slice(row.start, row.end).join(""))) {
      [row.start, row.word] = [row.end, next.word];
    }
  }
  rows.forEach((row, i) => {
    const before = rows[i - 1];
    if (before && isOutside(row) && row.start === row.end && before.word !== null) {
      [row.start, row.end, row.word] = [before.end, before.end, before.word];
    }
  });
}
