import assert from "node:assert/strict";
import { test } from "node:test";
import { OKABE_ITO, contrast, inkOn, parseColour, readable } from "../../assets/js/colour.js";

const [LIGHT, DARK] = [[251, 250, 247], [21, 21, 19]]; // paper

test("a chosen colour is made readable on either paper: it reaches AA", () => {
  assert.ok(Math.abs(contrast([0, 0, 0], [255, 255, 255]) - 21) < 1e-9);
  for (const [paper, ink] of [[LIGHT, [29, 28, 26]], [DARK, [236, 235, 229]]])
    for (const colour of OKABE_ITO) assert.ok(contrast(readable(parseColour(colour), ink, paper), paper) >= 4.5);
});

test("colours are read in the forms a browser gives", () => {
  assert.deepEqual([" #fff ", "#a8400c", "rgb(1, 2, 3)"].map((text) => parseColour(text)), [[255, 255, 255], [168, 64, 12], [1, 2, 3]]);
  assert.deepEqual(parseColour("unset", [9, 9, 9]), [9, 9, 9]);
});

test("what is written on any colour reads, in the page's own ink where that reads", () => {
  for (let r = 0; r < 256; r += 15) for (let g = 0; g < 256; g += 15) for (let b = 0; b < 256; b += 15)
    assert.ok(contrast(parseColour(inkOn([r, g, b])), [r, g, b]) >= 4.5, `${[r, g, b]}`);
  assert.deepEqual([LIGHT, DARK].map(inkOn), ["rgb(29, 28, 26)", "rgb(255, 255, 255)"]);
});
