// What Explore shows follows from its state: the rows looked from, the links, the matrix and the lines to draw.
import { cannotSee } from "../visibility_text.js";
import { crossSpec, lookers, sources } from "../cross_attention.js";
import { ghostLinks } from "../ghost.js";
import { dequantise, largest, mix, STEPS, strongest, strongestLinks } from "../numbers.js";
import { matrixOf, sinkOf, thumbOf } from "../record.js";
import { betweenWords, mask, noneSees, isMasked } from "../visibility.js";
import { verbOf } from "../words.js";
import { reasonArcs } from "./why.js";

const GHOST_SAID = 0.02;

// What is pointed at shows its row, also where another word is pinned.
export function fromNow(view) {
  const { hovered, state } = view;
  const pointed = hovered.q ?? hovered.unit;
  return pointed === null || (hovered.q === null && state.pins.includes(pointed)) ? state.pins : [pointed];
}

function toNow(view) {
  return view.hovered.k ?? (fromNow(view) === view.state.pins ? view.state.to : null);
}

function valuesShown(view) {
  if (!view.matrixNow) return null;
  if (view.valuesOf !== view.matrixNow) {
    view.valuesOf = view.matrixNow;
    view.valuesNow = dequantise(view.matrixNow);
  }
  return view.tween < 1 ? mix(view.before.values, view.valuesNow, view.tween) : view.valuesNow;
}

// While a head of a long text is on its way: its small picture in place of the matrix.
function smallPicture(view) {
  const { cells, side, top } = thumbOf(view.record, view.state.head);
  return { values: Float64Array.from(cells, (cell) => cell / top), shape: [side, side], hidden: null, silent: true };
}

export function shownLinks(view) {
  const { named: names, n } = view.record;
  const from = fromNow(view);
  const allowed = view.allowed;
  if (!view.matrixNow) return { links: [], from, to: null, pointed: null };
  if (!from.length && sources(view.record) && view.hovered.k !== null) return { links: lookers(view.record, valuesShown(view), view.hovered.k), from, to: null, pointed: view.hovered.k, names };
  if (!from.length) {
    const links = strongestLinks(view.matrixNow, n, 5, (q, k) => allowed(q, k) && betweenWords(view.record, q, k));
    return { links: links.filter((link) => link.weight >= Math.max(0.02, view.state.least)), from, to: null, pointed: view.hovered.k, names };
  }
  const values = valuesShown(view);
  const links = [];
  for (const q of from) {
    const row = values.subarray(q * n, (q + 1) * n);
    for (const link of strongest(row, 12, Math.max(0.01, view.state.least), (k) => allowed(q, k))) links.push({ from: q, ...link });
  }
  links.sort((a, b) => b.weight - a.weight);
  const to = toNow(view);
  const sum = (k) => from.reduce((total, q) => total + values[q * n + k], 0) / from.length;
  const exact = new Map(to === null ? [] : [[to, sum(to)]]);
  for (const link of links) exact.set(link.to, sum(link.to));
  const blind = (k) => noneSees(view.record, from, k);
  if (blind(to)) exact.delete(to);
  if (to !== null) for (const q of from) if (!isMasked(view.record, q, to) && !links.some((link) => link.from === q && link.to === to)) links.push({ from: q, to, weight: values[q * n + to] });
  links.sort((a, b) => (b.to === to) - (a.to === to)); // only the first few are drawn: what was asked for is among them
  const asked = view.state.to !== null && view.state.to === to ? to : null; // the other arcs step back
  const ghost = ghostNow(view, from);
  for (const [unit, share] of ghost?.shares ?? []) if (share >= GHOST_SAID && !exact.has(unit)) exact.set(unit, sum(unit));
  return { links, from, to, asked, pointed: view.hovered.unit ?? view.hovered.k, exact, blind: sources(view.record) ? null : blind, ghost, reasons: from === view.state.pins ? reasonArcs(view) : [] };
}

// The links before a word was changed, as long as the reader has not sent them away.
export function ghostNow(view, from) {
  return view.ghost && !view.ghost.gone && view.headNow ? ghostLinks(view.ghost, view.headNow, from, Math.max(0.01, view.state.least)) : null;
}

// For a presenter the matrix ends where the screen does.
export function tallNow(view, matrix) {
  if (!view.present) return null;
  const top = matrix.root.getBoundingClientRect().top + scrollY;
  return Math.max(140, innerHeight - top - 8);
}

// The weight of the darkest shade: 100 %, or the largest one where the reader asked for that.
export function topNow(view) {
  const values = view.state.scaled ? valuesShown(view) : null;
  return values ? Math.max(largest(values), 1 / STEPS) : 1;
}

export function matrixSpec(view) {
  const { named: names } = view.record;
  const spec = crossSpec(view.record, {
    rows: names,
    columns: names,
    values: valuesShown(view),
    signed: false,
    from: view.state.pins,
    to: view.state.to,
    hovered: [view.hovered.q ?? view.hovered.unit, view.hovered.k],
    least: view.state.least,
    hidden: view.state.pair === "all" ? null : (q, k) => !view.allowed(q, k),
    labelSize: view.present ? 20 : 15,
    top: topNow(view),
    tall: tallNow(view, view.matrix),
    verb: verbOf(view.record),
    absent: mask(view.record),
    absentWords: (q, k) => cannotSee(view.record, q, k),
    ...(matrixOf(view.record, view.state.head) ? {} : smallPicture(view)),
  });
  return withSink(view, spec);
}

// What a learned sink takes of every row, as one column more.
function withSink(view, spec) {
  const sink = sinkOf(view.record, view.headNow ?? view.state.head);
  if (!sink || spec.shape || !spec.values) return spec;
  const n = view.record.n;
  const values = new Float64Array(n * (n + 1));
  for (let q = 0; q < n; q++) {
    values.set(spec.values.subarray(q * n, (q + 1) * n), q * (n + 1));
    values[q * (n + 1) + n] = sink[q];
  }
  const inside = (test) => test && ((q, k) => k < n && test(q, k));
  const hovered = view.hovered.sink ? [view.hovered.q, n] : spec.hovered;
  return { ...spec, columns: [...spec.columns, "(sink)"], values, hovered, absent: inside(spec.absent), hidden: inside(spec.hidden) };
}
