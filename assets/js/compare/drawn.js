// What Compare draws: arcs over and under both sentences, and three matrices.
import { cannotSee } from "../causal.js";
import { DRAWN_BOTH } from "../duo.js";
import { points } from "../format.js";
import { strongest } from "../numbers.js";
import { tallNow } from "../explore/shown.js";
import { compared, isHere, rowsFor, seenIn } from "./rows.js";
import { mask } from "../seen.js";

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
  const links = [0, 1].map((side) => {
    const n = view.records[side].n;
    const found = [];
    for (const column of view.shownValues ? from : []) {
      const unit = view.pairs[column][side];
      if (unit === null) continue;
      const row = view.shownValues[side].subarray(unit * n, (unit + 1) * n);
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

export function specOf(view, side) {
  const unitOf = (column) => (column === null || column === undefined ? null : side < 2 ? view.pairs[column][side] : view.bothColumns.indexOf(column));
  const exists = (unit) => unit !== null && unit >= 0;
  const own = (column) => (exists(unitOf(column)) ? unitOf(column) : null);
  const names = side < 2 ? view.records[side].names : view.bothColumns.map((column) => view.nameOf(column));
  return {
    rows: names,
    columns: names,
    values: view.shownValues?.[side] ?? new Float64Array(names.length ** 2),
    signed: side === 2,
    silent: !view.shownValues,
    span: view.span,
    from: view.pinColumns().map(own).filter(exists),
    to: view.state.to === null ? null : own(view.columnOf[0][view.state.to]),
    hovered: [own(view.hovered.q ?? view.hovered.column), own(view.hovered.k)],
    least: 0,
    measured: view.pairs.map((_, column) => view.nameOf(column)),
    labelSize: view.present ? 18 : 13,
    tall: tallNow(view, view.matrices[side]),
    absent: mask(side < 2 ? view.records[side] : view.common),
    absentWords: (q, k) => cannotSee(view.common, q, k, names),
    describe: side === 2 ? (q, k, value) => `${names[q]} to ${names[k]}: ${points(value)} points` : null,
  };
}

export function drawMatrices(view) {
  // A minus B is there where any word has a counterpart.
  (view.both.length ? [0, 1, 2] : [0, 1]).forEach((side) => view.matrices[side].draw(specOf(view, side), side === 2 ? { ...view.paint, ...view.paint.change } : view.paint));
}
