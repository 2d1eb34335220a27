// What the model does as it is and what it does without: two bars a line, the same scale.
//
// result: {title, before, after, unit: "percent" | "cosine", rows: [{id, mark, text, before, after, target}], note}
import { make } from "../dom.js";
import { fixed } from "../format.js";
import { chance } from "../next.js";

const WRITTEN = { percent: chance, cosine: (value) => fixed(value, 3) };

export class BeforeAfter {
  constructor(choose) {
    this.choose = choose;
    this.title = make("h2", {});
    this.key = make("p", { class: "caption key" });
    this.list = make("ol", { class: "pairs" });
    this.note = make("p", { class: "caption" });
    this.root = make("section", { class: "part before-after", hidden: true }, make("header", {}, this.title), this.key, this.list, this.note);
  }

  fill(result) {
    this.root.hidden = !result;
    if (!result) return;
    this.root.setAttribute("aria-label", result.title);
    this.title.textContent = result.title;
    this.key.replaceChildren(make("i", { class: "bar was" }), ` ${result.before}`, ...(result.after ? [make("i", { class: "bar is" }), ` ${result.after}`] : []));
    const focused = this.list.getRootNode().activeElement?.dataset?.id;
    this.list.replaceChildren(...result.rows.map((row) => line(row, result, this.choose)));
    if (focused) this.list.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    this.note.textContent = result.note;
  }
}

function line(row, { unit, after }, choose) {
  const write = WRITTEN[unit];
  const said = after ? `${write(row.before)}, then ${write(row.after)}` : write(row.before);
  const token = make("span", { class: "token" }, make("span", { class: "mark", text: row.mark }), make("span", { class: "text", text: row.text }));
  const bars = make("span", { class: "track" }, bar("was", row.before), after ? bar("is", row.after) : null);
  const numbers = make("span", { class: "numbers" }, make("span", { text: write(row.before) }), after ? make("b", { text: write(row.after) }) : null);
  const inside = [token, bars, numbers];
  const named = { "aria-label": `${row.mark ? " " : ""}${row.text}: ${said}${row.target ? ", the word that is followed" : ""}` };
  if (row.id === null) return make("li", { ...named, class: "pair-row" }, ...inside);
  return make("li", {}, make("button", { ...named, type: "button", class: "pair-row", "data-id": row.id, "aria-pressed": String(row.target), onclick: () => choose(row.id) }, ...inside));
}

function bar(kind, value) {
  return make("span", { class: `bar ${kind}`, style: `width:${(100 * Math.max(0, Math.min(1, value))).toFixed(2)}%` });
}
