// Words with a bar under each and its number in words; where nothing may be seen the bar is hatched.
//
// block: {type: "bars", name, note, rows, texts, shape, at}: of several columns the first is drawn, the largest as whole.
import { make } from "../dom.js";
import { largest } from "../numbers.js";
import { valuesOf } from "./painted.js";

export function bars(board, block) {
  const columns = block.shape[1];
  const values = valuesOf(board, block).filter((_, i) => i % columns === 0);
  const widest = block.top || largest(values.filter(Number.isFinite)) || 1;
  const items = block.rows.map((label, i) => {
    const bar = make("i");
    bar.style.width = `${(100 * (values[i] || 0)) / widest}%`;
    const well = make("span", { class: Number.isFinite(values[i]) ? "well" : "well absent" }, bar);
    return make("span", { class: "bar-item" }, make("b", { text: label }), well, make("small", { text: block.texts[i] }));
  });
  const caption = make("figcaption", {}, make("span", { class: "name", text: block.name }), make("span", { class: "note", text: block.note || "" }));
  return make("figure", { class: "bars", "data-matrix": block.id }, caption, make("div", { role: "group", "aria-label": block.name }, ...items));
}
