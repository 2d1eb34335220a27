// What the picture shows, said in words. The Python side says the very same sentences (attention_view.py).
import { percent, points } from "./format.js";
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

export function rowInWords(head, names, pins, row, allowed = () => true) {
  const links = strongest(row, 3, WORTH_SAYING, allowed);
  const who = listed(pins.map((pin) => quoted(names[pin])));
  const verb = pins.length > 1 ? "added up, look at" : "looks at";
  const what = links.map((link) => `${quoted(names[link.to])} (${percent(link.weight)})`);
  if (!what.length) return `Head ${headName(head)}: ${who} ${pins.length > 1 ? "added up, look" : "looks"} at nothing with 1 % or more.`;
  return `Head ${headName(head)}: ${who}${pins.length > 1 ? ", " : " "}${verb} ${listed(what)}.`;
}

// chose(q): had the word a choice? The first one of a decoder has none.
export function headInWords(head, names, specials, matrix, chose = () => true) {
  const n = names.length;
  const links = strongestLinks(matrix, n, 3, (q, k) => !specials[q] && !specials[k] && chose(q));
  const what = links.map((link) => `${quoted(names[link.from])} looks at ${quoted(names[link.to])} (${percent(link.weight)})`);
  if (!what.length) return `Head ${headName(head)} links no two words of this text.`;
  return `Head ${headName(head)}, its strongest links: ${listed(what)}.`;
}

export function changeInWords(head, names, pins, pairs) {
  const who = listed(pins.map((pin) => quoted(names[pin])));
  const verb = pins.length > 1 ? "look" : "looks";
  const what = pairs.map((p) => `${quoted(p.name)} (${percent(p.a)} in A, ${percent(p.b)} in B, ${points(p.a - p.b)} points)`);
  if (!what.length) return `Head ${headName(head)}: nothing changes for ${who}.`;
  return `Head ${headName(head)}: ${who} ${verb} at ${listed(what)}.`;
}

export function slug(text, limit = 40) {
  const plain = text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const parts = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
  let out = "";
  for (const part of parts) {
    if (out && out.length + part.length + 1 > limit) break;
    out = out ? `${out}-${part}` : [...part].slice(0, limit).join("");
  }
  return out || "text";
}

// What the letters on the sheet mean: [letter, kind], each kind once, in the order of the alphabet.
export function rolesInWords(roles) {
  const kinds = new Map(Object.values(roles ?? {}).filter((role) => role.letter).map((role) => [role.letter, role.kind]));
  return [...kinds].sort(([a], [b]) => (a < b ? -1 : 1));
}
