// A small matrix as tiles, a number on each; the reader may type others.
import { css, inkOn } from "../colour.js";
import { make } from "../dom.js";
import { fixed, readNumber, tiny, trim } from "../format.js";
import { largest } from "../numbers.js";
import { pickable } from "./cells.js";
import { caption } from "./matrix.js";
import { shadeOf, valuesOf } from "./painted.js";

export function numberTiles(board, block) {
  const [n, m] = block.shape;
  const values = valuesOf(board, block);
  const top = block.top || largest([...values.map(Math.abs).filter(Number.isFinite), 1e-9]);
  const element = make("figure");
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
  const problem = make("p", { class: "wrong-number", role: "alert" });
  problem.id = `problem-${grid.dataset.matrix}`;
  element.append(caption(block), grid);
  if (block.cells) element.append(written(board, block, grid, values));
  if (block.editable) element.append(problem);
  return element;
}

// Below the tiles stands how the one under the pointer, or the chosen one, is computed.
function written(board, block, grid, values) {
  const [, m] = block.shape;
  const line = make("p", { class: "written" });
  const tiles = [...grid.querySelectorAll("[data-place]")];
  const show = ([i, j]) => (line.textContent = block.origins ? block.origins[i * m + j] : trim(fixed(values[i * m + j])));
  const mark = (cell) => {
    tiles.forEach((tile, place) => tile.classList.toggle("picked", place === cell[0] * m + cell[1]));
    show(cell);
  };
  const at = (event) => {
    const place = Number(event.target.closest("[data-place]")?.dataset.place ?? 0);
    return [Math.floor(place / m), place % m];
  };
  const chosen = board.cell && board.cell[0] === block.id ? board.cell.slice(1) : [0, 0];
  grid.addEventListener("pointerover", (event) => event.target.closest("[data-place]") && show(at(event)));
  grid.addEventListener("pointerleave", () => show(chosen));
  show(chosen);
  if (!block.editable) pickable(board, block, grid, { at, describe: ([i, j]) => (block.origins ? block.origins[i * m + j] : String(values[i * m + j])), moved: show, mark });
  return line;
}

function tile(board, block, values, i, j, top) {
  const [, m] = block.shape;
  const value = values[i * m + j];
  const text = shownNumber(value, block.digits);
  if (block.editable) return typed(board, block, value, text, [i, j]);
  const element = make("div", { text, "data-place": i * m + j });
  const rgb = shadeOf(board.paint, block.ramp, value, top * (block.ramp === "weight" ? 1 : 1.6));
  if (rgb) {
    element.style.background = css(rgb);
    element.style.color = inkOn(rgb);
  }
  return element;
}

// As short as it can be said truly: neither 0 for what is none, nor digits that a float does not have.
export function shownNumber(value, digits = 4) {
  const large = Math.abs(value) >= 1e7;
  return (value !== 0 && Number(value.toFixed(digits)) === 0) || large ? tiny(value) : trim(fixed(value, digits));
}

// A number to type over; what is typed is told with its place, what is no number is said beneath.
function typed(board, block, value, text, [i, j]) {
  const place = i * block.shape[1] + j;
  const name = (labels, at, what) => (labels && labels[at] !== undefined ? labels[at] : `${what} ${at + 1}`);
  const label = `${block.name}, ${name(block.rows, i, "row")}, ${name(block.cols, j, "column")}`;
  const input = make("input", { inputmode: "decimal", "data-focus": `${block.id}-${place}`, "aria-label": label, "data-place": place });
  input.value = text;
  numberBox(input, value, text, () => input.closest("figure").querySelector(".wrong-number"), (number) => {
    board.cells[block.id] = { ...board.cells[block.id], [place]: number };
    board.component.setTriggerValue("typed", board.cells);
  });
  if (place in (board.cells[block.id] ?? {})) input.classList.add("edited");
  return input;
}

// A box that takes numbers and says what is none: `onNumber(number)` for another number than before.
export function numberBox(input, value, text, placeOfProblem, onNumber) {
  input.onchange = () => {
    const [number, problem] = readNumber(input.value, text);
    const note = placeOfProblem();
    input.classList.toggle("wrong", Boolean(problem));
    if (problem) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (note) {
      note.textContent = problem;
      if (!note.id) note.id = "problem-of-a-number";
      if (problem) input.setAttribute("aria-describedby", note.id);
    }
    if (!problem && number !== value) onNumber(number);
  };
}
