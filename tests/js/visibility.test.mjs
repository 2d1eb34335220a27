// What a word cannot see, later or outside of a window: no cell, no number, no rank, and words that say so.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openRecord, rankHeads } from "../../assets/js/record.js";
import { cannotSee, cellInWords, groupColumns, keysOf, noneSeesInWords, sharers, sharingInWords, stairs, withoutGaps } from "../../assets/js/visibility_text.js";
import { betweenWords, hasChoice, isMasked, mask, neverSeen, noneSees, seenBy } from "../../assets/js/visibility.js";
import { headInWords } from "../../assets/js/words.js";
import { column } from "./drawing.mjs";

const names = ["Zoe", "saw", "it", "late"];
const decoder = { causal: true, names, n: 4, heads: 6, sharing: 3 };
const encoder = { causal: false, names, n: 4, heads: 6, sharing: 1 };

// Layer 1 sees one unit back, layer 2 all that came before.
const reach = { of: [0, 1], kinds: [[[0, 0], [0, 1], [1, 2], [2, 3]], [[0, 0], [0, 1], [0, 2], [0, 3]]] };
const windows = () => openRecord({ names, layers: 2, heads: 2, packing: "full", weights: column(Uint16Array.from({ length: 64 }, (_, i) => i * 100)), causal: true, reach, absent: ["2-2"] });

test("what a window leaves out is not there in its layer, and is in another", () => {
  const record = windows();
  assert.deepEqual([hasChoice({ causal: true, n: 1 }, 0), ...[0, 1, 2, 3].map((q) => hasChoice(record, q))], [true, false, true, true, true]);
  const seen = [isMasked(record, 3, 0)];
  record.layer = 1;
  assert.deepEqual([...seen, isMasked(record, 3, 0), isMasked(record, 0, 3), mask(record)(0, 1)], [true, false, true, true]);
  assert.deepEqual([neverSeen(record, [3], 0), neverSeen(record, [0], 3)], [false, true]);
  const ranked = (pins, to) => rankHeads(windows(), pins, to).map(({ layer, head }) => `${layer + 1}-${head + 1}`);
  assert.deepEqual([ranked([3], 0), ranked([3], 2).sort()], [["2-1"], ["1-1", "1-2", "2-1"]], "ranked in the heads that are there");
});

test("a cell says its weight, or why it has none", () => {
  assert.deepEqual([[decoder, 2, 3], [decoder, 3, 2], [encoder, 2, 3]].map(([record, q, k]) => cellInWords(record, q, k, "4%")), ["“it” cannot see “late”: it comes later.", "late looks at it: 4%", "it looks at late: 4%"]);
  assert.match(cannotSee(windows(), 3, 0), /outside/);
  assert.match(cannotSee(windows(), 0, 3), /later/);
});

test("a later word is ranked for no head only if none of the pinned words can see it", () => {
  assert.deepEqual([[[1, 2], 3], [[1, 3], 3], [[], 3], [[1], null]].map(([pins, to]) => noneSees(decoder, pins, to)), [true, false, false, false]);
  assert.match(noneSeesInWords(names, [1, 2], 3), /^No head: “saw” and “it” cannot see “late”, which comes later\. In a decoder/);
  for (const per of ["layer", "model"]) assert.match(noneSeesInWords(names, [1], 3, per), /^No layer: “saw” cannot see “late”/);
});

test("a link is between two words, and a decoder's first is none of them", () => {
  const matrix = Uint16Array.from([65535, 0, 0, 0, 13107, 52428, 0, 0, 0, 6553, 58982, 0, 16384, 16384, 16384, 16383]);
  assert.match(headInWords([0, 0], names, matrix, (q, k) => betweenWords({ ...decoder, names, specials: [0, 0, 0, 0] }, q, k)), /links between words \(Zoe left out\): “late” looks at “saw” \(25%\) and “it” looks at “saw” \(10%\)\.$/);
  const marked = ["Zoe", "saw", ",", "[SEP]"];
  assert.match(headInWords([0, 0], marked, matrix, (q, k) => betweenWords({ ...encoder, names: marked, specials: [0, 0, 0, 1] }, q, k)), /links between words \(, and \[SEP\] left out\): “saw” looks at “Zoe” \(20%\)\.$/);
});

test("heads that share keys are named in threes, and stand in groups where a row holds whole ones", () => {
  assert.deepEqual([sharers(decoder, [13, 4]), keysOf(decoder, [13, 4])], [[[13, 3], [13, 5]], 2]);
  assert.deepEqual([decoder, encoder].map((record) => sharingInWords(record, [13, 5])), ["14-6 shares its keys and values with 14-4 and 14-5.", ""]);
  assert.deepEqual([[decoder, 6], [encoder, 6], [decoder, 4]].map((given) => groupColumns(...given)), ["repeat(3, minmax(0, 1fr)) var(--split) repeat(3, minmax(0, 1fr))", null, null]);
});

test("two texts: a word is seen by one of several units, and differences without a cell are none", () => {
  assert.deepEqual([[decoder, [0, 2], 2], [decoder, [0, null], 2], [decoder, [0, 2], null], [encoder, [0], 2]].map((given) => seenBy(...given)), [true, false, false, true]);
  assert.deepEqual([true, false].map((causal) => [...withoutGaps({ causal }, Float64Array.from([1, 2, 3, 4]), 2)]), [[1, 0, 3, 4], [1, 2, 3, 4]]);
});

test("the line around a small picture goes half its width outside of its cells, step by step", () => {
  const at = [];
  const context = { beginPath() {}, stroke() {}, moveTo: (...to) => at.push(to), lineTo: (...to) => at.push(to) };
  stairs(context, 100, 50, [0, 10, 20], [1, 2, 3], 2);
  assert.deepEqual(at, [[99, 49], [99, 71], [121, 71], [121, 59], [111, 59], [111, 49], [99, 49]]);
  assert.deepEqual([context.lineWidth, context.strokeStyle], [2, "rgb(1, 2, 3)"]);
});
