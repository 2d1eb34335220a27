// Labels beside the ends of lines: each where its line ends, none upon another, none below the axis.
import assert from "node:assert/strict";
import test from "node:test";

import { named } from "../../assets/js/tiles/course.js";

test("labels that are far apart stay where their lines end", () => {
  assert.deepEqual(named([100, 20, 60]), [100, 20, 60]);
});

test("labels that would lie upon another move down, in the order of their lines", () => {
  assert.deepEqual(named([20, 20, 25]), [20, 36, 52]);
  assert.deepEqual(named([25, 20]), [36, 20]);
});

test("the lowest label stays above the axis, and the others make room", () => {
  const places = named([160, 161, 162]);
  assert.equal(Math.max(...places), 162);
  assert.deepEqual(places, [130, 146, 162]);
  assert.deepEqual(named([]), []);
});
