// One word's attention as arcs: where the words stand, and what is said of the picture.
import assert from "node:assert/strict";
import test from "node:test";

import { described, middles } from "../../assets/js/tiles/arcs.js";

test("words stand one after the other, each in the middle of its own room", () => {
  assert.deepEqual(middles(["it", "was"]), [27, 67.5]);
  const places = middles(["the", "animal", "street"]);
  assert.ok(places[0] < places[1] && places[1] < places[2]);
});

test("what the arcs show is said in words, the strongest first, small shares left out", () => {
  const block = { name: "Head 2-1", words: ["animal", "street", "it"], from: 2 };
  assert.equal(described(block, [0.2, 0.78, 0.02]), "Head 2-1: it looks at street 78%, animal 20%");
});
