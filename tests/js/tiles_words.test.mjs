// What a board says of typed whole numbers, and where it writes the names of points, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import { freePlace } from "../../assets/js/tiles/charts.js";
import { readWhole } from "../../assets/js/tiles/fields.js";

const HEADS = { label: "Heads", value: 8, least: 1, most: 1024 };

test("a whole number is taken, also with a comma between thousands", () => {
  assert.deepEqual(readWhole(" 12 ", HEADS), [12, ""]);
  assert.deepEqual(readWhole("1,024", HEADS), [1024, ""]);
  assert.deepEqual(readWhole("1", HEADS), [1, ""], "the least, too");
});

test("what is no whole number in reach is answered with the number that stays in use", () => {
  for (const [typed, said] of [
    ["abc", "Heads: “abc” is not a number; 8 is still used."],
    ["", "Heads: The box is empty; 8 is still used."],
    ["1e999", "Heads: 1e999 is too large: numbers up to a million are taken; 8 is still used."],
    ["2.5", "Heads: a whole number from 1 to 1,024 is taken; 8 is still used."],
    ["0", "Heads: a whole number from 1 to 1,024 is taken; 8 is still used."],
    ["1025", "Heads: a whole number from 1 to 1,024 is taken; 8 is still used."],
  ]) assert.equal(readWhole(typed, HEADS)[1], said);
});

test("a name stands beside its point, on no other point and on no other name, or nowhere", () => {
  const dot = (x, y, r) => ({ left: x - r, right: x + r, top: y - r, bottom: y + r });
  const apart = (a, b) => a.left > b.right || b.left > a.right || a.top > b.bottom || b.top > a.bottom;
  const points = [[50, 50], [62, 50], [50, 62], [120, 52]];
  const dots = points.map(([x, y]) => dot(x, y, 5));
  const taken = [...dots];
  const places = points.map((point) => freePlace(point, "animal", taken, { width: 200, reach: 8 }));
  const found = places.filter(Boolean);
  assert.ok(found.length >= 3);
  for (const place of found) {
    assert.ok(place.left >= 0 && place.right <= 200);
    assert.ok(dots.every((one) => apart(one, place)));
    assert.ok(found.every((other) => other === place || apart(other, place)));
  }
  assert.equal(freePlace([50, 50], "a", [{ left: -99, right: 299, top: -99, bottom: 299 }]), null);
});
