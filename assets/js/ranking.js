// All heads ranked: by how much the chosen words look at the one asked for, or by where each head looks most.
import { arrowStep, make, repeated, write } from "./dom.js";
import { percent } from "./format.js";
import { headName } from "./words.js";

const FIRST = 5; // rows before "more"

// Why there are no numbers of these words: a server is still counting, and a file has those of other words.
export const notRanked = () => (globalThis.headscope?.live === false ? "This file ranks only the words that were pinned when it was saved." : "Counting.");

export class Ranking {
  constructor(actions) {
    this.actions = actions;
    this.title = make("h2", {});
    this.list = make("ol", { class: "ranks", "data-uncounted": "" }); // a bar chart
    this.list.onkeydown = (event) => this.key(event);
    this.more = make("button", { type: "button", class: "plain", "aria-expanded": "false", onclick: () => this.draw(this.shown, !this.all) });
    this.root = make("section", { class: "ranking", "aria-label": "Heads ranked" }, this.title, this.list, this.more);
    this.all = false;
    this.list.onclick = (event) => {
      const offer = event.target.closest?.("[data-pin]");
      if (offer) return actions.from(Number(offer.dataset.pin));
      const why = event.target.closest?.("[data-aim]");
      if (why) return actions.why(named(why.parentElement.firstChild.dataset.head), Number(why.dataset.aim));
      const row = event.target.closest?.("[data-head]");
      if (row) actions.head(named(row.dataset.head));
    };
  }

  // All rows are one stop of Tab: the arrows, Home and End go on inside.
  key(event) {
    const rows = [...this.list.querySelectorAll("[data-head]")];
    const here = rows.indexOf(event.target);
    const step = arrowStep(event.key, 1);
    const next = event.key === "Home" ? 0 : event.key === "End" ? rows.length - 1 : here + step;
    if (here < 0 || next === here || !rows[next]) return;
    event.preventDefault();
    reach(rows[here], false);
    reach(rows[next], true);
    rows[next].focus();
  }

  // shown: {title, entries: [{layer, head, weight, note, text}] in order, or null while unknown, chosen, hint, short,
  //         why: whether each row can be asked why it looks at its `aim`,
  //         offers: [[unit, text]], other words to look from where there is nothing to rank}; all: whether every row stands
  draw(shown, all = this.all) {
    Object.assign(this, { shown, all });
    const { title, entries, chosen, hint, offers = [], short = headName } = shown;
    write(this.title, title);
    this.more.hidden = !entries || entries.length <= FIRST;
    if (!entries) {
      const buttons = offers.map(([unit, text]) => make("li", {}, make("button", { type: "button", class: "offer", "data-pin": unit, text })));
      this.list.replaceChildren(make("li", { class: "hint", text: hint }), ...buttons);
      this.ranked = false;
      return;
    }
    write(this.more, all ? "Fewer" : `All ${entries.length}`);
    this.more.setAttribute("aria-expanded", String(all));
    if (!this.ranked) this.list.replaceChildren();
    this.ranked = true;
    const scale = Math.max(1, ...entries.map((entry) => Math.abs(entry.weight)));
    const here = headName(chosen);
    const named = entries.map((entry, i) => ({ ...entry, name: headName([entry.layer, entry.head]), rank: i + 1 }));
    const stand = all ? named : named.filter((entry) => entry.rank <= FIRST || entry.name === here);
    const held = this.list.contains(this.root.getRootNode().activeElement) ? this.root.getRootNode().activeElement.dataset.head : null;
    const items = repeated(this.list, stand.length, emptyRow);
    const rows = items.map((item) => item.firstChild);
    stand.forEach((entry, i) => fillWhy(items[i], entry, shown.why));
    stand.forEach((entry, i) => fillRow(rows[i], entry, short([entry.layer, entry.head]), Math.abs(entry.weight) / scale));
    const current = rows.find((button) => button.dataset.head === here);
    const reached = rows.find((button) => button.dataset.head === held) ?? current ?? rows[0];
    for (const button of rows) {
      reach(button, button === reached);
      button === current ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");
    }
    if (held && reached?.dataset.head === held) reached.focus({ preventScroll: true });
    this.unrevealed = all ? current : null;
  }

  // The chosen head stays in sight, without moving the page. Apart from drawing: it reads where things stand, for which the
  // browser lays the page out.
  reveal() {
    const row = this.unrevealed;
    this.unrevealed = null;
    if (!row) return;
    const [box, list] = [row.getBoundingClientRect(), this.list.getBoundingClientRect()];
    if (box.top < list.top || box.bottom > list.bottom) this.list.scrollTop += box.top - list.top;
  }
}

const named = (head) => head.split("-").map((part) => Number(part) - 1);

const emptyRow = () => make("li", {}, make("button", { type: "button" }, make("span", { class: "name" }), make("span", { class: "share" }), make("span", { class: "note" }), make("span")));

// Tab comes to one row and to what stands beside it.
function reach(button, isReached) {
  for (const one of button.parentElement.children) one.tabIndex = isReached ? 0 : -1;
}

// Beside a row that looks at a word: why it does.
function fillWhy(item, { name, aim }, offered) {
  const isThere = item.childElementCount > 1;
  if (!offered || (aim ?? null) === null) return isThere && item.lastElementChild.remove();
  if (!isThere) item.append(make("button", { type: "button", class: "ask", text: "Why?" }));
  item.lastElementChild.dataset.aim = aim;
  item.lastElementChild.setAttribute("aria-label", `Why does head ${name} look there?`);
}

function fillRow(button, { name: head, rank, weight, kind, note, text }, name, share) {
  const [named, said, noted, bar] = button.children;
  button.dataset.head = head;
  button.parentElement.setAttribute("value", rank);
  write(named, name);
  write(said, text ?? percent(weight));
  write(noted, note ?? "");
  noted.hidden = !note;
  bar.className = `bar ${kind ?? ""}`;
  bar.style.setProperty("--share", `${(100 * share).toFixed(2)}%`);
}
