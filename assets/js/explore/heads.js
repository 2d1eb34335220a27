// All heads in Explore: their order, what is said of each, the ranking, and the chips of one layer.
import { noneSeesInWords } from "../causal.js";
import { fillOptions, make } from "../dom.js";
import { percent } from "../format.js";
import { tintOf } from "../lines.js";
import { meanRow, strongestLinks } from "../numbers.js";
import { notRanked } from "../ranking.js";
import { allHeads, hasHead, kindOf, loudest, matrixOf, rankHeads, startsIn, titleOf } from "../record.js";
import { chose, neverSeen } from "../seen.js";
import { nameAll } from "../sheet.js";
import { headName, kindsOf, listed, quoted, rowInWords } from "../words.js";

export function fillSheet(view) {
  const roles = view.record.roles;
  const orders = [["layer", "layer by layer"], ["weight", weightOrderName(view)]];
  if (roles && Object.keys(roles).length) orders.push(["role", "by role"]);
  nameAll(view, kindOf(view.record).all);
  fillOptions(view.sort, orders);
  if (!orders.some(([value]) => value === view.state.sort)) view.state.sort = "layer";
  view.sort.value = view.state.sort;
  const groups = view.state.sort === "role" ? roleGroups(allHeads(view.record), roles) : null;
  view.sheet.fill(view.record, groups ? groups.flatMap((group) => group.heads) : orderNow(view), (head) => describe(view, head), groups);
  fillKinds(view);
  view.sheetFor = view.state.pins.join();
}

const headsInWords = (n) => `${n} ${n === 1 ? "head" : "heads"}`;

// A word for each kind of role, with the number of its heads; pressed, it marks them.
function fillKinds(view) {
  const kinds = kindsOf(view.record.roles);
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
  const word = make("button", { type: "button", "data-kind": kind, "aria-label": `${kind}, ${headsInWords(heads)}`, onclick: press }, kind, make("b", { text: ` ${heads}` }));
  word.style.setProperty("--role", colour);
  return word;
}

function markKind(view) {
  const pressed = kindsOf(view.record.roles).find(({ kind }) => kind === view.state.kind);
  for (const word of view.kinds.children) word.setAttribute("aria-pressed", String(word.dataset.kind === pressed?.kind));
  view.sheet.frame(pressed ? (head) => view.record.roles[headName(head)]?.kind === pressed.kind : null, pressed?.colour);
}

// The heads of one kind of role under one heading, in the order of the words; those without a role come last.
export function roleGroups(heads, roles) {
  const of = (head) => roles[headName(head)]?.kind;
  const groups = kindsOf(roles).map(({ kind, colour }) => ({ kind, colour, heads: heads.filter((head) => of(head) === kind) }));
  groups.push({ kind: "no clear role", heads: heads.filter((head) => !of(head)) });
  return groups.filter((group) => group.heads.length).map(({ kind, colour, heads: those }) => ({ title: `${kind} · ${headsInWords(those.length)}`, colour, heads: those }));
}

function weightOrderName(view) {
  const { pins, to } = view.state;
  if (!pins.length) return "by weight (pin a word)";
  const who = pins.length > 1 ? "the pinned words" : quoted(view.record.named[pins[0]]);
  return to === null ? `by where ${who} looks most` : `by ${who} to ${quoted(view.record.named[to])}`;
}

function orderNow(view) {
  const heads = allHeads(view.record);
  if (view.state.sort === "weight") {
    const entries = rankHeads(view.record, view.state.pins, view.state.to);
    if (entries) return entries.map((entry) => [entry.layer, entry.head]);
  }
  return heads;
}

export function describe(view, head) {
  const { named: names, specials } = view.record;
  const role = view.record.roles?.[headName(head)];
  const matrix = matrixOf(view.record, head);
  const pins = view.state?.pins ?? [];
  const title = titleOf(view.record, head) + (role ? `, ${role.name}` : "");
  if (!hasHead(view.record, head)) return `${title} has no attention weights.`;
  if (matrix && pins.length) return rowInWords(title, names, pins, meanRow(matrix, view.record.n, pins));
  const link = matrix ? strongestLinks(matrix, view.record.n, 1, (q, k) => !specials[q] && !specials[k] && chose(view.record, q))[0] : loudest(view.record, head);
  return link ? `${title}: strongest link ${quoted(names[link.from])} to ${quoted(names[link.to])}, ${percent(link.weight)}` : title;
}

export function drawRanking(view) {
  const { named: names, specials } = view.record;
  const { pins, to, plain } = view.state;
  const who = listed(pins.map((pin) => quoted(names[pin])));
  const blind = to !== null && neverSeen(view.record, pins, to);
  const elsewhere = to === null ? pins.filter((pin) => !startsIn(view.record, view.state.pair, pin)) : [];
  const entries = blind || elsewhere.length ? null : rankHeads(view.record, pins, to, (k) => !(plain && specials[k]) && pins.every((q) => view.allowed(q, k)));
  const kind = kindOf(view.record);
  let hint = notRanked();
  if (!pins.length) hint = `Choose a word, here or in the sentence, to rank the ${kind.many} by where that word looks.`;
  else if (blind) hint = noneSeesInWords(names, pins, to, view.record.per);
  else if (elsewhere.length) hint = noneStartsInWords(elsewhere.map((pin) => names[pin]), view.state.pair);
  let title = kind.which;
  if (pins.length && to !== null) title = `${who} to ${quoted(names[to])}`;
  else if (pins.length) title = `Where ${who} ${pins.length > 1 ? "look" : "looks"} most`;
  view.ranking.draw({
    title,
    short: kind.short,
    plain: specials.some(Boolean) ? { on: plain, names: [...new Set(names.filter((_, i) => specials[i]).map((name) => name.replace(/[₀-₉]+$/, "")))], here: to === null } : null,
    entries: entries?.map((entry) => ({ ...entry, note: to === null && entry.to !== null ? names[entry.to] : null })),
    pins,
    to,
    chosen: view.state.head,
    hint,
  });
}

function noneStartsInWords(names, filter) {
  return `No link from ${listed(names.map(quoted))} goes ${filter[0]} → ${filter[1]}: ${names.length > 1 ? "they stand" : "it stands"} in sentence ${filter[0] === "A" ? "B" : "A"}.`;
}

export function drawChips(view) {
  if (view.state.panel !== "lines") return;
  const [layer] = view.state.head;
  const on = new Set([view.state.head, ...view.state.also].map((head) => head[1]));
  view.chips.replaceChildren(
    ...Array.from({ length: view.record.heads }, (_, head) => {
      const here = matrixOf(view.record, [layer, head]);
      const chip = make("button", { type: "button", text: String(head + 1), "aria-pressed": String(on.has(head)), "aria-label": `Head ${layer + 1}-${head + 1}`, disabled: !here || !hasHead(view.record, [layer, head]), onclick: () => head !== view.state.head[1] && view.toggleAlso([layer, head]) });
      chip.style.setProperty("--tint", tintOf([layer, head]));
      return chip;
    }),
  );
  view.sum.hidden = !view.state.also.length;
  view.sum.setAttribute("aria-pressed", String(view.state.summed));
}
