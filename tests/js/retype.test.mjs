import assert from "node:assert/strict";
import test from "node:test";

import { retyped, withWord } from "../../assets/js/retype.js";
import { WordEdit } from "../../assets/js/word_edit.js";
import { onPage, withGlobals } from "./page.mjs";

test("a word is put in place of another, and without one the space before it goes", () => {
  const text = "It was too tired, really.";
  const put = (word, of) => withWord(text, text.indexOf(of), text.indexOf(of) + of.length, word);
  assert.equal(put(" wide ", "tired"), "It was too wide, really.");
  assert.equal(put("", "tired"), "It was too, really.");
  assert.equal(put("", "too"), "It was tired, really.");
  assert.equal(put("", "It"), "was too tired, really.");
});

test("places are counted in characters, not in halves of them", () => {
  assert.equal(withWord("👩‍🚀 flies home", 4, 9, "walks"), "👩‍🚀 walks home");
});

test("the word stands in the text, in its second sentence, or in one of two texts that are compared", () => {
  const one = { texts: [["a b", "c d"]], spots: [[null, [0, 1, 0], [2, 3, 1]]] };
  assert.deepEqual(retyped(one, { unit: 1, word: "x" }), { text: "x b" });
  assert.deepEqual(retyped(one, { unit: 2, word: "x" }), { pair: "c x" });
  assert.equal(retyped(one, { unit: 0, word: "x" }), null, "a special token is no word");
  const two = { texts: [["a b", ""], ["a c", ""]], spots: [[[2, 3, 0]], [[2, 3, 0]]] };
  assert.deepEqual(retyped(two, { unit: 0, word: "x", side: 0 }), { text: "a x", text2: "a c" }, "B stays as it is");
  assert.deepEqual(retyped(two, { unit: 0, word: "x", side: 1 }), { text2: "a x" });
  assert.deepEqual(retyped(two, { unit: 0, word: "x", side: 1 }, { against: "weights" }), { text: "a x" }, "one text on both sides");
});

test("what is typed in place of a word is taken by Enter and by leaving it; Escape brings the word back", () => {
  const after = (typed, leave) => onPage(() => withGlobals({ getSelection: () => ({ selectAllChildren() {}, collapseToEnd() {} }) }, () => {
    const told = [];
    const cells = ["ti", "red"].map((text) => Object.assign(document.createElement("span"), { textContent: text }));
    const edit = new WordEdit({ changed: (word) => told.push(word), moved() {} });
    edit.begin(cells);
    const { heard } = cells[0];
    cells[0].textContent = typed;
    leave === "blur" ? heard.blur() : heard.keydown({ key: leave, stopPropagation() {}, preventDefault() {} });
    return [told, cells.map((cell) => cell.textContent).join(""), edit.open];
  }));
  assert.deepEqual(["Enter", "blur", "Escape", "x"].map((leave) => after(" wide ", leave)), [[["wide"], "wide", false], [["wide"], "wide", false], [[], "tired", false], [[], " wide ", true]]);
  assert.deepEqual(after("tired", "Enter"), [[], "tired", false], "nothing changed");
});
