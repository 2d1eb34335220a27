// The contact sheet: every head a small picture, layers downward, heads across, one canvas under a grid of buttons.
import { groupColumns, keysOf, sharers, stairs } from "./visibility_text.js";
import { arrowStep, make, write } from "./dom.js";
import { edges } from "./geometry.js";
import { paintCells } from "./heatmap.js";
import { hasHead, headIndex, kindOf, thumbOf } from "./record.js";
import { headName, listed } from "./words.js";

const LONG = 16; // rows

// What all the small pictures together are called, seen and read aloud.
export function nameAll(view, name, title = name) {
  write(view.allTitle, title ?? name);
  view.overview.setAttribute("aria-label", name);
}

export class HeadThumbnails {
  constructor(actions) {
    this.actions = actions;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.grid = make("div", { class: "heads", role: "grid" });
    this.stage = make("div", { class: "stage" }, this.canvas, this.grid);
    this.root = make("div", { class: "sheet" }, this.stage);
    this.cells = [];
    this.grid.onkeydown = (event) => this.key(event);
    this.grid.onclick = (event) => {
      const cell = event.target.closest?.("[data-at]");
      if (cell) actions.head(this.order[Number(cell.dataset.at)], event.shiftKey || event.ctrlKey || event.metaKey);
    };
    this.grid.onpointerover = (event) => {
      const cell = event.target.closest?.("[data-at]");
      actions.preview(cell ? this.order[Number(cell.dataset.at)] : null);
    };
    this.grid.onpointerleave = () => actions.preview(null);
  }

  key(event) {
    const cell = event.target.closest?.("[data-at]");
    if (!cell || !arrowStep(event.key, 1)) return;
    event.preventDefault();
    let next = neighbour(this.rows, Number(cell.dataset.at), event.key);
    while (next !== null && !hasHead(this.record, this.order[next])) next = neighbour(this.rows, next, event.key);
    if (next === null) return;
    this.cells[next].focus();
    this.actions.head(this.order[next], false);
  }

  // order: heads in the order to show; grouped is true when rows are layers.
  // What stands there in the same form for another text only hears what is said of it.
  fill(record, order, describe) {
    this.record = record;
    this.order = order;
    // A record of one head a layer (heads mixed) stands in a row, each with its name.
    this.columns = record.heads > 1 ? record.heads : Math.min(6, Math.max(4, record.layers));
    this.grouped = record.heads > 1 && order.length === record.layers * record.heads && order.every((head, i) => headIndex(record, head) === i);
    const sharing = this.grouped && groupColumns(record, this.columns) ? record.sharing : 0;
    const said = (head) => describe(head) + sharedKeys(record, head);
    const form = JSON.stringify([order, this.columns, sharing, Boolean(record.causal), record.absent, record.per]);
    if (form === this.form) {
      order.forEach((head, i) => this.cells[i].setAttribute("aria-label", said(head)));
      return;
    }
    this.form = form;
    this.stale = true;
    this.grid.setAttribute("aria-label", this.grouped ? "All heads: layers downward, heads across" : kindOf(record).all);
    this.cells = order.map((head, i) =>
      make(
        "button",
        { type: "button", role: "gridcell", tabindex: -1, "data-at": i, "aria-label": said(head), "aria-disabled": hasHead(record, head) ? null : "true" },
        this.grouped ? null : make("span", { class: "tag", text: kindOf(record).short(head) }),
      ),
    );
    this.rows = rowsOf(order.length, this.columns);
    const rows = this.rows.map((row, number) => {
      const axis = make("span", { class: "axis", "aria-hidden": "true", text: this.grouped ? String(number + 1) : "" });
      return make("div", { role: "row", class: "layer" }, axis, ...this.inGroups(row.map((i) => this.cells[i]), sharing));
    });
    const top = make("div", { class: "layer top", "aria-hidden": "true", "data-uncounted": "" }, make("span", { class: "axis", text: "" }));
    top.append(...this.inGroups(Array.from({ length: this.columns }, (_, head) => make("span", { class: "axis", text: this.grouped ? String(head + 1) : "" })), sharing));
    this.grid.replaceChildren(...rows);
    for (const old of this.stage.querySelectorAll(".top")) old.remove();
    if (this.grouped) this.stage.prepend(...(sharing ? [this.keyHeads(sharing)] : []), top);
    this.grid.classList.toggle("stairs", Boolean(record.causal));
    this.stage.classList.toggle("causal", Boolean(record.causal));
    this.root.closest(".below")?.classList.toggle("long", rows.length >= LONG);
    this.stage.classList.toggle("sorted", !this.grouped);
    this.stage.style.setProperty("--columns", this.columns);
    this.stage.style.setProperty("--across", (sharing && groupColumns(record, this.columns)) || "repeat(var(--columns), minmax(0, 1fr))");
  }

  // Heads that share their keys stand together: a gap after every group.
  inGroups(cells, sharing) {
    if (!sharing) return cells;
    return cells.flatMap((cell, i) => (i && i % sharing === 0 ? [make("span", { class: "split", "aria-hidden": "true" }), cell] : [cell]));
  }

  // One bracket over every group, with the number of the keys that its heads read.
  keyHeads(sharing) {
    const brackets = Array.from({ length: this.columns / sharing }, (_, group) => make("span", { class: "bracket", style: `grid-column: span ${sharing}`, text: `keys ${group + 1}` }));
    return make("div", { class: "layer top keys", "aria-hidden": "true" }, make("span", { class: "axis" }), ...this.inGroups(brackets, 1));
  }

  mark(head) {
    const chosen = headName(head);
    this.cells.forEach((cell, i) => {
      const on = headName(this.order[i]) === chosen;
      cell.setAttribute("aria-selected", on ? "true" : "false");
      cell.tabIndex = on ? 0 : -1;
    });
    const first = this.cells.find((_, i) => hasHead(this.record, this.order[i]));
    if (first && !this.cells.some((cell) => cell.tabIndex === 0)) first.tabIndex = 0;
  }

  // Heads of which `has` is true have a frame of that colour, and all others fade; null: no head differs.
  frame(has, colour) {
    this.grid.classList.toggle("framing", Boolean(has));
    if (has) this.grid.style.setProperty("--role", colour);
    this.cells.forEach((cell, i) => cell.classList.toggle("framed", Boolean(has?.(this.order[i]))));
  }

  // paint: {pixels, signed}; pictures(head) → {cells, side, top}
  draw(paint, pictures = (head) => thumbOf(this.record, head)) {
    if (!this.cells.length) return;
    const scale = Math.min(2, globalThis.devicePixelRatio || 1);
    const frame = this.stage.getBoundingClientRect();
    if (!frame.width) return;
    const rects = this.cells.map((cell) => cell.getBoundingClientRect());
    this.reveal(rects);
    const context = this.canvas.getContext("2d");
    const [wide, high] = [frame.width, frame.height].map((size) => Math.round(size * scale));
    if (this.canvas.width !== wide || this.canvas.height !== high) Object.assign(this.canvas, { width: wide, height: high });
    else context.clearRect(0, 0, wide, high);
    const side = Math.round(rects[0].width * scale);
    if (!side) return; // laid out, but in no place that is seen
    this.stale = false;
    const image = context.createImageData(side, side);
    const out = new Uint32Array(image.data.buffer);
    this.order.forEach((head, i) => {
      if (!hasHead(this.record, head)) return;
      const picture = pictures(head);
      const [x, y] = [Math.round((rects[i].left - frame.left) * scale), Math.round((rects[i].top - frame.top) * scale)];
      this.paintOne(out, side, picture, paint);
      context.putImageData(image, x, y);
      if (this.record.causal) stairs(context, x, y, edges(Math.min(picture.side, side), side), paint.line, scale);
    });
  }

  // Of many layers, which scroll, the chosen head is in sight at first.
  reveal(rects) {
    const chosen = rects[this.cells.findIndex((cell) => cell.getAttribute("aria-selected") === "true")];
    const { scrollHeight, clientHeight } = this.root;
    if (!chosen || !(scrollHeight > clientHeight) || this.revealed === this.form) return;
    this.revealed = this.form;
    this.root.scrollTop += chosen.top - this.root.getBoundingClientRect().top - clientHeight / 2;
  }

  paintOne(out, side, { cells, side: columns, high = columns, top }, { pixels, signed }) {
    const isCausal = this.record?.causal;
    const valueAt = (q, k) => (isCausal && k > q ? null : cells[q * columns + k]);
    paintCells(out, [side, side], [high, columns], valueAt, pixels, { signed, top, span: top });
  }
}

// The rows of a sheet of so many heads, as places in the order.
export function rowsOf(count, columns) {
  const places = Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: Math.ceil(count / columns) }, (_, row) => places.slice(row * columns, (row + 1) * columns));
}

// Where an arrow key leads, or null: left and right go on from row to row, up and down to the nearest place of that row.
export function neighbour(rows, at, key) {
  const across = arrowStep(key, 0);
  if (across) return rows.flat()[at + across] ?? null;
  const row = rows.findIndex((places) => places.includes(at));
  const next = rows[row + arrowStep(key, 1)];
  return next ? next[Math.min(rows[row].indexOf(at), next.length - 1)] : null;
}

// For those who hear the sheet instead of seeing its gaps.
function sharedKeys(record, head) {
  const others = sharers(record, head);
  return others.length ? `, keys ${keysOf(record, head)} with ${listed(others.map(headName))}` : "";
}
