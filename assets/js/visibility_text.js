// What cannot be seen, said in words, hatched on a canvas, and left out of small pictures.
import { css } from "./colour.js";
import { isMasked } from "./visibility.js";
import { headName, listed, measureOf, quoted, verbOf } from "./words.js";

const HATCH = 6;

export function cannotSee(record, q, k, names = namesOf(record)) {
  const why = record.causal && k > q ? "it comes later" : "it is outside what this layer sees";
  return `${quoted(names[q])} cannot see ${quoted(names[k])}: ${why}.`;
}

const namesOf = (record) => record.named ?? record.names;

// What a row of the matrix is to a column, and by which measure where that is not attention.
export function rowNote(record) {
  return measureOf(record) ? `${record.measureSaid}: row draws on column` : "Row looks at column";
}

// What a cell says: a weight, or that there is none.
export function cellInWords(record, q, k, share) {
  return isMasked(record, q, k) ? cannotSee(record, q, k) : `${namesOf(record)[q]} ${verbOf(record)} ${namesOf(record)[k]}: ${share}`;
}

export function noneSeesInWords(names, pins, k, per = "head") {
  const who = listed(pins.map((pin) => quoted(names[pin])));
  return `No ${per === "head" ? "head" : "layer"}: ${who} cannot see ${quoted(names[k])}, which comes later. In a decoder a word sees only itself and what stands before it.`;
}

// n x n differences with none where one of the two texts has no cell.
export function withoutGaps(record, cells, n) {
  if (record.causal) for (let q = 0; q < n; q++) cells.fill(0, q * n + q + 1, (q + 1) * n);
  return cells;
}

// Runs of cells that are not there: {q, from, to} for every row that has some.
export function gaps(absent, nq, nk) {
  const found = [];
  for (let q = 0; q < nq; q++) {
    for (let k = 0; k < nk; k++) {
      if (!absent(q, k)) continue;
      const from = k;
      while (k < nk && absent(q, k)) k++;
      found.push({ q, from, to: k });
    }
  }
  return found;
}

// Fine lines over what is not there, in CSS pixels of a canvas. frame: {left, top, size, high}
export function hatch(context, absent, [nq, nk], { left, top, size, high }, colour) {
  const [cw, ch] = [size / nk, high / nq];
  context.save();
  context.beginPath();
  for (const { q, from, to } of gaps(absent, nq, nk)) context.rect(left + from * cw, top + q * ch, (to - from) * cw, ch);
  context.clip();
  context.beginPath();
  for (let x = -high; x < size; x += HATCH) {
    context.moveTo(left + x, top + high);
    context.lineTo(left + x + high, top);
  }
  context.strokeStyle = css(colour);
  context.lineWidth = 1;
  context.stroke();
  context.restore();
}

// The line around what is there in a small picture, outside of its cells: two sides and the stairs. at: edges of the cells.
export function stairs(context, x, y, at, colour, width) {
  const [n, out] = [at.length - 1, width / 2];
  context.beginPath();
  context.moveTo(x - out, y - out);
  context.lineTo(x - out, y + at[n] + out);
  context.lineTo(x + at[n] + out, y + at[n] + out);
  for (let q = n - 1; q >= 0; q--) {
    context.lineTo(x + at[q + 1] + out, y + at[q] - out);
    context.lineTo(x + at[q] + (q ? out : -out), y + at[q] - out);
  }
  context.strokeStyle = css(colour);
  context.lineWidth = width;
  context.stroke();
}

// ---- what the page says of it
export function maskNote(record) {
  if (record.reach) return " · hatched: outside what this layer sees";
  return record.causal ? " · hatched: comes later, cannot be seen" : "";
}

export function triangleNote(record) {
  return record.causal ? " A triangle, because a word of a decoder sees only itself and what stands before it." : "";
}

// ---- heads that share their keys and values
export function sharers(record, [layer, head]) {
  const size = record.sharing ?? 1;
  if (size < 2) return [];
  const first = Math.floor(head / size) * size;
  return Array.from({ length: size }, (_, i) => [layer, first + i]).filter((other) => other[1] !== head);
}

export const keysOf = (record, [, head]) => Math.floor(head / (record.sharing ?? 1)) + 1;

export function sharingInWords(record, head) {
  const others = sharers(record, head);
  return others.length ? `${headName(head)} shares its keys and values with ${listed(others.map(headName))}.` : "";
}

// The widths of a row of heads, a gap after every group that shares its keys; one that does not share has none.
export function groupColumns(record, columns) {
  const size = record.sharing ?? 1;
  if (size < 2 || columns % size) return null;
  const groups = columns / size;
  return Array.from({ length: groups }, () => `repeat(${size}, minmax(0, 1fr))`).join(" var(--split) ");
}
