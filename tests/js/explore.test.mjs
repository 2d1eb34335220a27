// What Explore shows and does, of two layers of two heads over three tokens whose numbers can be checked by hand.
import assert from "node:assert/strict";
import test from "node:test";
import { Explore } from "../../assets/js/explore.js";
import { describe, drawRanking, fillSheet } from "../../assets/js/explore/heads.js";
import { drawUsual, drawWords, sentenceShown } from "../../assets/js/explore/captions.js";
import { matrixSpec, shownLinks } from "../../assets/js/explore/view_model.js";
import { Ranking } from "../../assets/js/ranking.js";
import * as numbers from "../../assets/js/numbers.js";
import * as records from "../../assets/js/record.js";
import * as words from "../../assets/js/words.js";
import { WEIGHTS, column, opened } from "./drawing.mjs";
import { onPage, texts, withGlobals } from "./page.mjs";

const tidy = (value) => Number(value.toFixed(4));

// A view without a page, with a head and with what is chosen in it.
function viewOf({ state = {}, hovered = {}, record = opened(), ...more } = {}) {
  const view = onPage((root) => new Explore(root, () => {}));
  Object.assign(view.state, state);
  Object.assign(view.hovered, hovered);
  Object.assign(view, { record, tween: 1, present: false, line: { textContent: "said" }, ...more });
  view.headNow = view.state.head;
  view.matrixNow = records.matrixOf(record, view.state.head);
  return view;
}
const told = (links) => links.map(({ from, to, weight }) => [from, to, tidy(weight)]);

test("what was asked for comes first, also below the threshold, and the others step back", () => {
  const shown = shownLinks(viewOf({ state: { pins: [1, 2], to: 0, least: 0.5 } }));
  assert.deepEqual(told(shown.links), [[1, 0, 0.1], [2, 0, 0.05], [2, 1, 0.9], [1, 2, 0.75]]);
  assert.deepEqual([shown.to, shown.asked, tidy(shown.exact.get(0))], [0, 0, 0.075]);
});

test("a word or a cell under the pointer shows its own row, and a pinned word keeps its target", () => {
  const shown = shownLinks(viewOf({ state: { pins: [2], to: 0, least: 0.5 }, hovered: { unit: 1 } }));
  assert.deepEqual([shown.from, shown.to, shown.asked, shown.pointed], [[1], null, null, 1]);
  const own = shownLinks(viewOf({ state: { pins: [2], to: 1 }, hovered: { unit: 2 } }));
  assert.deepEqual([own.to, own.asked], [1, 1], "a pinned word is not its own target");
  const cell = shownLinks(viewOf({ state: { pins: [2], to: 0 }, hovered: { q: 1, k: 2 } }));
  assert.deepEqual([cell.from, cell.to, cell.asked, tidy(cell.exact.get(2))], [[1], 2, null, 0.75]);
  assert.equal(shownLinks(viewOf({ state: { pins: [2], to: 0 }, hovered: { q: 1 } })).to, null);
});

test("without a pinned word the strongest links between two words are drawn, none of special tokens", () => {
  const of = (state, more) => told(shownLinks(viewOf({ state, ...more })).links);
  assert.deepEqual(of({}), [[2, 1, 0.9], [1, 2, 0.75]]);
  assert.deepEqual(of({ head: [0, 1] }), [[1, 2, 0.34], [2, 1, 0.02]]);
  assert.deepEqual(of({ head: [0, 1], least: 0.03 }), [[1, 2, 0.34]]);
  assert.deepEqual(of({ pair: "AB" }), [[1, 2, 0.75]]);
});

test("beside a share of before stands the share of now, however small it is", () => {
  const old = opened({ weights: column(numbers.quantise([...WEIGHTS[0].slice(0, 2), [0.3, 0.5, 0.2], ...WEIGHTS.slice(1).flat()].flat())) });
  const shown = shownLinks(viewOf({ state: { pins: [2], least: 0.5 }, ghost: { record: old, change: { start: 1, old: 1, new: 1 }, words: ["dog", "cat"] } }));
  assert.deepEqual([0, 1, 2].map((unit) => [tidy(shown.ghost.shares.get(unit)), tidy(shown.exact.get(unit))]), [[0.3, 0.05], [0.5, 0.9], [0.2, 0.05]]);
});

test("under a word that none of the pinned words can see stands no share", () => {
  const shown = shownLinks(viewOf({ record: opened({ causal: true }), state: { pins: [0, 1], to: 2 } }));
  assert.deepEqual([shown.exact.has(2), shown.blind(2), shown.blind(1)], [false, true, false]);
  assert.equal(tidy(shownLinks(viewOf({ record: opened({ causal: true }), state: { pins: [1, 2], to: 2, head: [1, 0] } })).exact.get(2)), 0.175, "one of them can");
});

test("the filter on a pair holds for the links of a pinned word", () => {
  assert.deepEqual(told(shownLinks(viewOf({ state: { pins: [2], pair: "BB" } })).links), [[2, 2, 0.05]]);
  assert.deepEqual(told(shownLinks(viewOf({ state: { pins: [2], pair: "BA" } })).links), [[2, 1, 0.9], [2, 0, 0.05]]);
});

test("the matrix marks the pinned rows and the target, and follows the pointer in the sentence", () => {
  const spec = (state, hovered, more) => matrixSpec(viewOf({ state, hovered, ...more }));
  const plain = spec({ pins: [2], to: 1, least: 0.05 });
  assert.deepEqual([plain.rows, plain.columns, plain.from, plain.to, plain.hovered, plain.least, plain.top, plain.hidden], [["[CLS]", "cat", "it"], ["[CLS]", "cat", "it"], [2], 1, [null, null], 0.05, 1, null]);
  assert.deepEqual([...plain.values].map(tidy), WEIGHTS[0].flat());
  assert.deepEqual(spec({}, { unit: 1 }).hovered, [1, null]);
  assert.deepEqual(spec({ pins: [2] }, { unit: 1 }).hovered, [1, null]);
  assert.deepEqual(spec({ pins: [2] }, { q: 0, k: 1 }).hovered, [0, 1]);
  assert.equal(tidy(spec({ scaled: true }).top), 0.9);
  const { hidden } = spec({ pair: "AB" });
  assert.deepEqual([hidden(0, 2), hidden(2, 0), hidden(1, 1)], [false, true, true]);
});

// ---- what is said
test("a head is described by what the pinned words look at, or by its strongest link between words, and by its role", () => {
  const record = opened({ roles: [["rare-word head", "rare word", "red", "1-2"]] });
  const of = (head, state) => describe(viewOf({ record, state }), head);
  assert.equal(of([0, 0]), "Head 1-1: strongest link “it” to “cat”, 90%");
  assert.equal(of([0, 1]), "Head 1-2, rare-word head: strongest link “cat” to “it”, 34%");
  assert.equal(of([0, 0], { pins: [2] }), "Head 1-1: “it” looks at “cat” (90%), “[CLS]” (5%) and “it” (5%).");
  const long = opened({ packing: "small", side: 1, weights: column(new Uint8Array(4)), loudest: numbers.quantise([0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0, 0]).map((step, i) => (i === 6 ? 2 : i === 7 ? 1 : step)) });
  assert.equal(describe(viewOf({ record: long }), [1, 0]), "Head 2-1: strongest link “it” to “cat”, 50%");
});

function ranking(state, more) {
  const drawn = [];
  const view = viewOf({ state, ...more, ranking: { draw: (given) => drawn.push(given) } });
  drawRanking(view);
  return drawn[0];
}

test("where nothing is ranked it is said what to click", () => {
  assert.deepEqual([ranking({}), ranking({ pins: [2] }, { mine: { pins: [2] } })].map(({ title, entries, hint }) => [title, entries, hint]), [["Ranking", null, "Click two words to rank the heads."], ["Ranking", null, "Click a second word to rank the heads."]]);
});

test("until a word is chosen the ranking is of the word's own link, whichever head is shown", () => {
  const view = viewOf({ state: { pins: [2] }, ranking: { draw: (given) => (view.drawn = given) } });
  drawRanking(view);
  assert.equal(view.drawn.title, "“it” to “cat”");
  Object.assign(view.state, { head: [1, 1] });
  Object.assign(view, { matrixNow: records.matrixOf(view.record, [1, 1]), headNow: [1, 1] });
  drawRanking(view);
  assert.equal(view.drawn.title, "“it” to “cat”", "head 2-2 looks at “it” most");
});

test("where the numbers of a ranking are not here they are on their way, or not in the saved file", () => {
  const record = opened({ packing: "small", side: 1, weights: column(new Uint8Array(4)) });
  const hint = (live) => withGlobals({ headscope: { live } }, () => ranking({ pins: [2], ranked: true }, { record })).hint;
  record.links = { pins: [2], to: 0, k: 1, index: Uint16Array.of(1, 1, 1, 1), weight: numbers.quantise([0.5, 0.5, 0.5, 0.5]), toward: numbers.quantise([0.1, 0.1, 0.1, 0.1]) };
  const other = withGlobals({ headscope: { live: false } }, () => ranking({ pins: [2], to: 1 }, { record }));
  assert.deepEqual([other.entries ?? null, other.hint], [null, "This file ranks only the words that were pinned when it was saved."]);
  record.links = null;
  assert.deepEqual([hint(true), hint(false)], ["Counting.", "This file ranks only the words that were pinned when it was saved."]);
  const blind = (per) => ranking({ pins: [1], to: 2 }, { record: opened({ causal: true, per }) }).hint;
  assert.deepEqual([blind("head"), blind("layer")].map((text) => text.slice(0, 28)), ["No head: “cat” cannot see “i", "No layer: “cat” cannot see “"]);
});

test("a word that stands twice is named with its number", () => {
  const names = { names: ["[CLS]", "cat", "cat"], indexed: ["[CLS]", "cat₁", "cat₂"] };
  const { title, entries } = ranking({ pins: [2], ranked: true }, { record: opened(names) });
  assert.deepEqual([title, entries.map((e) => e.note)], ["Where “cat₂” looks most", ["cat₁", "cat₂", "cat₂", "cat₂"]]);
});

test("the ranking of a pair counts what its filter lets the pinned words look at, and says of which it lets nothing", () => {
  assert.deepEqual(ranking({ pins: [0, 1], pair: "AB", ranked: true }).entries.map((e) => [words.headName([e.layer, e.head]), tidy(e.weight)]), [["1-1", 0.475], ["1-2", 0.47], ["2-2", 0.27], ["2-1", 0]]);
  const said = (pins, pair, to = null) => (({ entries, hint }) => entries?.length ?? hint)(ranking({ pins, pair, to, ranked: true }));
  assert.equal(said([1, 2], "AB"), "No link from “it” goes A → B: it stands in sentence B.");
  assert.equal(said([0, 1], "BA"), "No link from “[CLS]” and “cat” goes B → A: they stand in sentence A.");
  assert.equal(said([2], "AA"), "No link from “it” goes A → A: it stands in sentence B.");
  assert.deepEqual([said([1, 2], "all"), said([1, 2], "AB", 0)], [4, 4]);
});

test("heads of a layer, of the model and of their own are called what they are", () => {
  const named = (per) => onPage(() => {
    const view = viewOf({ record: opened({ per }), allTitle: document.createElement("h2"), overview: document.createElement("section"), sort: document.createElement("select"), kinds: document.createElement("div"), sheet: { fill() {}, frame() {} } });
    fillSheet(view);
    return [view.allTitle.textContent, view.overview.getAttribute("aria-label")];
  });
  assert.deepEqual(["head", "layer", "model"].map(named), [["4 heads, 2 layers", "All heads"], ["All layers", "All layers"], ["All layers together", "All layers together"]]);
});

function said(state, more = {}) {
  return onPage(() => {
    const node = () => document.createElement("p");
    const view = viewOf({ state, ...more });
    Object.assign(view, { said: null, ghost: null, opening: more.opening ?? null, paint: { dark: Boolean(more.dark) }, line: node(), live: node(), hint: node(), trace: node(), facts: node(), adding: node(), clear: node(), previewed: node() });
    drawWords(view);
    return { line: view.said, live: view.live.textContent, hint: view.hint.textContent, clear: view.clear.hidden, adding: view.adding.hidden, rest: view.previewRest, facts: view.facts.hidden };
  });
}

test("the sentence under the picture says what the pinned words look at, or how strong the link is that was asked for", () => {
  assert.equal(said({ pins: [2] }).line, "Head 1-1 looks from “it” to “cat” (90% of its attention).");
  assert.equal(said({ pins: [2], to: 1 }).line, "Head 1-1: “it” → “cat” 90%, the strongest of 4 heads; next is 2-1 (25%).");
  assert.equal(said({ pins: [2], to: 0 }).line, "Head 1-1: “it” → “[CLS]” 5%, rank 3 of 4 heads; strongest is 1-2 (70%).");
  const two = said({ head: [0, 1], pins: [1, 2], to: 0 }).line;
  assert.equal(two, "Head 1-2: “cat” and “it” → “[CLS]” 52%, the strongest of 4 heads; next is 2-2 (30%).", "of several words their mean is what the heads are ranked by");
  assert.equal(said({ pins: [2] }, { record: opened({ measureSaid: "Value-weighted" }) }).line, "Head 1-1, value-weighted: “it” draws most from “cat” (90%).");
  assert.match(said({ pins: [2], to: 1 }, { record: opened({ measureSaid: "Value-weighted (attention block only)" }) }).line, /^Head 1-1, value-weighted: “it” → “cat” 90%/);
  assert.match(said({}).line, /^Head 1-1/);
  assert.equal(said({ pins: [2], to: 1 }).live, "Head 1-1: it → cat 90%, the strongest of 4 heads; next is 2-1 (25%).");
});

test("of what was before a word was changed a link leads to Compare, with the words at their places of then", () => {
  // "[CLS] it" became "[CLS] cat it".
  const old = opened({ names: ["[CLS]", "it"], specials: [true, false], segments: [0, 0], before: ["", ""], weights: column(numbers.quantise([0.5, 0.5, 0.2, 0.8, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1])) });
  const ghost = { record: old, change: { start: 1, old: 0, new: 1 }, words: ["", "cat"], compare: "compare?text=a&text2=b" };
  const link = (pins, to) => onPage(() => {
    const node = () => document.createElement("p");
    const view = viewOf({ state: { head: [0, 0], pins, to }, ghost });
    Object.assign(view, { said: null, opening: null, paint: { dark: false }, line: node(), live: node(), hint: node() });
    drawWords(view);
    return Object.fromEntries(new URL(view.keepBoth.href, "http://h/").searchParams);
  });
  const both = { text: "a", text2: "b", head: "1-1" };
  assert.deepEqual(link([0, 2], null), { ...both, pin: "0,1" });
  assert.deepEqual(link([0], 2), { ...both, pin: "0", to: "1" });
  assert.deepEqual(link([2], 1), { ...both, pin: "1" }, "the new word was not there");
});

test("a saved file of a long text says which head it holds in full", () => {
  const rest = (live, head, more) => {
    const record = opened({ packing: "small", side: 1, layers: 2, heads: 3, weights: column(new Uint8Array(6)), ...more });
    records.keepOpened(record, head, Float32Array.from(WEIGHTS[0].flat()));
    return withGlobals({ headscope: { live } }, () => said({ head }, { record }).rest);
  };
  assert.match(rest(false, [1, 0]), / This file holds head 2-1 in full, the others as small pictures\.$/);
  assert.doesNotMatch(rest(true, [1, 0]), /This file/);
  assert.match(rest(false, [1, 0], { heads: 1, per: "layer" }), / This file holds layer 2 in full, the others as small pictures\.$/);
  assert.match(rest(false, [0, 0], { layers: 1, heads: 1, per: "model" }), / This file holds all layers in full\.$/);
});

test("the hint says what a click does next", () => {
  assert.match(said({}).hint, /^Click a word/);
  assert.equal(said({ pins: [2], to: 1 }).hint, "");
  assert.match(said({ pins: [2], adding: true }).hint, /^Click more words/);
  assert.equal(said({ pins: [1], to: 2 }, { record: opened({ causal: true }) }).hint, "“cat” cannot see “it”: it comes later.");
  const opening = { said: "The heads disagree here.", of: { head: [0, 0], pins: [2], to: 1 } };
  assert.equal(said({ pins: [2], to: 1 }, { opening }).hint, "The heads disagree here.");
  assert.equal(said({ pins: [2], to: 1, head: [0, 1] }, { opening }).hint, "", "it was said of another head");
  assert.deepEqual([said({}).clear, said({ pins: [1] }).clear], [true, false]);
  assert.equal(said({}).facts, true, "the facts stand under a saved picture");
});

test("the sentence follows the pointer to another word, and back", () => {
  const view = (hovered) => viewOf({ state: { pins: [2] }, hovered, said: "as it was" });
  assert.equal(sentenceShown(view({})), "as it was");
  assert.equal(sentenceShown(view({ q: 1 })), "Head 1-1: “cat” looks at “it” (75%), “cat” (15%) and “[CLS]” (10%).");
});

test("what a head usually does is said while the choice that it is about stands", () => {
  onPage(() => {
    const said = (state, usual) => {
      const view = viewOf({ state: { head: [0, 0], pins: [2], to: null, ...state }, usual, usualSaid: document.createElement("p") });
      drawUsual(view);
      return view.usualSaid.hidden ? null : view.usualSaid.textContent;
    };
    const usual = { said: "Usually diffuse; here `it` looks back at `cat`.", of: { head: [0, 0], pins: [2], to: null } };
    assert.deepEqual([said({}, usual), said({ head: [0, 1] }, usual), said({ pins: [1] }, usual), said({}, null)], ["Usually diffuse; here it looks back at cat.", "", "", null]);
  });
});

// ---- what a click does
function clicks(state = {}, hovered = {}) {
  const view = viewOf({ state, hovered });
  view.update = () => {};
  view.emitted = [];
  view.emit = (chosen) => view.emitted.push(chosen);
  return view;
}
const chosen = (view) => [view.state.pins, view.state.to];

test("a click pins a word, a second one asks for a link, one on either takes it back, and one elsewhere begins anew", () => {
  const view = clicks();
  const after = (unit) => [view.choose(unit), chosen(view)][1];
  assert.deepEqual([2, 1, 1, 1, 0, 0].map(after), [[[2], null], [[2], 1], [[2], null], [[2], 1], [[0], null], [[], null]]);
});

test("the first click on what the page chose by itself keeps it, a second one takes it back", () => {
  const view = clicks({ pins: [2] });
  assert.deepEqual([view.choose(2), chosen(view)], [true, [[2], null]]);
  assert.deepEqual([view.choose(1), chosen(view)], [undefined, [[2], 1]]);
  const aimed = clicks({ pins: [2], to: 1 });
  assert.deepEqual([aimed.choose(1), chosen(aimed), aimed.choose(1), chosen(aimed)], [true, [[2], 1], undefined, [[2], null]]);
});

test("with Shift, or while words are added, every click adds one or takes it away, in the order of the text", () => {
  const view = clicks({ pins: [2], to: 1 });
  view.choose(0, true);
  assert.deepEqual(chosen(view), [[0, 2], 1]);
  view.choose(2, true);
  assert.deepEqual(chosen(view), [[0], 1]);
  view.choose(0, true);
  assert.deepEqual(chosen(view), [[], null], "no target without a word that looks");
  const adding = clicks({ pins: [2], adding: true });
  adding.choose(1, false);
  assert.deepEqual(chosen(adding), [[1, 2], null]);
  adding.choose(0, false, "key");
  assert.deepEqual(chosen(adding), [[1, 2], 0], "on the side of the keys a click asks");
  adding.choose(0, false, "key");
  assert.deepEqual(chosen(adding), [[1, 2], null]);
});

test("a click on a cell asks for its row and its column, and again takes both back", () => {
  const view = clicks({ pins: [1] });
  view.choose(2, false, "query", 0);
  assert.deepEqual(chosen(view), [[2], 0]);
  view.choose(2, false, "query", 0);
  assert.deepEqual(chosen(view), [[], null]);
  view.choose(2, false, "query", 0);
  view.choose(2, false, "query", 1);
  assert.deepEqual(chosen(view), [[2], 1], "another cell of the same row");
});

test("a trace that the reader sent away stays away for the same text, and comes back for another", () => {
  const view = clicks();
  const first = { record: {} };
  view.openGhost(first);
  view.forgetGhost();
  assert.equal(view.ghost.gone, true);
  view.openGhost(first);
  assert.equal(view.ghost.gone, true);
  view.openGhost({ record: {} });
  assert.ok(!view.ghost.gone);
  view.openGhost(null);
  assert.equal(view.ghost, null);
});

test("only what comes under the pointer anew is drawn again", () => {
  const view = clicks();
  const drawn = [];
  Object.assign(view, { drawSentence: () => drawn.push("sentence"), drawPanel: () => drawn.push("panel"), line: { dataset: { said: "as it was" } }, said: "as it was", live: {} });
  view.hover({ unit: null, q: null, k: null });
  assert.deepEqual(drawn, []);
  view.state.pins = [1];
  onPage(() => Object.assign(view, { line: document.createElement("p") }) && view.hover({ unit: 2, q: null, k: null }));
  assert.deepEqual(drawn, ["sentence", "panel"]);
  onPage(() => Object.assign(view, { line: document.createElement("p") }) && view.hover({ unit: null, q: 2, k: 1 }, true));
  assert.equal(view.live.textContent, "it looks at cat: 90%");
  onPage(() => view.hover({ unit: null, q: 2, k: 0 }, true));
  assert.equal(view.live.textContent, "it looks at [CLS]: 5%", "the next cell of the row");
});

// ---- a view of its own on a page that draws nothing
function open(record, use) {
  return onPage((root) => {
    const view = new Explore(root, () => {});
    view.open(record, {});
    Object.assign(view, { paint: { dark: false }, animate() {} });
    view.sheet.draw = () => {};
    return use(view);
  });
}

test("which sentence looks at which is asked where there are two, and not of a source and a target", () => {
  const hidden = (more) => open(opened({ after: [""], ...more }), (view) => view.pairs.hidden);
  assert.equal(hidden({}), false);
  const offered = open(opened({ after: [""] }), (view) => view.pairs.options.map((one) => [one.getAttribute("value"), one.textContent]));
  assert.deepEqual(offered, [["all", "both sentences"], ["AA", "A → A"], ["AB", "A → B"], ["BA", "B → A"], ["BB", "B → B"]]);
  assert.equal(hidden({ segments: [0, 0, 0] }), true);
  const asked = (more) => open(opened({ after: [""], ...more }), (view) => {
    view.move({ head: [0, 0], pins: [], to: null, look: { between: "AB" } });
    return view.state.pair;
  });
  assert.deepEqual([asked({}), asked({ segments: [0, 0, 0] })], ["AB", "all"], "a link that asks one sentence for two");
  assert.equal(hidden({ keys: 2, weights: column(numbers.quantise([0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9])) }), true);
});

test("heads in the order of a link stand anew for every second word", () => {
  open(opened({ after: [""] }), (view) => {
    const order = () => view.sheet.order.map(words.headName);
    view.select({ pins: [2], sort: "weight" });
    assert.deepEqual(order(), ["1-1", "2-2", "1-2", "2-1"]);
    view.select({ to: 0 });
    assert.deepEqual(order(), ["1-2", "2-1", "1-1", "2-2"]);
    view.select({ to: 2 });
    assert.deepEqual(order(), ["2-2", "2-1", "1-2", "1-1"]);
  });
});

test("another order of the heads is told, for the link", () => {
  open(opened({ after: [""] }), (view) => {
    const emitted = [];
    view.emit = (chosen) => emitted.push(chosen.look);
    view.resort("weight");
    view.resort("layer");
    assert.deepEqual(emitted, [{ sort: "weight" }, {}]);
  });
});

test("the picture is complete once all of it is in the browser", () => {
  const long = opened({ packing: "small", side: 1, weights: column(new Uint8Array(4)) });
  assert.deepEqual([opened(), long].map((record) => viewOf({ record }).complete), [true, false]);
});

test("who hears the small pictures hears where the words look that are pinned now, and which heads share which keys", () => {
  open(opened({ after: [""], sharing: 2 }), (view) => {
    const labels = () => view.sheet.cells.map((cell) => cell.getAttribute("aria-label"));
    view.select({ pins: [] });
    assert.deepEqual(labels().map((label) => label.split(", keys ")[1]), ["1 with 1-2", "1 with 1-1", "1 with 2-2", "1 with 2-1"]);
    view.select({ pins: [2] });
    assert.match(labels()[2], /^Head 2-1: “it” looks at “\[CLS\]” \(40%\), “it” \(35%\) and “cat” \(25%\)\./);
  });
});

test("arrow keys pass over a head that the model does not have", () => {
  open(opened({ after: [""], absent: ["1-2"] }), (view) => {
    view.select({ head: [0, 0] });
    const at = (key) => {
      view.sheet.key({ key, target: view.sheet.cells.find((cell) => cell.tabIndex === 0), preventDefault() {} });
      return words.headName(view.state.head);
    };
    assert.deepEqual([at("ArrowRight"), at("ArrowRight"), at("ArrowUp"), at("ArrowLeft")], ["2-1", "2-2", "2-2", "2-1"]);
  });
});

test("layers and heads of the small pictures count from 1", () => {
  open(opened({ after: [""] }), (view) => {
    view.select({ pins: [] });
    assert.deepEqual([texts(view.sheet.grid.querySelectorAll(".axis")), texts(view.sheet.stage.querySelectorAll(".top .axis"))], [["1", "2"], ["", "1", "2"]]);
  });
});

test("a head of a long text whose numbers are on their way leaves the ones before under their own name", () => {
  const record = opened({ after: [""], packing: "small", side: 1, weights: column(new Uint8Array(4)) });
  const arrives = (head, weights) => records.keepOpened(record, head, Float32Array.from(weights.flat()));
  arrives([0, 0], WEIGHTS[0]);
  open(record, (view) => {
    const shown = () => [view.panelTitle.textContent, view.said, view.root.classList.contains("waiting")];
    const first = "Head 1-1 looks from “it” to “cat” (90% of its attention).";
    view.select({ pins: [2] });
    assert.deepEqual(shown(), ["Head 1-1 · L0H0", first, false]);
    view.select({ head: [1, 0] });
    assert.deepEqual(shown(), ["Head 2-1 · L1H0", first, true]);
    arrives([1, 0], WEIGHTS[2]);
    view.update(false);
    assert.deepEqual(shown(), ["Head 2-1 · L1H0", "Head 2-1 looks from “it” to “[CLS]” (40% of its attention).", false]);
  });
});

test("Clear and Escape take back all that is chosen, and Escape says nothing where nothing is", () => {
  open(opened({ after: [""] }), (view) => {
    const told = [];
    view.emit = ({ pins, to }) => told.push([pins, to]);
    const escape = () => view.root.onkeydown({ key: "Escape" });
    for (const [act, state] of [[() => view.clear.onclick(), { pins: [1, 2], to: 0 }], [escape, { pins: [2], to: null }], [escape, { pins: [2], to: 0 }]]) {
      Object.assign(view.state, state);
      act();
      assert.deepEqual([chosen(view), told.splice(0)], [[[], null], [[[], null]]]);
    }
    escape();
    view.state.pins = [2];
    view.root.onkeydown({ key: "e" });
    assert.deepEqual([chosen(view), told], [[[2], null], []]);
  });
});

test("the threshold hides what lies below so many percent", () => {
  open(opened({ after: [""] }), (view) => {
    view.least.value = "7";
    view.least.oninput();
    assert.deepEqual([view.state.least, view.leastSaid.textContent], [0.07, "7%"]);
  });
});

test("the ranking shows five heads and the chosen one, marked, and all of them on request", () => {
  const names = Array.from({ length: 8 }, (_, head) => ({ layer: 0, head, weight: 1 - head / 10 }));
  onPage(() => {
    const ranking = new Ranking({});
    const shown = () => ranking.list.children.map((item) => item.firstChild.dataset.head);
    ranking.draw({ title: "", entries: names, chosen: [0, 6], hint: "" });
    assert.deepEqual(shown(), ["1-1", "1-2", "1-3", "1-4", "1-5", "1-7"]);
    const marked = ranking.list.children.filter((item) => item.firstChild.getAttribute("aria-current"));
    assert.deepEqual(marked.map((item) => [item.firstChild.dataset.head, item.getAttribute("value")]), [["1-7", "7"]]);
    ranking.more.onclick();
    assert.equal(shown().length, 8);
    const few = new Ranking({});
    few.draw({ title: "", entries: names.slice(0, 5), chosen: [0, 1], hint: "" });
    assert.equal(few.more.hidden, true, "there are no more");
  });
});
