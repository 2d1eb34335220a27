import assert from "node:assert/strict";
import { test } from "node:test";
import { LEVELS, OKABE_ITO, at, contrast, diverging, fromOklab, inkOn, luminance, parseColour, pixels, readable, sequential, toOklab } from "../../assets/js/colour.js";

const PAPERS = { light: [251, 250, 247], dark: [21, 21, 19] };

for (const [name, paper] of Object.entries(PAPERS)) {
  test(`the ${name} ramp begins at the paper and its lightness moves in even steps`, () => {
    const ramp = sequential(paper);
    assert.deepEqual(ramp[0], paper);
    const L = ramp.map((rgb) => toOklab(rgb)[0]);
    const step = (L[LEVELS - 1] - L[0]) / 8;
    for (let i = 1; i <= 8; i++) {
      const here = L[Math.round((i * (LEVELS - 1)) / 8)] - L[Math.round(((i - 1) * (LEVELS - 1)) / 8)];
      assert.ok(Math.abs(here - step) < 0.012, `${i}: ${here} against ${step}`);
    }
  });

  test(`the ${name} ramp goes by a breath of blue, more than of green`, () => {
    const ramp = sequential(paper);
    const [from, middle, to] = [ramp[0], ramp[LEVELS >> 1], ramp[LEVELS - 1]].map(toOklab);
    const [green, blue] = name === "light" ? [0.012, 0.05] : [0.014, 0.055];
    assert.ok(Math.abs((from[1] + to[1]) / 2 - middle[1] - green) < 0.003);
    assert.ok(Math.abs((from[2] + to[2]) / 2 - middle[2] - blue) < 0.003);
  });

  test(`in ${name} the arms of the difference are equally far from the paper`, () => {
    const ramp = diverging(paper);
    const [low, high] = [ramp[0], ramp[LEVELS - 1]];
    assert.ok(Math.abs(toOklab(low)[0] - toOklab(high)[0]) < 0.02);
    assert.ok(contrast(at(ramp, 0, true), paper) < 1.02);
    assert.ok(high[2] > high[0] && low[0] > low[2], "blue above, orange below");
  });

  test(`a chosen colour made readable on ${name} paper reaches AA`, () => {
    const ink = name === "light" ? [29, 28, 26] : [236, 235, 229];
    for (const colour of OKABE_ITO) assert.ok(contrast(readable(parseColour(colour), ink, paper), paper) >= 4.5);
  });
}

test("OKLab goes there and back", () => {
  for (const rgb of [[0, 0, 0], [255, 255, 255], [12, 200, 99], [168, 64, 12]]) assert.deepEqual(fromOklab(toOklab(rgb)), rgb);
});

test("colours are read in the forms a browser gives", () => {
  assert.deepEqual(parseColour(" #fff "), [255, 255, 255]);
  assert.deepEqual(parseColour("#a8400c"), [168, 64, 12]);
  assert.deepEqual(parseColour("rgb(1, 2, 3)"), [1, 2, 3]);
  assert.deepEqual(parseColour("unset", [9, 9, 9]), [9, 9, 9]);
});

test("a ramp as pixels is opaque", () => {
  const bytes = new Uint8Array(pixels([[1, 2, 3]]).buffer);
  assert.deepEqual([...bytes], [1, 2, 3, 255]);
  assert.ok(luminance([255, 255, 255]) > 0.99);
});

test("what is written on any colour reads, in the page's own ink where that reads", () => {
  for (let r = 0; r < 256; r += 15) for (let g = 0; g < 256; g += 15) for (let b = 0; b < 256; b += 15)
    assert.ok(contrast(parseColour(inkOn([r, g, b])), [r, g, b]) >= 4.5, `${[r, g, b]}`);
  assert.equal(inkOn(PAPERS.light), "rgb(29, 28, 26)");
  assert.equal(inkOn(PAPERS.dark), "rgb(255, 255, 255)");
});
