import assert from "node:assert/strict";
import { test } from "node:test";
import { LEVELS, OKABE_ITO, at, contrast, diverging, fromOklab, inkOn, luminance, parseColour, pixels, readable, sequential, toOklab } from "../../assets/js/colour.js";

const PAPERS = { light: [251, 250, 247], dark: [21, 21, 19] };
// The ends of the ramps are documented: ink (light) or glow (dark) at 1; orange for less, blue for more.
const ENDS = { light: { one: [17, 28, 54], less: [156, 62, 0], more: [6, 74, 140] }, dark: { one: [228, 238, 255], less: [255, 168, 92], more: [126, 190, 255] } };
const near = (a, b, within) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);

for (const [name, paper] of Object.entries(PAPERS)) {
  test(`on ${name} paper a weight goes from paper to its end in even steps of lightness`, () => {
    const ramp = sequential(paper);
    assert.deepEqual([ramp[0], ramp[LEVELS - 1]], [paper, ENDS[name].one]);
    const L = ramp.map((rgb) => toOklab(rgb)[0]);
    for (let i = 0; i < 8; i++) near(L[Math.round(((i + 1) * (LEVELS - 1)) / 8)] - L[Math.round((i * (LEVELS - 1)) / 8)], (L[LEVELS - 1] - L[0]) / 8, 0.012);
    assert.deepEqual(at(ramp, 0.25), ramp[256]);
    assert.deepEqual([at(ramp, -1), at(ramp, 2)], [ramp[0], ramp[LEVELS - 1]]);
  });

  test(`on ${name} paper less is orange, more is blue and no change is paper`, () => {
    const ramp = diverging(paper);
    assert.ok(Math.max(...ramp[512].map((c, i) => Math.abs(c - paper[i]))) <= 1);
    const [less, more] = [at(ramp, -1, true), at(ramp, 1, true)];
    assert.ok(less[0] > less[2] + 60 && more[2] > more[0] + 60, `${less} ${more}`);
    near(toOklab(less)[0], toOklab(more)[0], 0.01);
    for (const [end, wanted] of [[less, ENDS[name].less], [more, ENDS[name].more]]) {
      const [, a, b] = toOklab(end);
      const [, wa, wb] = toOklab(wanted);
      assert.ok(Math.sign(b) === Math.sign(wb) && Math.abs(a - wa) < 0.05);
    }
    const quarter = toOklab(at(ramp, 0.25, true))[0] - toOklab(ramp[512])[0];
    near(4 * quarter, toOklab(more)[0] - toOklab(ramp[512])[0], 0.03);
  });

  test(`the ${name} ramp goes by a breath of blue, more than of green`, () => {
    const ramp = sequential(paper);
    const [from, middle, to] = [ramp[0], ramp[LEVELS >> 1], ramp[LEVELS - 1]].map(toOklab);
    const [green, blue] = name === "light" ? [0.012, 0.05] : [0.014, 0.055];
    assert.ok(Math.abs((from[1] + to[1]) / 2 - middle[1] - green) < 0.003);
    assert.ok(Math.abs((from[2] + to[2]) / 2 - middle[2] - blue) < 0.003);
  });

  test(`a chosen colour made readable on ${name} paper reaches AA`, () => {
    const ink = name === "light" ? [29, 28, 26] : [236, 235, 229];
    for (const colour of OKABE_ITO) assert.ok(contrast(readable(parseColour(colour), ink, paper), paper) >= 4.5);
  });
}

test("OKLab goes there and back, and published colours have their published lightness", () => {
  // Ottosson 2020: white 1, black 0, pure red 0.62796.
  near(toOklab([255, 255, 255])[0], 1, 1e-4);
  [0.62796, 0.22486, 0.12585].forEach((value, i) => near(toOklab([255, 0, 0])[i], value, 1e-4));
  near(contrast([0, 0, 0], [255, 255, 255]), 21, 1e-9);
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
