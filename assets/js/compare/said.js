// What stands around the pictures of Compare: sentences, hints, the ranking, the table.
import { nothingMoved, triangleNote } from "../causal.js";
import { spoken } from "../dom.js";
import { percent, points } from "../format.js";
import { changeInWords, headName, listed, quoted } from "../words.js";
import { describe, matricesOf, rankingNow, rowsFor, seenIn } from "./rows.js";

function sentenceNow(view) {
  const head = view.state.head;
  const pins = view.pinColumns();
  if (matricesOf(view, head).some((matrix) => !matrix)) return `Head ${headName(head)}.`;
  if (!pins.length || !view.both.length) return `${describe(view, head)}.`;
  const [a, b] = rowsFor(view, pins);
  const order = [...view.bothColumns].filter((c) => seenIn(view, pins, c).every(Boolean) && Math.abs(a[c] - b[c]) >= 0.001).sort((x, y) => Math.abs(a[y] - b[y]) - Math.abs(a[x] - b[x]) || x - y);
  return changeInWords(head, view.record.names, view.state.pins, order.slice(0, 2).map((c) => ({ name: view.nameOf(c), a: a[c], b: b[c] })));
}

export function drawWords(view) {
  const sentence = sentenceNow(view);
  if (view.line.dataset.said !== sentence) {
    view.line.dataset.said = sentence;
    spoken(view.line, sentence);
    view.live.textContent = sentence.replace(/[“”]/g, "");
  }
  const { pins, to } = view.state;
  view.hint.textContent = !pins.length ? "Point at a word to see where it looks in both. Click it to pin it." : to === null ? "Click a second word to follow that one link through all heads." : "";
  view.hint.hidden = !view.hint.textContent;
  view.clear.hidden = !pins.length;
  const alone = view.pairs.filter(([a, b]) => a === null || b === null).length;
  const left = alone ? ` ${alone} ${alone > 1 ? "words have" : "word has"} no counterpart and ${alone > 1 ? "are" : "is"} left out.` : "";
  const sizes = view.records[0].layers !== view.records[1].layers || view.records[0].heads !== view.records[1].heads ? " Only heads that both models have are shown." : "";
  view.rest = `${view.both.length} of ${view.pairs.length} places stand side by side.${left}${sizes}${triangleNote(view.common)}`;
  view.previewed.textContent = view.rest;
}

export function drawRanking(view) {
  const ranking = rankingNow(view);
  const { pins, to } = view.state;
  const who = listed(pins.map((pin) => quoted(view.record.names[pin])));
  const still = ranking && nothingMoved(view.common, ranking, who, pins.length);
  const entries = still ? null : ranking;
  const title = !pins.length ? "Which heads changed?" : to === null ? `Heads that changed most for ${who}` : `${who} to ${quoted(view.nameOf(view.columnOf[0][to]))}, A and B`;
  view.ranking.draw({
    title,
    entries: entries?.map((entry) => {
      const [inA, inB] = seenIn(view, view.pinColumns(), entry.column).map((sees, side) => (sees || view.pairs[entry.column][side] === null ? percent([entry.a, entry.b][side]) : "cannot see"));
      const note = `${to === null ? `${view.nameOf(entry.column)} ` : ""}${inA.replace(" %", "")} → ${inB}`;
      return { ...entry, note, text: to === null ? percent(entry.moved) : points(entry.a - entry.b), kind: to === null ? "" : entry.a >= entry.b ? "more" : "less" };
    }),
    pins,
    to,
    chosen: view.state.head,
    offers: still ? view.offers : [],
    hint: still ? `${still}${view.offers.length ? " Look from a word that comes later:" : ""}` : pins.length ? "Counting." : "Choose a word, and every head is ranked by how much of its look moved between A and B.",
  });
}

export function tableNow(view) {
  const pins = view.pinColumns();
  const [a, b] = pins.length ? rowsFor(view, pins) : [null, null];
  const caption = view.line.dataset.said;
  if (!a) return { caption, head: ["Pin a word to see its numbers"], rows: [] };
  return { caption, head: ["looked at", "A", "B", "A − B"], rows: view.pairs.map((_, column) => rowOf(view, pins, column, [a, b])) };
}

// What one word gets in A and in B; nothing where it cannot be seen.
function rowOf(view, pins, column, rows) {
  const [inA, inB] = seenIn(view, pins, column).map((sees, side) => (sees || view.pairs[column][side] === null ? rows[side][column] : null));
  return [view.nameOf(column), inA, inB, inA === null || inB === null ? null : inA - inB];
}
