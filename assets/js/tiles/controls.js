// What the reader presses on a board: rows of tokens, the way through the screens, and the arrow keys.
import { make } from "../dom.js";
import { choose } from "./chosen.js";

export function tokens(board, block) {
  const element = make("div", { class: ["tokens", block.line && "line", block.line && board.root.classList.contains("large") && "whole"].filter(Boolean).join(" "), role: "radiogroup", "data-uncounted": "", "aria-label": block.label || "Token" });
  const mark = (query) => {
    buttons.forEach((button, i) => {
      button.setAttribute("aria-checked", String(i === query));
      button.tabIndex = i === query || (!Number.isInteger(query) && i === 0) ? 0 : -1;
    });
    const here = block.line && buttons[query];
    if (here) requestAnimationFrame(() => (element.scrollLeft = here.offsetLeft - element.offsetLeft - (element.clientWidth - here.clientWidth) / 2));
  };
  const buttons = block.labels.map((label, i) => {
    const button = make("button", { type: "button", role: "radio", class: block.special && block.special[i] ? "special" : "", "data-focus": `token-${i}`, text: label });
    button.onclick = () => {
      if (block.apart) mark(i);
      else choose(i);
      // A trigger is told each time it is pressed, also when the link went back in between.
      if (block.trigger) board.component.setTriggerValue(block.trigger, i);
      else board.component.setStateValue("query", i);
    };
    button.onkeydown = (event) => stepWithArrow(event, buttons, i);
    return button;
  });
  // A guess is a choice of its own; every other row of tokens follows the token that the page follows.
  if (block.apart) mark(block.chosen ?? null);
  else board.onChosen(mark);
  element.append(...buttons);
  return element;
}

function stepWithArrow(event, buttons, i) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  const next = buttons[(i + step + buttons.length) % buttons.length];
  next.focus();
  next.click();
}

// Back, the place among the screens, and on: what is pressed is told as the key of the screen that it leads to.
export function pager(board, block) {
  const { items, now } = block;
  const way = (to, text, name) => {
    const item = items[to];
    const button = make("button", { class: "way", type: "button", "data-focus": name, disabled: !item, "aria-label": item ? `${name}: ${item.title}` : name });
    button.append(...text);
    button.onclick = () => board.component.setTriggerValue("station", item.key);
    return button;
  };
  const names = items.map((item, i) => make("option", { value: item.key, text: `${i + 1} · ${item.title}`, selected: i === now }));
  const list = make("select", { "aria-label": "Screen", "data-focus": "screens" }, ...names);
  list.onchange = () => board.component.setTriggerValue("station", list.value);
  const place = make("span", { class: "quiet place-of", text: `of ${items.length}` });
  return make("div", { class: "pager" }, way(now - 1, ["‹", make("span", { text: " Back" })], "Back"), list, place, way(now + 1, [make("span", { text: "Next " }), "›"], "Next"));
}

// Whether a key moves a wide table or long lines of code that have the focus.
function scrolls(node, key) {
  return key.startsWith("Arrow") && node.matches && node.matches("[role=group][tabindex]") && node.scrollWidth > node.clientWidth + 1;
}

export function keyboard(component) {
  const pressed = (event) => {
    const path = event.composedPath();
    if (path.some((node) => node.matches && node.matches("input,textarea,select,[role=radio],[role=application],[role=combobox],[role=slider],[role=grid],[contenteditable=true]"))) return;
    if (event.altKey || event.ctrlKey || event.metaKey || path.some((node) => scrolls(node, event.key))) return;
    const go = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (!go) return;
    event.preventDefault();
    component.setTriggerValue("go", go);
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}
