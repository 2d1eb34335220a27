import assert from "node:assert/strict";
import { test } from "node:test";
import { heroSize, lanePath, placeLabels, riseOf } from "../../assets/js/geometry.js";
import { Sentence } from "../../assets/js/sentence.js";
import { withGlobals } from "./page.mjs";

test("a longer way rises higher, up to a limit", () => {
  assert.ok(riseOf(100, 170) < riseOf(300, 170));
  assert.equal(riseOf(9000, 170), 170);
});

test("the heaviest percentage keeps its place where two words are close", () => {
  const label = (unit, x, weight) => ({ unit, x, weight, width: 50, line: 0 });
  const placed = placeLabels([label(0, 100, 0.1), label(1, 120, 0.6), label(2, 140, 0.3)], 400);
  assert.deepEqual(placed.map((p) => [p.unit, p.row]), [[1, 0], [2, 1], [0, 1]]);
  assert.equal(placed[2].x, 75, "aside of its word, by half its width at most");
  assert.deepEqual(placeLabels([label(0, 100, 0.1), { ...label(1, 110, 0.6), line: 1 }], 400, 1).map((p) => p.row), [0, 0]);
  assert.deepEqual(placeLabels([label(0, 100, 0.6), { ...label(1, 110, 0.001), asked: true }], 400, 1).map((p) => p.unit), [1], "what was asked for is never left out");
  assert.equal(placeLabels([label(0, 3, 0.5)], 400)[0].x, 25, "never outside the picture");
});

test("the sentence is large when short, and larger for a room", () => {
  assert.equal(heroSize(60, 1200, false), 36);
  assert.ok(heroSize(2500, 1200, false) < 20 && heroSize(60, 1800, true) > 50 && heroSize(60, 380, false) >= 20);
});

test("the way from line to line: into the gap beside its own line, along the lane, and back in, with round corners", () => {
  const box = (x, top) => ({ x, top, bottom: top + 40, line: 0 });
  // Above the words, the lane left of both: gaps at 84 and 184, corners of 8.
  assert.equal(lanePath(box(200, 100), box(300, 200), 1, 10, 16), "M200 100V92Q200 84 192 84H18Q10 84 10 92V176Q10 184 18 184H292Q300 184 300 192L300 200");
  // Below, up, the lane to the right.
  assert.equal(lanePath(box(200, 200), box(100, 100), -1, 390, 16), "M200 240V248Q200 256 208 256H382Q390 256 390 248V164Q390 156 382 156H108Q100 156 100 148L100 140");
  // A word near the lane: its corners are as small as there is room.
  assert.match(lanePath(box(16, 100), box(300, 200), 1, 10, 16), /^M16 100V87Q16 84 13 84H13Q10 84 10 87/);
});

test("percentages that would lie upon one another step aside by quarters of their width", () => {
  const words = [100, 130, 160].map((x) => ({ x, line: 0 }));
  const label = (x, weight) => ({ x, weight, width: 40, line: 0 });
  // 44 must lie between two middles: 130 - 100 = 30, and 14 more is 0.35 of 40, so half a width.
  const placed = placeLabels([label(100, 0.5), label(130, 0.4)], 500, 1, words).map(({ x, row }) => [x, row]);
  assert.deepEqual(placed, [[100, 0]]);
  const roomy = placeLabels([label(100, 0.5), label(134, 0.4)], 500, 1, [{ x: 100, line: 0 }, { x: 134, line: 0 }]).map(({ x }) => x);
  assert.deepEqual(roomy, [100, 144], "a quarter of 40 is enough for 44");
  assert.deepEqual(placeLabels([label(100, 0.5), label(120, 0.4)], 500, 1, [{ x: 100, line: 0 }, { x: 120, line: 0 }]).map(({ x }) => x), [100, 150], "else three quarters");
});

test("a label is the mean of what the pinned words give a word, or given exactly; a special token's stays small unless it was asked for", () => {
  const boxes = [100, 300, 500].map((x) => ({ x, bottom: 50, line: 0 }));
  const labelled = (shown, links, specials = [0, 0, 0]) => {
    const view = Object.assign(Object.create(Sentence.prototype), { record: { specials }, boxes, width: 600, size: 30, present: false, root: { classList: { contains: () => false } }, labels: { replaceChildren() {} } });
    withGlobals({ document: { createElement: () => ({ style: {}, setAttribute() {}, append() {} }) } }, () => view.drawLabels(shown, links));
    return view.placed.map(({ unit, weight, strong }) => [unit, Number(weight.toFixed(6)), strong]);
  };
  const links = [{ from: 0, to: 1, weight: 0.3 }, { from: 2, to: 1, weight: 0.4 }, { from: 0, to: 2, weight: 0.05 }, { from: 0, to: 0, weight: 0.01 }];
  assert.deepEqual(labelled({ from: [0, 2] }, links), [[1, 0.35, true]]);
  assert.deepEqual(labelled({ from: [0, 2], exact: new Map([[1, 0.75], [0, 0.004]]), to: 0 }, links), [[0, 0.004, true], [1, 0.75, true]]);
  assert.deepEqual(labelled({ from: [] }, links), [[1, 0.4, true], [2, 0.05, false]]);
  const special = [{ from: 2, to: 0, weight: 0.6 }, { from: 2, to: 1, weight: 0.2 }];
  assert.deepEqual([{}, { to: 0 }].map((more) => labelled({ from: [2], ...more }, special, [1, 0, 0])), [[[0, 0.6, false], [1, 0.2, true]], [[0, 0.6, true], [1, 0.2, true]]]);
});
