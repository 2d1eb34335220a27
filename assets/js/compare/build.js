// What Compare consists of: both sentences, all heads, one head, the ranking, and what each tells the view.
import { make } from "../dom.js";
import { Duo } from "../duo.js";
import { drawHero } from "./drawn.js";
import { Matrix } from "../matrix.js";
import { measureRow } from "../measure.js";
import { Ranking } from "../ranking.js";
import { Sheet } from "../sheet.js";
import { describe } from "./rows.js";

export function build(view) {
  const actions = {
    point: (column) => view.hover({ column, q: null, k: null }),
    choose: (column, more) => view.choose(column, more),
    head: (head) => view.select({ head }),
    preview: (head) => (view.previewed.textContent = head ? describe(view, head) : view.rest),
    from: (unit) => view.select({ pins: unit === null ? [] : [unit], to: unit === null ? null : view.state.to }),
    to: (unit) => view.select({ to: unit }),
    retype: (side, unit, word) => view.retype({ side, unit, word }),
    redraw: () => drawHero(view),
  };
  view.duo = new Duo(actions);
  view.sheet = new Sheet(actions);
  view.ranking = new Ranking(actions);
  view.matrices = [0, 1, 2].map((side) => new Matrix(matrixActions(view, side), ["A", "B", "A minus B"][side]));
  view.root.append(heroOf(view), make("div", { class: "below both" }, overviewOf(view), view.ranking.root, headPartOf(view)));
  view.root.onkeydown = (event) => {
    if (event.key === "Escape" && (view.state.pins.length || view.state.to !== null)) view.select({ pins: [], to: null });
  };
}

// Both sentences, what changed in words, and what can be done with it.
function heroOf(view) {
  view.line = make("p", { class: "inwords" });
  view.live = make("p", { class: "hidden-aloud", "aria-live": "polite" });
  view.hint = make("p", { class: "hint" });
  view.titles = make("p", { class: "caption titles" });
  view.facts = make("p", { class: "caption" });
  view.clear = make("button", { type: "button", class: "plain", text: "Clear", onclick: () => view.select({ pins: [], to: null }) });
  const said = make("div", { class: "said" }, view.line, view.hint, view.titles, view.facts);
  const under = make("div", { class: "under" }, said, make("div", { class: "tools" }, view.clear));
  return make("section", { class: "hero", "aria-label": "Both sentences" }, view.duo.root, under, view.live);
}

// Every head as a small picture of A minus B.
function overviewOf(view) {
  view.previewed = make("p", { class: "caption" });
  view.legend = make("div");
  view.allTitle = make("h2", {});
  view.overview = make("section", { class: "part overview" }, make("header", {}, view.allTitle), view.sheet.root, view.legend, view.previewed);
  return view.overview;
}

// The chosen head: three matrices.
function headPartOf(view) {
  view.headTitle = make("h2", {});
  const trio = ["A", "B", "A − B"].map((text, side) => make("figure", {}, make("figcaption", { text }), view.matrices[side].root));
  view.trio = make("div", { class: "trio" }, ...trio);
  view.note = make("p", { class: "caption", text: "row = query, looks at column = key" });
  return make("section", { class: "part onehead wide", "aria-label": "The chosen head" }, make("header", {}, view.headTitle), measureRow(view), view.note, view.trio);
}

function matrixActions(view, side) {
  const columnOf = (unit) => (unit === null ? null : side < 2 ? view.columnOf[side][unit] : view.bothColumns[unit]);
  return {
    cell: (q, k, aloud) => view.hover({ column: null, q: columnOf(q), k: columnOf(k) }, aloud),
    choose: (q, more, _side, k = null) => view.choose(columnOf(q), more, true, columnOf(k)),
  };
}
