// Experiment: all heads as switches, each with its small picture; the page draws the effect beside them.
//
// data: {mode: "experiment", records: [id], shape: [layers, heads], heard, off: ["24-4"], badge, done,
//        moved: {"25-1": 0.31}, roles: {"1-3": {label}}, hint}
// ask({do: "set", off, n})
import { make } from "./dom.js";
import { HeadSwitches } from "./experiment/head_switches.js";
import { percent } from "./format.js";
import { allHeads, thumbOf } from "./record.js";
import { headName } from "./words.js";

export class Experiment {
  constructor(root, _emit, ask = () => {}) {
    this.root = root;
    this.ask = ask;
    this.sent = 0;
    this.off = new Set();
    this.switches = new HeadSwitches({ change: (off) => this.change(off), done: () => this.send(), preview: (head) => this.preview(head) });
    this.pointed = make("p", { class: "caption pointed", "aria-live": "polite" });
    this.root.append(make("section", { class: "part all-heads", "aria-label": "All heads" }, this.switches.root, this.pointed));
  }

  // A drag under way, or a switch that Python has not answered yet, is newer than `data.off`.
  open(record, data) {
    this.record = record;
    this.data = data;
    this.heads = allHeads({ layers: data.shape[0], heads: data.shape[1] });
    if ((data.heard >= this.sent || this.sent === 0) && !this.switches.dragging) this.off = new Set(data.off);
    this.sent = Math.max(this.sent, data.heard);
    this.isFilled = false;
  }

  move() {}

  change(off) {
    this.off = off;
    this.switches.mark(this.off, this.data);
    this.preview(this.last ?? null);
  }

  send() {
    this.sent += 1;
    this.ask({ do: "set", off: this.heads.map(headName).filter((name) => this.off.has(name)), n: this.sent });
  }

  preview(head) {
    this.last = head;
    this.pointed.textContent = head ? this.describe(head) : this.data.hint;
  }

  describe(head) {
    const name = headName(head);
    const role = this.data.roles?.[name];
    const title = `Head ${name}${role ? `, ${role.label}` : ""}`;
    if (this.off.has(name)) return `${title}: ${this.data.done}.`;
    const moved = this.data.moved?.[name];
    return moved ? `${title}: ${percent(moved)} of its attention moved.` : `${title}.`;
  }

  drawAll() {
    if (!this.data || !this.paint) return;
    const turns = this.switches.fit(this.root.clientWidth, this.data.shape);
    if (turns || !this.isFilled) this.switches.fill(this.heads, this.data.shape, Boolean(this.record?.causal), (head) => this.describe(head));
    this.isFilled = true;
    this.switches.mark(this.off, this.data);
    this.preview(null);
    if (this.record) this.switches.draw(this.paint, (head) => thumbOf(this.record, head));
  }
}
