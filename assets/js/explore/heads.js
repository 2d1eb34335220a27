// All heads in Explore: their order, what is said of each, the ranking, and the chips of one layer.
import { noneSeesInWords } from "../causal.js";
import { fillOptions, make } from "../dom.js";
import { percent } from "../format.js";
import { tintOf } from "../lines.js";
import { meanRow, STEPS, strongestLinks } from "../numbers.js";
import { notRanked } from "../ranking.js";
import { allHeads, hasHead, kindOf, matrixOf, rankHeads, startsIn, titleOf } from "../record.js";
import { chose, neverSeen } from "../seen.js";
import { nameAll } from "../sheet.js";
import { headName, listed, quoted, rolesInWords, rowInWords } from "../words.js";

export function fillSheet(view) {
  const roles = view.record.roles;
  const orders = [["layer", "layer by layer"], ["weight", weightOrderName(view)]];
  if (roles && Object.keys(roles).length) orders.push(["role", "by role"]);
  nameAll(view, kindOf(view.record).all);
  fillOptions(view.sort, orders);
  if (!orders.some(([value]) => value === view.state.sort)) view.state.sort = "layer";
  view.sort.value = view.state.sort;
  const groups = view.state.sort === "role" ? roleGroups(allHeads(view.record), roles) : null;
  view.sheet.fill(view.record, groups ? groups.flatMap((group) => group.heads) : orderNow(view), roles, (head) => describe(view, head), groups);
  view.kinds.replaceChildren(...rolesInWords(roles).map(([letter, kind, colour]) => kindShown(letter, kind, colour)));
  view.kinds.hidden = !view.kinds.childNodes.length;
  view.sheetFor = view.state.pins.join();
}

function kindShown(letter, kind, colour) {
  const shown = make("span", { class: "kind" }, make("b", { text: letter }), ` ${kind}`);
  shown.style.setProperty("--role", colour ?? "var(--soft)");
  return shown;
}

// The heads of one kind of role under one heading, in the order of the legend; those without a role come last.
export function roleGroups(heads, roles) {
  const of = (head) => roles?.[headName(head)];
  const groups = rolesInWords(roles).map(([letter, kind, colour]) => ({ letter, kind, colour, heads: heads.filter((head) => of(head)?.letter === letter) }));
  groups.push({ kind: "no clear role", heads: heads.filter((head) => !of(head)?.letter) });
  return groups.filter((group) => group.heads.length).map(({ letter, kind, colour, heads: those }) => ({ title: `${kind} · ${those.length} ${those.length === 1 ? "head" : "heads"}`, mark: { letter, colour }, heads: those }));
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
  const title = titleOf(view.record, head);
  if (!hasHead(view.record, head)) return `${title} has no attention weights.`;
  let what = title;
  if (matrix && pins.length) what = rowInWords(title, names, pins, meanRow(matrix, view.record.n, pins));
  else if (matrix) {
    const [link] = strongestLinks(matrix, view.record.n, 1, (q, k) => !specials[q] && !specials[k] && chose(view.record, q));
    if (link) what = `${title}: strongest link ${quoted(names[link.from])} to ${quoted(names[link.to])}, ${percent(link.weight)}`;
  } else if (view.record.loudest) {
    const at = (head[0] * view.record.heads + head[1]) * 3;
    const [q, k, w] = view.record.loudest.slice(at, at + 3);
    what = `${title}: strongest link ${quoted(names[q])} to ${quoted(names[k])}, ${percent(w / STEPS)}`;
  }
  return role ? `${what.replace(/\.$/, "")}. Role: ${role.label}.` : what;
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
