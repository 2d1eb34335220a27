// All heads as switches in a grid: a click, a drag or a key ablates them. The longer side of the model runs across.
import { arrowStep, make } from "../dom.js";
import { HeadThumbnails } from "../head_thumbnails.js";
import { headName } from "../words.js";

// Pixels at a type of 16: the sides of a head's picture, the numbers beside them, and the height of all.
const [LARGEST, SMALLEST, NARROW, AXIS, GAP, HEIGHT] = [44, 15, 22, 24, 2, 400];

export class HeadSwitches extends HeadThumbnails {
  constructor(actions) {
    super(actions);
    this.actions = actions;
    this.grid.setAttribute("role", "group");
    this.grid.classList.add("switches");
    this.grid.dataset.uncounted = "";
    this.grid.onclick = (event) => this.clicked(event);
    this.grid.onpointerdown = (event) => this.down(event);
    this.grid.onpointermove = (event) => this.over(event);
    this.grid.onpointercancel = () => this.cancel(); // the finger scrolls the page instead
    this.grid.onfocusin = (event) => this.focused(event);
    this.axes = make("p", { class: "caption axes", "aria-hidden": "true", "data-uncounted": "" });
    this.root.prepend(this.axes);
  }

  // Set the size of a head's picture; return whether layers now run the other way.
  fit(width, [layers, heads]) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
    const inWidth = (columns) => Math.floor((width - AXIS) / columns) - GAP;
    const [short, long] = [layers, heads].sort((a, b) => a - b);
    const isWide = inWidth(long) >= SMALLEST;
    const size = isWide ? Math.min(LARGEST * rem, inWidth(long), Math.floor((HEIGHT * rem) / short) - GAP) : Math.min(NARROW, inWidth(short));
    this.stage.style.setProperty("--cell", `${size}px`);
    const layersAcross = isWide === layers > heads;
    const turns = layersAcross !== this.layersAcross;
    this.layersAcross = layersAcross;
    return turns;
  }

  fill(order, [layers, heads], causal, describe) {
    const focused = this.cells.indexOf(this.root.getRootNode().activeElement);
    Object.assign(this, { record: { causal }, order, describe });
    this.cells = order.map((_, i) => make("button", { type: "button", class: "switch", tabindex: -1, "data-at": i }, make("span", { class: "badge" }), make("i", { class: "moved" })));
    const number = (text) => make("span", { class: "axis", "aria-hidden": "true", text });
    this.lines = Array.from({ length: layers }, (_, layer) => [
      make("button", { type: "button", class: "axis", tabindex: -1, "data-layer": layer, text: layer + 1, title: `Layer ${layer + 1}: all its heads` }),
      ...this.cells.slice(layer * heads, (layer + 1) * heads),
    ]);
    const line = (nodes, top) => make("div", { class: top ? "layer top" : "layer" }, ...nodes);
    this.grid.replaceChildren(line([number(""), ...Array.from({ length: heads }, (_, head) => number(head + 1))], true), ...this.lines.map((nodes) => line(nodes)));
    this.grid.classList.toggle("turned", this.layersAcross);
    this.grid.setAttribute("aria-label", this.layersAcross ? "All heads: layers across, heads downward" : "All heads: layers downward, heads across");
    this.axes.textContent = this.layersAcross ? "layer → head ↓" : "layer ↓ head →";
    const home = this.cells[focused] ?? this.cells[0];
    if (home) home.tabIndex = 0;
    if (focused >= 0) home.focus();
  }

  mark(off, { badge, moved }) {
    this.off = off;
    this.cells.forEach((cell, i) => {
      const name = headName(this.order[i]);
      const isOff = off.has(name);
      cell.setAttribute("aria-pressed", String(isOff));
      cell.classList.toggle("off", isOff);
      cell.querySelector(".badge").textContent = isOff ? badge : "";
      cell.querySelector(".moved").style.width = `${Math.round(100 * (moved?.[name] ?? 0))}%`;
      cell.setAttribute("aria-label", this.describe(this.order[i]));
    });
  }

  // Layer numbers, and heads by key: a pointer has switched heads by going down and up.
  clicked(event) {
    const layer = event.target.closest?.("[data-layer]")?.dataset.layer;
    const cell = event.target.closest?.("[data-at]");
    if (layer === undefined && (!cell || event.detail)) return;
    const names = layer === undefined ? [this.nameOf(cell)] : this.order.filter((head) => head[0] === Number(layer)).map(headName);
    this.set(names, !names.every((name) => this.off.has(name)));
    this.actions.done();
  }

  set(names, isOff) {
    const next = new Set(this.off);
    for (const name of names) if (isOff) next.add(name); else next.delete(name);
    if (next.size !== this.off.size) this.actions.change(next);
  }

  nameOf(cell) {
    return headName(this.order[Number(cell.dataset.at)]);
  }

  down(event) {
    const cell = event.target.closest?.("[data-at]");
    if (!cell || event.button !== 0) return;
    this.dragging = { isOff: !this.off.has(this.nameOf(cell)), before: this.off };
    globalThis.addEventListener?.("pointerup", () => this.up(), { once: true }); // wherever it is let go
    cell.focus();
    event.preventDefault();
    this.set([this.nameOf(cell)], this.dragging.isOff);
  }

  over(event) {
    const target = this.root.getRootNode().elementFromPoint?.(event.clientX, event.clientY) ?? event.target;
    const cell = target?.closest?.("[data-at]");
    if (cell && this.dragging) this.set([this.nameOf(cell)], this.dragging.isOff);
  }

  up() {
    if (!this.dragging) return;
    this.dragging = null;
    this.actions.done();
  }

  cancel() {
    if (!this.dragging) return;
    const { before } = this.dragging;
    this.dragging = null;
    this.actions.change(before);
  }

  focused(event) {
    const cell = event.target.closest?.("[data-at]");
    if (!cell) return;
    for (const other of this.cells) other.tabIndex = other === cell ? 0 : -1;
    this.actions.preview(this.order[Number(cell.dataset.at)]);
  }

  key(event) {
    const across = arrowStep(event.key, 0);
    const down = arrowStep(event.key, 1) - across;
    const line = this.lines.findIndex((nodes) => nodes.includes(event.target));
    if (line < 0 || !(across || down)) return;
    event.preventDefault();
    const [lines, places] = this.layersAcross ? [across, down] : [down, across];
    this.lines[line + lines]?.[this.lines[line].indexOf(event.target) + places]?.focus();
  }
}
