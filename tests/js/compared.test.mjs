// What Compare shows and does, of two runs of unequal length whose numbers can be checked by hand.
import assert from "node:assert/strict";
import test from "node:test";
import { Compare } from "../../assets/js/compare.js";
import { drawHero, drawMatrices, sidesDrawn, specOf } from "../../assets/js/compare/drawn.js";
import { describe, diffOf, rankingNow, rowsFor, spanOf } from "../../assets/js/compare/rows.js";
import { drawRanking, drawWords, tableNow } from "../../assets/js/compare/said.js";
import { column, numbers, record as records, words } from "./drawing.mjs";
import { onPage } from "./page.mjs";

// A: three tokens, B: two; one layer of two heads. `cat` stands in A only.
const A = [[[0.5, 0.3, 0.2], [0.1, 0.15, 0.75], [0.05, 0.9, 0.05]], [[0.2, 0.2, 0.6], [0.33, 0.33, 0.34], [0.7, 0.02, 0.28]]];
const B = [[[0.9, 0.1], [0.4, 0.6]], [[0.25, 0.75], [0.68, 0.32]]];
const PAIRS = [[0, 0], [1, null], [2, 1]];
const tidy = (value) => (typeof value === "number" ? Number(value.toFixed(4)) : value);

const run = (id, names, weights, more = {}) => records.openRecord({
  id, names, specials: names.map((name) => name === "[CLS]"), segments: names.map(() => 0), before: names.map((_, i) => (i ? " " : "")), layers: 1, heads: 2,
  packing: "full", weights: column(numbers.quantise(weights.flat(2))), ...more,
});

function viewOf({ state = {}, hovered = {}, a = run("a", ["[CLS]", "cat", "it"], A), b = run("b", ["[CLS]", "She"], B), pairs = PAIRS, ...more } = {}) {
  const view = onPage((root) => new Compare(root, (chosen) => view.emitted.push(chosen)));
  Object.assign(view.state, state);
  Object.assign(view.hovered, hovered);
  Object.assign(view.duo, { fill() {}, offer() {}, width: 400, draw: (...given) => (view.drawn = given) });
  Object.assign(view.ranking, { fill() {}, draw: (given) => (view.ranked = given) });
  view.emitted = [];
  view.open([a, b, more.change], { pairs, titles: ["one", "two"], ...more });
  view.span = spanOf(view);
  view.shownValues = [...view.records.map((record) => numbers.dequantise(records.matrixOf(record, view.state.head))), diffOf(view, view.state.head)];
  return view;
}

test("what is aligned: columns of either side, those that both have, and which differ", () => {
  const view = viewOf();
  assert.deepEqual([view.columnOf, view.bothColumns, view.differs, view.both], [[[0, 1, 2], [0, 2]], [0, 2], [false, true, true], [[0, 0], [2, 1]]]);
  assert.deepEqual([0, 1, 2].map((at) => view.nameOf(at)), ["[CLS]", "cat", "it / She"]);
  assert.deepEqual([0, 1, 2].map((at) => view.onlyIn(at)), [null, 0, null]);
  assert.equal(viewOf({ pairs: [[0, 0], [1, null], [null, 1], [2, null]] }).nameOf(2), "She");
  assert.equal(viewOf({ b: run("b", ["[CLS]", "IT"], B) }).nameOf(2), "it", "the same word in capitals is the same");
});

test("A minus B over the words that both have, and the span is the largest change of any head, rounded up", () => {
  const view = viewOf();
  assert.deepEqual([...diffOf(view, [0, 0])].map(tidy), [-0.4, 0.1, -0.35, -0.55]);
  assert.deepEqual([...diffOf(view, [0, 1])].map(tidy), [-0.05, -0.15, 0.02, -0.04]);
  assert.equal(view.span, 0.6);
  assert.equal(describe(view, [0, 0]), "Head 1-1: largest change “it / She” to “it / She”, −55.0 points");
  assert.equal(describe(view, [0, 1]), "Head 1-2: largest change “[CLS]” to “it / She”, −15.0 points");
  assert.match(describe(viewOf({ pairs: [[0, null], [1, null], [2, null], [null, 0], [null, 1]] }), [0, 0]), /no word of A has a counterpart in B$/);
});

test("the rows of a word in A and in B stand over the same columns", () => {
  const rows = (columns) => rowsFor(viewOf(), columns).map((row) => [...row].map(tidy));
  assert.deepEqual(rows([2]), [[0.05, 0.9, 0.05], [0.4, 0, 0.6]]);
  assert.deepEqual(rows([0, 2]), [[0.275, 0.6, 0.125], [0.65, 0, 0.35]]);
  assert.deepEqual(rows([1]), [[0.1, 0.15, 0.75], [0, 0, 0]]);
});

const rankedBy = (state, more) => rankingNow(viewOf({ state, ...more }))?.map((e) => [words.headName([e.layer, e.head]), e.column, tidy(e.a), tidy(e.b), tidy(e.weight)]);

test("heads are ranked by how much of a word's attention moved, or by how one link changed", () => {
  // Half of all that differs: |−0.35| + 0.9 + |−0.55| and 0.02 + 0.02 + |−0.04|.
  assert.deepEqual(rankedBy({ pins: [2] }), [["1-1", 1, 0.9, 0, 0.9], ["1-2", 2, 0.28, 0.32, 0.04]]);
  assert.deepEqual(rankedBy({ pins: [2], to: 0 }), [["1-1", 0, 0.05, 0.4, 0.35], ["1-2", 0, 0.7, 0.68, 0.02]]);
  assert.deepEqual(rankedBy({ pins: [2], to: 1 }), [["1-1", 1, 0.9, 0, 0.9], ["1-2", 1, 0.02, 0, 0.02]]);
  assert.equal(rankedBy({}), undefined);
  assert.equal(rankedBy({ pins: [1] }), undefined, "a word of A alone has no row of B");
});

test("two long texts are ranked by what the server said of these words and this target, and of no others", () => {
  const long = { packing: "small", side: 1, weights: column(new Uint8Array(2)) };
  const more = { a: run("a", ["[CLS]", "cat", "it"], A, long), b: run("b", ["[CLS]", "She"], B, long) };
  const moves = (pins, to) => ({ pins, to, cells: Uint16Array.of(65535, 1, 52428, 0, 6553, 2, 13107, 19660) });
  const of = (state, told) => {
    const view = Object.assign(viewOf({ state: {}, a: run("a", ["[CLS]", "cat", "it"], A), b: run("b", ["[CLS]", "She"], B) }), { records: [more.a, more.b], moves: told });
    Object.assign(view.state, state);
    return rankingNow(view)?.map((e) => [words.headName([e.layer, e.head]), e.column, tidy(e.a), tidy(e.b), tidy(e.weight)]);
  };
  assert.deepEqual(of({ pins: [2] }, moves([2], null)), [["1-1", 1, 0.8, 0, 1], ["1-2", 2, 0.2, 0.3, 0.1]]);
  assert.deepEqual(of({ pins: [2], to: 0 }, moves([2], 0)).map(([name, at, , , weight]) => [name, at, weight]), [["1-1", 0, 0.8], ["1-2", 0, 0.1]]);
  for (const [state, told] of [[{ pins: [2] }, moves([0], null)], [{ pins: [2], to: 0 }, moves([2], null)], [{ pins: [2] }, null]]) assert.equal(of(state, told), undefined);
});

test("both rows of the pinned word are drawn as arcs, with both percentages where either is seen", () => {
  const view = viewOf({ state: { pins: [2] } });
  drawHero(view);
  const [shown] = view.drawn;
  assert.deepEqual(shown.links.map((side) => side.map(({ from, to, weight }) => [from, to, tidy(weight)])), [[[2, 1, 0.9], [2, 0, 0.05], [2, 2, 0.05]], [[2, 2, 0.6], [2, 0, 0.4]]]);
  assert.deepEqual([...shown.masses].map(([at, pair]) => [at, ...pair.map(tidy)]), [[0, 0.05, 0.4], [1, 0.9, null], [2, 0.05, 0.6]], "B has no such word");
  assert.deepEqual([shown.from, shown.to, shown.pointed], [[2], null, null]);
});

test("arcs come from the row under the pointer, else the pinned words, else the column under it; a target is asked for by click or pointer", () => {
  const of = (state, hovered) => {
    const view = viewOf({ state, hovered });
    drawHero(view);
    const [{ from, to, pointed }] = view.drawn;
    return [from, to, pointed];
  };
  assert.deepEqual(of({}, {}), [[], null, null]);
  assert.deepEqual(of({}, { column: 1 }), [[1], null, 1]);
  assert.deepEqual(of({ pins: [2] }, { column: 0 }), [[2], 0, 0]);
  assert.deepEqual(of({ pins: [2], to: 1 }, { column: 2 }), [[2], 1, 2]);
  assert.deepEqual(of({ pins: [2], to: 1 }, {}), [[2], 1, null]);
  assert.deepEqual(of({ pins: [2], to: 1 }, { q: 0, k: 2 }), [[0], 2, 2]);
  assert.deepEqual(of({ pins: [2], to: 1 }, { q: 0 }), [[0], null, null]);
});

test("each matrix has its own words, its own numbers, and marks what is chosen where it has it", () => {
  const spec = (side, state, hovered) => {
    const { rows, from, to, hovered: at, signed, span } = specOf(viewOf({ state, hovered }), side);
    return { rows, from, to, at, signed, span };
  };
  const chosen = { pins: [1, 2], to: 1 };
  assert.deepEqual(spec(0, chosen), { rows: ["[CLS]", "cat", "it"], from: [1, 2], to: 1, at: [null, null], signed: false, span: 0.6 });
  assert.deepEqual(spec(1, chosen), { rows: ["[CLS]", "She"], from: [1], to: null, at: [null, null], signed: false, span: 0.6 });
  assert.deepEqual(spec(2, chosen), { rows: ["[CLS]", "it / She"], from: [1], to: null, at: [null, null], signed: true, span: 0.6 });
  assert.deepEqual([0, 1, 2].map((side) => spec(side, {}, { column: 2 }).at), [[2, null], [1, null], [1, null]]);
  assert.deepEqual([0, 1, 2].map((side) => spec(side, { pins: [0] }, { column: 2 }).at), [[null, 2], [null, 1], [null, 1]]);
  assert.deepEqual([0, 1, 2].map((side) => spec(side, { pins: [0] }, { q: 2, k: 1 }).at), [[2, 1], [1, null], [1, null]]);
  const values = [0, 1, 2].map((side) => [...specOf(viewOf(), side).values].map(tidy));
  assert.deepEqual(values, [A[0].flat(), B[0].flat(), [-0.4, 0.1, -0.35, -0.55]]);
  assert.equal(specOf(viewOf(), 2).describe(1, 0, -0.35), "it / She to [CLS]: −35.0 points");
  assert.equal(specOf(viewOf(), 0).describe, null);
});

test("the third matrix is there where any word has a counterpart, in the colours of changes", () => {
  const drawn = (pairs) => {
    const view = Object.assign(viewOf({ pairs }), { paint: { ramp: "weights", change: { ramp: "changes" } }, matrices: [0, 1, 2].map((side) => ({ draw: (_, paint) => order.push([side, paint.ramp]) })) });
    const order = [];
    drawMatrices(view);
    return [sidesDrawn(view), order];
  };
  assert.deepEqual(drawn(PAIRS), [[0, 1, 2], [[0, "weights"], [1, "weights"], [2, "changes"]]]);
  assert.deepEqual(drawn([[0, null], [1, null], [2, null], [null, 0], [null, 1]])[0], [0, 1]);
});

// ---- what is said
function said(state, more = {}) {
  return onPage(() => {
    const view = viewOf({ state, ...more });
    for (const name of ["line", "live", "hint", "clear", "previewed"]) view[name] = document.createElement("p");
    drawWords(view);
    return { line: view.line.dataset.said, hint: view.hint.textContent, clear: view.clear.hidden, rest: view.rest };
  });
}

test("the sentence says what the pinned word looks at in A and in B, the largest change first", () => {
  assert.equal(said({ pins: [2] }).line, "Head 1-1: “it” looks at “it / She” (5.0 % in A, 60.0 % in B, −55.0 points) and “[CLS]” (5.0 % in A, 40.0 % in B, −35.0 points).");
  assert.equal(said({ pins: [1] }).line, "Head 1-1: “cat” stands in A only. There it looks at “it” (75.0 %) and “cat” (15.0 %); B has no row to compare.");
  const faint = (change) => said({ pins: [2] }, { a: run("a", ["[CLS]", "cat", "it"], [[A[0][0], A[0][1], [0.6, 0.01 - change, 0.39 + change]], A[1]]), b: run("b", ["[CLS]", "She"], [[B[0][0], [0.6, 0.4]], B[1]]) }).line;
  assert.match(faint(0.0088), /“it \/ She” \(39\.9 % in A, 40\.0 % in B/, "a change from a tenth of a point on");
  assert.ok(!faint(0.0096).includes("“it / She” ("), faint(0.0096));
  const alone = (share) => said({ pins: [1] }, { a: run("a", ["[CLS]", "cat", "it"], [[A[0][0], [1 - share, 0, share], A[0][2]], A[1]]) }).line;
  assert.match(alone(0.0101), /“\[CLS\]” \(99\.0 %\) and “it” \(1\.0 %\)/);
  assert.match(alone(0.0099), /looks at “\[CLS\]” \(99\.0 %\);/);
  assert.equal(said({}).line, "Head 1-1: largest change “it / She” to “it / She”, −55.0 points.");
  assert.deepEqual([said({}).clear, said({ pins: [1] }).clear], [true, false]);
  assert.equal(said({}).rest, "2 of 3 tokens aligned. 1 word has no counterpart and is left out.");
  assert.match(said({}, { pairs: [[0, 0], [1, null], [2, null], [null, 1]] }).rest, /^1 of 4 tokens aligned\. 3 words have no counterpart and are left out\./);
  assert.match(said({ pins: [2] }).hint, /^Click a second word/);
  assert.equal(said({ pins: [2], to: 0 }).hint, "");
});

test("the ranking says of every head what changed most, in A and in B, and its sign", () => {
  const drawn = (state) => {
    const view = viewOf({ state });
    drawRanking(view);
    const { title, entries, hint } = view.ranked;
    return { title, entries: entries?.map(({ layer, head, note, text, kind }) => [words.headName([layer, head]), note, text, kind]), hint };
  };
  const moved = drawn({ pins: [2] });
  assert.deepEqual([moved.title, moved.entries], ["Heads that changed most for “it”", [["1-1", "cat 90.0 %, only in A", "90.0 %", ""], ["1-2", "it / She 28.0 → 32.0 %", "4.0 %", ""]]]);
  const link = drawn({ pins: [2], to: 0 });
  assert.deepEqual([link.title, link.entries], ["“it” to “[CLS]”, A and B", [["1-1", "5.0 → 40.0 %", "−35.0", "less"], ["1-2", "70.0 → 68.0 %", "+2.0", "more"]]]);
  assert.equal(drawn({}).title, "Which heads changed?");
  const alone = drawn({ pins: [1] });
  assert.deepEqual([alone.entries, alone.hint], [undefined, "“cat” stands in A only: there is no row of B to compare it with. Choose a word that both have."]);
});

test("the table has a line a column: in A, in B, and their difference where both have it", () => {
  const cells = (state) => {
    const view = Object.assign(viewOf({ state }), { line: { dataset: { said: "so" } } });
    return tableNow(view).rows.map((row) => row.map(tidy));
  };
  assert.deepEqual(cells({ pins: [2] }), [["[CLS]", 0.05, 0.4, -0.35], ["cat", 0.9, "not in B", ""], ["it / She", 0.05, 0.6, -0.55]]);
  assert.deepEqual(cells({ pins: [1] }), [["[CLS]", 0.1, "not in B", ""], ["cat", 0.15, "not in B", ""], ["it / She", 0.75, "not in B", ""]]);
  assert.deepEqual(cells({}), []);
});

// ---- what a click does
test("a click pins a word of A, a second one asks for a link, a cell asks for both; a word that only B has does nothing", () => {
  const view = viewOf({ pairs: [[0, 0], [1, null], [null, 1], [2, null]] });
  view.update = () => {};
  const after = (...given) => {
    view.choose(...given);
    return [view.state.pins, view.state.to];
  };
  assert.deepEqual(after(3, false), [[2], null]);
  assert.deepEqual(after(2, false), [[2], null], "B alone");
  assert.deepEqual(after(1, false), [[2], 1]);
  assert.deepEqual(after(1, false), [[2], null]);
  assert.deepEqual(after(0, true), [[0, 2], null]);
  assert.deepEqual(after(3, true), [[0], null]);
  assert.deepEqual(after(0, false), [[], null]);
  assert.deepEqual(after(3, false, true, 1), [[2], 1]);
  assert.deepEqual(after(3, false, true, 1), [[], null]);
  assert.deepEqual([after(1, false), after(0, false, true)], [[[1], null], [[0], null]], "a row begins anew");
});

test("Escape takes back what is chosen, and nothing else is told", () => {
  const press = (state, key) => {
    const view = viewOf({ state });
    const chosen = [];
    view.select = (change) => chosen.push(change);
    view.root.onkeydown({ key });
    return chosen;
  };
  assert.deepEqual([press({ pins: [2] }, "Escape"), press({ pins: [], to: 1 }, "Escape"), press({}, "Escape"), press({ pins: [2] }, "a")], [[{ pins: [], to: null }], [{ pins: [], to: null }], [], []]);
});

test("what a link asks for is taken where both texts have it", () => {
  const view = viewOf();
  const after = (selection) => {
    view.move({ head: [0, 0], pins: [], to: null, ...selection });
    return [view.state.head, view.state.pins, view.state.to, view.state.panel];
  };
  assert.deepEqual(after({ head: [4, 1], pins: [0, 2, 3, -1], to: 2, look: { tab: "table" } }), [[0, 1], [0, 2], 2, "table"]);
  assert.deepEqual(after({ pins: [1], to: 3, look: { tab: "lines" } }), [[0, 0], [1], null, "matrix"]);
  assert.deepEqual(after({ pins: [], to: 1 }), [[0, 0], [], null, "matrix"]);
  assert.deepEqual([view.look(), Object.assign(view, { state: { ...view.state, panel: "table" } }).look()], [{}, { tab: "table" }]);
});
