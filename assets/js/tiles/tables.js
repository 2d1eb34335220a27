// Cells of a table on a board, and a bar with its number in one.
import { make } from "../dom.js";

export function cell(row, className, content) {
  const element = row.insertCell();
  element.className = className;
  element.append(content);
  return element;
}

export function barline(share, text, widest = 1) {
  const bar = make("i");
  bar.style.width = `${(62 * Math.max(0, share)) / (widest || 1)}%`;
  return make("div", { class: "barline" }, bar, make("b", { text }));
}
