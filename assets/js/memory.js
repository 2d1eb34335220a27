// What a reader answered in the lesson, kept in this browser and nowhere else.
// In: data.save ({answers, done}) and data.forget (a number that grows). Out: once a mount, state `kept`.
import { ANSWERS, BUDGET } from "./kept.js";

const mounts = new WeakMap();

export default function memory(component) {
  const { data, parentElement } = component;
  // What was forgotten before this mount came is not forgotten again: another tab may have kept something since.
  const mount = mounts.get(parentElement) || { told: false, forgot: data.forget };
  mounts.set(parentElement, mount);
  if (data.forget > mount.forgot) {
    write(ANSWERS, { answers: {}, done: [] });
    write(BUDGET, {});
  }
  mount.forgot = data.forget;
  const there = read();
  const all = merged(there, data.save);
  write(ANSWERS, all);
  if (!mount.told && JSON.stringify(all) !== JSON.stringify(merged({}, data.save))) component.setStateValue("kept", all);
  mount.told = true;
}

// What is answered now counts more than what was; marks are never taken away.
export function merged(before, now) {
  const answers = { ...(before.answers || {}), ...(now.answers || {}) };
  const done = [...new Set([...(now.done || []), ...(before.done || [])])].sort();
  return { answers: Object.fromEntries(Object.entries(answers).sort()), done };
}

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(ANSWERS) || "{}");
    return found && typeof found === "object" ? found : {};
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
