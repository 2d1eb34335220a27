// Which pieces spell one word: mha_core/text/word_spans.py in JavaScript.
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

// Gives every row of one text its word (null: none), its mark where it continues one, and its place less the spaces around
// it. Runs are the tokenizer's own, or of a BPE those of letters and single signs.
export function findWords(text, rows, is, { list, outside, merges }) {
  trim(text, rows, is);
  const { words, starts } = joinedRuns(text, merges ? runsOfText(text, is) : runsOf(rows), is, !list);
  const owners = ownersOf(rows, words);
  rows.forEach((row, i) => { row.word = outside.includes(row.text) ? null : owners[i]; });
  joinSpaces(text, rows, words.length);
  rows.forEach((row, i) => {
    const before = rows[i - 1], { text: name, start, end, word } = row, isMarked = name.startsWith("##") && name.length > 2;
    const isInner = before && word !== null && before.word === word && (isMarked || !starts.has(start) || (before.start === start && before.end === end));
    row.mark = !isInner ? "" : isMarked ? "##" : "…";
  });
}

const belongsToTheLeft = (c, is) => is.mark(c) || is.format(c);

// A piece of spaces alone keeps them, and has none where the tokenizer itself put it in front of a character.
function trim(text, rows, is) {
  let before = 0;
  for (const row of rows) {
    const inner = text.slice(row.start, row.end), isSpace = /^[▁Ġ ]*$/u.test(row.text), isBlank = inner.every(is.blank);
    if (isSpace && !inner.length) while (row.start > before && is.blank(text[row.start - 1])) row.start--;
    else if (isSpace && !isBlank && inner.join("") !== row.text) row.end = row.start;
    else if (!isBlank) {
      row.start += inner.findIndex((c) => !is.blank(c));
      row.end -= inner.length - 1 - inner.findLastIndex((c) => !is.blank(c));
    }
    before = row.end;
  }
}

// What the tokenizer did not cut apart first: [{ start, end }, …].
function runsOf(rows) {
  const runs = [];
  rows.forEach((row, i) => {
    if (row.run !== rows[i - 1]?.run) runs.push({ start: row.start, end: row.end });
    runs.at(-1).end = Math.max(runs.at(-1).end, row.end);
  });
  return runs;
}

// Runs of letters, and single signs with the marks on them.
function runsOfText(text, is) {
  const runs = [];
  for (let start = 0, end; start < text.length; start = end) {
    end = start + 1;
    if (is.alone(text[start])) while (end < text.length && (is.onto(text[end]) || text[end] === JOINER || text[end] === NON_JOINER)) end++;
    else if (is.white(text[start])) continue;
    else while (end < text.length && !is.white(text[end]) && !is.alone(text[end])) end++;
    runs.push({ start, end });
  }
  return runs;
}

// Joined are runs that cut a character apart, or a word that an invisible joiner holds together; byMarks: and those around
// an inner mark. starts: of the runs that are no part of the one before.
function joinedRuns(text, runs, is, byMarks) {
  const words = [], starts = new Set();
  let joins = false;
  runs.forEach((run, i) => {
    const held = runs[i - 1]?.end === run.start && run.start < run.end && isHeld(text, run.start, is);
    const inner = byMarks && i > 0 && i < runs.length - 1 && isInnerMark(text, runs[i - 1], run, runs[i + 1], is);
    if (held || inner || joins) words.at(-1).end = run.end;
    else words.push({ ...run });
    if (!held) starts.add(run.start);
    joins = inner;
  });
  return { words, starts };
}

// The word of every piece. Words that one piece spans are one; a piece outside all words is a word of its own.
function ownersOf(rows, words) {
  const joined = words.map((_, i) => i);
  let word = 0, extra = words.length - 1, last = {};
  const owners = rows.map((row) => {
    while (words[word]?.end <= row.start) word++;
    const isOutside = !words[word] || words[word].start >= Math.max(row.end, row.start + 1);
    if (isOutside && (last.start !== row.start || last.end !== row.end)) extra++; // the bytes of one space stay together
    if (!isOutside) for (let later = word + 1; words[later]?.start < row.end; later++) joined[later] = joined[word];
    last = row;
    return isOutside ? extra : word;
  });
  return owners.map((owner) => joined[owner] ?? owner);
}

// A space that is a piece of its own before a word belongs to that word, and begins where it begins; a piece without
// characters belongs to the word before it if to none after it.
function joinSpaces(text, rows, count) {
  const isOutside = ({ word }) => word !== null && word >= count;
  for (let i = rows.length - 2; i >= 0; i--) {
    const [row, next] = [rows[i], rows[i + 1]], isBeforeWord = next.word !== null && next.word < count && next.start === row.end;
    if (isOutside(row) && isBeforeWord && ["", " "].includes(text.slice(row.start, row.end).join(""))) [row.start, row.word] = [row.end, next.word];
  }
  for (let i = 1; i < rows.length; i++) {
    const [before, row] = [rows[i - 1], rows[i]];
    if (isOutside(row) && row.start === row.end && before.word !== null) Object.assign(row, { start: before.end, end: before.end, word: before.word });
  }
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
