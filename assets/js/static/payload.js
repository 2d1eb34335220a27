// A record of the picture from what the worker computed: what mha_core's grid and picture/payload.py make of it in Python.
import { quantise } from "../numbers.js";
import { indexed, spelled } from "./spelling.js";

export const SPECIALS = {
  shown: "rows sum to 1",
  hidden: "special tokens left out, rows sum to less than 1",
  renormalised: "special tokens left out, every row divided by its sum",
};

export const idOf = (run, model, unit, specials) => JSON.stringify([model.name, unit, specials, run.text]);

// run: the worker's answer; model: what the page knows of the model.
export function recordOf(run, model, unit, specials) {
  const words = unit === "words";
  const units = unitsOf(run, words).filter(({ special }) => specials === "shown" || !special);
  const weights = between(run, units, specials === "renormalised");
  const named = spelled(run.text, units, run.spans, run.cut);
  return {
    id: idOf(run, model, unit, specials),
    packing: "full",
    weights: quantise(weights),
    exact: weights,
    layers: run.layers,
    heads: run.heads,
    model: model.title,
    title: run.spans.map(([start, end]) => run.text.slice(start, end)).join(" "),
    words,
    causal: model.causal,
    ...reachOf(units, run.pieces, model.windows),
    sharing: model.sharing,
    specialsShown: specials,
    labels: units.map(({ label }) => label),
    ...named,
    indexed: indexed(named.names),
    ...marks(units, run),
    measureSaid: "Raw attention",
    per: "head",
    digest: model.digest,
    normalised: SPECIALS[specials],
    segments: units.map(({ segment }) => segment),
    specials: units.map(({ special }) => Number(special)),
    roles: model.roles,
    units,
    text: run.text,
  };
}

// One unit a piece or a word, in the spelling of the text; of pieces that continue a word with their mark.
export function unitsOf({ text, pieces }, words) {
  const units = [];
  pieces.forEach((piece, i) => {
    const last = units.at(-1);
    if (words && piece.word >= 0 && last?.word === piece.word) {
      last.pieces.push(i);
      last.end = Math.max(last.end, piece.end);
      last.bare = last.label = text.slice(last.start, last.end);
      return;
    }
    const bare = text.slice(piece.start, piece.end) || (piece.text.trim() ? piece.text : "▁");
    const { start, end, segment, word } = piece;
    units.push({ label: (words ? "" : piece.mark) + bare, bare, start, end, segment, word, special: Boolean(piece.special), pieces: [i] });
  });
  return units;
}

// To a word the sum over its pieces, from it their mean (Clark et al. 2019, section 4.1).
function between({ pieces, weights, layers, heads }, units, renormalised) {
  const [n, m] = [pieces.length, units.length];
  if (m === n && !renormalised) return weights;
  const out = new Float32Array(layers * heads * m * m);
  let at = 0;
  for (let head = 0; head < layers * heads; head++) {
    for (const { pieces: from } of units) {
      let sum = 0;
      for (const { pieces: to } of units) {
        let weight = 0;
        for (const q of from) for (const k of to) weight += weights[(head * n + q) * n + k];
        sum += out[at++] = weight / from.length;
      }
      if (renormalised && sum) for (let k = at - m; k < at; k++) out[k] /= sum;
    }
  }
  return out;
}

// The first and the last unit that each can see, where a layer has a window: kinds of layers, and which a layer is.
function reachOf(units, pieces, windows) {
  if (!windows.some(Boolean)) return {};
  if (units.length < 2) return { causal: true }; // as Python has it: nothing comes later
  const edges = (unit) => [unit.pieces[0], unit.pieces.at(-1)];
  const layers = windows.map((window) =>
    units.map((unit) => {
      const [first, last] = edges(unit);
      const near = (other) => !window || (edges(other)[1] >= first - window && edges(other)[0] <= last + window);
      return [units.findIndex(near), units.findLastIndex(near)];
    }),
  );
  const keys = layers.map((layer) => JSON.stringify(layer));
  const order = [...new Set(keys)].map((key) => JSON.parse(key)).sort((a, b) => a.flat().reduce((less, value, i) => less || value - b.flat()[i], 0));
  return { reach: { of: layers.map((_, i) => order.findIndex((kind) => JSON.stringify(kind) === keys[i])), kinds: order } };
}

// Where the model did not read what was written: pieces of one word, pieces it does not know, and a cut.
function marks(units, { pieces, cut }) {
  const joined = units.map(({ word }, i) => Number(i > 0 && word >= 0 && units[i - 1].word === word));
  const unknown = units.map((unit) => Number(unit.pieces.some((i) => pieces[i].text === "[UNK]")));
  return { joined, unknown, ...(unknown.some(Boolean) ? { unknownName: "[UNK]" } : {}), ...(cut ? { cut: `${cut} piece${cut === 1 ? "" : "s"} left out` } : {}) };
}

// Where the word of each unit stands in what was typed, in characters, for another one to be put there.
export function spotsOf({ units, words, text }) {
  const characters = (place) => [...text.slice(0, place)].length;
  return units.map((unit) => {
    if (unit.special) return null;
    const word = words ? [unit] : units.filter((other) => other.word === unit.word && unit.word >= 0);
    const ends = (word.length ? word : [unit]).map(({ start, end }) => [start, end]).flat();
    return [characters(Math.min(...ends)), characters(Math.max(...ends)), 0];
  });
}
