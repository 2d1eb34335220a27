// What Explore consists of: the sentence, all heads, one head, the ranking, and what each tells the view.
import { inUnits, pointedAt } from "../cross.js";
import { make } from "../dom.js";
import { Lines } from "../lines.js";
import { Matrix } from "../matrix.js";
import { measureRow } from "../measure.js";
import { legend } from "../parts.js";
import { Ranking } from "../ranking.js";
import { Sentence } from "../sentence.js";
import { Sheet } from "../sheet.js";

export function build(view) {
  const actions = {
    point: (unit) => view.hover(pointedAt(view.record, unit)),
    cell: (q, k, aloud) => view.hover(k === view.record.n ? { unit: null, q, k: null, sink: true } : { unit: null, q, k }, aloud),
    choose: (unit, more, side, target) => view.choose(unit, more, side, target === view.record.n ? null : target),
    plain: (plain) => view.leaveOut(plain),
    head: (head, more) => view.chooseHead(head, more),
    preview: (head) => view.preview(head),
    from: (unit) => view.select({ pins: unit === null ? [] : [unit], to: unit === null ? null : view.state.to }),
    to: (unit) => view.select({ to: unit }),
    retype: (unit, word) => view.retype({ unit, word }),
    redraw: () => view.drawSentence(),
  };
  view.sentence = new Sentence(actions);
  view.sheet = new Sheet(actions);
  view.matrix = new Matrix(inUnits(view, actions), "The chosen head as a matrix");
  view.lines = new Lines(actions);
  view.ranking = new Ranking(actions);
  view.live = make("p", { class: "hidden-aloud", "aria-live": "polite" });
  view.root.append(heroOf(view), view.next.root, make("div", { class: "below" }, overviewOf(view), headPartOf(view), view.ranking.root));
  view.root.onkeydown = (event) => {
    if (event.key === "Escape" && (view.state.pins.length || view.state.to !== null)) view.select({ pins: [], to: null });
  };
}

// The sentence, what it says in words, and what can be done with it.
function heroOf(view) {
  view.line = make("p", { class: "inwords" });
  view.hint = make("p", { class: "hint" });
  view.evidenceSaid = make("span");
  view.evidenceLink = make("a", { target: "_self", text: "See the test" });
  view.proof = make("p", { class: "hint evidence" }, view.evidenceSaid, " ", view.evidenceLink);
  view.adding = make("button", { type: "button", class: "plain", "aria-pressed": "false", text: "Combine words", title: "While on, a click adds a word; the mean of their rows is shown", onclick: () => view.toggleAdding() });
  view.clear = make("button", { type: "button", class: "plain", text: "Clear", onclick: () => view.select({ pins: [], to: null }) });
  const tools = make("div", { class: "tools" }, view.clear, view.adding);
  view.facts = make("p", { class: "caption" });
  const under = make("div", { class: "under" }, make("div", { class: "said" }, view.line, view.proof, view.hint, traceOf(view), view.facts), tools);
  return make("section", { class: "hero", "aria-label": "The sentence" }, view.sentence.root, under, view.live);
}

// What was before a word was changed, and where both are compared.
function traceOf(view) {
  view.traceSaid = make("span");
  view.keepBoth = make("a", { class: "plain", target: "_self", text: "Keep as comparison" });
  view.hideTrace = make("button", { type: "button", class: "plain", text: "Hide", "aria-label": "Hide what was before", onclick: () => view.forgetGhost() });
  view.trace = make("p", { class: "hint trace" }, view.traceSaid, " ", view.keepBoth, view.hideTrace);
  return view.trace;
}

// Every head as a small picture, above them the roles that can be marked.
function overviewOf(view) {
  view.sort = make("select", { "aria-label": "Order of the heads", onchange: () => view.resort(view.sort.value) });
  view.previewed = make("p", { class: "caption" });
  view.kinds = make("div", { class: "kinds", role: "group", "aria-label": "Mark the heads with a role" });
  view.allTitle = make("h2", {});
  const header = make("header", {}, view.allTitle, view.sort);
  view.overview = make("section", { class: "part overview" }, header, view.kinds, view.sheet.root, legend("0 %", "100 %", "ramp"), view.previewed);
  return view.overview;
}

// The chosen head as matrix or lines.
function headPartOf(view) {
  view.panelTitle = make("h2", {});
  view.tabs = make("div", { class: "tabs", role: "group", "aria-label": "How to show the head" });
  view.controls = make("div", { class: "controls" });
  view.panelNote = make("p", { class: "caption" });
  view.usualSaid = make("p", { class: "usual" });
  const panel = make("div", { class: "panel" }, view.matrix.root, view.lines.root);
  buildControls(view);
  return make("section", { class: "part onehead", "aria-label": "The chosen head" }, make("header", {}, view.panelTitle, view.tabs), view.usualSaid, measureRow(view), view.panelNote, view.controls, panel);
}

function buildControls(view) {
  view.least = make("input", { type: "range", min: 0, max: 50, step: 1, value: 0, oninput: () => view.setLeast(Number(view.least.value) / 100) });
  view.leastSaid = make("output", { text: "0 %" });
  const threshold = make("label", { class: "threshold" }, make("span", { text: "hide below" }), view.least, view.leastSaid);
  view.pairs = make("select", { "aria-label": "Which sentence looks at which", onchange: () => view.setPair(view.pairs.value) },
    ...[["all", "both sentences"], ["AA", "A → A"], ["AB", "A → B"], ["BA", "B → A"], ["BB", "B → B"]].map(([value, text]) => make("option", { value, text })));
  view.chips = make("div", { class: "chips", role: "group", "aria-label": "Heads of this layer, drawn together" });
  view.sum = make("button", { type: "button", class: "plain", text: "Sum", "aria-pressed": "false", onclick: () => view.toggleSum() });
  view.together = make("div", { class: "together" }, make("span", { text: "with heads" }), view.chips, view.sum);
  view.scaled = make("input", { type: "checkbox", onchange: () => view.show({ scaled: view.scaled.checked }) });
  const scaled = make("label", { class: "leave", title: "The strongest shade is the largest weight of this picture, not 100 %" }, view.scaled, make("span", { text: "scale to the largest" }));
  view.scaledRow = scaled;
  view.controls.append(threshold, scaled, view.pairs, view.together);
}
