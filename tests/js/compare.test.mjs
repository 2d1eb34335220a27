// What Compare counts with, on rows and records small enough to check by hand; no page needed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, format, numbers, records, tables, words } from "./modules.mjs";

const near = (found, wanted, within = 3e-5) => assert.deepEqual([...found].map((v, i) => (Math.abs(v - wanted[i]) < within ? wanted[i] : v)), [...wanted]);
const table = (array) => ({ getChildAt: () => ({ toArray: () => array }) });

test("the first column can be the one aimed at, and is not taken for none", () => {
  const change = compare.changeOf([0.1, 0.9, 0], [0.3, 0.2, 0.5], 0);
  assert.deepEqual([change.column, change.a, change.b], [0, 0.1, 0.3]);
  assert.equal(compare.changeOf([0.1, 0.9, 0], [0.3, 0.2, 0.5]).column, 1);
});

test("the column that changed most is found whichever way it changed", () => {
  assert.equal(compare.changeOf([0.1, 0.6, 0.3], [0.7, 0.3, 0]).column, 0);
  assert.equal(compare.changeOf([0.7, 0.3, 0], [0.1, 0.6, 0.3]).column, 0);
  assert.ok(Math.abs(compare.changeOf([0.7, 0.3, 0], [0.1, 0.6, 0.3]).moved - 0.6) < 1e-12);
});

test("each side is read at its own places and with its own width", () => {
  const pairs = [[0, 0], [null, 1], [1, 2]];
  const a = numbers.quantise([0.9, 0.1, 0.25, 0.75]);
  const b = numbers.quantise([0.2, 0.5, 0.3, 1, 0, 0, 0.05, 0.35, 0.6]);
  near(compare.difference(a, 2, b, 3, compare.meeting(pairs)), [0.7, -0.2, 0.2, 0.15]);
  near(compare.spread([0.9, 0.1], pairs, 0), [0.9, 0, 0.1]);
  near(compare.spread([0.2, 0.5, 0.3], pairs, 1), [0.2, 0.5, 0.3]);
});

const record = () =>
  records.openRecord({
    names: ["a", "b", "c"], layers: 1, heads: 2, packing: "full", segments: [0, 0, 1],
    weights: table(numbers.quantise([0.6, 0.3, 0.1, 0.1, 0.2, 0.7, 0.25, 0.25, 0.5, 0.8, 0.15, 0.05, 0.3, 0.3, 0.4, 1, 0, 0])),
  });

test("heads rank by what a word sends to the first word, too", () => {
  const order = records.rankHeads(record(), [1], 0);
  assert.deepEqual(order.map((entry) => [entry.head, entry.to]), [[1, 0], [0, 0]]);
  near(order.map((entry) => entry.weight), [0.3, 0.1]);
});

test("a filter leaves out what it hides, on short texts and on long ones", () => {
  const only = (k) => k !== 0;
  assert.deepEqual(records.rankHeads(record(), [0], null, only).map((entry) => [entry.head, entry.to]), [[0, 1], [1, 1]]);
  const long = records.openRecord({ names: ["a", "b", "c"], layers: 1, heads: 2, packing: "small", side: 1, weights: table(new Uint8Array(2)) });
  long.links = { pins: [0, 2], to: 2, k: 2, scale: 2, index: Uint16Array.of(0, 1, 2, 0), weight: numbers.quantise([0.45, 0.3, 0.4, 0.35]), toward: numbers.quantise([0.1, 0.4]) };
  const order = records.rankHeads(long, [0, 2], null, only);
  assert.deepEqual(order.map((entry) => [entry.head, entry.to]), [[1, 2], [0, 1]]);
  near(order.map((entry) => entry.weight), [0.4, 0.3]);
  near(records.rankHeads(long, [0, 2], 2).map((entry) => entry.weight), [0.4, 0.1]);
  assert.equal(records.rankHeads(long, [0, 2], 1), null, "what was sent is for another word");
});

test("a filter by pair asks about the query first and the key second", () => {
  const seen = [];
  numbers.strongestLinks(numbers.quantise([0.6, 0.4, 0.9, 0.1]), 2, 2, (q, k) => seen.push([q, k]) && q < k);
  assert.deepEqual(seen, [[0, 0], [0, 1], [1, 0], [1, 1]]);
  assert.deepEqual(numbers.strongestLinks(numbers.quantise([0.6, 0.4, 0.9, 0.1]), 2, 2, (q, k) => q < k).map((l) => [l.from, l.to]), [[0, 1]]);
});

test("of equal weights the earlier place comes first", () => {
  const even = numbers.quantise([0.5, 0.5, 0.5, 0.5]);
  assert.deepEqual(numbers.strongestLinks(even, 2, 2).map((link) => [link.from, link.to]), [[0, 0], [1, 0]]);
  assert.deepEqual(numbers.ranked([{ layer: 1, head: 0, weight: 1 }, { layer: 0, head: 1, weight: 1 }, { layer: 0, head: 0, weight: 1 }]).map((e) => [e.layer, e.head]), [[0, 0], [0, 1], [1, 0]]);
});

test("a small picture keeps the largest change of a cell with its sign, and its place", () => {
  const cells = [0.1, 0, 0, 0, 0, -0.6, 0, 0.2, 0, 0, 0.3, 0, 0.4, 0, 0, -0.1];
  near(numbers.poolSigned(cells, 4, 2), [-0.6, 0.2, 0.4, 0.3]);
});

test("a change is said with both numbers and its sign", () => {
  const pairs = [{ name: "c", a: 0.2, b: 0.55 }, { name: "b", a: 0.5, b: 0.25 }];
  assert.equal(words.changeInWords([1, 2], ["a", "b", "c"], [0], pairs), "Head 2-3: “a” looks at “c” (20.0 % in A, 55.0 % in B, −35.0 points) and “b” (50.0 % in A, 25.0 % in B, +25.0 points).");
  assert.equal(format.points(-0.0004), "0.0");
  assert.equal(words.rowInWords([0, 0], ["a", "b"], [0], [0.012, 0.5]), "Head 1-1: “a” looks at “b” (50.0 %) and “a” (1.2 %).");
});

test("the small picture of a long text is its own head's, on a scale of its own", () => {
  const long = records.openRecord({ names: ["a", "b"], layers: 1, heads: 2, packing: "small", side: 2, weights: table(Uint8Array.of(1, 2, 3, 4, 50, 60, 70, 255)) });
  const { cells, side, top } = records.thumbOf(long, [0, 1]);
  assert.deepEqual([[...cells], side, top], [[50, 60, 70, 255], 2, 255]);
});

test("where a word looks at two places alike, the table names the earlier one", () => {
  assert.deepEqual(tables.strongestTable(["a", "b"], numbers.quantise([0.5, 0.5, 0.25, 0.75]), 2).rows.map((row) => row.slice(0, 2)), [["a", "a"], ["b", "b"]]);
});
