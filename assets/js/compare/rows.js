// The numbers of Compare: rows of A and B over the same columns, and their difference.
import { withoutGaps } from "../visibility_text.js";
import { points } from "../format.js";
import { meanRow } from "../numbers.js";
import { allHeads, headIndex, matrixOf, titleOf } from "../record.js";
import { seenBy } from "../visibility.js";
import { byMeasure, quoted } from "../words.js";
import { difference, spread } from "./change.js";

export function matricesOf(view, head) {
  return view.records.map((record) => matrixOf(record, head));
}

// Whether the chosen head of both is in the browser.
export const isHere = (view) => matricesOf(view, view.state.head).every(Boolean);

// The mean of the rows of these columns in A and in B, spread over all columns.
export function rowsFor(view, columns, head = view.state.head) {
  return matricesOf(view, head).map((matrix, side) => {
    const units = columns.map((column) => view.pairs[column][side]).filter((unit) => unit !== null);
    const row = matrix ? meanRow(matrix, view.records[side].n, units) : new Float64Array(view.records[side].n);
    return spread(row, view.pairs, side);
  });
}

// Of these columns those that both have, whose rows can be set beside each other; all of them where there is none.
export function compared(view, columns) {
  const shared = view.shared(columns);
  return shared.length ? shared : columns;
}

// [A, B]: can a unit of these columns see that of column k?
export function seenIn(view, columns, k) {
  return view.records.map((record, side) => seenBy(record, columns.map((column) => view.pairs[column][side]), view.pairs[k][side]));
}

export function diffOf(view, head) {
  const at = headIndex(view.record, head);
  if (!view.diffs.has(at)) {
    const [a, b] = matricesOf(view, head);
    if (!a || !b) return null;
    view.diffs.set(at, withoutGaps(view.common, difference(a, view.records[0].n, b, view.records[1].n, view.both), view.both.length));
  }
  return view.diffs.get(at);
}

// The ramp ends at the largest difference of any head, rounded up: the legend says where.
export function spanOf(view) {
  let most = 0;
  for (const head of allHeads(view.common)) {
    const { cells, top } = view.pictureOf(head, 1);
    for (let i = 0; i < cells.length; i++) most = Math.max(most, Math.abs(cells[i]) / top);
  }
  return Math.max(0.1, Math.ceil(most * 10) / 10);
}

export function describe(view, head) {
  const diff = diffOf(view, head);
  const title = titleOf(view.common, head) + byMeasure(view.common);
  if (!diff) return title;
  if (!diff.length) return `${title}: no word of A has a counterpart in B`;
  let most = 0;
  for (let i = 1; i < diff.length; i++) if (Math.abs(diff[i]) > Math.abs(diff[most])) most = i;
  const m = view.both.length;
  const [q, k] = [Math.floor(most / m), most % m].map((i) => quoted(view.nameOf(view.bothColumns[i])));
  return `${title}: largest change ${q} to ${k}, ${points(diff[most])} points`;
}
