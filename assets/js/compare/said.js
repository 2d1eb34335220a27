// What stands around the pictures of Compare: sentences, hints, the ranking.
import { noneSeesInWords, nothingMoved, triangleNote } from "../causal.js";
import { spoken } from "../dom.js";
import { percent, points } from "../format.js";
import { strongest } from "../numbers.js";
import { fillFacts } from "../parts.js";
import { notRanked } from "../ranking.js";
import { kindOf, titleOf } from "../record.js";
import { changeInWords, listed, quoted } from "../words.js";
import { describe, isHere, rankingNow, rowsFor, seenIn } from "./rows.js";

function sentenceNow(view) {
  const head = view.state.head;
  const pins = view.sharedPins();
  const title = titleOf(view.common, head);
  if (!isHere(view)) return `${title}.`;
  if (view.state.pins.length && !pins.length) return aloneInWords(view, title);
  if (!pins.length || !view.both.length) return `${describe(view, head)}.`;
  const [a, b] = rowsFor(view, pins);
  const order = [...view.bothColumns].filter((c) => seenIn(view, pins, c).every(Boolean) && Math.abs(a[c] - b[c]) >= 0.001).sort((x, y) => Math.abs(a[y] - b[y]) - Math.abs(a[x] - b[x]) || x - y);
  return changeInWords(title, view.record.named, pins.map((column) => view.pairs[column][0]), order.slice(0, 2).map((c) => ({ name: view.nameOf(c), a: a[c], b: b[c] })));
}

// Words that only A has: what they look at there, and that there is nothing to set beside it.
function aloneInWords(view, title) {
  const columns = view.pinColumns();
  const row = rowsFor(view, columns)[0];
  const nameInA = (at) => quoted(view.record.named[view.pairs[at][0]]);
  const links = strongest(row, 2, 0.01).map((link) => `${nameInA(link.to)} (${percent(link.weight)})`);
  const [stand, looks, rows] = columns.length > 1 ? ["stand", "they look on average", "rows"] : ["stands", "it looks", "row"];
  return `${title}: ${listed(columns.map(nameInA))} ${stand} in A only. There ${looks} at ${listed(links) || "nothing with 1 % or more"}; B has no ${rows} to compare.`;
}

export function drawWords(view) {
  const sentence = sentenceNow(view);
  if (view.line.dataset.said !== sentence) {
    view.line.dataset.said = sentence;
    spoken(view.line, sentence);
    view.live.textContent = sentence.replace(/[“”]/g, "");
  }
  const { pins, to } = view.state;
  view.hint.textContent = !pins.length ? "Point at a word to see where it looks in both. Click it to pin it." : to === null ? `Click a second word to follow that one link through all ${kindOf(view.common).many}.` : "";
  view.hint.hidden = !view.hint.textContent;
  view.clear.hidden = !pins.length;
  fillFacts(view.facts, view.records, view.state.head, view.link);
  const alone = view.pairs.filter(([a, b]) => a === null || b === null).length;
  const left = alone ? ` ${alone} ${alone > 1 ? "words have" : "word has"} no counterpart and ${alone > 1 ? "are" : "is"} left out.` : "";
  const sizes = view.records[0].layers !== view.records[1].layers || view.records[0].heads !== view.records[1].heads ? ` Only ${kindOf(view.common).many} that both models have are shown.` : "";
  view.rest = `${view.both.length} of ${view.pairs.length} ${view.record.words ? "words" : "tokens"} aligned.${left}${sizes}${triangleNote(view.common)}`;
  view.previewed.textContent = view.rest;
}

export function drawRanking(view) {
  const ranking = rankingNow(view);
  const { pins, to } = view.state;
  const shared = view.sharedPins().map((column) => view.pairs[column][0]);
  const who = listed((shared.length ? shared : pins).map((pin) => quoted(view.record.named[pin])));
  const alone = pins.length > 0 && !shared.length;
  const kind = kindOf(view.common);
  // Of a link the rank is how far it changed: whether the rows are the same, what moved in them says.
  const still = ranking && nothingMoved(view.common, ranking.map(({ moved }) => ({ weight: moved })), who, shared.length);
  const blind = ranking && to !== null && !seenIn(view, view.sharedPins(), view.columnOf[0][to]).some(Boolean);
  const entries = still || alone || blind ? null : ranking;
  const title = !pins.length ? `Which ${kind.many} changed?` : to === null ? `${kind.many[0].toUpperCase()}${kind.many.slice(1)} that changed most for ${who}` : `${who} to ${quoted(view.nameOf(view.columnOf[0][to]))}, A and B`;
  view.ranking.draw({
    title,
    entries: entries?.map((entry) => {
      const only = view.onlyIn(entry.column);
      const [inA, inB] = seenIn(view, view.sharedPins(), entry.column).map((sees, side) => (sees ? percent([entry.a, entry.b][side]) : "cannot see"));
      const name = to === null ? `${view.nameOf(entry.column)} ` : "";
      const note = only === null ? `${name}${inA.replace(" %", "")} → ${inB}` : `${name}${[inA, inB][only]}, only in ${"AB"[only]}`;
      return { ...entry, note, text: to === null ? percent(entry.moved) : points(entry.a - entry.b), kind: to === null ? "" : entry.a >= entry.b ? "more" : "less" };
    }),
    short: kind.short,
    pins,
    to,
    chosen: view.state.head,
    offers: still ? view.offers : [],
    hint: still ? `${still}${view.offers.length ? " Look from a word that comes later:" : ""}` : blind ? noneSeesInWords(view.record.named, shared, to, view.common.per) : alone ? `${who} ${pins.length > 1 ? "stand" : "stands"} in A only: there is no row of B to compare ${pins.length > 1 ? "them" : "it"} with. Choose a word that both have.` : pins.length ? notRanked() : `Choose a word to rank the ${kind.many} by how much of its attention moved between A and B.`,
  });
}
