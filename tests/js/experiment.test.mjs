import assert from "node:assert/strict";
import { test } from "node:test";
import { effect, inWords } from "../../assets/js/experiment/said.js";

const roles = { "2-1": { letter: "P", label: "previous token" } };

test("a head that was not tried yet is not said to do nothing", () => {
  assert.equal(effect(NaN, { measure: "loss", was: 3 }), "not tried yet.");
  assert.equal(effect(-0.5, { measure: "loss", was: 3 }), "loss 3.00 → 2.50 (−0.50).");
  assert.equal(effect(0.25, { measure: "loss", was: -1 }), "loss −1.00 → −0.75 (+0.25).");
});

test("of a switch it is said what was done to it, else how much it moved", () => {
  const view = { data: { roles, done: "taken away", moved: { "2-1": 0.123 } }, off: new Set(["1-1"]) };
  assert.equal(inWords([0, 0], view), "Head 1-1: taken away.");
  assert.equal(inWords([1, 0], view), "Head 2-1, previous token: 12.3 % of its attention looks elsewhere.");
  assert.equal(inWords([1, 1], view), "Head 2-2.");
});
