// A matrix as a picture with its names, a frame where the page looks, and what stands under the pointer.
import { OKABE_ITO } from "../colour.js";
import { make } from "../dom.js";
import { fixed, percent, tenths } from "../format.js";
import { gradient } from "../theme.js";
import { pickable } from "./cells.js";
import { painted, valuesOf } from "./painted.js";
import { lowered } from "./prose.js";

export function matrix(board, block) {
  const [n, m] = block.shape;
  const values = valuesOf(board, block);
  const { canvas, top } = painted(board, block, values);
  const high = block.high || Math.max(2, Math.min(20, 420 / n));
  const wide = block.wide || Math.max(1, Math.min(20, 384 / m));
  canvas.style.height = `${n * high}px`;
  if (wide >= 2 && high >= 2) canvas.classList.add("crisp");
  const element = make("figure");
  element.style.width = `${m * wide + (block.rows && high >= 13 && !block.unlabelled ? 104 : 0)}px`;
  const labels = rowLabels(block, high);
  const over = overlaid(board, block, canvas, labels);
  const picture = make("div", { class: "picture" }, block.cols ? columnLabels(block, wide) : null, labels, over);
  const readout = make("div", { class: "readout" });
  const rest = () => readout.replaceChildren(...(block.legend === false ? [] : legend(board, block, top)));
  rest();
  hover(block, canvas, values, readout, rest);
  if (block.cells) pick(board, block, over, canvas, values, readout);
  element.append(caption(block), picture, readout);
  return element;
}

function rowLabels(block, high) {
  const labels = make("div", { class: "labels" });
  if (!block.rows || high < 13 || block.unlabelled) return labels;
  labels.style.lineHeight = `${high}px`;
  labels.append(...block.rows.map((label) => make("span", { text: label })));
  return labels;
}

export function caption(block) {
  const element = make("figcaption");
  const name = make("span", { class: block.hue ? `name hue-${block.hue}` : "name" });
  if (block.hue) name.style.setProperty("--hue", OKABE_ITO["qkvz".indexOf(block.hue)]);
  element.append(lowered(name, block.name));
  if (block.note) element.append(lowered(make("span", { class: "note" }), block.note));
  element.append(make("span", { class: "shape", text: block.shape.join(" × ") }));
  return element;
}

function legend(board, block, top) {
  const { ramp, change } = board.paint;
  const weighing = block.ramp === "weight";
  const bar = make("i", { class: "scale" });
  bar.style.background = gradient(weighing ? ramp : change.ramp);
  const [low, high] = weighing ? ["0%", percent(top)] : [`−${fixed(top, 2)}`, `+${fixed(top, 2)}`];
  return [make("span", { text: low }), bar, make("span", { text: high })];
}

function columnLabels(block, wide) {
  const element = make("div", { class: block.flat ? "top flat" : "top" });
  if (wide < 11 && !block.flat) return element;
  if (wide < 13 && !block.flat) element.classList.add("dense");
  element.append(...block.cols.map((label) => make("span", { text: label })));
  return element;
}

function overlaid(board, block, canvas, labels) {
  const [n, m] = block.shape;
  const element = make("div", { class: "canvas" });
  element.append(canvas);
  for (const cut of block.cuts || []) {
    const line = make("i", { class: "cut" });
    line.style.left = `${(100 * cut) / m}%`;
    element.append(line);
  }
  if (block.slice) {
    const [from, to] = block.slice;
    const box = make("i", { class: "slice" });
    box.style.left = `calc(${(100 * from) / m}% - 2px)`;
    box.style.width = `calc(${(100 * (to - from)) / m}% + 4px)`;
    element.append(box);
  }
  if (block.follow) {
    const here = make("i", { class: "here" });
    element.append(here);
    board.onChosen((query) => {
      here.hidden = query === null || query >= n;
      here.style.top = `calc(${(100 * query) / n}% - 2px)`;
      here.style.height = `calc(${100 / n}% + 4px)`;
      [...labels.children].forEach((label, i) => label.classList.toggle("chosen", i === query));
    });
  }
  return element;
}

// The number at a place, in words.
function describeCell(block, values, row, col) {
  const value = values[row * block.shape[1] + col];
  const rowName = block.rows ? block.rows[row] : row + 1;
  const colName = block.cols && block.cols.length === block.shape[1] ? block.cols[col] : col + 1;
  const shown = block.ramp === "weight" ? tenths(value) : fixed(value);
  return `${rowName}, ${colName}: ${Number.isFinite(value) ? shown : "hidden"}`;
}

function placeOf(block, canvas, event) {
  const [n, m] = block.shape;
  const box = canvas.getBoundingClientRect();
  const row = Math.min(n - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * n)));
  const col = Math.min(m - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * m)));
  return [row, col];
}

function hover(block, canvas, values, readout, rest) {
  canvas.onpointermove = (event) => (readout.textContent = describeCell(block, values, ...placeOf(block, canvas, event)));
  canvas.onpointerleave = rest;
}

function pick(board, block, over, canvas, values, readout) {
  const [n, m] = block.shape;
  const frame = make("i", { class: "cell", hidden: true });
  over.append(frame);
  const mark = ([row, col]) => {
    frame.hidden = false;
    frame.style.left = `calc(${(100 * (col + 0.5)) / m}% - max(6px, ${50 / m}%))`;
    frame.style.width = `max(12px, ${100 / m}%)`;
    frame.style.top = `calc(${(100 * (row + 0.5)) / n}% - max(6px, ${50 / n}%))`;
    frame.style.height = `max(12px, ${100 / n}%)`;
  };
  const describe = (cell) => describeCell(block, values, ...cell);
  pickable(board, block, over, { at: (event) => placeOf(block, canvas, event), describe, moved: (cell) => (readout.textContent = describe(cell)), mark });
}
