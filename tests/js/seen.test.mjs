import assert from "node:assert/strict";
import test from "node:test";
import { cannotSee } from "../../assets/js/visibility_text.js";
import { openRecord, rankHeads } from "../../assets/js/record.js";
import { hasChoice, mask, neverSeen, isMasked } from "../../assets/js/visibility.js";

const names = ["a", "b", "c", "d"];
const column = (cells) => ({ getChildAt: () => ({ toArray: () => cells }) });
// Layer 1 sees one unit back, layer 2 all that came before.
const reach = { of: [0, 1], kinds: [[[0, 0], [0, 1], [1, 2], [2, 3]], [[0, 0], [0, 1], [0, 2], [0, 3]]] };
const weights = Uint16Array.from({ length: 2 * 2 * 16 }, (_, i) => i * 100);
const record = () => openRecord({ names, layers: 2, heads: 2, packing: "full", weights: column(weights), causal: true, reach, absent: ["2-2"] });

test("what a window leaves out is not there in its layer, and is in another", () => {
  const opened = record();
  assert.ok(isMasked(opened, 3, 0));
  opened.layer = 1;
  assert.ok(!isMasked(opened, 3, 0));
  assert.ok(isMasked(opened, 0, 3));
  assert.ok(mask(opened)(0, 1));
  assert.ok(!neverSeen(opened, [3], 0));
  assert.ok(neverSeen(opened, [0], 3));
});

test("it is said why a word cannot be seen", () => {
  assert.match(cannotSee(record(), 3, 0), /outside/);
  assert.match(cannotSee(record(), 0, 3), /later/);
});

test("a unit that sees itself alone has no choice", () => {
  assert.deepEqual([0, 1, 2, 3].map((q) => hasChoice(record(), q)), [false, true, true, true]);
});

test("a link is ranked in the heads that are there and whose layer sees it", () => {
  const ranked = (pins, to) => rankHeads(record(), pins, to).map(({ layer, head }) => `${layer + 1}-${head + 1}`);
  assert.deepEqual(ranked([3], 0), ["2-1"]);
  assert.deepEqual(ranked([3], 2).sort(), ["1-1", "1-2", "2-1"]);
});
