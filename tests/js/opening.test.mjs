// What a sentence opens with on the page without a server: the first pronoun of the list that Python sends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeBetween } from "../../assets/js/static/align.js";
import { chosen } from "../../assets/js/static/opening.js";

const pronouns = ["it", "them"];
const opens = (...labels) => chosen({ labels, layers: 1, heads: 1 }, {}, [0, 0], pronouns, () => [0, 1]).selection;

test("a listed pronoun, whatever its case and the marks around it, and no other word", () => {
  assert.deepEqual(opens("the", "hem", "(it", "It,").pins, [3]);
  assert.deepEqual(opens("them.", "it").pins, [0]);
  assert.deepEqual(opens("the", "hem"), { head: [0, 0], pins: [0], to: 1, look: {} });
});

test("the stretch that differs, where the same word stands twice as well", () => {
  const between = (...texts) => Object.values(changeBetween(...texts.map((text) => [...text])) ?? {});
  assert.deepEqual([between("aaa", "aa"), between("aa", "aaa"), between("abcdef", "abXYdef"), between("abcdef", "abWXYZ")], [[2, 1, 0], [2, 0, 1], [2, 1, 2], []]);
});
