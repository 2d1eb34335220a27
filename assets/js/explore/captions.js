// What stands around the pictures of Explore: the finding, its test, hints, titles.
import { cannotSee, maskNote, rowNote, sharingInWords } from "../visibility_text.js";
import { hintAcross, sources } from "../cross_attention.js";
import { make, write } from "../dom.js";
import { percent } from "../format.js";
import { changesInWords, ghostInWords, unitBefore } from "../ghost.js";
import { drawMeasure } from "../measure.js";
import { meanRow } from "../numbers.js";
import { fillFacts, announceOnce } from "../parts.js";
import { kindOf, placeName, rankHeads, sinkOf, titleOf } from "../record.js";
import { betweenWords, noneSees } from "../visibility.js";
import { byMeasure, findingInWords, headInWords, headName, listed, pairInWords, quoted, rowInWords, verbOf } from "../words.js";
import { isAbout } from "./look.js";
import { fromNow, ghostNow, topNow } from "./view_model.js";

// The line under the sentence follows the pointer; what is announced is what is chosen.
export function sentenceShown(view) {
  const from = fromNow(view);
  if (!view.matrixNow || !from.length || from === view.state.pins) return view.said;
  const row = meanRow(view.matrixNow, view.record.n, from);
  return rowInWords(titleOf(view.record, view.headNow) + byMeasure(view.record), view.record.named, from, row, undefined, verbOf(view.record));
}

function sentenceNow(view) {
  const { named: names, n } = view.record;
  const { pins, to } = view.state;
  if (!view.matrixNow) return `${titleOf(view.record, view.state.head)}.`;
  const title = titleOf(view.record, view.headNow);
  const named = title + byMeasure(view.record);
  if (!pins.length) return headInWords(named, names, view.matrixNow, (q, k) => betweenWords(view.record, q, k), verbOf(view.record));
  const row = meanRow(view.matrixNow, n, pins);
  const ghost = to === null ? ghostNow(view, pins) : null;
  const changes = ghost && changesInWords(ghost, row, view.record);
  if (changes) return `${named}, from ${listed(pins.map((pin) => quoted(names[pin])))}: ${changes}.`;
  if (to === null || noneSees(view.record, pins, to)) return findingInWords(named, names, pins, row, view.record) + sinkInWords(view.record, view.headNow, pins);
  const kind = kindOf(view.record);
  const subject = (view.record.per ?? "head") === "head" ? view.headNow : title;
  return pairInWords(subject, names, pins, to, row[to], rankHeads(view.record, pins, to), kind, view.record);
}

const meanOf = (pins, sink) => pins.reduce((total, q) => total + sink[q], 0) / pins.length;

// What a learned sink takes of the rows that are shown, where the model has one.
function sinkInWords(record, head, pins) {
  const sink = sinkOf(record, head);
  return sink ? ` A learned sink takes ${percent(meanOf(pins, sink))}.` : "";
}

export function drawWords(view) {
  const sentence = sentenceNow(view);
  view.line.classList.toggle("open", !view.state.pins.length);
  if (view.said !== sentence) {
    view.said = sentence;
    announceOnce(view.line, sentence);
    if (!view.firstVisit) view.live.textContent = sentence.replace(/[“”]/g, "");
  }
  const { pins, to } = view.state;
  const blind = noneSees(view.record, pins, to) ? cannotSee(view.record, pins[pins.length - 1], to) : "";
  if (blind) view.live.textContent = `${sentence} ${blind}`.replace(/[“”]/g, "");
  drawTrace(view);
  drawProof(view);
  const hint = blind || hintOf(view);
  view.hint.hidden = !hint;
  write(view.hint, hint);
  fillFacts(view.facts, [view.record], view.state.head, view.link);
  view.clear.hidden = !pins.length;
  view.previewRest = notesOf(view.record);
  write(view.previewed, view.previewRest);
}

// What a click does next.
function hintOf(view) {
  const { pins, adding } = view.state;
  if (adding) return "Click more words to average their arcs.";
  if (!pins.length) return "Click a word. The arcs show where this head looks from there.";
  if (isAbout(view.opening, view.state)) return view.opening.said;
  return (sources(view.record) && view.state.to === null && hintAcross(view.record)) || "";
}

function notesOf(record) {
  const notes = [];
  if (!sources(record) && record.specials.some(Boolean)) notes.push("Grey: special tokens.");
  if (record.packing === "small") notes.push("A cell of a small picture is the strongest link under it.");
  if (globalThis.headscope?.live === false && record.packing === "small") notes.push(heldInWords(record));
  if (record.causal) notes.push("Triangular: each token sees only itself and earlier tokens.");
  if (record.without) notes.push(`No attention weights: ${record.without}.`);
  return notes.join(" ");
}

// Of a long text a file holds one matrix in full.
function heldInWords(record) {
  const [at] = record.opened.keys();
  const others = record.layers * record.heads > 1 ? ", the others as small pictures" : "";
  return `This file holds ${placeName(record, [Math.floor(at / record.heads), at % record.heads])} in full${others}.`;
}

// The way to Compare leads to the same head and words, by their places in the sentence as it was.
function drawTrace(view) {
  const { pins, to, head } = view.state;
  const found = ghostNow(view, pins);
  view.trace.hidden = !found || globalThis.headscope?.live === false;
  if (view.trace.hidden) return;
  write(view.traceSaid, ghostInWords(view.ghost));
  const before = (unit) => unitBefore(view.ghost.change, unit);
  const aim = to === null ? null : before(to);
  const chosen = { head: headName(head), pin: pins.map(before).join(), ...(aim === null ? {} : { to: String(aim) }) };
  view.hideTrace.hidden = Boolean(view.firstVisit);
  view.keepBoth.hidden = !view.ghost.compare;
  view.keepBoth.href = `${view.ghost.compare}&${new URLSearchParams(chosen)}`;
}

// Present, for a presenter, all heads or the matrix.
export function drawTabs(view) {
  const { state, record } = view;
  const panels = view.present ? [["sheet", kindOf(record).all], ["matrix", "Matrix"]] : [];
  if (!view.present) state.panel = "matrix";
  if (view.tabs.dataset.kind !== String(view.present)) {
    view.tabs.dataset.kind = String(view.present);
    view.tabs.replaceChildren(...panels.map(([id, text]) => make("button", { type: "button", "data-panel": id, text, onclick: () => view.show({ panel: id }) })));
  }
  for (const tab of view.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.panel === state.panel));
  const was = view.root.dataset.panel;
  view.root.dataset.panel = state.panel;
  if (was !== state.panel && state.panel === "sheet") view.sheet.draw(view.paint);
  const [layer, head] = state.head;
  write(view.panelTitle, titleOf(record, state.head) + ((record.per ?? "head") === "head" ? ` · L${layer}H${head}` : ""));
  drawMeasure(view);
  const shared = sharingInWords(record, state.head);
  write(view.panelNote, `${rowNote(record)}${maskNote(record)}${shared && ` · ${shared}`}${shadeNote(view)}`);
  Object.entries({ scaled: state.scaled, ranked: state.ranked, adding: state.adding }).forEach(([name, on]) => (view[name].checked = on));
}

// What the strongest shade of a matrix stands for, where that is not 100%.
function shadeNote(view) {
  return view.state.scaled ? ` · ${view.paint.dark ? "brightest" : "darkest"} = ${percent(topNow(view))}` : "";
}

// What the chosen head usually does, where no test speaks of it.
export function drawUsual(view) {
  const shown = isAbout(view.usual, view.state) && !isAbout(view.evidence, view.state);
  const words = shown ? view.usual.said.replace(/`([^`]*)`/g, "“$1”") : "";
  view.root.classList.toggle("tested", Boolean(view.usual)); // the room stays while the next ones are on their way
  view.usualSaid.hidden = !view.usual;
  view.usualSaid.title = words;
  announceOnce(view.usualSaid, words);
}

// How often the chosen head is right where such a link was tested, and the one word to change.
function drawProof(view) {
  const tested = isAbout(view.evidence, view.state);
  const twin = view.twin && view.trace.hidden ? view.twin : null;
  view.evidenceSaid.hidden = view.evidenceLink.hidden = !tested;
  view.twinLink.hidden = !twin;
  view.proof.hidden = !tested && !twin;
  if (tested) {
    write(view.evidenceSaid, view.evidence.said);
    view.evidenceLink.href = view.evidence.href;
  }
  if (twin && view.twinLink.dataset.of !== twin.href) {
    write(view.twinLink, twin.said);
    delete view.twinLink.dataset.to;
    Object.assign(view.twinLink, { href: twin.href });
    view.twinLink.dataset.of = twin.href;
  }
}
