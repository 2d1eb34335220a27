import assert from "node:assert/strict";
import { test } from "node:test";
import { heroSize, lanePath, placeLabels, riseOf } from "../../assets/js/geometry.js";
import { directionOf } from "../../assets/js/sentence_pair.js";

test("a longer way rises higher, up to a limit", () => {
  assert.ok(riseOf(100, 170) < riseOf(300, 170));
  assert.equal(riseOf(9000, 170), 170);
});

test("labels that collide go to a second row, and the weakest is left out", () => {
  const label = (weight) => ({ unit: weight, weight, x: 100, line: 0, width: 50 });
  const placed = placeLabels([label(0.1), label(0.9), label(0.5)], 300);
  assert.deepEqual(placed.map((p) => [p.weight, p.row]), [[0.9, 0], [0.5, 1]]);
});

test("the sentence is large when short, and larger for a room", () => {
  assert.equal(heroSize(60, 1200, false), 36);
  assert.ok(heroSize(2500, 1200, false) < 20 && heroSize(60, 1800, true) > 50 && heroSize(60, 380, false) >= 20);
});

test("a text takes the direction of its first letter", () => {
  assert.equal(directionOf("[CLS] שלום abc"), "rtl");
  assert.equal(directionOf("[CLS] 12 the שלום"), "ltr");
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
