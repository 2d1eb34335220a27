// What stands around the pictures of Compare, in words.
import { triangleNote } from "../visibility_text.js";
import { spoken } from "../dom.js";
import { percent } from "../format.js";
import { strongest } from "../numbers.js";
import { fillFacts } from "../parts.js";
import { kindOf, titleOf } from "../record.js";
import { byMeasure, listed, quoted } from "../words.js";
import { describe, isHere, rowsFor, seenIn } from "./rows.js";

const LEAST = 0.001; // of a change that is said

function sentenceNow(view) {
  const head = view.state.head;
  const pins = view.sharedPins();
  const title = titleOf(view.common, head) + byMeasure(view.common);
  if (!isHere(view)) return `${title}.`;
  if (view.state.pins.length && !pins.length) return aloneInWords(view, title);
  if (!pins.length || !view.both.length) return `${describe(view, head)}.`;
  const [a, b] = rowsFor(view, pins);
  const by = (column) => Math.abs(a[column] - b[column]);
  const seen = view.bothColumns.filter((column) => seenIn(view, pins, column).every(Boolean) && by(column) >= LEAST);
  const words = seen.filter((column) => !view.record.specials[view.pairs[column][0]]);
  const [most] = (words.length ? words : seen).sort((x, y) => by(y) - by(x) || x - y);
  const who = listed(pins.map((column) => quoted(view.record.named[view.pairs[column][0]])));
  if (most === undefined) return `${title}: nothing changes for ${who}.`;
  return `${title}: from ${who} to ${quoted(view.nameOf(most))} ${percent(a[most])} in A, ${percent(b[most])} in B.`;
}

// Words that only A has: what they look at there, and that there is nothing to set beside it.
function aloneInWords(view, title) {
  const columns = view.pinColumns();
  const row = rowsFor(view, columns)[0];
  const nameInA = (at) => quoted(view.record.named[view.pairs[at][0]]);
  const links = strongest(row, 2, 0.01).map((link) => `${nameInA(link.to)} (${percent(link.weight)})`);
  const [stand, looks, rows] = columns.length > 1 ? ["stand", "they look on average", "rows"] : ["stands", "it looks", "row"];
  return `${title}: ${listed(columns.map(nameInA))} ${stand} in A only. There ${looks} at ${listed(links) || "nothing with 1% or more"}; B has no ${rows} to compare.`;
}

export function drawWords(view) {
  const sentence = view.ready || sentenceNow(view);
  if (view.line.dataset.said !== sentence) {
    view.line.dataset.said = sentence;
    spoken(view.line, sentence);
    view.live.textContent = sentence.replace(/[“”]/g, "");
  }
  const { pins } = view.state;
  view.hint.textContent = pins.length || view.ready ? "" : "Click a word to see where it looks in both.";
  view.hint.hidden = !view.hint.textContent;
  view.clear.hidden = !pins.length;
  fillFacts(view.facts, view.records, view.state.head, view.link);
  const alone = view.pairs.filter(([a, b]) => a === null || b === null).length;
  const left = alone ? ` ${alone} ${alone > 1 ? "words have" : "word has"} no counterpart and ${alone > 1 ? "are" : "is"} left out.` : "";
  const sizes = view.records[0].layers !== view.records[1].layers || view.records[0].heads !== view.records[1].heads ? ` Only ${kindOf(view.common).many} that both models have are shown.` : "";
  view.rest = `${left}${sizes}${triangleNote(view.common)}`.trim();
  view.previewed.textContent = view.rest;
}
