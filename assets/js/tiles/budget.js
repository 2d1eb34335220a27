// A budget of 100% to spread over words, head by head: what is given to one word is lost to the others.
//
// block: {type: "budget", labels, needs, at, width, token, name, note}; `at` and `width`: the values of the words, a row each.
// All of it happens in the browser, which also keeps what was spread, by the name of the sentence.
import { make } from "../dom.js";
import { fixed } from "../format.js";
import { BUDGET } from "../kept.js";
import { said } from "./budget_said.js";
import { added, empty, left, MOST_HEADS, STEP } from "./budget_sums.js";

const NEEDS_AT_MOST = 6; // so that the row of marked words stays short

export function budget(board, block) {
  const made = make("div", { class: "budget" });
  const n = block.labels.length;
  const kept = read()[block.name] || {};
  const state = { needs: valid(kept.needs, n) || block.needs, heads: validHeads(kept.heads, n) || [empty(n)], at: [] };
  const values = Array.from({ length: n }, (_, i) => board.numbers.subarray(block.at + i * block.width, block.at + (i + 1) * block.width));
  const redraw = (focus = null) => {
    const all = read();
    write({ ...all, [block.name]: { needs: state.needs, heads: state.heads } });
    made.replaceChildren(needsRow(block, state, redraw), ...state.heads.map((_, h) => headRow(block, state, h, redraw)), outcome(board, block, state, values, redraw));
    const again = focus && made.querySelector(`[data-focus="${focus}"]`);
    if (again) again.focus();
  };
  redraw();
  return made;
}

function needsRow(block, state, redraw) {
  const made = make("div", { class: "needs", role: "group", "aria-label": "Words that are needed" });
  const full = state.needs.length >= NEEDS_AT_MOST;
  made.append(make("span", { class: "quiet", text: `What ${block.token} needs${full ? ` (${NEEDS_AT_MOST} at most)` : ""}:` }));
  block.labels.forEach((label, i) => {
    const needed = state.needs.includes(i);
    const button = make("button", { type: "button", class: "need", "data-uncounted": "", "data-focus": `need-${i}`, "aria-pressed": String(needed), "aria-disabled": String(full && !needed), text: label });
    button.tabIndex = i === (state.need ?? state.needs[0] ?? 0) ? 0 : -1;
    button.onclick = () => {
      if (full && !needed) return;
      state.needs = needed ? state.needs.filter((j) => j !== i) : [...state.needs, i].sort((a, b) => a - b);
      state.need = i;
      redraw(`need-${i}`);
    };
    button.onkeydown = (event) => move(event, made, i, "need", block.labels.length, (j) => { state.need = j; });
    made.append(button);
  });
  return made;
}

function headRow(block, state, h, redraw) {
  const head = state.heads[h];
  const made = make("div", { class: "cups", role: "group", "aria-label": `Head ${h + 1}` });
  const open = left(head);
  made.append(make("b", { class: "cup-name", text: `head ${h + 1}` }));
  block.labels.forEach((label, i) => made.append(cup(block, state, h, i, label, redraw)));
  made.append(make("span", { class: open ? "purse" : "purse spent", text: open ? `${open}% left` : "100% spent" }));
  return made;
}

function cup(block, state, h, i, label, redraw) {
  const share = state.heads[h][i];
  const change = (by) => {
    state.heads[h] = added(state.heads[h], i, by);
    state.at[h] = i;
    redraw(`cup-${h}-${i}`);
  };
  const made = make("button", {
    type: "button", role: "slider", class: state.needs.includes(i) ? "cup needed" : "cup", "data-uncounted": "", "data-focus": `cup-${h}-${i}`,
    "aria-label": `${label}, head ${h + 1}`, "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(share), "aria-valuetext": `${share}%`,
  });
  made.tabIndex = i === (state.at[h] ?? state.needs[0] ?? 0) ? 0 : -1;
  const fill = make("i");
  fill.style.height = `${share}%`;
  made.append(make("span", { class: "well" }, fill), make("span", { class: "word", text: label }), make("span", { class: "share", text: share ? `${share}` : "" }));
  made.onclick = (event) => change(event.shiftKey || event.target.classList.contains("share") ? -STEP : STEP);
  made.onkeydown = (event) => {
    const by = { ArrowUp: STEP, "+": STEP, ArrowDown: -STEP, "-": -STEP, Backspace: -100, Delete: -100, Home: -100, End: 100 }[event.key];
    if (by) {
      event.preventDefault();
      event.stopPropagation();
      change(by);
    } else move(event, made.parentElement, i, `cup-${h}`, block.labels.length, (j) => { state.at[h] = j; });
  };
  return made;
}

function move(event, root, i, name, count, went) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  const next = (i + step + count) % count;
  const target = root.querySelector(`[data-focus="${name}-${next}"]`);
  root.querySelector(`[data-focus="${name}-${i}"]`).tabIndex = -1;
  target.tabIndex = 0;
  went(next);
  target.focus();
}

function outcome(board, block, state, values, redraw) {
  const made = make("div", { class: "outcome" });
  const found = said(block.labels, state.needs, state.heads, values);
  const list = make("ul", { class: "arrived" });
  for (const one of found.needs) {
    const bar = make("i");
    bar.style.width = `${one.share}%`;
    list.append(make("li", { class: one.met ? "met" : "" }, make("b", { text: one.label }), make("span", { class: "lane" }, bar), make("span", { text: `${one.share}%${one.met ? " ✓" : ""}` }), make("span", { class: "quiet", text: one.share ? `match ${fixed(one.like, 2)}` : "lost" })));
  }
  const verdict = make("p", { class: "verdict", text: found.sentence });
  verdict.setAttribute("aria-live", "polite");
  const note = found.needs.some((one) => one.share) ? make("p", { class: "quiet", text: block.note }) : null;
  made.append(list, ...(note ? [note] : []), verdict, buttons(board, state, found, redraw));
  return made;
}

function buttons(board, state, found, redraw) {
  const made = make("div", { class: "budget-buttons" });
  const press = (text, act, focus, off = false) => {
    const button = make("button", { type: "button", class: "press", "data-focus": focus, text });
    button.disabled = off;
    button.onclick = () => {
      act();
      redraw(focus);
    };
    made.append(button);
  };
  const spent = state.heads.every((head) => left(head) === 0);
  if (state.heads.length < MOST_HEADS) {
    press(`Add ${["", "a second", "a third", "a fourth"][state.heads.length]} head`, () => state.heads.push(empty(state.heads[0].length)), "add-head", !spent);
  }
  press("Reset", () => { state.heads = [empty(state.heads[0].length)]; state.at = []; }, "take-back");
  if (found.met && !board.met) {
    board.met = true;
    board.component.setStateValue("met", true);
  }
  return made;
}

function valid(found, n) {
  return Array.isArray(found) && found.every((i) => Number.isInteger(i) && i >= 0 && i < n) ? found : null;
}

function validHeads(found, n) {
  const right = (head) => Array.isArray(head) && head.length === n && head.every((x) => Number.isInteger(x) && x >= 0 && x <= 100) && left(head) >= 0;
  return Array.isArray(found) && found.length && found.length <= MOST_HEADS && found.every(right) ? found : null;
}

function read() {
  try {
    return JSON.parse(localStorage.getItem(BUDGET) || "{}") || {};
  } catch {
    return {};
  }
}

function write(all) {
  try {
    localStorage.setItem(BUDGET, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-20))));
  } catch {
    // Nothing is kept; the page works on.
  }
}
