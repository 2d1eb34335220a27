// Cross-attention: the words of the target (they look) under those of the source (they are looked at). All of them are
// units of one list, source first, `record.keys` of them; a head's weights stand in one square of all units.
import { strongest } from "./numbers.js";

export const sources = (record) => record.keys ?? 0;

// Only a word of the target looks, and only at one of the source.
export const isOffBlock = (record, q, k) => Boolean(record.keys) && (q < record.keys || k >= record.keys);

// Weights as they come, query x key head after head, in squares of all units.
export function squared(data, cells) {
  if (!data.keys || !cells) return cells;
  const [nk, n] = [data.keys, data.names.length];
  const nq = n - nk;
  const out = new cells.constructor((cells.length / (nq * nk)) * n * n);
  for (let row = 0; row < cells.length / nk; row++) {
    const at = Math.floor(row / nq) * n * n + (nk + (row % nq)) * n;
    out.set(cells.subarray(row * nk, (row + 1) * nk), at);
  }
  return out;
}

// The part of a head's square that has weights: query x key.
export function blockOf(record, square) {
  if (!record.keys || !square) return square;
  const [nk, n] = [record.keys, record.n];
  const out = new square.constructor((n - nk) * nk);
  for (let q = nk; q < n; q++) out.set(square.subarray(q * n, q * n + nk), (q - nk) * nk);
  return out;
}

// What a matrix of all units draws, as a matrix of the target's words by the source's.
export function crossSpec(record, spec) {
  const nk = sources(record);
  if (!nk) return spec;
  const row = (q) => (q === null || q < nk ? null : q - nk);
  return {
    ...spec,
    rows: spec.rows.slice(nk),
    columns: spec.columns.slice(0, nk),
    values: blockOf(record, spec.values),
    from: spec.from.map(row).filter((q) => q !== null),
    hovered: [row(spec.hovered[0] ?? null), spec.hovered[1] !== null && spec.hovered[1] < nk ? spec.hovered[1] : null],
  };
}

// A matrix tells places among its rows; the view wants units.
export function inUnits(view, actions) {
  const unit = (q) => (q === null ? null : q + sources(view.record));
  return { ...actions, cell: (q, k, aloud) => actions.cell(unit(q), k, aloud), choose: (q, ...rest) => actions.choose(unit(q), ...rest) };
}

// A word of the source is pointed at as one that is looked at.
export const pointedAt = (record, unit) => (unit !== null && unit < sources(record) ? { unit: null, q: null, k: unit } : { unit, q: null, k: null });

// Who looks at a word of the source, where no word is chosen that looks.
export function lookers(record, values, k) {
  const column = Float64Array.from({ length: record.n }, (_, q) => values[q * record.n + k]);
  return strongest(column, 12, 0.01).map(({ to, weight }) => ({ from: to, to: k, weight }));
}

// What a click on a word chooses: of the source, what is looked at; of the target, what looks. Null where the view knows.
export function chosenAcross(view, unit, more, target) {
  const { pins, to, adding } = view.state;
  if (!sources(view.record) || target !== null) return null;
  if (unit < sources(view.record)) {
    if (pins.length) return { to: to === unit ? null : unit };
    const [best] = view.matrixNow ? lookers(view.record, view.matrixNow, unit) : [];
    return best ? { pins: [best.from], to: unit } : {};
  }
  return more || adding || pins.includes(unit) ? null : { pins: [unit], to };
}

export const hintAcross = (record) => (sources(record) ? "Click a word of the source (above) to rank the heads by this link." : null);
