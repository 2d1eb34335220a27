// What a decoder's word cannot see: no cell, no number, no rank, and words that say so.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cannotSee, cellInWords, groupColumns, keysOf, noneSeesInWords, sharers, sharingInWords, stairs, withoutGaps } from "../../assets/js/visibility_text.js";
import { betweenWords, hasChoice, noneSees, seenBy } from "../../assets/js/visibility.js";
import { headInWords } from "../../assets/js/words.js";

const names = ["Zoe", "saw", "it", "late"];
const decoder = { causal: true, names, n: 4, heads: 6, sharing: 3 };
const encoder = { causal: false, names, n: 4, heads: 6, sharing: 1 };

test("a cell says its weight, or why it has none", () => {
  assert.equal(cellInWords(decoder, 2, 3, "0%"), "“it” cannot see “late”: it comes later.");
  assert.equal(cellInWords(decoder, 3, 2, "4%"), "late looks at it: 4%");
  assert.equal(cellInWords(encoder, 2, 3, "0%"), "it looks at late: 0%");
  assert.equal(cannotSee({ names, causal: true }, 0, 1), "“Zoe” cannot see “saw”: it comes later.");
});

test("a later word is ranked for no head only if none of the pinned words can see it", () => {
  assert.equal(noneSees(decoder, [1, 2], 3), true);
  assert.equal(noneSees(decoder, [1, 3], 3), false);
  assert.equal(noneSees(decoder, [], 3), false);
  assert.equal(noneSees(decoder, [1], null), false);
  assert.match(noneSeesInWords(names, [1, 2], 3), /^No head: “saw” and “it” cannot see “late”, which comes later\. In a decoder/);
  for (const per of ["layer", "model"]) assert.match(noneSeesInWords(names, [1], 3, per), /^No layer: “saw” cannot see “late”/);
});

test("a link is between two words, and a decoder's first is none of them", () => {
  const matrix = Uint16Array.from([65535, 0, 0, 0, 13107, 52428, 0, 0, 0, 6553, 58982, 0, 16384, 16384, 16384, 16383]);
  assert.match(headInWords([0, 0], names, matrix, (q, k) => betweenWords({ ...decoder, names, specials: [0, 0, 0, 0] }, q, k)), /links between words \(Zoe left out\): “late” looks at “saw” \(25%\) and “it” looks at “saw” \(10%\)\.$/);
  const marked = ["Zoe", "saw", ",", "[SEP]"];
  assert.match(headInWords([0, 0], marked, matrix, (q, k) => betweenWords({ ...encoder, names: marked, specials: [0, 0, 0, 1] }, q, k)), /links between words \(, and \[SEP\] left out\): “saw” looks at “Zoe” \(20%\)\.$/);
  assert.equal(hasChoice({ causal: true, n: 1 }, 0), true);
});

test("heads that share keys are named in threes, and stand in groups", () => {
  assert.deepEqual(sharers(decoder, [13, 4]), [[13, 3], [13, 5]]);
  assert.equal(keysOf(decoder, [13, 4]), 2);
  assert.equal(sharingInWords(decoder, [13, 5]), "14-6 shares its keys and values with 14-4 and 14-5.");
  assert.equal(sharingInWords(encoder, [13, 5]), "");
  assert.equal(groupColumns(decoder, 6), "repeat(3, minmax(0, 1fr)) var(--split) repeat(3, minmax(0, 1fr))");
  assert.equal(groupColumns(encoder, 6), null);
  assert.equal(groupColumns(decoder, 4), null, "a row that holds no whole groups has none");
});

test("two texts: a word is seen by one of several units, and differences without a cell are none", () => {
  assert.equal(seenBy(decoder, [0, 2], 2), true);
  assert.equal(seenBy(decoder, [0, null], 2), false);
  assert.equal(seenBy(decoder, [0, 2], null), false);
  assert.equal(seenBy(encoder, [0], 2), true);
  assert.deepEqual([...withoutGaps({ causal: true }, Float64Array.from([1, 2, 3, 4]), 2)], [1, 0, 3, 4]);
  assert.deepEqual([...withoutGaps({ causal: false }, Float64Array.from([1, 2, 3, 4]), 2)], [1, 2, 3, 4]);
});

test("the line around a small picture goes half its width outside of its cells, step by step", () => {
  const at = [];
  const context = { beginPath() {}, stroke() {}, moveTo: (...to) => at.push(to), lineTo: (...to) => at.push(to) };
  stairs(context, 100, 50, [0, 10, 20], [1, 2, 3], 2);
  assert.deepEqual(at, [[99, 49], [99, 71], [121, 71], [121, 59], [111, 59], [111, 49], [99, 49]]);
  assert.deepEqual([context.lineWidth, context.strokeStyle], [2, "rgb(1, 2, 3)"]);
});
