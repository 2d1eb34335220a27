// The switch of measures above the matrix: what this model can do, and in how many rows of the chosen head what is shown
// disagrees with the raw weights. Python says both, of all heads.
import { make, write } from "./dom.js";
import { headIndex } from "./record.js";

export function measureRow(view) {
  view.measure = make("select", { "aria-label": "What is shown", onchange: () => view.askMeasure(view.measure.value) });
  view.measureSaid = make("span", { class: "caption" });
  view.both = make("input", { type: "checkbox", onchange: () => view.show({ brings: view.both.checked }) });
  view.bothRow = make("label", { class: "leave both", hidden: true, title: "Each arc is as wide at the word it looks at as the raw weight, and at the word that looks as what it brings: weight × norm of the transformed value vector, as a share of the row" }, view.both, make("span", { text: "and what it brings" }));
  view.measureRow = make("div", { class: "measures", hidden: true }, view.measure, view.bothRow, view.measureSaid);
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
  view.bothRow.hidden = view.state.brings === undefined || chosen !== "raw" || !offered.some(([value]) => value === "value");
  view.both.checked = Boolean(view.state.brings);
  write(view.measureSaid, differing ? said.replace("{}", differing[headIndex(view.record, view.state.head)]) : "");
}
