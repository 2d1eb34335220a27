import assert from "node:assert/strict";
import { test } from "node:test";
import { difference, meeting } from "../../assets/js/compare/change.js";
import { quantise } from "../../assets/js/numbers.js";
import { keepOpened, matrixOf, openRecord, pairAllows, rankHeads, rowOf, thumbOf } from "../../assets/js/record.js";

const table = (array) => ({ getChildAt: () => ({ toArray: () => array }) });
const record = () =>
  openRecord({ names: ["a", "b", "c"], layers: 2, heads: 1, packing: "full", segments: [0, 0, 1], weights: table(quantise([0.2, 0.8, 0, 0.1, 0.2, 0.7, 1, 0, 0, 0.6, 0.4, 0, 0.3, 0.3, 0.4, 0, 0, 1])) });

test("the matrix of a head is its own slice: layer, head, query, key", () => {
  assert.deepEqual([...matrixOf(record(), [1, 0])].slice(0, 2), [...quantise([0.6, 0.4])]);
  assert.equal(matrixOf(record(), [0, 0]).length, 9);
  assert.equal(thumbOf(record(), [1, 0]).side, 3);
});

test("with from and to, heads rank by exactly that weight", () => {
  const order = rankHeads(record(), [0], 1);
  assert.deepEqual(order.map((e) => e.layer), [0, 1]);
  assert.ok(Math.abs(order[0].weight - 0.8) < 8e-6);
});

test("with from alone, every head says where it looks most", () => {
  assert.deepEqual(rankHeads(record(), [1], null).map((e) => [e.layer, e.to]), [[0, 2], [1, 2]]);
});

test("two pins have their mean in the ranking too", () => {
  assert.ok(Math.abs(rankHeads(record(), [0, 1], 1)[0].weight - 0.5) < 2e-5);
});

test("a long text ranks from the links the server sent, and not before they fit", () => {
  const long = openRecord({ names: ["a", "b", "c"], layers: 2, heads: 1, packing: "small", side: 1, weights: table(new Uint8Array(2)) });
  assert.equal(rankHeads(long, [0], null), null);
  long.links = { pins: [0], to: 1, k: 2, scale: 1, index: Uint16Array.of(1, 0, 0, 1), weight: quantise([0.8, 0.2, 0.6, 0.4]), toward: quantise([0.8, 0.4]) };
  assert.deepEqual(rankHeads(long, [0], null).map((e) => [e.layer, e.to]), [[0, 1], [1, 0]]);
  assert.ok(Math.abs(rankHeads(long, [0], 1)[1].weight - 0.4) < 8e-6);
  assert.equal(rankHeads(long, [2], null), null);
});

test("of a long text only the last few opened heads are kept", () => {
  const long = openRecord({ names: ["a"], layers: 9, heads: 1, packing: "small", side: 1, weights: table(new Uint8Array(9)) });
  for (let layer = 0; layer < 9; layer++) keepOpened(long, [layer, 0], new Uint16Array(1), 3);
  assert.equal(matrixOf(long, [5, 0]), null);
  assert.ok(matrixOf(long, [8, 0]));
  assert.equal(rowOf(long, [0, 0], [0]), null);
});

test("a pair filter lets only its own direction through", () => {
  const two = record();
  assert.ok(pairAllows(two, "all", 0, 2) && pairAllows(two, "AB", 0, 2));
  assert.ok(!pairAllows(two, "AA", 0, 2) && !pairAllows(two, "BA", 0, 2) && pairAllows(two, "BB", 2, 2));
});

test("a difference covers what both texts have and nothing else", () => {
  const pairs = [[0, 0], [1, null], [2, 1]];
  assert.deepEqual(meeting(pairs), [[0, 0], [2, 1]]);
  const a = quantise([0.5, 0.3, 0.2, 0, 1, 0, 0.1, 0.1, 0.8]);
  const b = quantise([0.4, 0.6, 1, 0]);
  const expected = [0.1, -0.4, -0.9, 0.8];
  difference(a, 3, b, 2, meeting(pairs)).forEach((v, i) => assert.ok(Math.abs(v - expected[i]) < 2e-5));
});
