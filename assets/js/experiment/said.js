// What is said of a head that is pointed at.
import { fixed, percent } from "../format.js";
import { headName } from "../words.js";
import { measured } from "./strongest.js";

export function inWords(head, view) {
  const name = headName(head);
  const role = view.data.roles?.[name];
  const who = `Head ${name}${role ? `, ${role.label}` : ""}`;
  if (view.effects) return `${who}: ${effect(view.effectOf(head), view.data, view.halfOf(head))}`;
  if (view.off.has(name)) return `${who}: ${view.data.done}.`;
  const moved = view.data.moved?.[name];
  return moved ? `${who}: ${percent(moved)} of its attention looks elsewhere.` : `${who}.`;
}

export function effect(value, { measure, was }, half) {
  if (!Number.isFinite(value)) return "not tried yet.";
  return `${measure} ${fixed(was, 2)} → ${fixed(was + value, 2)} (${measured(value, half)}).`;
}
