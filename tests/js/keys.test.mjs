// What the keys do in each part of the picture: where they lead, what they choose, and which part Tab comes back to.
import assert from "node:assert/strict";
import test from "node:test";
import { Duo } from "../../assets/js/duo.js";
import { hull } from "../../assets/js/head_map.js";
import { Matrix } from "../../assets/js/matrix.js";
import { Ranking } from "../../assets/js/ranking.js";
import { Sentence } from "../../assets/js/sentence.js";
import { pickable } from "../../assets/js/tiles/cells.js";
import { focusOn } from "../../assets/js/tiles/choosing.js";
import { types } from "../../assets/js/word_edit.js";
import { onPage } from "./page.mjs";

// A key, and whether the page may still do with it what it would.
function press(key, more = {}) {
  const event = { key, prevented: false, stopped: false, preventDefault: () => (event.prevented = true), stopPropagation: () => (event.stopped = true), ...more };
  return event;
}

// Nodes that only know who has the focus, and who gets it by Tab.
function row(count, classes = []) {
  const nodes = Array.from({ length: count }, (_, i) => ({
    tabIndex: i ? -1 : 0, focused: false, classList: { contains: (name) => name === classes[i] },
    focus() { for (const other of nodes) other.focused = other === this; },
  }));
  return nodes;
}
const focused = (nodes) => nodes.findIndex((node) => node.focused);
const stops = (nodes) => nodes.flatMap((node, i) => (node.tabIndex === 0 ? [i] : []));

test("in the sentence arrows go from word to word and stop at its ends, and Tab comes back to the last one", () => {
  const units = row(3);
  const words = Object.assign(Object.create(Sentence.prototype), { units, focus: 0, root: {}, actions: {} });
  const after = (key) => {
    const event = press(key);
    words.key(event);
    return [focused(units), stops(units), event.prevented];
  };
  assert.deepEqual(after("ArrowRight"), [1, [1], true]);
  assert.deepEqual(after("ArrowRight"), [2, [2], true]);
  assert.deepEqual(after("ArrowRight"), [2, [2], true]);
  assert.deepEqual(after("ArrowLeft"), [1, [1], true]);
  assert.deepEqual([after("ArrowLeft"), after("ArrowLeft")], [[0, [0], true], [0, [0], true]]);
  assert.deepEqual(after("Tab"), [0, [0], false]);
});

test("on a word Enter and the space bar choose it, Shift adds it, and letters, F2 and Enter on a chosen one change it", () => {
  const asked = [];
  const words = Object.assign(Object.create(Sentence.prototype), {
    units: row(3), pins: [1], focus: 0, root: { closest: () => null },
    actions: { choose: (...given) => asked.push(given) }, editAt: (unit, typed = null) => asked.push(["edit", words.units.indexOf(unit), typed]),
  });
  const after = (at, key, more) => {
    words.focus = at;
    const event = press(key, more);
    words.key(event);
    return [...asked.splice(0), event.prevented && event.stopped];
  };
  assert.deepEqual(after(0, "Enter", { shiftKey: false }), [[0, false], true]);
  assert.deepEqual(after(2, " ", { shiftKey: false }), [[2, false], true]);
  assert.deepEqual(after(2, "Enter", { shiftKey: true }), [[2, true], true]);
  assert.deepEqual(after(1, "Enter", { shiftKey: false }), [["edit", 1, null], true]);
  assert.deepEqual(after(1, "Enter", { shiftKey: true }), [[1, true], true]);
  assert.deepEqual(after(2, "F2"), [["edit", 2, null], true]);
  assert.deepEqual(after(2, "x"), [["edit", 2, "x"], true]);
  assert.deepEqual(after(2, "c", { ctrlKey: true }), [false]);
  assert.deepEqual(after(2, "Escape"), [false]);
});

test("what is pressed with Control, Alt or the command key types nothing", () => {
  for (const key of ["a", "ä", "7", "."]) assert.ok(types({ key }), key);
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) assert.ok(!types({ key: "a", ...more }));
  for (const key of [" ", "Enter", "F5", "Shift"]) assert.ok(!types({ key }), key);
});

test("in two sentences arrows go from column to column, Enter and the space bar choose, letters change the word of B", () => {
  const asked = [];
  const columns = row(3);
  const both = Object.assign(Object.create(Duo.prototype), {
    columns, focus: 0, actions: { choose: (...given) => asked.push(given) },
    units: [["a0", "a1", null], ["b0", null, "b1"]], editAt: (cell, typed) => asked.push([cell, typed]),
  });
  const after = (key, more = {}) => {
    const event = press(key, { shiftKey: false, ...more });
    both.key(event);
    return [...asked.splice(0), both.focus, event.prevented];
  };
  assert.deepEqual([after("ArrowRight"), focused(columns), stops(columns)], [[1, true], 1, [1]]);
  assert.deepEqual(after("Enter"), [[1, false], 1, true]);
  assert.deepEqual(after(" ", { shiftKey: true }), [[1, true], 1, true]);
  assert.deepEqual(after("F2"), [["a1", null], 1, true]);
  assert.deepEqual([after("ArrowRight"), after("ArrowRight"), stops(columns)], [[2, true], [2, true], [2]]);
  assert.deepEqual(after("x"), [["b1", "x"], 2, true]);
  assert.deepEqual(after("s"), [2, false], "S saves");
  assert.deepEqual([after("ArrowLeft"), after("ArrowLeft"), after("ArrowLeft")], [[1, true], [0, true], [0, true]]);
  assert.deepEqual(after("x"), [["b0", "x"], 0, true]);
});

test("in the matrix arrows go from cell to cell from the row that is chosen, and stop at its edges", () => {
  const asked = [];
  const view = Object.assign(Object.create(Matrix.prototype), { cursor: null, spec: { from: [1], rows: [0, 1, 2], columns: [0, 1] }, actions: { cell: (...given) => asked.push(given), choose: (...given) => asked.push(["choose", ...given]) } });
  const after = (key, more = {}) => {
    const event = press(key, { shiftKey: false, ...more });
    view.key(event);
    return [...asked.splice(0), event.prevented];
  };
  assert.deepEqual(after("Enter"), [false], "nothing to choose yet");
  assert.deepEqual(after("ArrowRight"), [[1, 0, true], true]);
  assert.deepEqual(after("ArrowRight"), [[1, 1, true], true]);
  assert.deepEqual(after("ArrowRight"), [[1, 1, true], true]);
  assert.deepEqual([after("ArrowDown"), after("ArrowDown")], [[[2, 1, true], true], [[2, 1, true], true]]);
  assert.deepEqual(after("Enter"), [["choose", 2, false, "query", 1], true]);
  assert.deepEqual([after("ArrowUp"), after("ArrowUp"), after("ArrowUp")], [[[1, 1, true], true], [[0, 1, true], true], [[0, 1, true], true]]);
  assert.deepEqual([after("ArrowLeft"), after("ArrowLeft")], [[[0, 0, true], true], [[0, 0, true], true]]);
  assert.deepEqual(after(" ", { shiftKey: true }), [["choose", 0, true, "query", 0], true]);
  assert.deepEqual(after("a"), [false]);
});

test("the ranked heads are one stop of Tab, and arrows, Home and End go on inside", () => {
  const rows = row(3);
  const list = Object.assign(Object.create(Ranking.prototype), { list: { querySelectorAll: () => rows } });
  const after = (at, key) => {
    const event = press(key, { target: rows[at] });
    list.key(event);
    return [focused(rows), stops(rows), event.prevented];
  };
  assert.deepEqual(after(0, "ArrowUp"), [-1, [0], false]);
  assert.deepEqual(after(0, "ArrowDown"), [1, [1], true]);
  assert.deepEqual(after(1, "End"), [2, [2], true]);
  assert.deepEqual(after(2, "ArrowDown"), [2, [2], false]);
  assert.deepEqual(after(2, "ArrowUp"), [1, [1], true]);
  assert.deepEqual(after(1, "Home"), [0, [0], true]);
  assert.deepEqual(after(0, "x"), [0, [0], false]);
});

test("in a matrix of numbers arrows move a cursor within its edges, and Enter chooses where it is", () => {
  onPage(() => {
    const told = [];
    const heard = {};
    const place = Object.assign(document.createElement("div"), { addEventListener: (kind, act) => (heard[kind] = act) });
    const board = { cell: ["m", 1, 2], component: { setTriggerValue: (...given) => told.push(given) } };
    const marked = [];
    pickable(board, { id: "m", name: "Weights", shape: [2, 3] }, place, { at: () => [0, 1], said: ([i, j]) => `row ${i}, column ${j}`, moved: () => {}, mark: (cell) => marked.push(cell.join()) });
    const after = (key, more) => {
      const event = press(key, more);
      heard.keydown(event);
      return [marked.at(-1), event.prevented && event.stopped];
    };
    assert.deepEqual(marked, ["1,2"], "the one chosen is marked at once");
    assert.deepEqual([after("ArrowRight"), after("ArrowDown"), after("ArrowLeft")], [["1,2", true], ["1,2", true], ["1,1", true]]);
    assert.equal(place.querySelector(".aloud").textContent, "row 1, column 1");
    for (const more of [{ altKey: true }, { ctrlKey: true }, { metaKey: true }]) assert.deepEqual(after("ArrowUp", more), ["1,1", false]);
    assert.deepEqual([after("ArrowUp"), after("ArrowUp")], [["0,1", true], ["0,1", true]]);
    assert.deepEqual([after("Enter"), after("Escape")], [["0,1", true], ["0,1", false]]);
    assert.deepEqual(told, [["cell", ["m", 0, 1]]]);
    heard.click({});
    assert.deepEqual(told.at(-1), ["cell", ["m", 0, 1]]);
    assert.match(place.getAttribute("aria-label"), /^Weights, 2 by 3 numbers\./);
    assert.equal(place.tabIndex, 0);
  });
});

test("of things to choose from only the one with the focus is a stop of Tab", () => {
  const targets = Array.from({ length: 3 }, () => ({ at: null, setAttribute(name, value) { this.at = `${name}=${value}`; }, focus() { this.focused = true; } }));
  focusOn(targets, 1);
  assert.deepEqual(targets.map(({ at, focused: has }) => [at, Boolean(has)]), [["tabindex=-1", false], ["tabindex=0", true], ["tabindex=-1", false]]);
});

test("points above one another have an outline, too", () => {
  assert.deepEqual(hull([[0, 1], [0, 0], [0, 0.5], [1, 0.2], [1, 0]]).map(String), ["0,0", "1,0", "1,0.2", "0,1"]);
});
