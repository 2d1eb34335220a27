// Which unit can see which: what cannot be seen is not 0 %, it is not there. In a decoder (`causal`) that is what comes
// later; in a layer with a window (`reach`: of each layer the number of a kind, of each kind the first and the last unit
// that every unit sees) what lies outside of it.
import { isOffBlock } from "./cross_attention.js";

const reachOf = (record, layer, q) => record.reach?.kinds[record.reach.of[layer]][q];

// Can the unit q not see the unit k in a layer (the one that is shown)? Units stand in the order of the text.
export function isMasked(record, q, k, layer = record.layer ?? 0) {
  const reach = reachOf(record, layer, q);
  return (reach ? k < reach[0] || k > reach[1] : Boolean(record.causal) && k > q) || isOffBlock(record, q, k);
}

// absent(q, k) for a matrix; null where every cell is there.
export const mask = (record) => (record.causal || record.reach ? (q, k) => isMasked(record, q, k) : null);

// A unit that sees itself alone looks at itself, whatever it is: its row says nothing.
export function hasChoice(record, q) {
  const reach = reachOf(record, record.layer ?? 0, q);
  return record.n === 1 || (reach ? reach[1] > reach[0] : !record.causal || q > 0);
}

const isWord = (record, unit) => !record.specials[unit] && /[\p{L}\p{N}]/u.test(record.names[unit]);

// Is it a link between two different words? Special tokens, punctuation and a decoder's first token have none, as in
// mha_core/record/links.py.
export const betweenWords = (record, q, k) => q !== k && !(record.causal && !(q && k)) && isWord(record, q) && isWord(record, k);

// Of these units, can none see k in that layer?
export const noneSees = (record, pins, k, layer = record.layer ?? 0) => k !== null && pins.length > 0 && pins.every((q) => isMasked(record, q, k, layer));

// And in no layer?
export const neverSeen = (record, pins, k) => (record.reach?.of ?? [0]).every((_, layer) => noneSees(record, pins, k, layer));

// Is there a unit k that one of these units (null: not in this text) can see?
export const seenBy = (record, units, k) => k !== null && units.some((q) => q !== null && !isMasked(record, q, k));
