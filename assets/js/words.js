// What the picture shows, said in words. The Python side says the very same sentences (attention_view.py).
import { percent } from "./format.js";
import { strongest, strongestLinks } from "./numbers.js";

export function headName(head) {
  return `${head[0] + 1}-${head[1] + 1}`;
}

export function quoted(name) {
  return `“${name}”`;
}

export function listed(parts) {
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;
}

const WORTH_SAYING = 0.01;
const RAW = "Raw attention";

// A head by its place, or whatever else a picture is of by its name.
const titled = (head) => (typeof head === "string" ? head : `Head ${headName(head)}`);

// The name of the measure that is drawn; empty for the weights themselves.
export const measureOf = ({ measureSaid: measure = RAW }) => (measure === RAW ? "" : measure.replace(/ \(.*/, "").toLowerCase());
// What follows a title in a sentence: a share by another measure is no attention.
export const byMeasure = (record) => measureOf(record) && `, ${measureOf(record)}`;
// What a word does to another, by the measure that is drawn: only raw weights are where a head looks.
export const verbOf = (record) => (measureOf(record) ? "draws on" : "looks at");

// The finding: where the chosen words look most.
export function findingInWords(title, names, pins, row, record) {
  const [link] = strongest(row, 1, WORTH_SAYING);
  const who = listed(pins.map((pin) => quoted(names[pin])));
  if (!link) return `${title}: ${who}, nothing with 1% or more.`;
  const share = percent(link.weight);
  if (measureOf(record)) return `${title}: ${who} ${pins.length > 1 ? "draw" : "draws"} most from ${quoted(names[link.to])} (${share}).`;
  return `${title} looks from ${who} to ${quoted(names[link.to])} (${share} of ${pins.length > 1 ? "their" : "its"} attention).`;
}

export function rowInWords(head, names, pins, row, allowed = () => true, verb = "looks at") {
  const links = strongest(row, 3, WORTH_SAYING, allowed);
  const who = listed(pins.map((pin) => quoted(names[pin])));
  const looks = pins.length > 1 ? verb.replace("s ", " on average ") : verb;
  const what = links.map((link) => `${quoted(names[link.to])} (${percent(link.weight)})`);
  return `${titled(head)}: ${who} ${looks} ${what.length ? listed(what) : "nothing with 1% or more"}.`;
}

// among(q, k): is it a link between two words?
export function headInWords(head, names, matrix, among, verb = "looks at") {
  const links = strongestLinks(matrix, names.length, 3, among);
  const what = links.map((link) => `${quoted(names[link.from])} ${verb} ${quoted(names[link.to])} (${percent(link.weight)})`);
  if (!what.length) return `${titled(head)}: no link between two words of this text.`;
  const left = [...new Set(names.filter((_, i) => !names.some((_, k) => among(i, k) || among(k, i))).map((name) => name.replace(/[₀-₉]+$/, "")))];
  const but = left.length ? ` (${listed(left)} left out)` : "";
  return `${titled(head)}, its strongest links between words${but}: ${listed(what)}.`;
}

// The answer to "who links these two?": entries are all heads, the strongest first; `kind` names them.
export function pairInWords(head, names, pins, to, weight, entries, kind = { short: headName, many: "heads" }, record = {}) {
  const who = listed(pins.map((pin) => quoted(names[pin])));
  const link = `${titled(head)}${byMeasure(record)}: ${who} → ${quoted(names[to])} ${percent(weight)}`;
  if (!entries || entries.length < 2 || typeof head === "string") return `${link}.`;
  const rank = 1 + entries.findIndex((entry) => entry.layer === head[0] && entry.head === head[1]);
  const [best] = entries;
  if (!rank) return `${link}.`;
  const first = rank === 1 ? "the strongest" : `rank ${rank}`;
  const other = rank === 1 ? `next is ${kind.short([entries[1].layer, entries[1].head])} (${percent(entries[1].weight)})` : `strongest is ${kind.short([best.layer, best.head])} (${percent(best.weight)})`;
  return `${link}, ${first} of ${entries.length} ${kind.many}; ${other}.`;
}
