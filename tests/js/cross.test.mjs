// Two texts in one list: two words of the source, then three of the target, which look.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenAcross, crossSpec, hintAcross, inUnits, isOffBlock, lookers, pointedAt, squared } from "../../assets/js/cross_attention.js";

const record = { keys: 2, n: 5 };
const given = Float64Array.of(0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 0.55, 0.45); // two heads of 3 x 2
const squares = squared({ keys: 2, names: ["a", "b", "X", "Y", "Z"] }, given);
const second = squares.subarray(25);

test("a matrix has the target's words on its rows and the source's on its columns", () => {
  const spec = { rows: [..."abXYZ"], columns: [..."abXYZ"], values: second, from: [3, 0], hovered: [4, 1] };
  const { rows, columns, values, from, hovered } = crossSpec(record, spec);
  assert.deepEqual([rows.join(""), columns.join(""), [...values], from, hovered], ["XYZ", "ab", [0.4, 0.6, 0.5, 0.5, 0.55, 0.45], [1], [2, 1]]);
  assert.deepEqual(crossSpec(record, { ...spec, hovered: [1, 3] }).hovered, [null, null]);
  assert.deepEqual([[2, 0], [4, 1], [0, 1], [1, 2], [2, 3]].map(([q, k]) => isOffBlock(record, q, k)), [false, false, true, true, true], "only the target looks, and only at the source");
});

test("what is pointed at in a matrix is told as units, and a word of the source as one that is looked at", () => {
  const told = [];
  const { cell, choose } = inUnits({ record }, { cell: (...said) => told.push(said), choose: (...said) => told.push(said) });
  cell(0, 1, true);
  cell(null, null);
  choose(2, false);
  assert.deepEqual(told, [[2, 1, true], [null, null, undefined], [4, false]]);
  assert.deepEqual(pointedAt(record, 1), { unit: null, q: null, k: 1 });
  assert.deepEqual(pointedAt(record, 2), { unit: 2, q: null, k: null });
});

test("a click on the source asks who looks at it, a second one takes it back, a click on the target follows that word", () => {
  const view = (pins, to = null) => ({ record, matrixNow: second, state: { pins, to, adding: false } });
  assert.deepEqual(lookers(record, second, 0).map(({ from, to }) => [from, to]), [[4, 0], [3, 0], [2, 0]]);
  const faint = squared({ keys: 1, names: ["a", "X", "Y"] }, Float64Array.of(0.0099, 0.0101));
  assert.deepEqual(lookers({ keys: 1, n: 3 }, faint, 0).map(({ from }) => from), [2], "from one percent on");
  assert.deepEqual(chosenAcross(view([]), 0, false, null), { pins: [4], to: 0 });
  assert.deepEqual(chosenAcross(view([3]), 1, false, null), { to: 1 });
  assert.deepEqual(chosenAcross(view([3], 1), 1, false, null), { to: null });
  assert.deepEqual(chosenAcross(view([3], 1), 4, false, null), { pins: [4], to: 1 });
  assert.equal(chosenAcross(view([3], 1), 3, false, null), null);
  assert.equal(chosenAcross({ ...view([]), record: { n: 5 } }, 1, false, null), null);
  assert.match(hintAcross(record), /a word of the source \(above\)/);
});
