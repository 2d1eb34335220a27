// All heads in Explore: their order, what is said of each, and the ranking.
import { noneSeesInWords } from "../visibility_text.js";
import { make } from "../dom.js";
import { percent } from "../format.js";
import { meanRow, strongest, strongestLinks } from "../numbers.js";
import { notRanked } from "../ranking.js";
import { allHeads, hasHead, kindOf, loudest, matrixOf, rankHeads, startsIn, titleOf } from "../record.js";
import { betweenWords, hasChoice, neverSeen } from "../visibility.js";
import { nameAll } from "../head_thumbnails.js";
import { byMeasure, headName, listed, quoted, rowInWords, verbOf } from "../words.js";

export function fillSheet(view) {
  nameAll(view, kindOf(view.record).all, countedHeads(view.record));
  view.sort.value = view.state.sort;
  view.sheet.fill(view.record, orderNow(view), (head) => describe(view, head));
  fillKinds(view);
  view.sheetFor = view.state.pins.join();
}

const counted = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

const countedHeads = ({ layers, heads, per = "head" }) => (per === "head" ? `${counted(layers * heads, "head")}, ${counted(layers, "layer")}` : null);

// A word for each kind of role; pressed, it marks its heads.
function fillKinds(view) {
  const kinds = view.record.kinds;
  const form = JSON.stringify(kinds);
  if (view.kinds.dataset.form !== form) {
    view.kinds.dataset.form = form;
    view.kinds.replaceChildren(...kinds.map((kind) => kindWord(view, kind)));
  }
  view.kinds.hidden = !kinds.length;
  markKind(view);
}

function kindWord(view, { kind, colour, heads }) {
  const press = () => {
    view.state.kind = view.state.kind === kind ? null : kind;
    markKind(view);
  };
  const word = make("button", { type: "button", "data-kind": kind, title: counted(heads, "head"), "aria-label": `${kind}, ${counted(heads, "head")}`, onclick: press, text: kind });
  word.style.setProperty("--role", colour);
  return word;
}

function markKind(view) {
  const pressed = view.record.kinds.find(({ kind }) => kind === view.state.kind);
  for (const word of view.kinds.children) word.setAttribute("aria-pressed", String(word.dataset.kind === pressed?.kind));
  view.sheet.frame(pressed ? (head) => view.record.roles[headName(head)]?.kinds.includes(pressed.kind) : null, pressed?.colour);
}

function orderNow(view) {
  const entries = view.state.sort === "weight" ? rankHeads(view.record, view.state.pins, view.state.to) : null;
  return entries?.map((entry) => [entry.layer, entry.head]) ?? allHeads(view.record);
}

export function describe(view, head) {
  const { named: names } = view.record;
  const role = view.record.roles?.[headName(head)];
  const matrix = matrixOf(view.record, head);
  const pins = view.state?.pins ?? [];
  const title = titleOf(view.record, head) + byMeasure(view.record) + (role ? `, ${role.name}` : "");
  if (!hasHead(view.record, head)) return `${title} has no attention weights.`;
  if (matrix && pins.length) return rowInWords(title, names, pins, meanRow(matrix, view.record.n, pins), undefined, verbOf(view.record));
  const link = matrix ? strongestLinks(matrix, view.record.n, 1, (q, k) => betweenWords(view.record, q, k))[0] : loudest(view.record, head);
  return link?.weight ? `${title}: strongest link ${quoted(names[link.from])} to ${quoted(names[link.to])}, ${percent(link.weight)}` : title;
}

// The word that the page's own link looks at, as it opened: a visitor sees which heads draw it before the first click.
function openingTarget(view) {
  const { record, state, mine, matrixNow } = view;
  if (state.ranked || mine.pins || state.pins.length !== 1 || !matrixNow || record.packing === "small") return null;
  const [pin] = state.pins;
  if (view.opened?.pin !== pin) {
    const [link] = strongest(meanRow(matrixNow, record.n, [pin]), 1, 0.01, (k) => betweenWords(record, pin, k));
    view.opened = { pin, to: link?.to ?? null };
  }
  return view.opened.to;
}

// Ranked once a second word is chosen, or where the reader asks for it; special tokens are no answer to "where".
export function drawRanking(view) {
  const { named: names, specials } = view.record;
  const { pins, ranked, pair, head: chosen } = view.state;
  const to = view.state.to ?? openingTarget(view);
  const kind = kindOf(view.record);
  const who = listed(pins.map((pin) => quoted(names[pin])));
  if (!pins.length || (to === null && !ranked)) {
    const [which, first] = [pins.length ? "a second word" : "two words", kind.many];
    return view.ranking.draw({ title: "Ranking", entries: null, hint: view.present ? "" : `Click ${which} to rank the ${first}.` });
  }
  const blind = to !== null && neverSeen(view.record, pins, to);
  const wrong = to === null ? pins.filter((pin) => !startsIn(view.record, pair, pin)) : [];
  const entries = blind || wrong.length ? null : rankHeads(view.record, pins, to, (k) => !specials[k] && pins.every((q) => view.allowed(q, k)));
  let hint = notRanked();
  if (blind) hint = noneSeesInWords(names, pins, to, view.record.per);
  else if (wrong.length) hint = noneStartsInWords(wrong.map((pin) => names[pin]), pair);
  view.ranking.draw({
    title: (to === null ? `Where ${who} ${pins.length > 1 ? "look" : "looks"} most` : `${who} to ${quoted(names[to])}`) + byMeasure(view.record),
    short: kind.short,
    entries: entries?.map((entry) => ({ ...entry, aim: entry.to, note: to === null && entry.to !== null ? names[entry.to] : null })),
    chosen,
    hint,
    why: Boolean(view.why) && !view.present && pins.length === 1 && hasChoice(view.record, pins[0]),
  });
}

function noneStartsInWords(names, filter) {
  return `No link from ${listed(names.map(quoted))} goes ${filter[0]} → ${filter[1]}: ${names.length > 1 ? "they stand" : "it stands"} in sentence ${filter[0] === "A" ? "B" : "A"}.`;
}
