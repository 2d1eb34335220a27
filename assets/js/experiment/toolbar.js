// What stands above the switches: what they are set to, whole roles, as many at random, undo, and all as they were.
import { make } from "../dom.js";
import { headName } from "../words.js";

const FIRST = 8; // drawn where none is switched

export class Toolbar {
  constructor(actions) {
    this.actions = actions;
    this.factors = make("div", { class: "tabs", role: "group", "aria-label": "Ablation" });
    this.roles = make("select", { "aria-label": "Ablate the heads of a role", onchange: () => this.role() });
    this.random = make("button", { type: "button", class: "plain", onclick: () => this.draw() });
    this.undo = make("button", { type: "button", class: "plain", text: "Undo", onclick: () => actions.ask({ do: "undo" }) });
    this.clear = make("button", { type: "button", class: "plain", text: "All as they were", onclick: () => actions.set(new Set()) });
    this.root = make("div", { class: "toolbar", role: "toolbar", "aria-label": "Switches" }, make("span", { class: "caption", text: "Ablation" }), this.factors, this.roles, this.random, this.undo, this.clear);
  }

  fill(data) {
    this.data = data;
    this.factors.replaceChildren(
      ...data.factors.map(({ value, label, title }) => make("button", { type: "button", text: label, title, "aria-pressed": String(value === data.factor), onclick: () => this.actions.ask({ do: "factor", value }) })),
    );
    this.roles.hidden = !data.groups.length;
    this.roles.replaceChildren(make("option", { value: "", text: "A role …" }), ...data.groups.map(({ label, heads }, i) => make("option", { value: String(i), text: `${label} (${heads.length})` })));
    this.undo.disabled = !data.undo;
  }

  mark(off) {
    this.off = off;
    const n = off.size;
    const all = this.data.shape[0] * this.data.shape[1];
    this.random.textContent = `${n || Math.min(FIRST, all)} at random`;
    this.random.title = !n ? "Heads drawn at random" : 2 * n > all ? "As many, drawn at random from all: too few others are left" : "As many others, drawn at random";
    this.clear.disabled = !n;
  }

  role() {
    const group = this.data.groups[Number(this.roles.value)];
    if (this.roles.value && group) this.actions.set(new Set(group.heads));
    this.roles.value = "";
  }

  // As many as are switched, none of them among those: what any heads would have done.
  draw() {
    const [layers, heads] = this.data.shape;
    const all = Array.from({ length: layers * heads }, (_, i) => headName([Math.floor(i / heads), i % heads]));
    const rest = all.filter((name) => !this.off.has(name));
    const from = rest.length < this.off.size ? all : rest;
    const wanted = Math.min(this.off.size || FIRST, from.length);
    for (let i = 0; i < wanted; i++) {
      const j = i + Math.floor(Math.random() * (from.length - i));
      [from[i], from[j]] = [from[j], from[i]];
    }
    this.actions.set(new Set(from.slice(0, wanted)));
  }
}
