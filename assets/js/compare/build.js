// What Compare consists of: both sentences, the difference of all heads and of one, and what each tells the view.
import { make } from "../dom.js";
import { SentencePair } from "../sentence_pair.js";
import { drawHero } from "./drawn.js";
import { Matrix } from "../matrix.js";
import { measureRow } from "../measure.js";
import { HeadThumbnails } from "../head_thumbnails.js";
import { describe } from "./rows.js";

export function build(view) {
  const actions = {
    point: (column) => view.hover({ column, q: null, k: null }),
    choose: (column, more) => view.choose(column, more),
    head: (head) => view.select({ head }),
    preview: (head) => (view.previewed.textContent = head ? describe(view, head) : view.rest),
    retype: (side, unit, word) => view.retype({ side, unit, word }),
    redraw: () => drawHero(view),
  };
  view.duo = new SentencePair(actions);
  view.sheet = new HeadThumbnails(actions);
  const columnOf = (unit) => (unit === null ? null : view.bothColumns[unit]);
  view.matrix = new Matrix(
    {
      cell: (q, k, aloud) => view.hover({ column: null, q: columnOf(q), k: columnOf(k) }, aloud),
      choose: (q, more, _side, k = null) => view.choose(columnOf(q), more, true, columnOf(k)),
    },
    "A minus B",
  );
  view.root.append(heroOf(view), make("div", { class: "below both" }, overviewOf(view), headPartOf(view)));
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

// The chosen head: one matrix of A minus B.
function headPartOf(view) {
  view.headTitle = make("h2", {});
  view.note = make("p", { class: "caption" });
  return make("section", { class: "part onehead", "aria-label": "The chosen head" }, make("header", {}, view.headTitle), measureRow(view), view.matrix.root, view.note);
}
