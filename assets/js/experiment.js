// Experiment: all heads as switches, each with its small picture; what the model does without them stands beside it.
//
// data: {mode: "experiment", records: [id], shape: [layers, heads], heard, off: ["24-4"], badge, done,
//        moved: {"25-1": 0.31}, roles: {"1-3": {label}}, hint}
// ask({do: "set", off, n})
import { make } from "./dom.js";
import { HeadGrid } from "./experiment/head_grid.js";
import { percent } from "./format.js";
import { allHeads, thumbOf } from "./record.js";
import { headName } from "./words.js";

export class Experiment {
  constructor(root, _emit, ask = () => {}) {
    this.root = root;
    this.ask = ask;
    this.sent = 0;
    this.off = new Set();
    this.grid = new HeadGrid({ change: (off) => this.change(off), done: () => this.tell(), preview: (head) => this.preview(head) });
    this.pointed = make("p", { class: "caption pointed", "aria-live": "polite" });
    this.root.append(make("section", { class: "part all-heads", "aria-label": "All heads" }, this.grid.root, this.pointed));
  }

  // A drag that is under way, or a switch that Python has not heard of yet, is newer than what it says.
  open(record, data) {
    this.record = record;
    this.data = data;
    if ((data.heard >= this.sent || this.sent === 0) && !this.grid.dragging) this.off = new Set(data.off);
    if (data.heard > this.sent) this.sent = data.heard;
    this.filled = false;
  }

  move() {}

  change(off) {
    this.off = off;
    this.grid.mark(this.off, this.data);
    this.preview(this.last ?? null);
  }

  tell() {
    this.sent += 1;
    const off = allHeads({ layers: this.data.shape[0], heads: this.data.shape[1] }).map(headName).filter((name) => this.off.has(name));
    this.ask({ do: "set", off, n: this.sent });
  }

  preview(head) {
    this.last = head;
    this.pointed.textContent = head ? this.inWords(head) : this.data.hint;
  }

  inWords(head) {
    const name = headName(head);
    const role = this.data.roles?.[name];
    const who = `Head ${name}${role ? `, ${role.label}` : ""}`;
    if (this.off.has(name)) return `${who}: ${this.data.done}.`;
    const moved = this.data.moved?.[name];
    return moved ? `${who}: ${percent(moved)} of its attention moved.` : `${who}.`;
  }

  drawAll() {
    if (!this.data || !this.paint) return;
    this.grid.size(this.root.clientWidth, this.data.shape);
    if (!this.filled) this.grid.fill({ ...this.data, causal: Boolean(this.record?.causal) }, (head) => this.inWords(head));
    this.filled = true;
    this.grid.mark(this.off, this.data);
    this.preview(null);
    if (this.record) this.grid.draw(this.paint, (head) => thumbOf(this.record, head));
  }
}
