// What Explore consists of: the sentence, all heads, one head, the ranking, and what each tells the view.
import { inUnits, pointedAt } from "../cross_attention.js";
import { make } from "../dom.js";
import { Matrix } from "../matrix.js";
import { measureRow } from "../measure.js";
import { Ranking } from "../ranking.js";
import { Sentence } from "../sentence.js";
import { HeadThumbnails } from "../head_thumbnails.js";
import { ask, whyButton, whyPanel } from "./why.js";

export function build(view) {
  const actions = {
    point: (unit) => view.hover(pointedAt(view.record, unit)),
    cell: (q, k, aloud) => view.hover(k === view.record.n ? { unit: null, q, k: null, sink: true } : { unit: null, q, k }, aloud),
    choose: (unit, more, side, target) => view.choose(unit, more, side, target === view.record.n ? null : target),
    head: (head) => view.chooseHead(head),
    preview: (head) => view.preview(head),
    retype: (unit, word) => view.retype({ unit, word }),
    redraw: () => view.drawSentence(),
    why: (head, to) => ask(view, head, to),
  };
  view.sentence = new Sentence(actions);
  view.sheet = new HeadThumbnails(actions);
  view.matrix = new Matrix(inUnits(view, actions), "The chosen head as a matrix");
  view.ranking = new Ranking(actions);
  view.live = make("p", { class: "hidden-aloud", "aria-live": "polite", "data-uncounted": "" });
  view.root.append(heroOf(view), make("div", { class: "below" }, overviewOf(view), headPartOf(view), view.ranking.root));
  view.root.onkeydown = (event) => {
    if (event.key === "Escape" && (view.state.pins.length || view.state.to !== null)) view.select({ pins: [], to: null });
  };
}

// The sentence, the finding, its test, and the change to try.
function heroOf(view) {
  view.line = make("p", { class: "inwords" });
  view.hint = make("p", { class: "hint" });
  view.evidenceSaid = make("span");
  view.evidenceLink = make("a", { target: "_self", text: "See the test" });
  view.twinLink = make("a", { target: "_self", "data-carries": "*" });
  view.proof = make("p", { class: "hint evidence" }, view.evidenceSaid, " ", view.evidenceLink, " ", view.twinLink);
  view.clear = make("button", { type: "button", class: "plain", text: "Clear", onclick: () => view.select({ pins: [], to: null }) });
  view.facts = make("p", { class: "caption" });
  const under = make("div", { class: "under" }, make("div", { class: "said" }, view.line, whyButton(view), view.proof, view.hint, traceOf(view), whyPanel(view), view.facts), make("div", { class: "tools" }, view.clear));
  return make("section", { class: "hero", "aria-label": "The sentence" }, view.sentence.root, under, view.live);
}

// What was before a word was changed, and where both are compared.
function traceOf(view) {
  view.traceSaid = make("span");
  view.keepBoth = make("a", { target: "_self", text: "Compare both" });
  view.hideTrace = make("button", { type: "button", class: "plain", text: "Hide", "aria-label": "Hide what was before", onclick: () => view.forgetGhost() });
  view.trace = make("p", { class: "hint trace evidence" }, view.traceSaid, " ", view.keepBoth, view.hideTrace);
  return view.trace;
}

// Every head as a small picture, above them the roles that can be marked.
function overviewOf(view) {
  view.previewed = make("p", { class: "caption" });
  view.kinds = make("div", { class: "kinds", role: "group", "aria-label": "Mark the heads with a role" });
  view.allTitle = make("h2", {});
  const header = make("header", {}, view.allTitle, make("span", { class: "caption", text: "layer ↓ head →" }));
  view.overview = make("section", { class: "part overview" }, header, view.kinds, view.sheet.root, view.previewed);
  return view.overview;
}

// The chosen head as a matrix; `tabs` are a presenter's.
function headPartOf(view) {
  view.panelTitle = make("h2", {});
  view.tabs = make("div", { class: "tabs", role: "group", "aria-label": "What to show" });
  view.panelNote = make("p", { class: "caption" });
  view.usualSaid = make("p", { class: "caption usual" });
  const header = make("header", {}, view.panelTitle, view.tabs, viewMenu(view));
  return make("section", { class: "part onehead", "aria-label": "The chosen head" }, header, view.panelNote, view.usualSaid, make("div", { class: "panel" }, view.matrix.root));
}

// How it is shown: everything but what is chosen, behind one button.
function viewMenu(view) {
  const check = (text, title, onchange) => {
    const box = make("input", { type: "checkbox", onchange: () => onchange(box.checked) });
    return [box, make("label", { title }, box, text)];
  };
  const choice = (label, onchange, offered) => make("select", { "aria-label": label, onchange }, ...offered.map(([value, text]) => make("option", { value, text })));
  view.sort = choice("Sort heads", () => view.resort(view.sort.value), [["layer", "by layer"], ["weight", "by weight"]]);
  view.least = make("input", { type: "range", "aria-label": "Threshold", min: 0, max: 50, step: 1, value: 0, oninput: () => view.setLeast(Number(view.least.value) / 100) });
  view.leastSaid = make("output", { text: "0%" });
  view.pairs = choice("Links", () => view.show({ pair: view.pairs.value }), [["all", "both sentences"], ["AA", "A → A"], ["AB", "A → B"], ["BA", "B → A"], ["BB", "B → B"]]);
  const [scaled, scaledRow] = check("Auto-scale", "The strongest shade is the largest weight of this picture, not 100%", (on) => view.show({ scaled: on }));
  const [ranked, rankedRow] = check("Rank heads", "Rank all heads by where the chosen word looks", (on) => view.show({ ranked: on }));
  const [adding, addingRow] = check("Select several words", "While on, a click adds a word; the arcs show the mean", (on) => view.combine(on));
  Object.assign(view, { scaled, ranked, adding });
  const threshold = make("label", { title: "Hide smaller weights" }, "Threshold", view.least, view.leastSaid);
  const options = make("div", { class: "options", tabindex: -1 }, measureRow(view), view.sort, view.pairs, threshold, scaledRow, rankedRow, addingRow);
  view.menu = make("details", { class: "view" }, make("summary", { text: "View" }), options);
  view.menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (!view.menu.contains(relatedTarget)) view.menu.open = false;
  });
  view.menu.onkeydown = (event) => {
    if (event.key !== "Escape" || !view.menu.open) return;
    event.stopPropagation();
    view.menu.open = false;
    view.menu.firstChild.focus();
  };
  return view.menu;
}
