// What Compare shows and does, of two runs of unequal length whose numbers can be checked by hand.
import assert from "node:assert/strict";
import test from "node:test";
import { Compare } from "../../assets/js/compare.js";
import { drawHero, drawMatrix, specOf } from "../../assets/js/compare/drawn.js";
import { describe, diffOf, spanOf } from "../../assets/js/compare/rows.js";
import { drawWords } from "../../assets/js/compare/sentences.js";
import { SentencePair } from "../../assets/js/sentence_pair.js";
import { Headscope } from "../../assets/js/view.js";
import * as format from "../../assets/js/format.js";
import * as numbers from "../../assets/js/numbers.js";
import * as records from "../../assets/js/record.js";
import { column } from "./drawing.mjs";
import { onPage, withGlobals } from "./page.mjs";

// A: three tokens, B: two; one layer of two heads. `cat` stands in A only.
const A = [[[0.5, 0.3, 0.2], [0.1, 0.15, 0.75], [0.05, 0.9, 0.05]], [[0.2, 0.2, 0.6], [0.33, 0.33, 0.34], [0.7, 0.02, 0.28]]];
const B = [[[0.9, 0.1], [0.4, 0.6]], [[0.25, 0.75], [0.68, 0.32]]];
const PAIRS = [[0, 0], [1, null], [2, 1]];
const LATER = [[0, 0], [1, null], [null, 1], [2, null]]; // a word of B before the last one of A
const NO_MATRIX = { paint: {}, matrix: { draw() {} } };
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
  view.emitted = [];
  view.open([a, b, more.change], { pairs, titles: ["one", "two"], ...more });
  view.span = spanOf(view);
  return view;
}

test("what is aligned: columns of either side, those that both have, and which differ", () => {
  const view = viewOf();
  assert.deepEqual([view.columnOf, view.bothColumns, view.differs, view.both], [[[0, 1, 2], [0, 2]], [0, 2], [false, true, true], [[0, 0], [2, 1]]]);
  assert.deepEqual([0, 1, 2].map((at) => view.nameOf(at)), ["[CLS]", "cat", "it / She"]);
  assert.deepEqual([0, 1, 2].map((at) => view.onlyIn(at)), [null, 0, null]);
  assert.equal(viewOf({ pairs: LATER }).nameOf(2), "She");
  assert.equal(viewOf({ b: run("b", ["[CLS]", "IT"], B) }).nameOf(2), "it", "the same word in capitals is the same");
  const twice = { a: run("a", ["[CLS]", "it", "it"], A, { indexed: ["[CLS]", "it₁", "it₂"] }), b: run("b", ["She", "She"], B, { indexed: ["She₁", "She₂"] }) };
  assert.equal(viewOf(twice).nameOf(2), "it₂ / She₂", "of a word that stands there twice it is said which");
});

test("both sentences are written in the direction of their letters", () => {
  const dir = (names) => onPage(() => {
    const record = run("a", names, A);
    const duo = new SentencePair({});
    duo.fill(record, record, PAIRS.map((_, i) => [i, i]), [false, false, false]);
    return duo.words.dir;
  });
  assert.deepEqual([dir(["[CLS]", "שלום", "it"]), dir(["12", "it", "שלום"])], ["rtl", "ltr"]);
});

test("by the keyboard a word of B is changed, where B has it", () => {
  onPage(() => {
    const duo = new SentencePair({});
    duo.fill(run("a", ["[CLS]", "cat", "it"], A), run("b", ["[CLS]", "She"], B), PAIRS, [false, true, true]);
    const begun = [];
    duo.edit.begin = ([cell], typed) => begun.push([cell.getAttribute("data-at"), typed]);
    for (const [focus, key] of [[0, "F2"], [1, "F2"], [2, "F2"], [2, "x"]]) {
      duo.focus = focus;
      duo.key({ key, preventDefault() {} });
    }
    assert.deepEqual(begun, [["0 1", null], ["1 1", null], ["1 1", "x"]]);
  });
});

test("small pictures from the server are of the heads that both have, with their full colour at the span, like the legend", () => {
  // 127 steps are all of a weight: the largest change is 51 of them, 40.2 points, so the span is 50.
  const a = run("a", ["[CLS]", "cat", "it"], [...A, ...A], { layers: 2, heads: 2 });
  const view = viewOf({ a, b: run("b", ["[CLS]", "She"], [B[0], B[0]], { layers: 2, heads: 1 }), change: { side: 1, cells: Int8Array.of(25, -51) } });
  assert.equal(view.span, 0.5);
  assert.deepEqual([[0, 0], [1, 0]].map((head) => view.pictureOf(head)), [{ cells: Int8Array.of(25), side: 1, top: 63.5 }, { cells: Int8Array.of(-51), side: 1, top: 63.5 }]);
});

test("another pair of texts has its own differences, pictures and legend, which begins where B has more", () => {
  onPage(() => {
    const view = viewOf();
    const filled = [];
    Object.assign(view, { paint: { change: {} }, update() {} });
    view.duo.measure = () => {};
    Object.assign(view.sheet, { cells: [1], draw() {}, fill: (record, heads, describe) => filled.push(describe([0, 0])) });
    const drawn = () => {
      view.drawAll();
      return [view.legend.querySelectorAll("span").map((node) => node.textContent), filled.splice(0)];
    };
    const first = [["more in B, 60 points", "60 points, more in A"], ["Head 1-1: largest change “it / She” to “it / She”, −55 points"]];
    assert.deepEqual([drawn(), drawn()], [first, [first[0], []]], "what is the same pair is not drawn anew");
    assert.deepEqual([view.allTitle.textContent, view.overview.getAttribute("aria-label")], ["All heads, A − B", "All heads, A − B"]);
    const other = run("c", ["[CLS]", "She"], [[[0.6, 0.4], [0.25, 0.75]], B[1]]);
    view.open([{ ...view.records[0], id: "layers", per: "layer" }, view.records[1]], { pairs: PAIRS, titles: ["one", "two"] });
    assert.equal(drawn()[1][0].slice(0, 8), "Layer 1:");
    assert.deepEqual([view.allTitle.textContent, view.overview.getAttribute("aria-label")], ["All layers, A − B", "All layers, A − B"]);
    view.open([run("a", ["[CLS]", "cat", "it"], A), other], { pairs: PAIRS, titles: ["one", "two"] });
    assert.deepEqual(drawn(), [["more in B, 70 points", "70 points, more in A"], ["Head 1-1: largest change “it / She” to “it / She”, −70 points"]]);
  });
});

test("beside a word that both have, one of A alone has arcs but no part in the numbers that are compared", () => {
  const view = viewOf({ state: { pins: [1, 2] } });
  drawHero(view);
  const [shown] = view.drawn;
  assert.deepEqual([...new Set(shown.links[0].map((link) => link.from))], [2, 1]);
  assert.deepEqual([...shown.masses].map(([at, pair]) => [at, ...pair.map(tidy)]), [[0, 0.05, 0.4], [1, 0.9, null], [2, 0.05, 0.6]], "the row of “it”");
});

test("arcs come from what is under the pointer, else the pinned words; a target is asked for by a click", () => {
  const of = (state, hovered) => {
    const view = viewOf({ state, hovered });
    drawHero(view);
    const [{ from, to, pointed }] = view.drawn;
    return [from, to, pointed];
  };
  assert.deepEqual(of({}, {}), [[], null, null]);
  assert.deepEqual(of({}, { column: 1 }), [[1], null, 1]);
  assert.deepEqual(of({ pins: [2], to: 1 }, { column: 0 }), [[0], null, 0]);
  assert.deepEqual(of({ pins: [2], to: 1 }, { column: 2 }), [[2], 1, 2]);
  assert.deepEqual(of({ pins: [2], to: 1 }, {}), [[2], 1, null]);
  assert.deepEqual(of({ pins: [2], to: 1 }, { q: 0, k: 2 }), [[0], 2, 2]);
  assert.deepEqual(of({ pins: [2], to: 1 }, { q: 0 }), [[0], null, null]);
  const later = viewOf({ state: { pins: [0], to: 2 }, pairs: LATER });
  drawHero(later);
  assert.deepEqual([later.drawn[0].from, later.drawn[0].to], [[0], 3], "after a word of B alone a word of A stands one column on");
});

test("the matrix is of the words that both have, and marks what is chosen where both have it", () => {
  const spec = (state, hovered) => {
    const { rows, from, to, hovered: at, span } = specOf(viewOf({ state, hovered }));
    return { rows, from, to, at, span };
  };
  assert.deepEqual(spec({ pins: [1, 2], to: 1 }), { rows: ["[CLS]", "it / She"], from: [1], to: null, at: [null, null], span: 0.6 });
  assert.deepEqual(spec({ pins: [0] }, { q: 2, k: 1 }).at, [1, null]);
  assert.deepEqual([...specOf(viewOf()).values].map(tidy), [-0.4, 0.1, -0.35, -0.55]);
  assert.equal(specOf(viewOf()).describe(1, 0, -0.35), `it / She to [CLS]: ${format.points(-0.35)} points`);
});

test("the matrix is there where any word has a counterpart, in the colours of changes", () => {
  const drawn = (pairs) => {
    const view = Object.assign(viewOf({ pairs }), { paint: { ramp: "weights", change: { ramp: "changes" } }, matrix: { draw: (_, paint) => order.push(paint.ramp) } });
    const order = [];
    drawMatrix(view);
    return order;
  };
  assert.deepEqual(drawn(PAIRS), ["changes"]);
  assert.deepEqual(drawn([[0, null], [1, null], [2, null], [null, 0], [null, 1]]), []);
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

test("the sentence says to which word the change is largest, with both shares, and special tokens only where no word changes", () => {
  const { percent } = format;
  assert.equal(said({ pins: [2] }).line, `Head 1-1: from “it” to “it / She” ${percent(0.05)} in A, ${percent(0.6)} in B.`);
  assert.equal(said({ pins: [1] }).line, `Head 1-1: “cat” stands in A only. There it looks at “it” (${percent(0.75)}) and “cat” (${percent(0.15)}); B has no row to compare.`);
  const same = [[0.5, 0.3, 0.2], [0.1, 0.15, 0.75], [0.3, 0.3, 0.4]];
  const of = (last) => said({ pins: [2] }, { a: run("a", ["[CLS]", "cat", "it"], [same, A[1]]), b: run("b", ["[CLS]", "She"], [[B[0][0], last], B[1]]) }).line;
  assert.equal(of([0.6, 0.4]), `Head 1-1: from “it” to “[CLS]” ${percent(0.3)} in A, ${percent(0.6)} in B.`);
  assert.equal(of([0.3, 0.4]), "Head 1-1: nothing changes for “it”.");
  assert.equal(said({}).line, `Head 1-1: largest change “it / She” to “it / She”, ${format.points(-0.55)} points.`);
  assert.deepEqual([said({}).clear, said({ pins: [1] }).clear], [true, false]);
  assert.equal(said({}).rest, "1 word has no counterpart and is left out.");
  const both = said({ pins: [1, 2] }, { pairs: LATER }).line;
  assert.match(both, /“cat” and “it” stand in A only\. There they look on average at “cat” .* B has no rows to compare\.$/);
  for (const more of [{ layers: 2, heads: 2 }, { layers: 1, heads: 4 }])
    assert.match(said({}, { b: run("b", ["[CLS]", "She"], [...B, ...B], more) }).rest, / Only heads that both models have are shown\.$/);
  assert.deepEqual([said({}).hint === "", said({ pins: [2] }).hint], [false, ""]);
});

test("two sentences that are the same ask for a change instead of showing tables of nothing", () => {
  const view = viewOf({ ready: "Change one word." });
  assert.equal(said({ pins: [2] }, { ready: "Change one word." }).line, "Change one word.");
  assert.ok(view.root.classList.contains("alike"));
  assert.ok(!viewOf().root.classList.contains("alike"));
});

test("of a head of two long texts that is not here no numbers are told, and a file does not show the last one's instead", () => {
  const long = (id, names, weights) => {
    const made = run(id, names, weights, { packing: "none" });
    records.keepOpened(made, [0, 0], Float32Array.from(weights[0].flat()));
    return made;
  };
  const view = viewOf({ a: long("a", ["[CLS]", "cat", "it"], A), b: long("b", ["[CLS]", "She"], B), state: { pins: [2] }, change: { side: 1, cells: Int8Array.of(25, -51) } });
  Object.assign(view, NO_MATRIX, { line: { dataset: { said: "Head 1-2." } } });
  view.state.head = [0, 1];
  view.hover({ column: null, q: 0, k: 0 }, true);
  assert.equal(view.live.textContent, "", "nothing is read out");
  withGlobals({ headscope: { live: false } }, () => drawHero(view));
  const [{ links, masses }] = view.drawn;
  assert.deepEqual([links, masses.size], [[[], []], 0]);
  assert.deepEqual([[...specOf(view).values].some(Boolean), specOf(view).silent], [false, true]);
});

test("the heads of two long texts that come in full are each of the run they are said to be of", () => {
  const [a, b] = [run("a", ["[CLS]", "cat", "it"], A, { packing: "none" }), run("b", ["[CLS]", "She"], B, { packing: "none" })];
  const opened = [{ record: 1, head: [0, 1], column: "x" }, { record: 0, head: [0, 0], column: "y" }];
  onPage(() => new Headscope("")).receive([a, b], { opened, x: Float32Array.from(B[1].flat()), y: Float32Array.from(A[0].flat()) });
  const shown = (record, head) => Array.from(records.matrixOf(record, head) ?? [], (step) => tidy(step / numbers.STEPS));
  assert.deepEqual([shown(a, [0, 0]), shown(a, [0, 1]), shown(b, [0, 0]), shown(b, [0, 1])], [A[0].flat(), [], [], B[1].flat()]);
});

// ---- a decoder beside an encoder: A has no weights where a word comes later, B has
const SEEN = [[[1, 0, 0], [0.4, 0.6, 0], [0.05, 0.9, 0.05]], [[1, 0, 0], [0.5, 0.5, 0], [0.7, 0.02, 0.28]]];
const decoder = run("a", ["[CLS]", "cat", "it"], SEEN, { causal: true });
const mixed = (more = {}) => viewOf({ a: decoder, ...more });

test("where only one of both is a decoder, the difference leaves a triangle open", () => {
  const view = mixed();
  assert.deepEqual([...diffOf(view, [0, 0])].map(tidy), [0.1, 0, -0.35, -0.55]);
  assert.equal(specOf(view).absent(0, 1), true);
  assert.match(view.note.textContent, /hatched: comes later/);
  const second = viewOf({ b: run("b", ["[CLS]", "She"], B, { causal: true }) });
  assert.deepEqual([specOf(second).absent(0, 1), specOf(second).absent(1, 0), diffOf(second, [0, 0])[1]], [true, false, 0], "whichever side it is");
});

test("what one of both cannot see is said of that one alone", () => {
  const aloud = (view) => {
    Object.assign(view, NO_MATRIX).hover({ column: null, q: 0, k: 2 }, true);
    return view.live.textContent;
  };
  assert.equal(aloud(mixed()), `[CLS] looks at it / She: nothing in A, ${format.percent(0.1)} in B`);
  assert.equal(aloud(mixed({ b: run("b", ["[CLS]", "She"], [[[1, 0], [0.4, 0.6]], [[1, 0], [0.68, 0.32]]], { causal: true }) })), "[CLS] cannot see it / She: it comes later");
  assert.equal(said({ pins: [0] }, { a: decoder }).line, `Head 1-1: from “[CLS]” to “[CLS]” ${format.percent(1)} in A, ${format.percent(0.9)} in B.`, "nothing between a weight and none");
});

// ---- what a click does
test("a click pins a word of A, a second one asks for a link, a cell asks for both; a word that only B has does nothing", () => {
  const view = viewOf({ pairs: LATER });
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
  assert.deepEqual([after(0, false, true, 1), after(0, true)], [[[0], 1], [[], null]], "with the last word its target goes too");
  assert.deepEqual(view.emitted.at(-1), { head: [0, 0], pins: [], to: null });
});

test("a cell of the matrix is told as the columns of its words", () => {
  const told = [];
  const view = Object.assign(viewOf(), { hover: (...given) => told.push(given), choose: (...given) => told.push(given) });
  const { cell, choose } = view.matrix.actions;
  cell(1, 0, true);
  cell(null, null, false);
  choose(1, false, "query", 0);
  choose(0, true, "query");
  assert.deepEqual(told, [[{ column: null, q: 2, k: 0 }, true], [{ column: null, q: null, k: null }, false], [2, false, true, 0], [0, true, true, null]]);
});

test("what a link asks for is taken where both texts have it", () => {
  const view = viewOf();
  const after = (selection) => {
    view.move({ head: [0, 0], pins: [], to: null, ...selection });
    return [view.state.head, view.state.pins, view.state.to];
  };
  assert.deepEqual(after({ head: [4, 1], pins: [0, 2, 3, -1], to: 2 }), [[0, 1], [0, 2], 2]);
  assert.deepEqual(after({ pins: [1], to: 3, look: { tab: "lines" } }), [[0, 0], [1], null]);
  assert.deepEqual(after({ pins: [], to: 1 }), [[0, 0], [], null]);
});

test("a head that only one of both models has is not chosen", () => {
  const chosen = (ours, theirs, head) => {
    const [a, b] = [[ours, ["[CLS]", "cat", "it"], A], [theirs, ["[CLS]", "She"], B]].map(([[layers, heads], names, weights], i) => run("ab"[i], names, Array.from({ length: layers * heads }, () => weights[0]), { layers, heads }));
    const view = viewOf({ a, b });
    view.move({ head, pins: [], to: null });
    return view.state.head;
  };
  assert.deepEqual([chosen([2, 2], [1, 2], [1, 1]), chosen([2, 2], [2, 1], [1, 1]), chosen([1, 2], [2, 2], [1, 1]), chosen([2, 1], [2, 2], [1, 1])], [[0, 1], [1, 0], [0, 1], [1, 0]]);
});

test("heads are said to share keys, and stand in groups, where those of both models do in groups of one size", () => {
  const four = (sharing) => run("a", ["[CLS]", "cat", "it"], [...A, ...A], { heads: 4, sharing });
  const other = (sharing) => run("b", ["[CLS]", "She"], [...B, ...B], { heads: 4, sharing });
  const heard = (ours, theirs) => {
    const view = viewOf({ a: four(ours), b: other(theirs) });
    onPage(() => view.sheet.fill(view.common, records.allHeads(view.common), (head) => describe(view, head)));
    return view.sheet.cells.map((cell) => cell.getAttribute("aria-label").split(", keys ")[1] ?? "");
  };
  const none = ["", "", "", ""];
  const pairwise = ["1 with 1-2", "1 with 1-1", "2 with 1-4", "2 with 1-3"];
  assert.deepEqual([heard(2, 2), heard(2, 1), heard(1, 2), heard(2, 4), heard(4, 2), heard(1, 1)], [pairwise, none, none, none, none, none]);
});

test("two pictures are complete once the numbers of both are in the browser", () => {
  const small = { packing: "small", side: 1, weights: column(new Uint8Array(2)) }, change = { side: 1, cells: new Int8Array(2) };
  const complete = (ours, theirs) => viewOf({ a: run("a", ["[CLS]", "cat", "it"], A, ours), b: run("b", ["[CLS]", "She"], B, theirs), change }).complete;
  assert.deepEqual([complete({}, {}), complete(small, {}), complete({}, small)], [true, false, false]);
});
