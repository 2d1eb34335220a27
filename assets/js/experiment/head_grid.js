// All heads as a grid of switches, drawn as Explore's contact sheet: layers downward, heads across.
import { make } from "../dom.js";
import { allHeads } from "../record.js";
import { Sheet } from "../sheet.js";
import { headName } from "../words.js";

const [LARGEST, LARGEST_OF_MANY, MANY] = [44, 22, 12]; // of a head's picture; of one in more layers than so many
const AXIS = 24;
const GAP = 2;

export class HeadGrid extends Sheet {
  constructor(actions) {
    super(actions);
    this.actions = actions;
    this.grid.setAttribute("role", "group");
    this.grid.classList.add("switches");
    this.grid.dataset.uncounted = "";
    this.grid.onclick = (event) => this.clicked(event);
    this.grid.onpointerdown = (event) => this.down(event);
    this.grid.onpointermove = (event) => this.over(event);
    this.grid.onpointercancel = () => this.cancel();
    this.grid.onfocusin = (event) => this.focused(event);
  }

  // How large a head is drawn in this width.
  size(width, [layers, heads]) {
    const size = Math.min(layers > MANY ? LARGEST_OF_MANY : LARGEST, Math.floor((width - AXIS) / heads) - GAP);
    this.stage.style.setProperty("--cell", `${size}px`);
    this.stage.style.setProperty("--across", `repeat(${heads}, var(--cell))`);
  }

  fill({ shape: [layers, heads], causal }, describe) {
    const focused = this.cells.indexOf(this.root.getRootNode().activeElement);
    this.record = { causal };
    this.describe = describe;
    this.order = allHeads({ layers, heads });
    this.cells = this.order.map((_, at) => make("button", { type: "button", class: "switch", tabindex: -1, "data-at": at }, make("span", { class: "badge" }), make("i", { class: "moved" })));
    const axis = (text) => make("span", { class: "axis", "aria-hidden": "true", text });
    this.lines = Array.from({ length: layers }, (_, layer) => [
      make("button", { type: "button", class: "axis", tabindex: -1, "data-layer": layer, text: layer + 1, title: `Layer ${layer + 1}: all its heads` }),
      ...this.cells.slice(layer * heads, (layer + 1) * heads),
    ]);
    const rows = [[axis(""), ...Array.from({ length: heads }, (_, head) => axis(head + 1))], ...this.lines];
    this.grid.setAttribute("aria-label", "All heads: layers downward, heads across");
    this.grid.replaceChildren(make("p", { class: "caption axes", "aria-hidden": "true", text: "layer ↓ head →" }), ...rows.map((row) => make("div", { class: "layer" }, ...row)));
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
    const place = this.lines[at].indexOf(event.target) + step[1];
    this.lines[at + step[0]]?.[place]?.focus();
  }
}
