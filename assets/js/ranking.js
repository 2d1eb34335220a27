// From–to: all heads ranked by how much the pinned words look at the chosen one, or where each head's look goes most.
import { arrowStep, fillOptions, make, repeated, write } from "./dom.js";
import { percent } from "./format.js";
import { headName, listed } from "./words.js";

// Why there are no numbers of these words: a server is still counting, and a file has those of other words.
export const notRanked = () => (globalThis.headscope?.live === false ? "This file ranks only the words that were pinned when it was saved." : "Counting.");

export class Ranking {
  constructor(actions) {
    this.actions = actions;
    this.title = make("h2", {});
    this.from = make("select", { "aria-label": "From", onchange: () => actions.from(this.from.value === "" ? null : Number(this.from.value)) });
    this.to = make("select", { "aria-label": "To", onchange: () => actions.to(this.to.value === "" ? null : Number(this.to.value)) });
    const pair = make("div", { class: "pair" }, make("label", {}, make("span", { text: "from" }), this.from), make("label", {}, make("span", { text: "to" }), this.to));
    this.leave = make("input", { type: "checkbox", onchange: () => actions.plain?.(this.leave.checked) });
    this.leaveSaid = make("span", {});
    this.leaveRow = make("label", { class: "leave", hidden: true }, this.leave, this.leaveSaid);
    this.list = make("ol", { class: "ranks" });
    this.list.onkeydown = (event) => this.key(event);
    this.root = make("section", { class: "ranking", "aria-label": "Heads ranked" }, this.title, pair, this.leaveRow, this.list);
    this.list.onclick = (event) => {
      const offer = event.target.closest?.("[data-pin]");
      if (offer) return actions.from(Number(offer.dataset.pin));
      const row = event.target.closest?.("[data-head]");
      if (row) actions.head(row.dataset.head.split("-").map((part) => Number(part) - 1));
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
    rows[here].tabIndex = -1;
    rows[next].tabIndex = 0;
    rows[next].focus();
  }

  // keys: so many of the first words are only looked at, and the others only look (0: all do both).
  fill(names, keys = 0) {
    const words = [...names.entries()];
    fillOptions(this.from, [["", "a word"], ...words.slice(keys)]);
    fillOptions(this.to, [["", "any word"], ...words.slice(0, keys || names.length)]);
  }

  // entries: [{layer, head, weight, note, text}] in order, or null while unknown.
  // offers: [[unit, text]], other words to look from where there is nothing to rank.
  draw({ title, entries, pins, to, chosen, hint, offers = [], short = headName, plain = null }) {
    write(this.title, title);
    this.from.value = pins.length === 1 ? String(pins[0]) : "";
    write(this.from.options[0], pins.length > 1 ? `${pins.length} words` : "a word");
    this.to.value = to === null ? "" : String(to);
    this.to.disabled = !pins.length;
    this.leaveRow.hidden = !plain?.here || !entries;
    if (plain) {
      this.leave.checked = plain.on;
      write(this.leaveSaid, `leave out ${listed(plain.names)}`);
    }
    if (!entries) {
      const buttons = offers.map(([unit, text]) => make("li", {}, make("button", { type: "button", class: "offer", "data-pin": unit, text })));
      this.list.replaceChildren(make("li", { class: "hint", text: hint }), ...buttons);
      this.ranked = false;
      return;
    }
    if (!this.ranked) this.list.replaceChildren();
    this.ranked = true;
    const scale = Math.max(1, ...entries.map((entry) => Math.abs(entry.weight)));
    const here = headName(chosen);
    const held = this.list.contains(this.root.getRootNode().activeElement) ? this.root.getRootNode().activeElement.dataset.head : null;
    const rows = repeated(this.list, entries.length, emptyRow).map((item) => item.firstChild);
    entries.forEach((entry, i) => fillRow(rows[i], entry, short([entry.layer, entry.head]), Math.abs(entry.weight) / scale));
    const current = rows.find((button) => button.dataset.head === here);
    const reached = rows.find((button) => button.dataset.head === held) ?? current ?? rows[0];
    for (const button of rows) {
      button.tabIndex = button === reached ? 0 : -1;
      button === current ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");
    }
    if (held && reached?.dataset.head === held) reached.focus({ preventScroll: true });
    this.unrevealed = current;
  }

  // The chosen head stays in sight, without moving the page. Apart from drawing: it reads where things stand, for which the
  // browser lays the page out.
  reveal() {
    const row = this.unrevealed;
    this.unrevealed = null;
    if (!row) return;
    const [box, list] = [row.getBoundingClientRect(), this.list.getBoundingClientRect()];
    if (box.top < list.top) this.list.scrollTop -= list.top - box.top;
    else if (box.bottom > list.bottom) {
      const tops = Array.from(this.list.children, (item) => item.getBoundingClientRect().top - list.top);
      this.list.scrollTop += tops.find((top) => top >= box.bottom - list.bottom) ?? box.bottom - list.bottom; // no row cut at the top
    }
  }
}

const emptyRow = () => make("li", {}, make("button", { type: "button" }, make("span", { class: "name" }), make("span", { class: "share" }), make("span", { class: "note" }), make("span")));

function fillRow(button, { layer, head, weight, kind, note, text }, name, share) {
  const [named, said, noted, bar] = button.children;
  button.dataset.head = headName([layer, head]);
  write(named, name);
  write(said, text ?? percent(weight));
  write(noted, note ?? "");
  noted.hidden = !note;
  bar.className = `bar ${kind ?? ""}`;
  bar.style.setProperty("--share", `${(100 * share).toFixed(2)}%`);
}
