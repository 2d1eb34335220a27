// What stands around the pictures of Explore: sentences, hints, tabs, notices, the table.
import { cannotSee, chose, maskNote, noneSees, sharingInWords, triangleNote, unseen } from "../causal.js";
import { make } from "../dom.js";
import { summedRow } from "../numbers.js";
import { noted, spokenOnce } from "../parts.js";
import { drawTable, pinnedTable, strongestTable } from "../table.js";
import { headInWords, headName, rowInWords } from "../words.js";
import { drawChips } from "./heads.js";
import { fromNow } from "./shown.js";

const PANELS = [["matrix", "Matrix"], ["lines", "Lines"], ["table", "Table"]];

// The line under the sentence follows the pointer; what is announced and saved is what is chosen.
export function sentenceShown(view) {
  const from = fromNow(view);
  if (!view.matrixNow || !from.length || from === view.state.pins) return view.said;
  return rowInWords(view.headNow, view.record.names, from, summedRow(view.matrixNow, view.record.n, from));
}

function sentenceNow(view) {
  const { names, specials, n } = view.record;
  if (!view.matrixNow) return `Head ${headName(view.state.head)}.`;
  if (!view.state.pins.length) return headInWords(view.headNow, names, specials, view.matrixNow, (q) => chose(view.record, q));
  const row = summedRow(view.matrixNow, n, view.state.pins);
  return rowInWords(view.headNow, names, view.state.pins, row);
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
  const blind = noneSees(view.record, pins, to) ? cannotSee(view.record.names, pins[pins.length - 1], to) : "";
  if (blind) view.live.textContent = `${sentence} ${blind}`.replace(/[“”]/g, "");
  if (!pins.length) view.hint.textContent = "Point at a word to see where it looks. Click it to pin it.";
  else if (view.state.adding) view.hint.textContent = "Every click adds a word; what the pinned words look at is summed.";
  else if (to === null) view.hint.textContent = "Click a second word to ask which heads link the two.";
  else view.hint.textContent = blind;
  view.hint.hidden = !view.hint.textContent;
  view.adding.hidden = !pins.length;
  view.adding.setAttribute("aria-pressed", String(view.state.adding));
  view.clear.hidden = !pins.length;
  view.previewRest = view.record.packing === "small" ? "Rows look at columns; a cell of a small picture is the strongest link under it." : "In each small picture, rows look at columns; the darker, the more.";
  if (globalThis.headscope?.live === false && view.headNow && view.record.packing === "small") view.previewRest += ` This file holds head ${headName([...view.record.opened.keys()].map((at) => [Math.floor(at / view.record.heads), at % view.record.heads])[0])} in full, the others as small pictures.`;
  view.previewRest += triangleNote(view.record);
  if (view.paint.dark) view.previewRest = view.previewRest.replace("darker", "brighter");
  view.previewed.textContent = view.previewRest;
}

export function drawTabs(view) {
  const state = view.state;
  const panels = view.present ? [["sheet", "All heads"], ...PANELS] : PANELS;
  if (!view.present && state.panel === "sheet") state.panel = "matrix";
  if (view.tabs.dataset.kind !== String(view.present)) {
    view.tabs.dataset.kind = String(view.present);
    view.tabs.replaceChildren(...panels.map(([id, text]) => make("button", { type: "button", "data-panel": id, text, onclick: () => view.setPanel(id) })));
  }
  for (const tab of view.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.panel === state.panel));
  const was = view.root.dataset.panel;
  view.root.dataset.panel = state.panel;
  if (was !== state.panel && state.panel === "sheet") view.sheet.draw(view.paint);
  view.panelTitle.textContent = `Head ${headName(state.head)}`;
  const shared = sharingInWords(view.record, state.head);
  view.panelNote.textContent = { matrix: `row = query, looks at column = key${maskNote(view.record)}`, lines: "left = query, looks at right = key", table: "", sheet: "" }[state.panel] + (shared && ` · ${shared}`);
  view.together.hidden = state.panel !== "lines";
  drawChips(view);
  if (state.panel === "table") drawNumbers(view);
}

// They come from Python with the head they speak of; in a saved file only that head has them.
export function drawNotices(view) {
  const { texts, of } = view.notices;
  const fits = texts.length && (globalThis.headscope?.live !== false || of === headName(view.state.head));
  view.why.hidden = !fits;
  if (fits) view.why.replaceChildren(make("h2", { text: "Why does it look like this?" }), ...texts.map(noted));
}

export function tableNow(view) {
  const { names, n } = view.record;
  const { pins } = view.state;
  const table = pins.length ? pinnedTable(names, pins, view.matrixNow, n, (q, k) => unseen(view.record, q, k)) : strongestTable(names, view.matrixNow, n, (q) => chose(view.record, q));
  return { ...table, caption: view.said };
}

function drawNumbers(view) {
  if (view.matrixNow) drawTable(view.table, tableNow(view));
}
