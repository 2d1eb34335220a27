// Experiment: all heads as switches, or coloured by what each one changes, and beside them what the model does without.
//
// data: {mode: "experiment", records: [id] | [], shape: [layers, heads], causal, heard, off: ["24-4"], factor, factors:
//        [{value, label, title}], badge, groups: [{label, heads: ["1-3"]}], undo: true, moved: {"25-1": 0.31},
//        roles: {"1-3": {label}}, result: null | {title, before, after, unit, rows, note},
//        effects: null | column (layer, head), NaN where not known yet, half: the same or null, top, measure, was, addresses: {"24-4": address},
//        listTitle, strongest: [{head, label, effect, half, address}]}
// ask({do: "set", off, n} | {do: "factor", value} | {do: "word", id} | {do: "undo"})
import { column } from "./column.js";
import { make } from "./dom.js";
import { BeforeAfter } from "./experiment/before_after.js";
import { HeadGrid } from "./experiment/head_grid.js";
import { inWords } from "./experiment/said.js";
import { Strongest } from "./experiment/strongest.js";
import { Toolbar } from "./experiment/toolbar.js";
import { fixed } from "./format.js";
import { legend } from "./parts.js";
import { allHeads, thumbOf } from "./record.js";
import { headName } from "./words.js";

export class Experiment {
  constructor(root, _emit, ask = () => {}) {
    this.root = root;
    this.ask = ask;
    this.sent = 0;
    this.off = new Set();
    this.grid = new HeadGrid({ change: (off) => this.change(off), done: () => this.tell(), preview: (head) => this.preview(head) });
    this.toolbar = new Toolbar({ set: (off) => (this.change(off), this.tell()), ask });
    this.bars = new BeforeAfter((id) => ask({ do: "word", text: id }));
    this.strongest = new Strongest();
    this.pointed = make("p", { class: "caption pointed", "aria-live": "polite" });
    this.legends = make("div", {});
    this.heads = make("section", { class: "part all-heads", "aria-label": "All heads" }, this.grid.root, this.legends, this.pointed);
    this.root.append(this.toolbar.root, make("div", { class: "trial" }, this.heads, this.bars.root, this.strongest.root));
  }

  // A drag that is under way, or a switch that Python has not heard of yet, is newer than what it says.
  open(record, data) {
    this.record = record;
    this.data = data;
    this.effects = data.effects ? column(data.effects) : null;
    this.half = data.half ? column(data.half) : null;
    if (!this.effects && (data.heard >= this.sent || this.sent === 0) && !this.grid.dragging) this.off = new Set(data.off);
    if (data.heard > this.sent) this.sent = data.heard;
    this.toolbar.fill(data);
    this.bars.fill(data.result);
    this.strongest.fill(data);
    this.root.classList.toggle("mapped", Boolean(this.effects));
    this.root.classList.toggle("alone", !this.accompanied);
    this.filled = null;
  }

  move() {}

  get accompanied() {
    return Boolean(this.data.result || this.data.strongest?.length);
  }

  change(off) {
    this.off = off;
    this.grid.mark(this.off, this.data);
    this.toolbar.mark(this.off);
    this.preview(this.last ?? null);
  }

  tell() {
    this.sent += 1;
    const off = allHeads({ layers: this.data.shape[0], heads: this.data.shape[1] }).map(headName).filter((name) => this.off.has(name));
    this.ask({ do: "set", off, n: this.sent });
  }

  preview(head) {
    this.last = head;
    this.pointed.textContent = head ? inWords(head, this) : this.data.hint;
  }

  effectOf([layer, head]) {
    return this.effects[layer * this.data.shape[1] + head];
  }

  halfOf([layer, head]) {
    return this.half?.[layer * this.data.shape[1] + head];
  }

  drawAll() {
    if (!this.data || !this.paint) return;
    const turned = this.grid.arrange(this.root.clientWidth, this.data.shape, this.accompanied);
    if (this.filled !== turned) {
      this.grid.fill({ ...this.data, turned, causal: Boolean(this.record?.causal) }, (head) => inWords(head, this));
      this.filled = turned;
      this.legends.replaceChildren(...this.legendsNow());
    }
    this.grid.mark(this.off, { ...this.data, effects: this.effects });
    this.toolbar.mark(this.off);
    this.preview(null);
    if (this.effects) this.grid.draw(this.paint.change, (head) => ({ cells: [this.effectOf(head) || 0], side: 1, top: this.data.top || 1 }));
    else if (this.record) this.grid.draw(this.paint, (head) => thumbOf(this.record, head));
  }

  legendsNow() {
    if (!this.effects) return [];
    const untried = [...this.effects].some((one) => !Number.isFinite(one));
    const colours = legend(`−${fixed(this.data.top, 2)}`, `+${fixed(this.data.top, 2)}`, "change");
    return untried ? [colours, make("p", { class: "caption", text: "Hatched: not tried yet." })] : [colours];
  }
}
