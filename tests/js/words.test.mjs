import assert from "node:assert/strict";
import { test } from "node:test";
import { quantise } from "../../assets/js/numbers.js";
import { changeInWords, headInWords, headName, listed, rolesInWords, rowInWords, slug } from "../../assets/js/words.js";

test("layers and heads are numbered from 1", () => assert.equal(headName([3, 1]), "4-2"));

test("a row is said with its three largest shares", () => {
  const said = rowInWords([3, 1], ["it", "animal", "street", "was", "a"], [0], [0.02, 0.677, 0.1, 0.05, 0.001]);
  assert.equal(said, "Head 4-2: “it” looks at “animal” (67.7 %), “street” (10.0 %) and “was” (5.0 %).");
});

test("several pins look on average", () => {
  assert.equal(rowInWords([0, 0], ["a", "b"], [0, 1], [1.5, 0.5]), "Head 1-1: “a” and “b” look on average at “a” (150.0 %) and “b” (50.0 %).");
});

test("a row without a share worth saying says so", () => {
  assert.equal(rowInWords([0, 0], ["a", "b"], [0], [0.001, 0.002]), "Head 1-1: “a” looks at nothing with 1 % or more.");
});

test("a whole head leaves special tokens out of its strongest links", () => {
  const matrix = quantise([1, 0, 0, 0.9, 0.02, 0.08, 0, 0.6, 0.4]);
  assert.equal(headInWords([1, 2], ["[CLS]", "a", "b"], [1, 0, 0], matrix), "Head 2-3, its strongest links between words ([CLS] left out): “b” looks at “a” (60.0 %) and “a” looks at “b” (8.0 %).");
});

test("a change names both shares and the difference in points", () => {
  assert.equal(changeInWords([3, 1], ["it"], [0], [{ name: "animal", a: 0.677, b: 0.281 }]), "Head 4-2: “it” looks at “animal” (67.7 % in A, 28.1 % in B, +39.6 points).");
});

test("a list reads like English", () => {
  assert.equal(listed(["a"]), "a");
  assert.equal(listed(["a", "b", "c"]), "a, b and c");
});

test("a file name is made of whole words, without accents, and is never empty", () => {
  assert.equal(slug("Élan: the animal didn't / cross ../etc", 22), "elan-the-animal-didn-t");
  assert.equal(slug("🙂"), "text");
  assert.equal(slug("猫は座った"), "猫は座った");
});

test("the letters of the roles are explained once each, in order; heads without a role are left out", () => {
  const roles = { "1-1": { letter: "S", kind: "syntax" }, "1-2": { letter: "", kind: "none" }, "2-1": { letter: "P", kind: "position" }, "3-1": { letter: "S", kind: "syntax" } };
  assert.deepEqual(rolesInWords(roles), [["P", "position"], ["S", "syntax"]]);
  assert.deepEqual(rolesInWords(undefined), []);
});
