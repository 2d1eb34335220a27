// One query followed through the head, a line a key: product, sum, score, weight, and the value that it lets through.
import { make } from "../dom.js";
import { fixed, tenths } from "../format.js";
import { largest } from "../numbers.js";
import { reach, strip } from "./painted.js";
import { barline, cell } from "./tables.js";

export function follow(board, block) {
  const { tokens: labels, d_k: dk, d_v: dv } = block;
  const take = (at, size) => board.numbers.subarray(at, at + size);
  const n = labels.length;
  const columns = { raw: take(block.raw, n), scores: take(block.scores, n), weights: take(block.weights, n) };
  columns.widest = largest(columns.weights) || 1;
  columns.tops = {
    qk: reach([...take(block.q, dk), ...take(block.k, n * dk)]),
    product: reach(take(block.products, n * dk)),
    v: reach([...take(block.weighted, n * dv), ...take(block.z, dv)]),
  };
  const element = make("table", { class: ["follow", block.upto && `upto-${block.upto}`, block.tight && "tight"].filter(Boolean).join(" "), "data-matrix": "follow" });
  headLine(element.createTHead().insertRow(), block);
  const body = element.createTBody();
  queryLine(board, block, body.insertRow(), columns);
  const shown = block.shown || labels.map((_, i) => i);
  const strongest = columns.weights.indexOf(largest(columns.weights));
  for (const i of shown) keyLine(board, block, body.insertRow(), i, { ...columns, strongest });
  if (shown.length < n) restLine(body.insertRow(), shown, columns);
  if (block.upto !== "raw") sumLine(board, block, body.insertRow(), columns);
  return element;
}

function headLine(head, block) {
  head.className = "top-row";
  const headings = [
    ["", "key"], ["k", "k"], ["product", `q × k, number by number`], ["raw", "q · k"],
    ["score", `÷ ${fixed(block.divisor, 2)}`], ["bar", "softmax: weight"], ["value", "weight × v"],
  ];
  head.append(...headings.map(([name, text]) => make("th", { class: name, text })));
}

function queryLine(board, block, first, { tops }) {
  first.className = "top-row";
  cell(first, "word", `q of ${block.tokens[block.query]}`);
  cell(first, "strip k", strip(board, block.q, block.d_k, tops.qk, "signed", "q"));
  for (const name of ["product", "raw", "score", "bar", "value"]) cell(first, name, "");
}

function keyLine(board, block, row, i, { raw, scores, weights, strongest, widest, tops }) {
  const { tokens: labels, d_k: dk, d_v: dv } = block;
  const open = Number.isFinite(scores[i]);
  row.className = [i === strongest ? "strongest" : "", open ? "" : "blocked"].join(" ").trim();
  row.dataset.token = i;
  cell(row, "word", labels[i]);
  cell(row, "strip k", strip(board, block.k + i * dk, dk, tops.qk, "signed", `k of ${labels[i]}`));
  cell(row, "strip product", strip(board, block.products + i * dk, dk, tops.product, "signed", `q times k of ${labels[i]}`));
  cell(row, "raw", fixed(raw[i], 3));
  cell(row, "score", fixed(scores[i], 3));
  cell(row, "bar", barline(weights[i], tenths(weights[i]), widest));
  cell(row, "strip value", strip(board, block.weighted + i * dv, dv, tops.v, "signed", `weight times v of ${labels[i]}`));
}

// The keys that are not shown, together.
function restLine(rest, shown, { weights, widest }) {
  const sum = (places) => places.reduce((all, i) => all + weights[i], 0);
  const left = Math.max(0, sum([...weights.keys()]) - sum(shown));
  cell(rest, "word", `${weights.length - shown.length} more`);
  for (const name of ["k", "product", "raw", "score"]) cell(rest, name, "");
  cell(rest, "bar", barline(left, tenths(left), widest));
  cell(rest, "value", "");
}

function sumLine(board, block, last, { weights, tops }) {
  last.className = "sum";
  cell(last, "word", "sum");
  for (const name of ["k", "product", "raw", "score"]) cell(last, name, "");
  cell(last, "bar", `${tenths(weights.reduce((a, b) => a + b, 0))}`).style.textAlign = "left";
  cell(last, "strip value", strip(board, block.z, block.d_v, tops.v, "signed", "z, the sum"));
}
