// All heads as a grid of switches, drawn as Explore's contact sheet. Where there is room and there are more
// layers than heads, layers run across and heads downward, so that all of them fit on one screen.
import { make } from "../dom.js";
import { Sheet } from "../sheet.js";
import { headName } from "../words.js";

const LARGEST = 44;
const SMALLEST = 16;
const AXIS = 24;
const TURNED = 560; // from this width on there is room for thirty layers across
const GAP = 2;

export class HeadGrid extends Sheet {
  constructor(actions) {
    super(actions);
    this.actions = actions;
    this.grid.setAttribute("role", "group");
    this.grid.classList.add("switches");
    this.grid.onclick = (event) => this.clicked(event);
    this.grid.onpointerdown = (event) => this.down(event);
    this.grid.onpointermove = (event) => this.over(event);
    this.grid.onpointercancel = () => this.cancel();
    this.grid.onfocusin = (event) => this.focused(event);
  }

  // How large a head is drawn in this width; returns whether layers run across.
  arrange(width, [layers, heads]) {
    const turned = width >= TURNED && layers > heads;
    const size = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((width - AXIS) / (turned ? layers : heads)) - GAP));
    this.stage.style.setProperty("--cell", `${size}px`);
    return turned;
  }

  fill({ shape, turned, causal }, describe) {
    const [layers, heads] = (this.shape = shape);
    const focused = this.cells.indexOf(this.root.getRootNode().activeElement);
    this.record = { causal };
    this.describe = describe;
    this.order = [];
    this.cells = [];
    this.lines = [];
    const numbered = (layer) => make("button", { type: "button", class: "axis", tabindex: -1, "data-layer": layer, text: layer + 1, title: `Layer ${layer + 1}: all its heads` });
    const cell = (layer, head) => {
      const made = make("button", { type: "button", class: "switch", tabindex: -1, "data-at": this.cells.length }, make("span", { class: "badge" }), make("i", { class: "moved" }));
      this.order.push([layer, head]);
      this.cells.push(made);
      return made;
    };
    const range = (n) => Array.from({ length: n }, (_, i) => i);
    const axis = (text) => make("span", { class: "axis", "aria-hidden": "true", text });
    const rows = [];
    const add = (...row) => {
      this.lines.push(row.filter((node) => !node.matches("span.axis")));
      rows.push(make("div", { class: "layer" }, ...row));
    };
    if (turned) {
      add(axis(""), ...range(layers).map(numbered));
      for (const head of range(heads)) add(axis(head + 1), ...range(layers).map((layer) => cell(layer, head)));
    } else {
      add(axis(""), ...range(heads).map((head) => axis(head + 1)));
      for (const layer of range(layers)) add(numbered(layer), ...range(heads).map((head) => cell(layer, head)));
    }
    this.lines = this.lines.filter((row) => row.length);
    this.grid.setAttribute("aria-label", turned ? "All heads: layers across, heads downward" : "All heads: layers downward, heads across");
    this.grid.replaceChildren(...rows);
    this.stage.style.setProperty("--across", `repeat(${turned ? layers : heads}, var(--cell))`);
    const home = this.cells[focused] ?? this.cells[0];
    if (home) home.tabIndex = 0;
    if (focused >= 0) home.focus();
  }

  mark(off, { badge, moved }) {
    this.off = off;
    this.cells.forEach((cell, i) => {
      const name = headName(this.order[i]);
      const out = off.has(name);
      cell.setAttribute("aria-pressed", String(out));
      cell.classList.toggle("off", out);
      cell.querySelector(".badge").textContent = out ? badge : "";
      cell.querySelector(".moved").style.width = `${Math.round(100 * (moved?.[name] ?? 0))}%`;
      cell.setAttribute("aria-label", this.describe(this.order[i]));
    });
  }

  clicked(event) {
    const layer = event.target.closest?.("[data-layer]");
    if (layer) return this.toggleLayer(Number(layer.dataset.layer));
    // A pointer has done it by going down and up; what is left is a key.
    const cell = event.target.closest?.("[data-at]");
    if (!cell || event.detail !== 0) return undefined;
    this.paintOver(cell, !this.off.has(this.nameOf(cell)));
    return this.actions.done();
  }

  toggleLayer(layer) {
    const names = this.order.filter((head) => head[0] === layer).map(headName);
    const all = names.every((name) => this.off.has(name));
    const next = new Set(this.off);
    for (const name of names) if (all) next.delete(name); else next.add(name);
    this.actions.change(next);
    this.actions.done();
  }

  nameOf(cell) {
    return headName(this.order[Number(cell.dataset.at)]);
  }

  down(event) {
    const cell = event.target.closest?.("[data-at]");
    if (!cell || event.button !== 0) return;
    this.dragging = { out: !this.off.has(this.nameOf(cell)), before: this.off };
    globalThis.addEventListener?.("pointerup", () => this.up(), { once: true }); // wherever it is let go
    cell.focus();
    event.preventDefault();
    this.paintOver(cell, this.dragging.out);
  }

  over(event) {
    const under = this.root.getRootNode().elementFromPoint?.(event.clientX, event.clientY) ?? event.target;
    const cell = under?.closest?.("[data-at]");
    if (cell && this.dragging) this.paintOver(cell, this.dragging.out);
  }

  up() {
    if (!this.dragging) return;
    this.dragging = null;
    this.actions.done();
  }

  // The finger scrolls the page instead.
  cancel() {
    if (!this.dragging) return;
    const { before } = this.dragging;
    this.dragging = null;
    this.actions.change(before);
  }

  paintOver(cell, out) {
    const name = this.nameOf(cell);
    if (this.off.has(name) === out) return;
    const next = new Set(this.off);
    if (out) next.add(name);
    else next.delete(name);
    this.actions.change(next);
  }

  focused(event) {
    const cell = event.target.closest?.("[data-at]");
    if (!cell) return;
    for (const other of this.cells) other.tabIndex = other === cell ? 0 : -1;
    this.actions.preview(this.order[Number(cell.dataset.at)]);
  }

  key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const at = this.lines.findIndex((row) => row.includes(event.target));
    if (!step || at < 0) return;
    event.preventDefault();
    const row = this.lines[at + step[0]];
    // The row of layer numbers and the rows of heads end at the same column.
    const from = step[0] ? this.lines[at].length - this.lines[at].indexOf(event.target) : this.lines[at].indexOf(event.target) + step[1];
    (step[0] ? row?.[row.length - from] : row?.[from])?.focus();
  }
}
