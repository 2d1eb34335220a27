// Rows, rankings, tables and sentences of matrices that are not their own transpose; every number by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../assets/js/format.js";
import * as numbers from "../../assets/js/numbers.js";
import * as record from "../../assets/js/record.js";
import * as words from "../../assets/js/words.js";
import { WEIGHTS, column } from "./drawing.mjs";

const { STEPS, quantise } = numbers;
const near = (a, b, within = 2e-5) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
const NAMES = ["[CLS]", "cat", "it"];
const full = (segments = [0, 0, 1]) => record.openRecord({ names: NAMES, layers: 2, heads: 2, packing: "full", segments, weights: column(quantise(WEIGHTS.flat(2))) });
const order = (entries) => entries.map((e) => words.headName([e.layer, e.head]));

test("without a target each head says where the pinned words look most on average among what is allowed", () => {
  for (const text of [full(), long([1, 2], null)]) {
    const entries = record.rankHeads(text, [1, 2], null);
    assert.deepEqual(entries.map((e) => [words.headName([e.layer, e.head]), e.to]), [["2-1", 1], ["1-1", 1], ["1-2", 0], ["2-2", 2]]);
    [0.625, 0.525, 0.515, 0.45].forEach((weight, i) => near(entries[i].weight, weight, 4e-5));
  }
  const filtered = record.rankHeads(full(), [2], null, (k) => k === 1);
  assert.deepEqual(order(filtered), ["1-1", "2-1", "2-2", "1-2"]);
  assert.ok(filtered.every((entry) => entry.to === 1));
});

// What the server sends of a long text: steps of the mean of the pinned rows, and how many there are.
function long(pins, to) {
  const opened = record.openRecord({ names: NAMES, layers: 2, heads: 2, packing: "small", side: 2, segments: [0, 0, 1], weights: column(Uint8Array.from({ length: 16 }, (_, i) => i * 10)) });
  const rows = WEIGHTS.map((matrix) => [0, 1, 2].map((k) => pins.reduce((sum, q) => sum + matrix[q][k], 0) / pins.length));
  const sorted = rows.map((row) => [0, 1, 2].sort((a, b) => row[b] - row[a]));
  opened.links = { pins, to, k: 3, scale: pins.length, index: Uint16Array.from(sorted.flat()), weight: quantise(sorted.flatMap((keys, i) => keys.map((k) => rows[i][k]))), toward: to === null ? null : quantise(rows.map((row) => row[to])) };
  return opened;
}

test("a long text ranks several pinned words by their mean to a target", () => {
  const toward = record.rankHeads(long([1, 2], 0), [1, 2], 0);
  assert.deepEqual(order(toward), ["1-2", "2-2", "2-1", "1-1"]);
  [0.515, 0.305, 0.2, 0.075].forEach((weight, i) => near(toward[i].weight, weight, 4e-5));
});

test("a long text shows no weights of another target and obeys the filter on the pair", () => {
  assert.equal(record.rankHeads(long([2], 0), [2], 1), null);
  assert.equal(record.rankHeads(long([2], 0), [1], 0), null);
  assert.equal(record.rankHeads(long([1, 2], 0), [2], 0), null);
  const filtered = record.rankHeads(long([2], null), [2], null, (k) => k === 2);
  assert.deepEqual(filtered.map((e) => [words.headName([e.layer, e.head]), e.to]), [["2-2", 2], ["2-1", 2], ["1-2", 2], ["1-1", 2]]);
  [0.8, 0.35, 0.28, 0.05].forEach((weight, i) => near(filtered[i].weight, weight));
});

test("a long text's small pictures are its own, in steps of 255", () => {
  const { cells, side, top } = record.thumbOf(long([2], null), [1, 0]);
  assert.deepEqual([[...cells], side, top], [[80, 90, 100, 110], 2, 255]);
  assert.equal(record.thumbOf(full(), [0, 0]).top, STEPS);
});

test("of several opened heads the one opened longest ago is given up, and one opened again stays", () => {
  const text = long([2], null);
  for (const at of [[0, 0], [0, 1], [0, 0], [1, 0]]) record.keepOpened(text, at, Float32Array.of(at[0], 1 - at[1] / 2), 2);
  assert.equal(record.matrixOf(text, [0, 1]), null);
  assert.deepEqual([...record.matrixOf(text, [0, 0])], [0, STEPS]);
  assert.deepEqual([...record.matrixOf(text, [1, 0])], [STEPS, STEPS]);
});

test("links are the strongest from the threshold on that the filter lets through; of equal ones the first key and query come first", () => {
  assert.deepEqual(numbers.strongestLinks(record.matrixOf(full(), [0, 0]), 3, 5, (q, k) => q === 2 && k < 2).map((l) => [l.from, l.to]), [[2, 1]]);
  assert.deepEqual(numbers.strongest([0.05, 0, 0.049, 0.06], 9, 0.05).map((l) => l.to), [3, 0]);
  assert.deepEqual(numbers.strongest([0.1, 0.4, 0.5, 0], 9, 0, (k) => k !== 2).map((l) => l.to), [1, 0]);
  const even = quantise([0.5, 0.5, 0, 0.25, 0.25, 0.5, 0.5, 0, 0.5]);
  assert.deepEqual(numbers.strongestLinks(even, 3, 3).map((l) => [l.from, l.to]), [[0, 0], [1, 2], [2, 0]]);
  assert.deepEqual(numbers.strongest([0.3, 0.3, 0.4, 0.3], 4).map((l) => l.to), [2, 0, 1, 3]);
  const tied = [[1, 1], [0, 1], [1, 0], [0, 0]].map(([layer, head]) => ({ layer, head, weight: 0.5 }));
  assert.deepEqual(order(numbers.ranked(tied)), ["1-1", "1-2", "2-1", "2-2"]);
});

test("a share of one to five percent is said, one below one percent is not", () => {
  const said = words.rowInWords([0, 0], ["a", "b", "c"], [1], [0.03, 0.01, 0.0099]);
  assert.equal(said, "Head 1-1: “b” looks at “a” (3%) and “b” (1%).");
  assert.equal(words.rowInWords([0, 0], ["a", "b"], [0], [0.5, 0.4], (k) => k === 1), "Head 1-1: “a” looks at “b” (40%).");
});

test("a whole head says who looks at whom, three links, the strongest first", () => {
  const matrix = quantise([0.4, 0.6, 0, 0, 0.3, 0, 0.7, 0, 0.2, 0.1, 0, 0.7, 0.9, 0, 0.1, 0]);
  const said = words.headInWords([2, 0], ["a", "b", "c", "d"], matrix, (q, k) => q !== k);
  assert.equal(said, "Head 3-1, its strongest links between words: “d” looks at “a” (90%), “b” looks at “c” (70%) and “c” looks at “d” (70%).");
  assert.equal(words.headInWords([0, 0], ["[CLS]", "b"], quantise([0, 1, 1, 0]), () => false), "Head 1-1: no link between two words of this text.");
});

test("weights on their way keep their place, and steps stay between nothing and all", () => {
  assert.deepEqual([...numbers.mix([0, 1], Float64Array.of(1, 0), 0.25)], [0.25, 0.75]);
  assert.deepEqual([...numbers.quantise([-0.5, 0.5, 2])], [0, 32768, STEPS]);
});

test("a percentage is whole, below one percent it has a decimal, and a real minus", () => {
  assert.deepEqual([0.67685, 0.0004, 0.0042, 1, -0.224, -0.0001].map(format.percent), ["68%", "0%", "0.4%", "100%", "−22%", "0%"]);
  assert.deepEqual([0.396, 0.0004, -0.0004, 0.0006, -0.0006].map(format.points), ["+40", "0", "0", "+0.1", "−0.1"], "what is no change has no sign");
});
