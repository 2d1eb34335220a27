// What stands around the pictures of Explore: sentences, hints, tabs.
import { cannotSee, maskNote, sharingInWords, triangleNote } from "../causal.js";
import { hintAcross } from "../cross.js";
import { make, write } from "../dom.js";
import { ghostInWords, unitBefore } from "../ghost.js";
import { percent } from "../format.js";
import { meanRow } from "../numbers.js";
import { drawMeasure } from "../measure.js";
import { fillFacts, spokenOnce } from "../parts.js";
import { kindOf, placeName, rankHeads, sinkOf, titleOf } from "../record.js";
import { chose, noneSees } from "../seen.js";
import { headInWords, headName, pairInWords, rowInWords } from "../words.js";
import { drawChips } from "./heads.js";
import { fromNow, ghostNow, topNow } from "./shown.js";

const PANELS = [["matrix", "Matrix"], ["lines", "Lines"]];

// The line under the sentence follows the pointer; what is announced is what is chosen.
export function sentenceShown(view) {
  const from = fromNow(view);
  if (!view.matrixNow || !from.length || from === view.state.pins) return view.said;
  return rowInWords(titleOf(view.record, view.headNow), view.record.named, from, meanRow(view.matrixNow, view.record.n, from));
}

function sentenceNow(view) {
  const { named: names, specials, n } = view.record;
  const { pins, to } = view.state;
  if (!view.matrixNow) return `${titleOf(view.record, view.state.head)}.`;
  const title = titleOf(view.record, view.headNow);
  if (!pins.length) return headInWords(title, names, specials, view.matrixNow, (q) => chose(view.record, q));
  const row = meanRow(view.matrixNow, n, pins);
  if (to === null || noneSees(view.record, pins, to)) return rowInWords(title, names, pins, row) + sinkInWords(view.record, view.headNow, pins);
  const kind = kindOf(view.record);
  const subject = (view.record.per ?? "head") === "head" ? view.headNow : title;
  return pairInWords(subject, names, pins, to, row[to], rankHeads(view.record, pins, to), kind);
}

const meanOf = (pins, sink) => pins.reduce((total, q) => total + sink[q], 0) / pins.length;

// What a learned sink takes of the rows that are shown, where the model has one.
function sinkInWords(record, head, pins) {
  const sink = sinkOf(record, head);
  return sink ? ` A learned sink takes ${percent(meanOf(pins, sink))}.` : "";
}

// What Python says of a choice, {said, of}, is said for as long as that is chosen.
function current(part, state) {
  if (!part) return false;
  const { head, pins, to } = part.of;
  return JSON.stringify([head, pins, to]) === JSON.stringify([state.head, state.pins, state.to]);
}

export function drawWords(view) {
  const sentence = sentenceNow(view);
  view.line.classList.toggle("open", !view.state.pins.length);
  if (view.said !== sentence) {
    view.said = sentence;
    spokenOnce(view.line, sentence);
    view.live.textContent = sentence.replace(/[“”]/g, "");
  }
  const { pins, to } = view.state;
  const blind = noneSees(view.record, pins, to) ? cannotSee(view.record, pins[pins.length - 1], to) : "";
  if (blind) view.live.textContent = `${sentence} ${blind}`.replace(/[“”]/g, "");
  let hint = blind;
  const [opened, evidence] = [view.opening, view.evidence].map((part) => current(part, view.state));
  if (opened) hint = view.opening.said;
  else if (!pins.length) hint = "Point at a word to see where it looks. Click it to pin it.";
  else if (view.state.adding) hint = "Every click adds a word; shown is the mean of what the pinned words look at.";
  else if (to === null && !view.evidence) hint = hintAcross(view.record) ?? `Click a second word to rank ${kindOf(view.record).many} by this link.`;
  drawTrace(view);
  view.hint.hidden = (!view.trace.hidden && !opened && !view.state.adding) || (evidence && !hint); // one line for all
  drawEvidence(view, evidence);
  if (view.state.brings && view.brings && !view.hint.hidden) hint = "An arc is as wide at the word looked at as the raw weight, and at the word that looks as what it brings.";
  write(view.hint, hint);
  view.hint.classList.toggle("empty", !hint); // its line stays, so that nothing below it moves
  fillFacts(view.facts, [view.record], view.state.head, view.link);
  view.adding.hidden = !pins.length;
  view.adding.setAttribute("aria-pressed", String(view.state.adding));
  view.clear.hidden = !pins.length;
  view.previewRest = view.record.packing === "small" ? "Each row shows where one word looks; a cell of a small picture is the strongest link under it." : "Each row shows where one word looks; darker = more.";
  if (globalThis.headscope?.live === false && view.headNow && view.record.packing === "small") view.previewRest += heldInWords(view.record);
  view.previewRest += triangleNote(view.record);
  if (view.record.without) view.previewRest += ` No attention weights: ${view.record.without}.`;
  if (view.paint.dark) view.previewRest = view.previewRest.replace("darker", "brighter");
  write(view.previewed, view.previewRest);
}

// Of a long text a file holds one matrix in full.
function heldInWords(record) {
  const [at] = record.opened.keys();
  const others = record.layers * record.heads > 1 ? ", the others as small pictures" : "";
  return ` This file holds ${placeName(record, [Math.floor(at / record.heads), at % record.heads])} in full${others}.`;
}

// The way to Compare leads to the same head and words, by their places in the sentence as it was.
function drawTrace(view) {
  const { pins, to, head } = view.state;
  const found = ghostNow(view, pins);
  view.trace.hidden = !found || globalThis.headscope?.live === false;
  if (view.trace.hidden) return;
  write(view.traceSaid, ghostInWords(view.ghost, found));
  const before = (unit) => unitBefore(view.ghost.change, unit);
  const aim = to === null ? null : before(to);
  const chosen = { head: headName(head), pin: pins.map(before).join(), ...(aim === null ? {} : { to: String(aim) }) };
  view.keepBoth.hidden = !view.ghost.compare;
  view.keepBoth.href = `${view.ghost.compare}&${new URLSearchParams(chosen)}`;
}

export function drawTabs(view) {
  const state = view.state;
  const panels = view.present ? [["sheet", kindOf(view.record).all], ...PANELS] : PANELS;
  if (!view.present && state.panel === "sheet") state.panel = "matrix";
  if (view.tabs.dataset.kind !== String(view.present)) {
    view.tabs.dataset.kind = String(view.present);
    view.tabs.replaceChildren(...panels.map(([id, text]) => make("button", { type: "button", "data-panel": id, text, onclick: () => view.setPanel(id) })));
  }
  for (const tab of view.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.panel === state.panel));
  const was = view.root.dataset.panel;
  view.root.dataset.panel = state.panel;
  if (was !== state.panel && state.panel === "sheet") view.sheet.draw(view.paint);
  write(view.panelTitle, titleOf(view.record, state.head));
  drawMeasure(view);
  const shared = sharingInWords(view.record, state.head);
  const reading = { matrix: `row = query, looks at column = key${maskNote(view.record)}`, lines: "left = query, looks at right = key", sheet: "" }[state.panel];
  write(view.panelNote, reading + (shared && ` · ${shared}`) + (state.panel === "matrix" ? shadeNote(view) : ""));
  view.scaledRow.hidden = state.panel !== "matrix";
  view.scaled.checked = state.scaled;
  view.together.hidden = state.panel !== "lines" || view.record.heads < 2;
  drawChips(view);
}

// What the strongest shade of a matrix stands for, where that is not 100 %.
function shadeNote(view) {
  return view.state.scaled ? ` · ${view.paint.dark ? "brightest" : "darkest"} = ${percent(topNow(view))}` : "";
}

// What the chosen head usually does, and does here.
export function drawUsual(view) {
  view.usualSaid.hidden = !view.usual;
  view.root.classList.toggle("tested", Boolean(view.usual)); // the room of both stays while the next ones are on their way
  spokenOnce(view.usualSaid, current(view.usual, view.state) ? view.usual.said.replace(/`([^`]*)`/g, "“$1”") : "");
}

// How often the chosen head is right where such a link was tested.
function drawEvidence(view, shown) {
  view.proof.hidden = !shown;
  if (!shown) return;
  write(view.evidenceSaid, view.evidence.said);
  view.evidenceLink.href = view.evidence.href;
}
