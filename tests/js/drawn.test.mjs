// What is drawn, pixel by pixel, of matrices that are not their own transpose.
import assert from "node:assert/strict";
import { test } from "node:test";
import { geometry, heatmap, levels, matrix, paper, sentence, shareOf, sheet, signedOf } from "./drawing.mjs";

const NEAR = 0.002;
const near = (a, b, within = NEAR) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
// Row 0 looks at 2, row 1 at 0 and 2, row 2 at 1.
const ASYMMETRIC = [0, 0.03, 0.97, 0.6, 0, 0.4, 0.05, 0.9, 0.05];

function cells(spec, paint, side = 30) {
  const view = Object.create(matrix.Matrix.prototype);
  view.frame = { left: 7, top: 5, size: side, high: Math.round((side * spec.rows.length) / spec.columns.length) };
  const context = paper();
  view.cells(context, { least: 0, ...spec }, paint, 1);
  const [image] = context.put;
  assert.deepEqual([image.x, image.y], [7, 5]);
  return (q, k) => image.pixels[Math.floor(((q + 0.5) * image.height) / spec.rows.length) * image.width + Math.floor(((k + 0.5) * image.width) / spec.columns.length)];
}

test("what lies below the threshold is blank, what lies on it is drawn", () => {
  const at = cells({ rows: [0, 1, 2], columns: [0, 1, 2], values: ASYMMETRIC, least: 0.05 }, levels());
  assert.equal(at(0, 1), 0);
  near(shareOf(at(2, 0)), 0.05);
  near(shareOf(at(1, 2)), 0.4);
});

test("what a filter hides is blank by query and key", () => {
  const at = cells({ rows: [0, 1, 2], columns: [0, 1, 2], values: ASYMMETRIC, hidden: (q, k) => q === 0 && k === 2 }, levels());
  assert.equal(at(0, 2), 0);
  near(shareOf(at(2, 0)), 0.05);
});

test("differences are stretched to the largest one shown, and kept inside the ramp", () => {
  near(heatmap.level(0.1, { signed: true, span: 0.2 }), 0.75, 1e-12);
  near(heatmap.level(-0.1, { signed: true, span: 0.2 }), 0.25, 1e-12);
  near(heatmap.level(-3, { signed: true, span: 0.2 }), 0, 1e-12);
  near(heatmap.level(0.3, { signed: false, span: 0.2 }), 0.3, 1e-12);
  near(heatmap.level(0.5, { signed: true }), 0.75, 1e-12);
  near(heatmap.level(9, { signed: true, span: 0.5 }), 1, 1e-12);
  near(heatmap.level(1.4, { signed: false }), 1, 1e-12);
  near(heatmap.level(-0.4, { signed: false }), 0, 1e-12);
  near(heatmap.level(0.45, { signed: false, top: 0.9 }), 0.5, 1e-12);
});

function crowded(n, side, strong, more = {}) {
  const values = new Float64Array(n * n);
  for (const [q, k, value] of strong) values[q * n + k] = value;
  const names = Array.from({ length: n }, (_, i) => i);
  const view = Object.create(matrix.Matrix.prototype);
  view.frame = { left: 0, top: 0, size: side, high: side };
  const context = paper();
  view.cells(context, { rows: names, columns: names, values, least: 0, ...more }, levels(more.signed), 1);
  return context.put[0].pixels;
}

test("with more columns than pixels a pixel is the strongest cell under it, not the last", () => {
  const pixels = crowded(12, 4, [[0, 0, 0.8], [0, 1, 0.2], [1, 2, 0.3], [9, 3, 0.7], [3, 9, 0.1], [11, 11, 0.04]]);
  near(shareOf(pixels[0]), 0.8);
  near(shareOf(pixels[3 * 4 + 1]), 0.7);
  near(shareOf(pixels[1 * 4 + 3]), 0.1);
  near(shareOf(pixels[15]), 0.04);
});

test("a crowded pixel obeys the threshold and the filter, and keeps the sign of the larger change", () => {
  const hidden = crowded(8, 4, [[0, 0, 0.8], [1, 1, 0.3], [6, 0, 0.01]], { hidden: (q, k) => q === 0 && k === 0, least: 0.05 });
  near(shareOf(hidden[0]), 0.3);
  assert.equal(hidden[12], 0);
  const signed = crowded(8, 4, [[0, 0, 0.2], [0, 1, -0.7], [6, 1, 0.6], [7, 0, -0.1]], { signed: true });
  near(signedOf(signed[0]), -0.7);
  near(signedOf(signed[12]), 0.6);
});

function small(cells, n, side, top, paint = levels()) {
  const out = new Uint32Array(side * side);
  sheet.HeadThumbnails.prototype.paintOne(out, side, { cells, side: n, top }, paint);
  return (q, k) => out[Math.floor(((q + 0.5) * side) / Math.min(n, side)) * side + Math.floor(((k + 0.5) * side) / Math.min(n, side))];
}

test("a small picture of a decoder has every word's own cell and those before it, and nothing of what comes later", () => {
  const out = new Uint32Array(9).fill(7777);
  sheet.HeadThumbnails.prototype.paintOne.call({ record: { causal: true } }, out, 3, { cells: [1, 0, 0, 0.6, 0.4, 0, 0.2, 0.3, 0.5], side: 3, top: 1 }, levels());
  const seen = [1, null, null, 0.6, 0.4, null, 0.2, 0.3, 0.5];
  seen.forEach((share, i) => (share === null ? assert.equal(out[i], 7777) : near(shareOf(out[i]), share)));
});

test("a small picture of changes keeps their signs, also where several share a pixel", () => {
  const at = small([-127, 30, 0, 127], 2, 6, 127, levels(true));
  near(signedOf(at(0, 0)), -1);
  near(signedOf(at(0, 1)), 30 / 127);
  near(signedOf(at(1, 1)), 1);
  const many = new Float64Array(64);
  many[0] = 20;
  many[1] = -90;
  many[8 * 6 + 1] = 50;
  const pooled = small(many, 8, 4, 127, levels(true));
  near(signedOf(pooled(0, 0)), -90 / 127);
  near(signedOf(pooled(3, 0)), 50 / 127);
  near(signedOf(pooled(0, 3)), 0);
});

test("a small picture with fewer pixels than cells keeps the strongest link at its place", () => {
  const many = new Float64Array(64);
  many[1] = 100;
  many[8 * 7 + 2] = 200;
  const at = small(many, 8, 4, 255);
  near(shareOf(at(0, 0)), 100 / 255);
  near(shareOf(at(3, 1)), 200 / 255);
  assert.equal(at(1, 3), 0);
});

test("the heaviest percentage keeps its place where two words are close", () => {
  const label = (unit, x, weight) => ({ unit, x, weight, width: 50, line: 0 });
  const placed = geometry.placeLabels([label(0, 100, 0.1), label(1, 120, 0.6), label(2, 140, 0.3)], 400);
  assert.deepEqual(placed.map((p) => [p.unit, p.row]), [[1, 0], [2, 1], [0, 1]]);
  assert.equal(placed[2].x, 75, "aside of its word, by half its width at most");
  assert.deepEqual(geometry.placeLabels([label(0, 100, 0.1), { ...label(1, 110, 0.6), line: 1 }], 400, 1).map((p) => p.row), [0, 0]);
  assert.deepEqual(geometry.placeLabels([label(0, 100, 0.6), { ...label(1, 110, 0.001), asked: true }], 400, 1).map((p) => p.unit), [1], "what was asked for is never left out");
  assert.equal(geometry.placeLabels([label(0, 3, 0.5)], 400)[0].x, 25, "never outside the picture");
});

// The labels under three words; `make` needs elements, of which nothing is read here.
function labelled(shown, links, specials = [0, 0, 0]) {
  globalThis.document = { createElement: () => ({ style: {}, setAttribute() {}, append() {} }) };
  const view = Object.create(sentence.Sentence.prototype);
  const boxes = [100, 300, 500].map((x) => ({ x, bottom: 50, line: 0 }));
  Object.assign(view, { record: { specials }, boxes, width: 600, size: 30, present: false, root: { classList: { contains: () => false } }, labels: { replaceChildren() {} } });
  view.drawLabels(shown, links);
  delete globalThis.document;
  return view.placed.map(({ unit, weight, strong }) => [unit, Number(weight.toFixed(6)), strong]);
}

test("a label under a word is the mean of what the pinned words give it, unless it is given exactly", () => {
  const links = [{ from: 0, to: 1, weight: 0.3 }, { from: 2, to: 1, weight: 0.4 }, { from: 0, to: 2, weight: 0.05 }, { from: 0, to: 0, weight: 0.01 }];
  assert.deepEqual(labelled({ from: [0, 2] }, links), [[1, 0.35, true]]);
  assert.deepEqual(labelled({ from: [0, 2], exact: new Map([[1, 0.75], [0, 0.004]]), to: 0 }, links), [[0, 0.004, true], [1, 0.75, true]]);
  assert.deepEqual(labelled({ from: [] }, links), [[1, 0.4, true], [2, 0.05, false]]);
});

test("a special token's label stays small beside a word's, unless it was asked for", () => {
  const links = [{ from: 2, to: 0, weight: 0.6 }, { from: 2, to: 1, weight: 0.2 }];
  assert.deepEqual(labelled({ from: [2] }, links, [1, 0, 0]), [[0, 0.6, false], [1, 0.2, true]]);
  assert.deepEqual(labelled({ from: [2], to: 0 }, links, [1, 0, 0]), [[0, 0.6, true], [1, 0.2, true]]);
});
