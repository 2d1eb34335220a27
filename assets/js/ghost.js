// What the arcs were before a word was changed: the old links of the same head, drawn on the new words.
import { STEPS, strongest } from "./numbers.js";
import { matrixOf } from "./record.js";
import { percent } from "./format.js";
import { quoted } from "./words.js";

// change: {start, old, new}: from `start` on, `new` units stand where `old` ones stood. Null where a unit has no place.
export function unitBefore(change, unit) {
  if (unit < change.start) return unit;
  if (unit >= change.start + change.new) return unit - change.new + change.old;
  return unit === change.start && change.old ? change.start : null;
}

export function unitNow(change, unit) {
  return unitBefore({ start: change.start, old: change.new, new: change.old }, unit);
}

// ghost: {record, change}; from: the units looked from now. Null where nothing is known of them.
export function ghostLinks(ghost, head, from, least = 0.01) {
  const before = from.map((unit) => unitBefore(ghost.change, unit));
  const matrix = matrixOf(ghost.record, head);
  if (!matrix || !from.length || before.includes(null)) return null;
  const { n } = ghost.record;
  const links = [];
  const shares = new Map();
  before.forEach((q, i) => {
    const row = Float64Array.from(matrix.subarray(q * n, (q + 1) * n), (step) => step / STEPS);
    row.forEach((weight, k) => {
      const to = unitNow(ghost.change, k);
      if (to !== null) shares.set(to, (shares.get(to) ?? 0) + weight / from.length);
    });
    for (const link of strongest(row, 12, least)) {
      const to = unitNow(ghost.change, link.to);
      if (to !== null) links.push({ from: from[i], to, weight: link.weight });
    }
  });
  const { start, new: count } = ghost.change;
  return { links, shares, isNew: (unit) => unit >= start && unit < start + count };
}

const WORTH_SAYING = 0.02; // of a share that has moved

// How far the words have moved whose share did so most; empty where none did.
export function changesInWords({ shares, isNew }, row, { named, specials }) {
  const moves = [...row].map((weight, unit) => ({ unit, weight, before: shares.get(unit) ?? 0 })).filter(({ unit }) => !specials[unit] && !isNew(unit) && shares.has(unit));
  const size = ({ weight, before }) => Math.abs(weight - before);
  const most = moves.filter((move) => size(move) >= WORTH_SAYING).sort((a, b) => size(b) - size(a)).slice(0, 2);
  return most.map(({ unit, weight, before }) => `${quoted(named[unit])} ${weight > before ? "rises" : "falls"} from ${percent(before)} to ${percent(weight)}`).join("; ");
}

// What the dashed arcs are, in words: the finding and the crossed-out numbers say how large.
export const ghostInWords = ({ words: [was] }) => `Dashed: ${was ? `with ${quoted(was)}` : "before"}.`;
