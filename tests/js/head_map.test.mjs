import assert from "node:assert/strict";
import { test } from "node:test";
import { hull, neighbour } from "../../assets/js/head_map.js";

const grid = [0, 1, 2].flatMap((layer) => [0, 1].map((head) => ({ layer, head })));

test("arrow keys walk the grid and stop at its edges", () => {
  assert.equal(neighbour(grid, 0, "ArrowRight", "grid", 2), 1);
  assert.equal(neighbour(grid, 1, "ArrowRight", "grid", 2), null);
  assert.equal(neighbour(grid, 1, "ArrowDown", "grid", 2), 3);
  assert.equal(neighbour(grid, 4, "ArrowDown", "grid", 2), null);
  assert.equal(neighbour(grid, 2, "ArrowUp", "grid", 2), 0);
  assert.equal(neighbour(grid, 3, "Home", "grid", 2), 0);
  assert.equal(neighbour(grid, 3, "End", "grid", 2), 5);
  assert.equal(neighbour(grid, 3, "a", "grid", 2), null);
});

test("on the map an arrow key goes to the nearest head that way", () => {
  const map = [{ x: 0.5, y: 0.5 }, { x: 0.9, y: 0.5 }, { x: 0.6, y: 0.52 }, { x: 0.5, y: 0.1 }];
  assert.equal(neighbour(map, 0, "ArrowRight", "map", 2), 2);
  assert.equal(neighbour(map, 0, "ArrowUp", "map", 2), 3);
  assert.equal(neighbour(map, 0, "ArrowLeft", "map", 2), null);
});

test("the outline is the corners alone, and changes nothing it was given", () => {
  const points = [[0, 0], [1, 0], [0.5, 0.4], [1, 1], [0, 1]];
  assert.deepEqual(new Set(hull(points).map(String)), new Set(["0,0", "1,0", "1,1", "0,1"]));
  assert.deepEqual(points[2], [0.5, 0.4]);
});
