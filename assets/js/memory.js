// Answers of the user in the lesson, kept in this browser and nowhere else.
// In: data.save ({answers, done}) and data.forget (a number that grows). Out: once a mount, state `kept`.
import { ANSWERS, BUDGET } from "./storage_keys.js";

const mounts = new WeakMap();

export default function memory(component) {
  const { data, parentElement } = component;
  // What was forgotten before this mount came is not forgotten again: another tab may have kept something since.
  const mount = mounts.get(parentElement) || { isRestored: false, forgot: data.forget };
  mounts.set(parentElement, mount);
  if (data.forget > mount.forgot) {
    write(ANSWERS, { answers: {}, done: [] });
    write(BUDGET, {});
  }
  mount.forgot = data.forget;
  const stored = read();
  const all = merged(stored, data.save);
  write(ANSWERS, all);
  if (!mount.isRestored && JSON.stringify(all) !== JSON.stringify(merged({}, data.save))) component.setStateValue("kept", all);
  mount.isRestored = true;
}

// What is answered now counts more than what was; marks are never taken away.
export function merged(before, now) {
  const answers = { ...(before.answers || {}), ...(now.answers || {}) };
  const done = [...new Set([...(now.done || []), ...(before.done || [])])].sort();
  return { answers: Object.fromEntries(Object.entries(answers).sort()), done };
}

function read() {
  try {
    const stored = JSON.parse(localStorage.getItem(ANSWERS) || "{}");
    return stored && typeof stored === "object" ? stored : {};
  } catch {
    return {};
  }
}

function write(name, all) {
  try {
    localStorage.setItem(name, JSON.stringify(all));
  } catch {
    // A browser that keeps nothing: the answers stay as long as the page is open.
  }
}
