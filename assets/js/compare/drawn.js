// What Compare draws: arcs over and under both sentences, and the difference of one head.
import { cannotSee } from "../visibility_text.js";
import { DRAWN_BOTH } from "../sentence_pair.js";
import { points } from "../format.js";
import { dequantise, strongest } from "../numbers.js";
import { tallNow } from "../explore/view_model.js";
import { compared, diffOf, isHere, matricesOf, rowsFor, seenIn } from "./rows.js";
import { mask } from "../visibility.js";

function fromNow(view) {
  const pointed = view.hovered.q ?? view.hovered.column;
  const pinned = view.pinColumns();
  return pointed === null || (view.hovered.q === null && pinned.includes(pointed)) ? pinned : [pointed];
}

function toNow(view) {
  const { q, k, column } = view.hovered;
  if (k !== null) return k;
  const elsewhere = q !== null || (column !== null && !view.pinColumns().includes(column));
  return elsewhere || view.state.to === null ? null : view.columnOf[0][view.state.to];
}

export function drawHero(view) {
  if (!view.duo.width) view.duo.measure(view.present);
  if (!view.duo.width) return;
  const from = fromNow(view);
  const links = matricesOf(view, view.state.head).map((matrix, side) => {
    const n = view.records[side].n;
    const found = [];
    for (const column of matrix ? from : []) {
      const unit = view.pairs[column][side];
      if (unit === null) continue;
      const row = dequantise(matrix.subarray(unit * n, (unit + 1) * n));
      for (const link of strongest(row, DRAWN_BOTH, 0.01)) found.push({ from: column, to: view.columnOf[side][link.to], weight: link.weight });
    }
    return found.sort((x, y) => y.weight - x.weight);
  });
  const to = toNow(view);
  const masses = new Map();
  if (from.length && isHere(view)) {
    const beside = compared(view, from);
    const rows = rowsFor(view, beside);
    const put = (column) => masses.set(column, seenIn(view, beside, column).map((sees, side) => (sees ? rows[side][column] : null)));
    view.pairs.forEach((_, column) => Math.max(rows[0][column], rows[1][column]) >= 0.02 && put(column));
    if (to !== null) put(to);
  }
  view.duo.draw({ links, from, to, pins: view.pinColumns(), pointed: view.hovered.column ?? view.hovered.k, masses }, view.paint);
}

// A minus B of the chosen head, over the words that both have.
export function specOf(view) {
  const own = (column) => (view.bothColumns.includes(column) ? view.bothColumns.indexOf(column) : null);
  const names = view.bothColumns.map((column) => view.nameOf(column));
  const values = diffOf(view, view.state.head);
  return {
    rows: names,
    columns: names,
    values: values ?? new Float64Array(names.length ** 2),
    signed: true,
    silent: !values,
    span: view.span,
    from: view.pinColumns().map(own).filter((unit) => unit !== null),
    to: view.state.to === null ? null : own(view.columnOf[0][view.state.to]),
    hovered: [own(view.hovered.q ?? view.hovered.column), own(view.hovered.k)],
    least: 0,
    measured: names,
    labelSize: view.present ? 18 : 13,
    tall: tallNow(view, view.matrix),
    absent: mask(view.common),
    absentWords: (q, k) => cannotSee(view.common, q, k, names),
    describe: (q, k, value) => `${names[q]} to ${names[k]}: ${points(value)} points`,
  };
}

export function drawMatrix(view) {
  if (view.both.length) view.matrix.draw(specOf(view), { ...view.paint, ...view.paint.change });
}
