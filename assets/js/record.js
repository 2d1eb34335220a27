// A record as it arrives in the browser. Short texts: all heads in full (uint16, order layer, head, query, key).
// Long texts: a small picture of every head, and from the server the chosen head in full and the pinned row's links.
import { column } from "./column.js";
import { blockOf, sources, squared } from "./cross_attention.js";
import { STEPS, meanRow, quantise, ranked, strongest } from "./numbers.js";
import { noneSees } from "./visibility.js";
import { headName } from "./words.js";

export function openRecord(data) {
  const n = data.names.length;
  return {
    ...data,
    n,
    named: data.indexed ?? data.names, // for lists: the same word twice has a number
    roles: rolesOf(data.roles ?? []),
    kinds: kindsOf(data.roles ?? []),
    full: data.packing === "full" ? squared(data, column(data.weights)) : null,
    small: data.packing === "small" ? column(data.weights) : null,
    opened: new Map(),
    links: null,
    missing: new Set(data.absent ?? []),
    layer: 0, // the one that is shown
  };
}

// Whether the model has attention weights there: a hybrid's other layers and heads that were cut off have none.
export const hasHead = (record, head) => !record.missing?.has(headName(head));

// What a learned sink took of every row of a head; null where the model has none.
export function sinkOf(record, head) {
  if (!record.sink || !head) return null;
  const at = headIndex(record, head) * record.n;
  return record.sink.slice(at, at + record.n);
}

// {"4-2": {name, kind, colour, kinds}} from what arrives: [[name, kind, colour, "4-2 5-1", "6-1"]]; the last heads are
// called by another role and have this one, too: it is one of their kinds.
function rolesOf(groups) {
  const roles = Object.fromEntries(groups.flatMap(([name, kind, colour, heads]) => split(heads).map((head) => [head, { name, kind, colour, kinds: [kind] }])));
  for (const [, kind, , , others] of groups) for (const head of split(others)) roles[head].kinds.push(kind);
  return roles;
}

const split = (heads) => (heads ? heads.split(" ") : []);

// The kinds of roles that heads have, in the order in which they arrive: [{kind, colour, heads: how many}].
function kindsOf(groups) {
  const kinds = new Map();
  for (const [, kind, colour, ...heads] of groups) kinds.set(kind, { kind, colour, heads: (kinds.get(kind)?.heads ?? 0) + heads.flatMap(split).length });
  return [...kinds.values()];
}

export const headIndex = (record, head) => head[0] * record.heads + head[1];

export function allHeads(record) {
  const out = [];
  for (let layer = 0; layer < record.layers; layer++) for (let head = 0; head < record.heads; head++) out.push([layer, head]);
  return out;
}

// The full matrix of a head as uint16 steps, or null while it is not here.
export function matrixOf(record, head) {
  const cells = record.n * record.n;
  const at = headIndex(record, head);
  if (record.full) return record.full.subarray(at * cells, (at + 1) * cells);
  return record.opened.get(at) ?? null;
}

// A head of a long text, of which nothing else has come in full.
export function keepOpened(record, head, matrix, limit = 6) {
  const at = headIndex(record, head);
  record.opened.delete(at);
  record.opened.set(at, quantise(matrix));
  while (record.opened.size > limit) record.opened.delete(record.opened.keys().next().value);
}

// What a picture is of, and what its numbers are called: some measures mix the heads of a layer, some the layers too.
const KINDS = {
  head: { one: (head) => `Head ${headName(head)}`, short: headName, many: "heads", all: "All heads", which: "Which heads?" },
  layer: { one: (head) => `Layer ${head[0] + 1}`, short: (head) => `layer ${head[0] + 1}`, many: "layers", all: "All layers", which: "Which layers?" },
  model: { one: () => "All layers together", short: () => "all layers", many: "layers together", all: "All layers together", which: "How much?" },
};

export const kindOf = (record) => KINDS[record.per ?? "head"];
// "head 4-2", "layer 4", "all layers": as Python names it.
export const placeName = (record, head) => ((record.per ?? "head") === "head" ? `head ${headName(head)}` : kindOf(record).short(head));
export const titleOf = (record, head) => kindOf(record).one(head);

// The picture of a head for the contact sheet: {cells, side, top} where top is the step that means 1; `high` rows if not as many.
export function thumbOf(record, head) {
  if (sources(record)) return { cells: blockOf(record, matrixOf(record, head)), side: sources(record), high: record.n - sources(record), top: STEPS };
  if (record.full) return { cells: matrixOf(record, head), side: record.n, top: STEPS };
  const size = record.side * record.side;
  const at = headIndex(record, head);
  return { cells: record.small.subarray(at * size, (at + 1) * size), side: record.side, top: 255 };
}

export function rowOf(record, head, pins) {
  const matrix = matrixOf(record, head);
  return matrix ? meanRow(matrix, record.n, pins) : null;
}

const samePins = (a, b) => a.length === b.length && a.every((pin, i) => pin === b[i]);

// For every head: how much the pinned units look at `to`, or where they look most. Null while the server has not sent it.
export function rankHeads(record, pins, to, allowed = () => true) {
  if (!pins.length) return null;
  const entries = [];
  if (!record.full && !(record.links && samePins(record.links.pins, pins))) return null;
  for (const [layer, head] of allHeads(record)) {
    if (!hasHead(record, [layer, head]) || noneSees(record, pins, to, layer)) continue;
    const link = record.full ? fromFull(record, [layer, head], pins, to, allowed) : fromLinks(record, [layer, head], to, allowed);
    if (!link) return null;
    entries.push({ layer, head, ...link });
  }
  return ranked(entries);
}

function fromFull(record, head, pins, to, allowed) {
  const row = rowOf(record, head, pins);
  if (to !== null) return { to, weight: row[to] };
  return strongest(row, 1, 0, allowed)[0] ?? { to: null, weight: 0 };
}

function fromLinks(record, head, to, allowed) {
  const { index, weight, toward, k } = record.links;
  const at = headIndex(record, head);
  if (to !== null) return toward && record.links.to === to ? { to, weight: toward[at] / STEPS } : null;
  for (let i = at * k; i < (at + 1) * k; i++) if (allowed(index[i])) return { to: index[i], weight: weight[i] / STEPS };
  return { to: null, weight: 0 };
}

// The strongest link of a head as its picture knows it: for labels that need no exact row.
export function loudest(record, head) {
  const [at, size] = [headIndex(record, head), 1];
  return record.loudest ? { from: record.loudest[at * 3], to: record.loudest[at * 3 + 1], weight: record.loudest[at * 3 + 2] / STEPS, size } : null;
}

// Two segments: which links the reader wants to see ("all", "AA", "AB", "BA", "BB").
export function pairAllows(record, filter, q, k) {
  return filter === "all" || (startsIn(record, filter, q) && record.segments[k] === (filter[1] === "A" ? 0 : 1));
}

// Whether any link from q is among those.
export const startsIn = (record, filter, q) => filter === "all" || record.segments[q] === (filter[0] === "A" ? 0 : 1);
