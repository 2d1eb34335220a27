// A budget of 100% to spread over words, head by head: what is given to one word is lost to the others.
//
// block: {type: "budget", labels, needs, at, width, token, name, note}; `at` and `width`: the values of the words, a row each.
// All of it happens in the browser, which also keeps what was spread, by the name of the sentence.
import { make } from "../dom.js";
import { fixed } from "../format.js";
import { BUDGET } from "../storage_keys.js";
import { added, budgetResult, empty, left, MAX_HEADS, STEP } from "./budget_result.js";

const MAX_NEEDS = 6; // so that the row of marked words stays short

export function budget(board, block) {
  const element = make("div", { class: "budget" });
  const n = block.labels.length;
  const saved = read()[block.name] || {};
  const state = { needs: valid(saved.needs, n) || block.needs, heads: validHeads(saved.heads, n) || [empty(n)], at: [] };
  const values = Array.from({ length: n }, (_, i) => board.numbers.subarray(block.at + i * block.width, block.at + (i + 1) * block.width));
  const redraw = (focus = null) => {
    const all = read();
    write({ ...all, [block.name]: { needs: state.needs, heads: state.heads } });
    element.replaceChildren(needsRow(block, state, redraw), ...state.heads.map((_, h) => headRow(block, state, h, redraw)), outcome(board, block, state, values, redraw));
    const again = focus && element.querySelector(`[data-focus="${focus}"]`);
    if (again) again.focus();
  };
  redraw();
  return element;
}

function needsRow(block, state, redraw) {
  const element = make("div", { class: "needs", role: "group", "aria-label": "Words that are needed" });
  const full = state.needs.length >= MAX_NEEDS;
  element.append(make("span", { class: "quiet", text: `What ${block.token} needs${full ? ` (${MAX_NEEDS} at most)` : ""}:` }));
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
    button.onkeydown = (event) => move(event, element, i, "need", block.labels.length, (j) => { state.need = j; });
    element.append(button);
  });
  return element;
}

function headRow(block, state, h, redraw) {
  const head = state.heads[h];
  const element = make("div", { class: "cups", role: "group", "aria-label": `Head ${h + 1}` });
  const open = left(head);
  element.append(make("b", { class: "cup-name", text: `head ${h + 1}` }));
  block.labels.forEach((label, i) => element.append(cup(block, state, h, i, label, redraw)));
  element.append(make("span", { class: open ? "purse" : "purse spent", text: open ? `${open}% left` : "100% spent" }));
  return element;
}

function cup(block, state, h, i, label, redraw) {
  const share = state.heads[h][i];
  const change = (by) => {
    state.heads[h] = added(state.heads[h], i, by);
    state.at[h] = i;
    redraw(`cup-${h}-${i}`);
  };
  const element = make("button", {
    type: "button", role: "slider", class: state.needs.includes(i) ? "cup needed" : "cup", "data-uncounted": "", "data-focus": `cup-${h}-${i}`,
    "aria-label": `${label}, head ${h + 1}`, "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(share), "aria-valuetext": `${share}%`,
  });
  element.tabIndex = i === (state.at[h] ?? state.needs[0] ?? 0) ? 0 : -1;
  const fill = make("i");
  fill.style.height = `${share}%`;
  element.append(make("span", { class: "well" }, fill), make("span", { class: "word", text: label }), make("span", { class: "share", text: share ? `${share}` : "" }));
  element.onclick = (event) => change(event.shiftKey || event.target.classList.contains("share") ? -STEP : STEP);
  element.onkeydown = (event) => {
    const by = { ArrowUp: STEP, "+": STEP, ArrowDown: -STEP, "-": -STEP, Backspace: -100, Delete: -100, Home: -100, End: 100 }[event.key];
    if (by) {
      event.preventDefault();
      event.stopPropagation();
      change(by);
    } else move(event, element.parentElement, i, `cup-${h}`, block.labels.length, (j) => { state.at[h] = j; });
  };
  return element;
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
  const element = make("div", { class: "outcome" });
  const result = budgetResult(block.labels, state.needs, state.heads, values);
  const list = make("ul", { class: "arrived" });
  const isBegun = state.heads.some((head) => left(head) < 100);
  for (const need of result.needs) {
    const bar = make("i");
    bar.style.width = `${need.share}%`;
    list.append(make("li", { class: need.met ? "met" : "" }, make("b", { text: need.label }), make("span", { class: "lane" }, bar), make("span", { text: `${need.share}%${need.met ? " ✓" : ""}` }), make("span", { class: "quiet", text: need.share ? `match ${fixed(need.like, 2)}` : isBegun ? "lost" : "" })));
  }
  const verdict = make("p", { class: "verdict", text: result.sentence });
  verdict.setAttribute("aria-live", "polite");
  const note = result.needs.some((need) => need.share) ? make("p", { class: "quiet", text: block.note }) : null;
  element.append(list, ...(note ? [note] : []), verdict, buttons(board, state, result, redraw));
  return element;
}

function buttons(board, state, result, redraw) {
  const element = make("div", { class: "budget-buttons" });
  const press = (text, act, focus, off = false) => {
    const button = make("button", { type: "button", class: "press", "data-focus": focus, text });
    button.disabled = off;
    button.onclick = () => {
      act();
      redraw(focus);
    };
    element.append(button);
  };
  const spent = state.heads.every((head) => left(head) === 0);
  if (state.heads.length < MAX_HEADS) {
    press(`Add ${["", "a second", "a third", "a fourth"][state.heads.length]} head`, () => state.heads.push(empty(state.heads[0].length)), "add-head", !spent);
  }
  press("Reset", () => { state.heads = [empty(state.heads[0].length)]; state.at = []; }, "take-back");
  if (result.met && !board.met) {
    board.met = true;
    board.component.setStateValue("met", true);
  }
  return element;
}

function valid(result, n) {
  return Array.isArray(result) && result.every((i) => Number.isInteger(i) && i >= 0 && i < n) ? result : null;
}

function validHeads(result, n) {
  const right = (head) => Array.isArray(head) && head.length === n && head.every((x) => Number.isInteger(x) && x >= 0 && x <= 100) && left(head) >= 0;
  return Array.isArray(result) && result.length && result.length <= MAX_HEADS && result.every(right) ? result : null;
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
