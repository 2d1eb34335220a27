// The tiles' numbers and colours, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import * as format from "../../assets/js/format.js";
import { largest } from "../../assets/js/numbers.js";
import { reach } from "../../assets/js/tiles/painted.js";

test("a number is written with a real minus and never as minus zero", () => {
  assert.equal(format.fixed(-1.23456), "−1.2346");
  assert.equal(format.fixed(-0.00001), "0.0000");
  assert.equal(format.fixed(NaN), "hidden");
  assert.equal(format.percent(0.6774), "67.7 %");
  assert.equal(format.trim("2.5000"), "2.5");
  assert.equal(format.trim("20"), "20");
  assert.equal(format.tiny(-0.0000122), "−1.2e−5");
});

test("a typed number may have a comma, a point or a real minus, and nothing else is one", () => {
  assert.equal(format.parseNumber(" 1,5 "), 1.5);
  assert.equal(format.parseNumber("−.5"), -0.5);
  assert.equal(format.parseNumber("2e-3"), 0.002);
  for (const text of ["", "1 2", "1,000,000", "x", "Infinity", "0x10", "--1"]) assert.ok(Number.isNaN(format.parseNumber(text)), text);
});

test("one outlier does not make everything else pale", () => {
  const values = Float32Array.from({ length: 1000 }, (_, i) => (i === 5 ? 100 : (i % 10) / 10));
  assert.ok(reach(values) < 1);
  assert.equal(reach(new Float32Array([0, 0])), 1);
  assert.equal(reach(new Float32Array([NaN, -3])), 3);
});

test("the largest of more numbers than a call may have arguments is found", () => {
  const values = new Float32Array(512 * 512);
  values[300000 % values.length] = 0.5;
  assert.equal(largest(values), 0.5);
  assert.equal(largest([-3, -1, -2]), -1);
});
