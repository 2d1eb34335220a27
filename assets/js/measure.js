// The switch of measures: what this model can do, and in how many rows of the chosen head what is shown disagrees with
// the raw weights. Python says both, of all heads.
import { make, write } from "./dom.js";
import { headIndex } from "./record.js";

export function measureRow(view) {
  view.measure = make("select", { "aria-label": "Measure", onchange: () => view.askMeasure(view.measure.value) });
  view.measureSaid = make("span", { class: "caption" });
  view.measureRow = make("div", { class: "measures", hidden: true }, view.measure, view.measureSaid);
  return view.measureRow;
}

export function drawMeasure(view) {
  const { chosen, offered, said, differing } = view.measures ?? { offered: [] };
  view.measureRow.hidden = !view.measures;
  if (!view.measures) return;
  const key = JSON.stringify(offered);
  if (view.measure.dataset.offered !== key) {
    view.measure.dataset.offered = key;
    view.measure.replaceChildren(...offered.map(([value, text]) => make("option", { value, text })));
  }
  view.measure.value = chosen;
  write(view.measureSaid, differing ? said.replace("{}", differing[headIndex(view.record, view.state.head)]) : "");
}
