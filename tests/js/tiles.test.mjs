// The tiles' numbers and colours, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import * as tiles from "../../assets/js/tiles.js";

test("a number is written with a real minus and never as minus zero", () => {
  assert.equal(tiles.fixed(-1.23456), "−1.2346");
  assert.equal(tiles.fixed(-0.00001), "0.0000");
  assert.equal(tiles.fixed(NaN), "hidden");
  assert.equal(tiles.percent(0.6774), "67.7 %");
  assert.equal(tiles.trim("2.5000"), "2.5");
  assert.equal(tiles.trim("20"), "20");
  assert.equal(tiles.tiny(-0.0000122), "−1.2e−5");
});

test("a typed number may have a comma, a point or a real minus, and nothing else is one", () => {
  assert.equal(tiles.parseNumber(" 1,5 "), 1.5);
  assert.equal(tiles.parseNumber("−.5"), -0.5);
  assert.equal(tiles.parseNumber("2e-3"), 0.002);
  for (const text of ["", "1 2", "1,000,000", "x", "Infinity", "0x10", "--1"]) assert.ok(Number.isNaN(tiles.parseNumber(text)), text);
});

test("one outlier does not make everything else pale", () => {
  const values = Float32Array.from({ length: 1000 }, (_, i) => (i === 5 ? 100 : (i % 10) / 10));
  assert.ok(tiles.reach(values) < 1);
  assert.equal(tiles.reach(new Float32Array([0, 0])), 1);
  assert.equal(tiles.reach(new Float32Array([NaN, -3])), 3);
});

test("a ramp begins and ends at its colours and darkens evenly", () => {
  const ramp = tiles.ramp([251, 250, 247], [17, 28, 54]);
  assert.deepEqual(ramp[0], [251, 250, 247]);
  assert.deepEqual(ramp[255], [17, 28, 54]);
  const light = ramp.map((rgb) => rgb[0] + rgb[1] + rgb[2]);
  assert.ok(light.every((value, i) => i === 0 || value <= light[i - 1]));
});

test("a cell that a spreadsheet would run is written as text", () => {
  assert.equal(tiles.csvText([["", "=1+1"], ['a"b', -2.5]]), ",'=1+1\r\n\"a\"\"b\",-2.5");
});
