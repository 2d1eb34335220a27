// A small matrix as tiles, a number on each; the reader may type others.
import { css, toOklab } from "../colour.js";
import { make } from "../dom.js";
import { fixed, parseNumber, tiny, trim } from "../format.js";
import { largest } from "../numbers.js";
import { caption } from "./matrix.js";
import { shadeOf, valuesOf } from "./painted.js";

export function numberTiles(board, block) {
  const [n, m] = block.shape;
  const values = valuesOf(board, block);
  const top = block.top || largest([...values.map(Math.abs).filter(Number.isFinite), 1e-9]);
  const made = make("figure");
  const grid = make("div", { class: "tiles" });
  grid.dataset.matrix = block.id || block.name;
  grid.style.gridTemplateColumns = `${block.rows ? "auto " : ""}repeat(${m}, auto)`;
  if (block.cols) {
    if (block.rows) grid.append(make("div", { class: "label" }));
    grid.append(...block.cols.map((label) => make("div", { class: "label", text: label })));
  }
  for (let i = 0; i < n; i += 1) {
    if (block.rows) grid.append(make("div", { class: "label line", text: block.rows[i] }));
    for (let j = 0; j < m; j += 1) grid.append(tile(board, block, values, i, j, top));
  }
  if (!block.bare) made.append(caption(block));
  made.append(grid);
  return made;
}

function tile(board, block, values, i, j, top) {
  const [, m] = block.shape;
  const value = values[i * m + j];
  const digits = block.digits ?? 4;
  const text = value !== 0 && Number(value.toFixed(digits)) === 0 ? tiny(value) : trim(fixed(value, digits));
  if (block.editable) return typed(board, block, value, text, [i, j]);
  const made = make("div", { text });
  const rgb = shadeOf(board.paint, block.ramp, value, top * (block.ramp === "weight" ? 1 : 1.6));
  if (rgb) {
    made.style.background = css(rgb);
    made.style.color = toOklab(rgb)[0] > 0.62 ? "#1d1c1a" : "#ffffff";
  }
  return made;
}

// A number to type over; what is typed is told with its place.
function typed(board, block, value, text, [i, j]) {
  const place = (block.first || 0) + i * block.shape[1] + j;
  const input = make("input", { inputmode: "decimal", "data-focus": `${block.id}-${place}`, "aria-label": `${block.name}, row ${i + 1}, column ${j + 1}` });
  input.value = text;
  input.onchange = () => {
    const number = parseNumber(input.value);
    input.classList.toggle("wrong", !Number.isFinite(number));
    if (!Number.isFinite(number)) return;
    if (number === value) return;
    board.cells[block.id] = { ...board.cells[block.id], [place]: number };
    board.component.setStateValue("cells", board.cells);
  };
  const edited = board.cells[block.id] && place in board.cells[block.id];
  if (edited) input.classList.add("edited");
  return input;
}
