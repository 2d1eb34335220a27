import assert from "node:assert/strict";
import { test } from "node:test";
import { percent, points } from "../../assets/js/format.js";
import { STEPS, dequantise, mix, quantise, ranked, strongest, strongestLinks, meanRow } from "../../assets/js/numbers.js";

test("a weight survives the trip as uint16 within 8e-6", () => {
  const weights = Array.from({ length: 1001 }, (_, i) => i / 1000);
  const back = dequantise(quantise(weights));
  assert.ok(weights.every((w, i) => Math.abs(w - back[i]) <= 8e-6));
});

test("a percentage is whole, below one percent it has a decimal, and a real minus", () => {
  assert.equal(percent(0.67685), "68%");
  assert.equal(percent(0.0004), "0%");
  assert.equal(percent(0.0042), "0.4%");
  assert.equal(percent(1), "100%");
  assert.equal(percent(-0.224), "−22%");
  assert.equal(percent(-0.0001), "0%");
  assert.equal(points(0.396), "+40");
  assert.deepEqual([0.0004, -0.0004, 0.0006, -0.0006].map(points), ["0", "0", "+0.1", "−0.1"], "what is no change has no sign");
});

test("the row of several pins is their mean: a share stays one", () => {
  const matrix = quantise([0.5, 0.5, 0.25, 0.75]);
  const row = meanRow(matrix, 2, [0, 1]);
  assert.ok(Math.abs(row[0] - 0.375) < 2e-5 && Math.abs(row[1] - 0.625) < 2e-5);
});

test("the strongest entries come by weight, ties by position, below the threshold none", () => {
  assert.deepEqual(strongest([0.1, 0.4, 0.4, 0.02], 3, 0.05).map((link) => link.to), [1, 2, 0]);
});

test("the strongest links of a matrix are at most one a row and obey the filter", () => {
  const matrix = quantise([0.9, 0.1, 0.8, 0.2]);
  assert.deepEqual(strongestLinks(matrix, 2, 5).map((l) => [l.from, l.to]), [[0, 0], [1, 0]]);
  assert.deepEqual(strongestLinks(matrix, 2, 5, (q, k) => q !== k).map((l) => [l.from, l.to]), [[1, 0], [0, 1]]);
});

test("heads rank by weight and ties keep the order of layers", () => {
  const order = ranked([{ layer: 1, head: 0, weight: 0.2 }, { layer: 0, head: 1, weight: 0.2 }, { layer: 2, head: 2, weight: 0.9 }]);
  assert.deepEqual(order.map((e) => [e.layer, e.head]), [[2, 2], [0, 1], [1, 0]]);
});

