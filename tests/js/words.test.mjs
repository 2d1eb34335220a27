import assert from "node:assert/strict";
import { test } from "node:test";
import { quantise } from "../../assets/js/numbers.js";
import { roleGroups } from "../../assets/js/explore/heads.js";
import { neighbour, rowsOf } from "../../assets/js/sheet.js";
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

test("each special token is said to be left out once", () => {
  const said = headInWords([0, 0], ["[SEP]₁", "a", "[SEP]₂"], [1, 0, 1], quantise([1, 0, 0, 0, 1, 0, 0, 0, 1]));
  assert.equal(said, "Head 1-1, its strongest links between words ([SEP] left out): “a” looks at “a” (100.0 %).");
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
  assert.equal(slug("abcdefgh ij", 5), "abcde");
  assert.equal(slug("猫は座った"), "猫は座った");
});

test("the letters of the roles are explained once each, in order; heads without a role are left out", () => {
  const roles = { "1-1": { letter: "S", kind: "syntax", colour: "green" }, "1-2": { letter: "", kind: "none" }, "2-1": { letter: "P", kind: "position", colour: "blue" }, "3-1": { letter: "S", kind: "syntax", colour: "green" } };
  assert.deepEqual(rolesInWords(roles), [["P", "position", "blue"], ["S", "syntax", "green"]]);
  assert.deepEqual(rolesInWords(undefined), []);
});

test("a sheet in groups: every group begins a row, arrows lead to the nearest place of the next row and to no other end", () => {
  assert.deepEqual(rowsOf([5, 1], 3), [[0, 1, 2], [3, 4], [5]]);
  const rows = rowsOf([5, 1], 3);
  const led = [[2, "ArrowDown"], [4, "ArrowDown"], [5, "ArrowUp"], [2, "ArrowRight"], [0, "ArrowLeft"], [0, "ArrowUp"], [5, "ArrowDown"], [5, "ArrowRight"]].map(([at, key]) => neighbour(rows, at, key));
  assert.deepEqual(led, [4, 5, 3, 3, null, null, null, null]);
});

test("heads by role stand under the kinds of the legend, the others last", () => {
  const roles = { "1-2": { letter: "S", kind: "syntax", colour: "g" }, "2-1": { letter: "P", kind: "position", colour: "b" } };
  const groups = roleGroups([[0, 0], [0, 1], [1, 0], [1, 1]], roles);
  assert.deepEqual(groups.map(({ title, mark, heads }) => [title, mark.letter, mark.colour, heads.map(headName).join()]), [
    ["position · 1 head", "P", "b", "2-1"], ["syntax · 1 head", "S", "g", "1-2"], ["no clear role · 2 heads", undefined, undefined, "1-1,2-2"],
  ]);
});
