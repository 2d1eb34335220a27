// What is chosen in a picture: what the address asks for, or what a sentence opens with (pages/parts/frame/selection.py).
import { unitNow } from "../ghost.js";
import { betweenWords } from "../visibility.js";
import { headName } from "../words.js";

const bare = (label) => label.toLowerCase().replace(/^[.,;:!?]+|[.,;:!?]+$/g, "");

// params: of the address; first: the model's own head; link(head): what a text without one of the pronouns opens with.
// Returns the selection, and in `said` what was refused.
export function chosen(record, params, first, pronouns, link) {
  const said = [];
  const places = (key) => {
    if (params[key] === undefined || params[key] === "none") return params[key] && [];
    const asked = params[key].split(",");
    if (asked.every((place) => /^\d{1,4}$/.test(place) && place < record.labels.length)) return [...new Set(asked.map(Number))];
    said.push(`The link points at ${key} “${params[key].slice(0, 40)}”; this sentence has positions 0 to ${record.labels.length - 1}.`);
  };
  const named = /^([1-9]\d{0,2})-([1-9]\d{0,2})$/.exec(params.head ?? "");
  const there = named && named[1] <= record.layers && named[2] <= record.heads;
  const head = there ? [named[1] - 1, named[2] - 1] : first;
  if (params.head && !there) said.push(`This model has no head “${params.head.slice(0, 40)}”. Showing ${headName(head)}.`);
  const pronoun = record.labels.findIndex((label) => pronouns.includes(bare(label)));
  const open = pronoun < 0 ? link(head) ?? [] : [pronoun];
  const pins = places("pin") ?? open.slice(0, 1);
  const to = places("to") ?? (params.pin ? [] : open.slice(1));
  return { selection: { head, pins, to: pins.length ? to[0] ?? null : null, look: params }, said, found: !params.pin && open.length > 1 };
}

// The link between two different words with the largest value(q, k), as [q, k]; null where none is above 0.
function largestLink(record, value) {
  let [best, link] = [0, null];
  record.units.forEach((_, q) => record.units.forEach((_, k) => {
    const here = betweenWords(record, q, k) ? value(q, k) : 0;
    if (here > best) [best, link] = [here, [q, k]];
  }));
  return link;
}

export const weightOf = ({ exact, heads, units }, [layer, head], q, k) => exact[((layer * heads + head) * units.length + q) * units.length + k];

export const strongest = (record) => (head) => largestLink(record, (q, k) => weightOf(record, head, q, k));

// Of two runs the word whose link changes most in a head.
export const changedMost = (a, b, pairs) => (head) => {
  const there = new Map(pairs.filter(([, j]) => j !== null));
  const isThere = (q, k) => there.has(q) && there.has(k) && betweenWords(b, there.get(q), there.get(k));
  const change = (q, k) => (isThere(q, k) ? Math.abs(weightOf(a, head, q, k) - weightOf(b, head, there.get(q), there.get(k))) : 0);
  return largestLink(a, change)?.slice(0, 1) ?? null;
};

// After another text (`change`, null where too much is new), or another cut, what was chosen moves with its words.
export function moved(before, record, change, { pin = "", to = "" }) {
  const place = (at) => {
    if (before.title !== record.title) return change && unitNow(change, Number(at));
    const { special, start } = before.units[at] ?? { special: true };
    const now = special ? -1 : record.units.findIndex((unit) => unit.start <= start && start < unit.end);
    return now < 0 ? null : now;
  };
  const pins = pin.split(",").map(place);
  return pins.includes(null) ? { pin: "", to: "" } : { pin: pins.join(), to: to && String(place(to) ?? "") };
}
