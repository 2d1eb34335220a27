// Where one number comes from: two rows of numbers, their products and the sum; a row of scores and its softmax.
import { make } from "../dom.js";
import { fixed, tenths, trim } from "../format.js";
import { largest } from "../numbers.js";
import { numberBox, shownNumber } from "./number_tiles.js";
import { reach, shadeOf, strip } from "./painted.js";
import { lowered } from "./prose.js";
import { barline, cell } from "./tables.js";
import { css, inkOn } from "../colour.js";

const LARGEST = 8;

export function sum(board, block) {
  const take = (at) => board.numbers.subarray(at, at + block.count);
  const [left, right, products] = [take(block.left), take(block.right), take(block.products)];
  const element = make("section", { class: "origin", "aria-label": block.title });
  const readout = make("p", { class: "readout" });
  const rest = () => (readout.textContent = block.count > block.most ? `The ${LARGEST} largest of ${block.count} products:` : "Point at a product, or tap it.");
  const explain = (t) => {
    readout.textContent = `${block.terms ? block.terms[t] : t + 1}: ${shownNumber(left[t])} × ${shownNumber(right[t])} = ${shownNumber(products[t])}`;
  };
  const strips = make("div", { class: "strips" });
  for (const [name, at] of [[block.names[0], block.left], [block.names[1], block.right], ["products", block.products]]) {
    const canvas = strip(board, at, block.count, reach(take(at), 1), "signed", name);
    canvas.onpointermove = (event) => {
      const box = canvas.getBoundingClientRect();
      explain(Math.min(block.count - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * block.count))));
    };
    canvas.onpointerleave = rest;
    strips.append(lowered(make("span", { title: name }), name), canvas);
  }
  element.append(lowered(make("h3"), block.title), strips, productTiles(board, block, products, explain, rest), readout, total(block));
  rest();
  return element;
}

// All products as small tiles, or the largest where there are too many to read.
function productTiles(board, block, products, explain, rest) {
  const all = Array.from(products.keys());
  const shown = block.count <= block.most ? all : all.sort((a, b) => Math.abs(products[b]) - Math.abs(products[a])).slice(0, LARGEST);
  const element = make("div", { class: "products", "data-matrix": "products" });
  const top = largest([...products.map(Math.abs), 1e-9]);
  for (const t of shown) {
    const tile = make("span", { text: block.count > 8 ? fixed(products[t], 2) : trim(fixed(products[t], 2)), "data-term": t });
    const rgb = shadeOf(board.paint, "signed", products[t], top * 1.6);
    if (rgb) Object.assign(tile.style, { background: css(rgb), color: inkOn(rgb) });
    tile.onpointerenter = tile.onclick = () => explain(t);
    element.append(tile);
  }
  element.onpointerleave = rest;
  return element;
}

function total(block) {
  const line = make("p", { class: "total" });
  if (block.added === null) line.append(`${block.count === 1 ? "1 product adds" : `${block.count} products add`} up to ${shownNumber(block.sum)}`);
  else lowered(line, `${block.count} ${block.count === 1 ? "product" : "products"}: ${shownNumber(block.sum)} ${block.added < 0 ? "−" : "+"} ${shownNumber(Math.abs(block.added))} (${block.added_name}) = ${shownNumber(block.value)}`);
  return line;
}

// A row of scores to type over, what the exponential makes of each, and its share of their sum, before and now.
export function softmaxRow(board, block) {
  const take = (at) => board.numbers.subarray(at, at + block.tokens.length);
  const [scores, powers, weights] = [take(block.scores), take(block.powers), take(block.weights)];
  const before = block.before === null ? null : take(block.before);
  const widest = Math.max(largest(weights), before ? largest(before) : 0) || 1;
  const problem = make("p", { class: "wrong-number", role: "alert", id: "problem-scores" });
  const element = make("table", { class: "softmax", "data-matrix": "softmax" });
  const head = element.createTHead().insertRow();
  for (const name of ["key", "score", "e^(score − largest)", "weight", ...(before ? ["before"] : [])]) head.append(make("th", { text: name }));
  const body = element.createTBody();
  for (const j of block.shown) {
    const row = body.insertRow();
    if (j === block.chosen) row.className = "chosen";
    row.dataset.key = j;
    cell(row, "word", block.tokens[j]);
    cell(row, "score", block.editable && Number.isFinite(scores[j]) ? scoreBox(board, block, scores[j], j, problem) : fixed(scores[j], 3));
    cell(row, "number", Number.isFinite(powers[j]) ? fixed(powers[j], 4) : "0");
    cell(row, "bar", barline(weights[j], tenths(weights[j]), widest));
    if (before) cell(row, "number", tenths(before[j]));
    row.onclick = (event) => event.target.tagName !== "INPUT" && board.component.setTriggerValue("cell", ["weights", block.query, j]);
  }
  sumLine(body.insertRow(), block, { powers, weights, before });
  return make("div", { class: "wide" }, element, problem);
}

function sumLine(row, block, { powers, weights, before }) {
  const add = (numbers) => numbers.reduce((all, value) => all + (Number.isFinite(value) ? value : 0), 0);
  row.className = "sum";
  const left = block.tokens.length - block.shown.length;
  cell(row, "word", left ? `sum, with ${left} more` : "sum");
  cell(row, "score", "");
  cell(row, "number", fixed(add(powers), 4));
  cell(row, "bar", tenths(add(weights)));
  if (before) cell(row, "number", tenths(add(before)));
}

function scoreBox(board, block, value, j, problem) {
  const text = fixed(value, 3);
  const label = `score of ${block.tokens[block.query]} for ${block.tokens[j]}`;
  const input = make("input", { inputmode: "decimal", "aria-label": label, "data-focus": `score-${j}`, class: block.edited.includes(j) ? "edited" : "" });
  input.value = text;
  numberBox(input, value, text, () => problem, (number) => board.component.setTriggerValue("edit", ["score", block.query, j, number]));
  return input;
}

// One number to change in its place, what it was, and a way back to it.
export function change(board, block) {
  const problem = make("p", { class: "wrong-number", role: "alert", id: "problem-change" });
  const input = make("input", { inputmode: "decimal", "aria-label": block.label, "data-focus": `change-${block.place.join("-")}` });
  const text = shownNumber(block.value);
  input.value = text;
  if (block.was !== null) input.className = "edited";
  numberBox(input, block.value, text, () => problem, (number) => board.component.setTriggerValue("edit", [...block.place, number]));
  const element = make("div", { class: "change" }, lowered(make("span"), block.label), input);
  if (block.was !== null) {
    const back = make("button", { class: "numbers", type: "button", text: `put ${shownNumber(block.was)} back`, "data-focus": "put-back" });
    back.onclick = () => board.component.setTriggerValue("edit", [...block.place, null]);
    element.append(back);
  }
  element.append(problem);
  return element;
}
