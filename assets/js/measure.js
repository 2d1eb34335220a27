// The switch of measures above the matrix: what this model can do, and in how many rows what is shown disagrees with the
// raw weights. Python says both.
import { make } from "./dom.js";

export function measureRow(view) {
  view.measure = make("select", { "aria-label": "What is shown", onchange: () => view.askMeasure(view.measure.value) });
  view.measureSaid = make("span", { class: "caption" });
  view.measureRow = make("div", { class: "measures", hidden: true }, view.measure, view.measureSaid);
  return view.measureRow;
}

export function drawMeasure(view) {
  const { chosen, offered, said } = view.measures ?? { offered: [] };
  view.measureRow.hidden = !view.measures;
  if (!view.measures) return;
  const key = JSON.stringify(offered);
  if (view.measure.dataset.offered !== key) {
    view.measure.dataset.offered = key;
    view.measure.replaceChildren(...offered.map(([value, text]) => make("option", { value, text })));
  }
  view.measure.value = chosen;
  view.measureSaid.textContent = said ?? "";
}
