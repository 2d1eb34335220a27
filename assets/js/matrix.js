// The chosen head as a matrix on a canvas: row = query, looks at column = key. Labels on both axes.
import { hatch } from "./visibility_text.js";
import { css } from "./colour.js";
import { make } from "./dom.js";
import { percent } from "./format.js";
import { ticks } from "./geometry.js";
import { paintCells } from "./heatmap.js";

const TALL = 1.04;

export class Matrix {
  constructor(actions, label) {
    this.actions = actions;
    // A screen reader leaves the arrow keys to an application: each cell that they lead to is read out.
    this.canvas = make("canvas", { tabindex: 0, role: "application", "aria-roledescription": "matrix, read by the arrow keys", "aria-label": label });
    this.tip = make("div", { class: "tip", hidden: true });
    this.root = make("div", { class: "matrix" }, this.canvas, this.tip);
    this.cursor = null;
    this.canvas.onpointermove = (event) => this.pointed(event);
    this.canvas.onpointerleave = () => actions.cell(null, null);
    this.canvas.onclick = (event) => {
      const cell = this.cellAt(event);
      if (cell) actions.choose(cell[0], event.shiftKey || event.ctrlKey || event.metaKey, "query", cell[1]);
    };
    this.canvas.onkeydown = (event) => this.key(event);
    this.canvas.onblur = () => {
      this.cursor = null;
      actions.cell(null, null);
    };
  }

  key(event) {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (move) {
      const start = this.cursor ?? [this.spec.from[0] ?? 0, -1];
      const last = this.spec.rows.length - 1;
      const wide = this.spec.columns.length - 1;
      this.cursor = [Math.max(0, Math.min(last, start[0] + move[0])), Math.max(0, Math.min(wide, start[1] + move[1]))];
      this.actions.cell(this.cursor[0], this.cursor[1], true);
    } else if ((event.key === "Enter" || event.key === " ") && this.cursor) this.actions.choose(this.cursor[0], event.shiftKey, "query", this.cursor[1] < 0 ? null : this.cursor[1]);
    else return;
    event.preventDefault();
  }

  cellAt(event) {
    if (!this.frame) return null;
    const rect = this.canvas.getBoundingClientRect();
    const { left, top, size, high } = this.frame;
    const x = event.clientX - rect.left - left;
    const y = event.clientY - rect.top - top;
    const k = Math.floor((x / size) * this.spec.columns.length);
    const q = Math.floor((y / high) * this.spec.rows.length);
    if (x < -left || y < 0 || q >= this.spec.rows.length || k >= this.spec.columns.length) return null;
    return [q, x < 0 ? null : k];
  }

  pointed(event) {
    const cell = this.cellAt(event);
    this.actions.cell(cell ? cell[0] : null, cell ? cell[1] : null);
  }

  // spec: {rows, columns (names), values (0..1 or -1..1), signed, from: [rows], hovered: [q, k], least, hidden(q, k), measured (names that set the margins),
  // shape: cells if they are fewer than the names, absent(q, k): no cell there, absentWords(q, k)}
  draw(spec, paint) {
    this.spec = spec;
    const width = Math.floor(this.root.clientWidth);
    if (!width) return;
    const [nq, nk] = [spec.rows.length, spec.columns.length];
    const cell = (Math.min(width, spec.most ?? 1200) * 0.82) / nk;
    const font = Math.max(13, Math.min(spec.labelSize ?? 13, cell / 1.13));
    const context = this.canvas.getContext("2d");
    context.font = `400 ${font}px ${paint.font}`;
    const longest = (names) => Math.min(width * 0.24, this.widest(context, names));
    const left = Math.ceil(longest(spec.measured ?? spec.rows) + 12);
    const above = Math.ceil(longest(spec.measured ?? spec.columns) * TALL + 14);
    const room = spec.tall ? ((spec.tall - above - 2) * nk) / nq : Infinity; // where the screen ends below
    const size = Math.max(40, Math.min(width - left - 2, spec.most ?? 1200, room));
    const high = Math.round((size * nq) / nk);
    this.frame = { left, top: above, size, high };
    const scale = Math.min(2, globalThis.devicePixelRatio || 1);
    const [w, h] = [Math.round(width * scale), Math.round((above + high + 2) * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.height = `${above + high + 2}px`;
    } else context.clearRect(0, 0, w, h);
    this.cells(context, spec, paint, scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    if (spec.absent) hatch(context, spec.absent, spec.shape ?? [nq, nk], this.frame, paint.line);
    this.highlight(context, spec, paint);
    this.axes(context, spec, paint, font);
  }

  // The widest of these names in the context's type; the same list is measured once.
  widest(context, names) {
    if (this.measured?.names !== names || this.measured.font !== context.font || this.measured.loaded !== document.fonts.size) {
      const most = Math.max(...names.slice(0, 200).map((name) => context.measureText(name).width));
      this.measured = { names, font: context.font, loaded: document.fonts.size, most };
    }
    return this.measured.most;
  }

  cells(context, spec, paint, scale) {
    const [nq, nk] = spec.shape ?? [spec.rows.length, spec.columns.length];
    const { left, top, size, high } = this.frame;
    const [wide, tall] = [Math.round(size * scale), Math.round(high * scale)];
    const image = context.createImageData(wide, tall);
    const valueAt = (q, k) => {
      if (spec.absent?.(q, k)) return null;
      const value = spec.values[q * nk + k];
      return Math.abs(value) < spec.least || spec.hidden?.(q, k) ? 0 : value;
    };
    paintCells(new Uint32Array(image.data.buffer), [wide, tall], [nq, nk], valueAt, paint.pixels, spec);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(image, Math.round(left * scale), Math.round(top * scale));
  }

  highlight(context, spec, paint) {
    const { left, top, size, high } = this.frame;
    const [cw, ch] = [size / spec.columns.length, high / spec.rows.length];
    context.strokeStyle = css(paint.line);
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, size + 1, high + 1);
    context.strokeStyle = css(paint.accent);
    const frame = (x, y, w, h, weight) => {
      context.lineWidth = weight;
      context.strokeRect(x - weight / 2 + 0.5, y - weight / 2 + 0.5, w + weight - 1, h + weight - 1);
    };
    for (const q of spec.from) frame(left, top + q * ch, size, Math.max(ch, 2), 2);
    if (spec.to !== null && spec.to !== undefined) frame(left + spec.to * cw, top, Math.max(cw, 2), high, 1);
    const [q, k] = spec.hovered ?? [null, null];
    if (q !== null && !spec.from.includes(q)) frame(left, top + q * ch, size, Math.max(ch, 2), 1);
    if (k !== null) frame(left + k * cw, top, Math.max(cw, 2), high, 1);
    if (q !== null && k !== null) frame(left + k * cw, top + q * ch, cw, ch, 3);
    this.readOut(spec, q, k, cw, ch);
  }

  readOut(spec, q, k, cw, ch) {
    this.tip.hidden = q === null || k === null || spec.silent;
    if (this.tip.hidden) return;
    const value = spec.values[q * spec.columns.length + k];
    if (spec.absent?.(q, k)) this.tip.textContent = spec.absentWords(q, k);
    else this.tip.textContent = spec.describe ? spec.describe(q, k, value) : `${spec.rows[q]} ${spec.verb ?? "looks at"} ${spec.columns[k]}: ${percent(value)}`;
    const { left, top, size, high } = this.frame;
    const x = Math.max(90, Math.min(left + size - 90, left + (k + 0.5) * cw));
    this.tip.style.left = `${x}px`;
    const below = top + (q + 1) * ch + 8;
    this.tip.style.top = below + 34 > top + high ? `${top + q * ch - 38}px` : `${below}px`;
  }

  axes(context, spec, paint, font) {
    const { left, top, size, high } = this.frame;
    const [nq, nk] = [spec.rows.length, spec.columns.length];
    const [cw, ch] = [size / nk, high / nq];
    const [oq, ok] = spec.hovered ?? [null, null];
    const bold = (on) => `${on ? 650 : 400} ${font}px ${paint.font}`;
    context.textBaseline = "middle";
    const strong = (list, extra) => new Set([...list, ...(extra === null || extra === undefined ? [] : [extra])]);
    const rowsOn = strong(spec.from, oq);
    const columnsOn = strong(spec.to === null || spec.to === undefined ? [] : [spec.to], ok);
    const rowTicks = new Set([...ticks(nq, ch, font * 1.12).filter((q) => ch >= font || [...rowsOn].every((on) => Math.abs(on - q) * ch >= font)), ...rowsOn]);
    context.textAlign = "right";
    for (const q of rowTicks) {
      const on = rowsOn.has(q);
      context.font = bold(on);
      context.fillStyle = css(on ? paint.accentText : paint.soft);
      context.fillText(clip(context, spec.rows[q], left - 10), left - 8, top + (q + 0.5) * ch);
    }
    const columnTicks = new Set([...ticks(nk, cw, font * 1.12).filter((k) => cw >= font || [...columnsOn].every((on) => Math.abs(on - k) * cw >= font)), ...columnsOn]);
    context.textAlign = "left";
    for (const k of columnTicks) {
      const on = columnsOn.has(k);
      context.save();
      context.translate(left + (k + 0.5) * cw, top - 8);
      context.rotate(-Math.PI / 2);
      context.font = bold(on);
      context.fillStyle = css(on ? paint.accentText : paint.soft);
      context.fillText(clip(context, spec.columns[k], top - 10), 0, 1);
      context.restore();
    }
  }
}

// A label cut at a grapheme, never inside one.
export function clip(context, name, room) {
  if (context.measureText(name).width <= room) return name;
  const parts = globalThis.Intl?.Segmenter ? [...new Intl.Segmenter().segment(name)].map((s) => s.segment) : [...name];
  while (parts.length > 1 && context.measureText(`${parts.join("")}…`).width > room) parts.pop();
  return `${parts.join("")}…`;
}
