// Compare: two runs, word beside word. A minus B for every head, both rows of the chosen word face to face.
import { css } from "./colour.js";
import { make, spoken } from "./dom.js";
import { DRAWN_BOTH, Duo } from "./duo.js";
import { legend, noted, wrapped } from "./explore.js";
import { csv, fileName, matrixPicture, save, savePng, say, svgPage, tag } from "./exports.js";
import { Matrix } from "./matrix.js";
import { Menu } from "./menu.js";
import { STEPS, mix, moved, percent, points, ranked, strongest, summedRow } from "./numbers.js";
import { Ranking } from "./ranking.js";
import { allHeads, headIndex, matrixOf } from "./record.js";
import { Sheet } from "./sheet.js";
import { drawTable } from "./table.js";
import { changeInWords, headName, listed, quoted } from "./words.js";

const TWEEN_BOTH = 150;

// Pairs of positions that have a counterpart on both sides.
export const meeting = (pairs) => pairs.filter(([a, b]) => a !== null && b !== null);

// A minus B over the units that both have: m x m, -1..1.
export function difference(matrixA, nA, matrixB, nB, both) {
  const m = both.length;
  const out = new Float64Array(m * m);
  both.forEach(([qa, qb], i) => both.forEach(([ka, kb], j) => (out[i * m + j] = (matrixA[qa * nA + ka] - matrixB[qb * nB + kb]) / STEPS)));
  return out;
}

// A row of A and a row of B spread over the columns of the alignment; what has no counterpart meets zero.
export function spread(row, pairs, side) {
  return Float64Array.from(pairs, (pair) => (pair[side] === null ? 0 : row[pair[side]]));
}

// For one head: how much of the look moved, and the column that changed most (or the aimed one).
export function changeOf(rowA, rowB, aim = null) {
  let most = 0;
  for (let i = 0; i < rowA.length; i++) if (Math.abs(rowA[i] - rowB[i]) > Math.abs(rowA[most] - rowB[most])) most = i;
  const column = aim ?? most;
  return { moved: moved(rowA, rowB), column, a: rowA[column], b: rowB[column] };
}

export class Compare {
  constructor(root, tell) {
    this.root = root;
    this.tell = tell;
    this.state = { head: [0, 0], pins: [], to: null, panel: "matrix" };
    this.over = { column: null, q: null, k: null };
    this.before = null;
    this.build();
  }

  build() {
    const actions = {
      point: (column) => this.hover({ column, q: null, k: null }),
      choose: (column, more) => this.choose(column, more),
      head: (head) => this.select({ head }),
      glance: (head) => (this.glanced.textContent = head ? this.describe(head) : this.rest),
      from: (unit) => this.select({ pins: unit === null ? [] : [unit], to: unit === null ? null : this.state.to }),
      to: (unit) => this.select({ to: unit }),
    };
    this.duo = new Duo(actions);
    this.sheet = new Sheet(actions);
    this.ranking = new Ranking(actions);
    this.matrices = [0, 1, 2].map((side) => new Matrix(this.matrixActions(side), ["A", "B", "A minus B"][side]));
    this.line = make("p", { class: "inwords" });
    this.live = make("p", { class: "hidden-aloud", "aria-live": "polite" });
    this.hint = make("p", { class: "hint" });
    this.titles = make("p", { class: "caption titles" });
    this.clear = make("button", { type: "button", class: "plain", text: "Clear", onclick: () => this.select({ pins: [], to: null }) });
    this.menu = new Menu([
      ["Picture, SVG", "vectors; the key S keeps what you point at", () => this.saveSvg()],
      ["Picture, PNG", "twice the screen's resolution", () => this.savePng()],
      ["Numbers, CSV", "A, B and A minus B of this head", () => this.saveCsv()],
      ["Numbers, JSON", "the same, with what is chosen", () => this.saveJson()],
    ]);
    const under = make("div", { class: "under" }, make("div", { class: "said" }, this.line, this.hint, this.titles), make("div", { class: "tools" }, this.clear, this.menu.root));
    this.hero = make("section", { class: "hero", "aria-label": "Both sentences" }, this.duo.root, under, this.live);
    this.glanced = make("p", { class: "caption" });
    this.why = make("div", { class: "why" });
    this.sheetPart = make("section", { class: "part overview", "aria-label": "All heads, A minus B" }, make("header", {}, make("h2", { text: "All heads, A minus B" })), this.sheet.root, (this.legend = make("div")), this.glanced, this.why);
    this.headTitle = make("h2", {});
    this.tabs = make("div", { class: "tabs", role: "group", "aria-label": "How to show the head" },
      ...[["matrix", "Matrices"], ["table", "Table"]].map(([id, text]) => make("button", { type: "button", "data-panel": id, text, onclick: () => this.setPanel(id) })));
    this.table = make("div", { class: "table" });
    const trio = ["A", "B", "A − B"].map((text, side) => make("figure", {}, make("figcaption", { text }), this.matrices[side].root));
    this.trio = make("div", { class: "trio" }, ...trio);
    this.headPart = make("section", { class: "part onehead wide", "aria-label": "The chosen head" }, make("header", {}, this.headTitle, this.tabs), make("p", { class: "caption", text: "row = query, looks at column = key" }), this.trio, this.table);
    this.root.append(this.hero, make("div", { class: "below both" }, this.sheetPart, this.ranking.root, this.headPart));
    this.root.onkeydown = (event) => {
      if (event.key === "Escape" && (this.state.pins.length || this.state.to !== null)) this.select({ pins: [], to: null });
    };
  }

  matrixActions(side) {
    const columnOf = (unit) => (unit === null ? null : side < 2 ? this.columnOf[side][unit] : this.bothColumns[unit]);
    return {
      cell: (q, k, aloud) => this.hover({ column: null, q: columnOf(q), k: columnOf(k) }, aloud),
      choose: (q, more) => this.choose(columnOf(q), more, true),
    };
  }

  open([a, b, change], view) {
    const key = `${a.id} ${b.id} ${JSON.stringify(view.pairs)}`;
    this.change = change ?? null;
    this.moves = view.moves ? { ...view.moves } : null;
    if (this.opened !== key) {
      this.opened = key;
      this.record = a;
      this.records = [a, b];
      this.pairs = view.pairs;
      this.both = meeting(this.pairs);
      this.columnOf = [0, 1].map((side) => {
        const at = [];
        this.pairs.forEach((pair, column) => pair[side] !== null && (at[pair[side]] = column));
        return at;
      });
      this.bothColumns = this.pairs.map((pair, i) => (pair[0] !== null && pair[1] !== null ? i : -1)).filter((i) => i >= 0);
      this.differs = this.pairs.map(([x, y]) => x === null || y === null || a.names[x].toLowerCase() !== b.names[y].toLowerCase());
      this.before = null;
      this.diffs = new Map();
      this.common = { ...a, layers: Math.min(a.layers, b.layers), heads: Math.min(a.heads, b.heads) };
      this.duo.fill(a, b, this.pairs, this.differs);
      this.ranking.fill(a.names);
    }
    this.notices = view.notices ?? [];
    this.present = Boolean(view.present);
    this.titles.textContent = `A: ${view.titles[0]} · B: ${view.titles[1]}`;
    this.titlesNow = view.titles;
    this.fillSheetLater = true;
  }

  move(selection) {
    const inside = (unit) => Number.isInteger(unit) && unit >= 0 && unit < this.record.n;
    const [layer, head] = selection.head;
    this.state.head = [Math.min(layer, this.common.layers - 1), Math.min(head, this.common.heads - 1)];
    this.state.pins = selection.pins.filter(inside);
    this.state.to = inside(selection.to) && this.state.pins.length ? selection.to : null;
  }

  select(change) {
    Object.assign(this.state, change);
    if (!this.state.pins.length) this.state.to = null;
    this.over = { column: null, q: null, k: null };
    this.update(true);
    this.tell({ head: this.state.head, pins: this.state.pins, to: this.state.to });
  }

  choose(column, more, row = false) {
    const unit = this.pairs[column]?.[0] ?? null;
    if (unit === null) return;
    const { pins, to } = this.state;
    if (more) this.select({ pins: pins.includes(unit) ? pins.filter((pin) => pin !== unit) : [...pins, unit].sort((x, y) => x - y) });
    else if (to === unit) this.select({ to: null });
    else if (pins.includes(unit)) this.select({ pins: pins.filter((pin) => pin !== unit), to: null });
    else if (pins.length && to === null && !row) this.select({ to: unit });
    else this.select({ pins: [unit], to: null });
  }

  setPanel(panel) {
    this.state.panel = panel;
    this.update(false);
  }

  hover(over, aloud = false) {
    if (over.column === this.over.column && over.q === this.over.q && over.k === this.over.k) return;
    this.over = over;
    this.drawHero();
    this.drawMatrices();
    if (aloud && over.q !== null && over.k !== null) {
      const [a, b] = this.rowsFor([over.q]).map((row) => row[over.k]);
      this.live.textContent = `${this.nameOf(over.q)} looks at ${this.nameOf(over.k)}: ${percent(a)} in A, ${percent(b)} in B`;
    }
  }

  nameOf(column) {
    const [a, b] = this.pairs[column];
    if (a === null) return this.records[1].names[b];
    if (b === null || !this.differs[column]) return this.records[0].names[a];
    return `${this.records[0].names[a]} / ${this.records[1].names[b]}`;
  }

  pinColumns() {
    return this.state.pins.map((pin) => this.columnOf[0][pin]);
  }

  fromNow() {
    if (this.over.q !== null) return [this.over.q];
    if (this.state.pins.length) return this.pinColumns();
    return this.over.column === null ? [] : [this.over.column];
  }

  toNow() {
    if (this.over.k !== null) return this.over.k;
    if (this.state.pins.length && this.over.column !== null && !this.pinColumns().includes(this.over.column)) return this.over.column;
    return this.over.q === null && this.state.to !== null ? this.columnOf[0][this.state.to] : null;
  }

  // The ramp ends at the largest difference of any head, rounded up: the legend says where.
  spanOf() {
    let most = 0;
    for (const head of allHeads(this.common)) {
      const { cells, top } = this.pictureOf(head, 1);
      for (let i = 0; i < cells.length; i++) most = Math.max(most, Math.abs(cells[i]) / top);
    }
    return Math.max(0.1, Math.ceil(most * 10) / 10);
  }

  matricesOf(head) {
    return this.records.map((record) => matrixOf(record, head));
  }

  // The rows of these columns in A and in B, summed, spread over all columns.
  rowsFor(columns, head = this.state.head) {
    return this.matricesOf(head).map((matrix, side) => {
      const units = columns.map((column) => this.pairs[column][side]).filter((unit) => unit !== null);
      const row = matrix ? summedRow(matrix, this.records[side].n, units) : new Float64Array(this.records[side].n);
      return spread(row, this.pairs, side);
    });
  }

  diffOf(head) {
    const at = headIndex(this.record, head);
    if (!this.diffs.has(at)) {
      const [a, b] = this.matricesOf(head);
      if (!a || !b) return null;
      this.diffs.set(at, difference(a, this.records[0].n, b, this.records[1].n, this.both));
    }
    return this.diffs.get(at);
  }

  pictureOf = (head, span = this.span) => {
    if (this.change) {
      const size = this.change.side ** 2;
      const at = headIndex(this.common, head);
      return { cells: this.change.cells.subarray(at * size, (at + 1) * size), side: this.change.side, top: 127 * span };
    }
    return { cells: this.diffOf(head), side: this.both.length, top: span };
  };

  describe(head) {
    const diff = this.diffOf(head);
    if (!diff) return `Head ${headName(head)}`;
    if (!diff.length) return `Head ${headName(head)}: no word of A has a counterpart in B`;
    let most = 0;
    for (let i = 1; i < diff.length; i++) if (Math.abs(diff[i]) > Math.abs(diff[most])) most = i;
    const m = this.both.length;
    const [q, k] = [Math.floor(most / m), most % m].map((i) => quoted(this.nameOf(this.bothColumns[i])));
    return `Head ${headName(head)}: largest change ${q} to ${k}, ${points(diff[most])} points`;
  }

  update(moving) {
    if (!this.records || !this.paint) return;
    this.root.classList.toggle("present", Boolean(this.present));
    this.root.classList.toggle("waiting", this.matricesOf(this.state.head).some((matrix) => !matrix));
    this.sheet.mark(this.state.head);
    this.drawWords();
    this.drawRanking();
    this.root.dataset.panel = this.state.panel;
    this.trio.hidden = this.state.panel !== "matrix";
    this.trio.lastChild.hidden = !this.both.length;
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.panel === this.state.panel));
    this.headTitle.textContent = `Head ${headName(this.state.head)}`;
    if (this.state.panel === "table") drawTable(this.table, this.tableNow(), (value) => percent(value));
    this.why.hidden = !this.notices.length;
    this.why.replaceChildren(...this.notices.map(noted));
    this.animate(moving);
  }

  animate(moving) {
    cancelAnimationFrame(this.frame);
    const [a, b] = this.matricesOf(this.state.head);
    if (!a || !b) return this.drawNow(1);
    const full = [a, b].map((matrix) => Float64Array.from(matrix, (step) => step / STEPS));
    this.now = [...full, this.diffOf(this.state.head)];
    const still = !moving || !this.before || matchMedia("(prefers-reduced-motion: reduce)").matches || this.record.n > 128;
    const finish = () => {
      this.before = this.now;
      this.drawNow(1);
    };
    if (still) return finish();
    const start = performance.now();
    const step = (time) => {
      const t = Math.min(1, Math.max(0.12, (time - start) / TWEEN_BOTH));
      if (t >= 1) return finish();
      this.drawNow(t * (2 - t));
      this.frame = requestAnimationFrame(step);
    };
    step(start);
  }

  drawNow(t) {
    this.shownValues = this.now?.map((values, i) => (t < 1 ? mix(this.before[i], values, t) : values)) ?? null;
    this.drawHero();
    this.drawMatrices();
  }

  drawHero() {
    if (!this.duo.width) this.duo.measure(this.present);
    if (!this.duo.width || !this.shownValues) return;
    const from = this.fromNow();
    const links = [0, 1].map((side) => {
      const n = this.records[side].n;
      const found = [];
      for (const column of from) {
        const unit = this.pairs[column][side];
        if (unit === null) continue;
        const row = this.shownValues[side].subarray(unit * n, (unit + 1) * n);
        for (const link of strongest(row, DRAWN_BOTH, 0.01)) found.push({ from: column, to: this.columnOf[side][link.to], weight: link.weight });
      }
      return found.sort((x, y) => y.weight - x.weight);
    });
    const to = this.toNow();
    const masses = new Map();
    if (from.length) {
      const rows = this.rowsFor(from);
      const put = (column) => masses.set(column, this.pairs[column].map((unit, side) => (unit === null ? null : rows[side][column])));
      this.pairs.forEach((_, column) => Math.max(rows[0][column], rows[1][column]) >= 0.02 && put(column));
      if (to !== null) put(to);
    }
    this.duo.draw({ links, from, to, pointed: this.over.column ?? this.over.k, masses }, this.paint);
  }

  specOf(side) {
    const unitOf = (column) => (column === null || column === undefined ? null : side < 2 ? this.pairs[column][side] : this.bothColumns.indexOf(column));
    const exists = (unit) => unit !== null && unit >= 0;
    const own = (column) => (exists(unitOf(column)) ? unitOf(column) : null);
    const names = side < 2 ? this.records[side].names : this.bothColumns.map((column) => this.nameOf(column));
    const pinned = this.state.pins.length > 0;
    return {
      rows: names,
      columns: names,
      values: this.shownValues?.[side] ?? new Float64Array(names.length ** 2),
      signed: side === 2,
      span: this.span,
      from: this.pinColumns().map(own).filter(exists),
      to: this.state.to === null ? null : own(this.columnOf[0][this.state.to]),
      over: [own(this.over.q ?? (pinned ? null : this.over.column)), own(this.over.k ?? (pinned ? this.over.column : null))],
      least: 0,
      measured: this.pairs.map((_, column) => this.nameOf(column)),
      labelSize: this.present ? 18 : 13,
      tell: side === 2 ? (q, k, value) => `${names[q]} to ${names[k]}: ${points(value)} points` : null,
    };
  }

  // A, B and, where any word has a counterpart, A minus B.
  sidesDrawn() {
    return this.both.length ? [0, 1, 2] : [0, 1];
  }

  drawMatrices() {
    if (this.state.panel !== "matrix") return;
    this.sidesDrawn().forEach((side) => this.matrices[side].draw(this.specOf(side), side === 2 ? { ...this.paint, ...this.paint.change } : this.paint));
  }

  sentenceNow() {
    const head = this.state.head;
    const pins = this.pinColumns();
    if (this.matricesOf(head).some((matrix) => !matrix)) return `Head ${headName(head)}.`;
    if (!pins.length || !this.both.length) return `${this.describe(head)}.`;
    const [a, b] = this.rowsFor(pins);
    const order = [...this.bothColumns].filter((c) => Math.abs(a[c] - b[c]) >= 0.001).sort((x, y) => Math.abs(a[y] - b[y]) - Math.abs(a[x] - b[x]) || x - y);
    return changeInWords(head, this.record.names, this.state.pins, order.slice(0, 2).map((c) => ({ name: this.nameOf(c), a: a[c], b: b[c] })));
  }

  drawWords() {
    const sentence = this.sentenceNow();
    if (this.line.dataset.said !== sentence) {
      this.line.dataset.said = sentence;
      spoken(this.line, sentence);
      this.live.textContent = sentence.replace(/[“”]/g, "");
    }
    const { pins, to } = this.state;
    this.hint.textContent = !pins.length ? "Point at a word to see where it looks in both. Click it to pin it." : to === null ? "Click a second word to follow that one link through all heads." : "";
    this.hint.hidden = !this.hint.textContent;
    this.clear.hidden = !pins.length;
    const alone = this.pairs.filter(([a, b]) => a === null || b === null).length;
    const left = alone ? ` ${alone} ${alone > 1 ? "words have" : "word has"} no counterpart and ${alone > 1 ? "are" : "is"} left out.` : "";
    const sizes = this.records[0].layers !== this.records[1].layers || this.records[0].heads !== this.records[1].heads ? " Only heads that both models have are shown." : "";
    this.rest = `${this.both.length} of ${this.pairs.length} places stand side by side.${left}${sizes}`;
    this.glanced.textContent = this.rest;
  }

  rankingNow() {
    const pins = this.pinColumns();
    if (!pins.length) return null;
    const aim = this.state.to === null ? null : this.columnOf[0][this.state.to];
    const entries = [];
    for (const [layer, head] of allHeads(this.common)) {
      const change = this.records.every((record) => record.full) ? changeOf(...this.rowsFor(pins, [layer, head]), aim) : this.movedFromServer([layer, head], aim);
      if (!change) return null;
      entries.push({ layer, head, ...change, weight: aim === null ? change.moved : Math.abs(change.a - change.b) });
    }
    return ranked(entries);
  }

  movedFromServer(head, aim) {
    const same = this.moves && this.moves.pins.join() === this.state.pins.join() && this.moves.to === this.state.to;
    if (!same) return null;
    const at = headIndex(this.common, head) * 4;
    const [share, column, a, b] = this.moves.cells.subarray(at, at + 4);
    const scale = this.moves.scale / STEPS;
    return { moved: share * scale, column: aim ?? column, a: a * scale, b: b * scale };
  }

  drawRanking() {
    const entries = this.rankingNow();
    const { pins, to } = this.state;
    const who = listed(pins.map((pin) => quoted(this.record.names[pin])));
    const title = !pins.length ? "Which heads changed?" : to === null ? `Heads that changed most for ${who}` : `${who} to ${quoted(this.nameOf(this.columnOf[0][to]))}, A and B`;
    this.ranking.draw({
      title,
      entries: entries?.map((entry) => {
        const note = `${to === null ? `${this.nameOf(entry.column)} ` : ""}${percent(entry.a).replace(" %", "")} → ${percent(entry.b)}`;
        return { ...entry, note, text: to === null ? percent(entry.moved) : points(entry.a - entry.b), kind: to === null ? "" : entry.a >= entry.b ? "more" : "less" };
      }),
      pins,
      to,
      chosen: this.state.head,
      hint: pins.length ? "Counting." : "Choose a word, and every head is ranked by how much of its look moved between A and B.",
    });
  }

  tableNow() {
    const pins = this.pinColumns();
    const [a, b] = pins.length ? this.rowsFor(pins) : [null, null];
    const caption = this.line.dataset.said;
    if (!a) return { caption, head: ["Pin a word to see its numbers"], rows: [] };
    return { caption, head: ["looked at", "A", "B", "A − B"], rows: this.pairs.map((_, column) => [this.nameOf(column), a[column], b[column], a[column] - b[column]]) };
  }

  drawAll() {
    if (!this.records || !this.paint) return;
    this.root.classList.toggle("present", Boolean(this.present));
    this.duo.measure(this.present);
    if (this.sheetFor !== this.opened || !this.sheet.cells.length) {
      this.sheetFor = this.opened;
      this.span = this.both.length ? this.spanOf() : 1;
      const end = Math.round(this.span * 100);
      this.legend.replaceChildren(legend(`more in B, ${end} points`, `${end} points, more in A`, "change"));
      this.sheet.fill(this.common, allHeads(this.common), null, (head) => this.describe(head));
    }
    this.update(false);
    this.sheet.draw(this.paint.change, (head) => this.pictureOf(head));
  }

  // ---- saving
  fileName(ending) {
    return fileName(headName(this.state.head), `compared ${this.records[0].title}`, ending);
  }

  page(style = "") {
    const paint = this.paint;
    const width = Math.max(960, this.duo.width);
    const body = [...duoSvg(this.duo, paint)];
    let y = this.duo.root.scrollHeight + 36;
    for (const line of wrapped(this.line.dataset.said, 100)) {
      body.push(say(line, { x: 0, y, "font-size": 18, fill: css(paint.ink) }));
      y += 26;
    }
    body.push(say(this.titles.textContent, { x: 0, y, "font-size": 13, fill: css(paint.soft) }));
    y += 20;
    const each = (width - 60) / 3;
    let tallest = 0;
    this.sidesDrawn().forEach((side) => {
      const ramp = side === 2 ? { ...paint, ...paint.change } : paint;
      const x = side * (each + 30);
      body.push(say(["A", "B", "A − B"][side], { x, y: y + 16, "font-size": 16, "font-weight": 650, fill: css(paint.ink) }));
      const picture = matrixPicture(this.specOf(side), ramp, { x, y: y + 10, size: each - 100, room: 100 });
      body.push(...picture.body);
      tallest = Math.max(tallest, picture.height);
    });
    y += tallest + 30;
    body.push(say(`Head ${headName(this.state.head)} · row = query, looks at column = key · HeadScope`, { x: 0, y: y + 10, "font-size": 13, fill: css(paint.soft) }));
    return svgPage({ width: width + 80, height: y + 90, paper: paint.paper, title: this.line.dataset.said, body: [tag("g", { transform: "translate(40 40)" }, ...body)], style });
  }

  saveSvg() {
    const name = this.fileName("svg");
    save(name, "image/svg+xml", this.page());
    return name;
  }

  async savePng() {
    const name = this.fileName("png");
    await savePng(name, this.page(globalThis.headscope?.fontStyle?.() ?? ""));
    return name;
  }

  saveCsv() {
    const rows = [["query", "key", "A", "B", "A minus B", "pinned"]];
    const places = this.bothColumns;
    const [a, b] = this.now;
    const six = (value) => Number(value.toFixed(6));
    for (const q of places) {
      for (const k of places) {
        const [wa, wb] = [a[this.pairs[q][0] * this.records[0].n + this.pairs[k][0]], b[this.pairs[q][1] * this.records[1].n + this.pairs[k][1]]];
        rows.push([this.nameOf(q), this.nameOf(k), six(wa), six(wb), six(wa - wb), this.state.pins.includes(this.pairs[q][0]) ? 1 : 0]);
      }
    }
    const name = this.fileName("csv");
    save(name, "text/csv;charset=utf-8", `\ufeff${csv(rows)}`);
    return name;
  }

  saveJson() {
    const name = this.fileName("json");
    const matrix = (side) => Array.from({ length: this.records[side].n }, (_, q) => Array.from(this.now[side].subarray(q * this.records[side].n, (q + 1) * this.records[side].n), (w) => Number(w.toFixed(6))));
    const content = { head: headName(this.state.head), titles: this.titlesNow, labels: this.records.map((record) => record.names), pairs: this.pairs, pinned: this.state.pins, to: this.state.to, said: this.line.dataset.said, A: matrix(0), B: matrix(1) };
    save(name, "application/json", `${JSON.stringify(content)}\n`);
    return name;
  }
}


function duoSvg(duo, paint) {
  const body = (duo.shapes ?? []).map((s) => tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width }));
  duo.units.forEach((units, side) =>
    units.forEach((unit, i) => {
      if (!unit) return;
      const box = duo.boxes[side][i];
      const column = duo.columns[i].classList;
      const size = Number.parseFloat(getComputedStyle(unit).fontSize);
      if (column.contains("pinned")) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: css(paint.accent) }));
      if (column.contains("aimed")) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: "none", stroke: css(paint.accent), "stroke-width": 2 }));
      const colour = column.contains("pinned") ? paint.onAccent : column.contains("still") || unit.classList.contains("special") ? paint.soft : paint.ink;
      body.push(say(unit.textContent, { x: box.x, y: (box.top + box.bottom) / 2, "text-anchor": "middle", "dominant-baseline": "central", "font-size": size, fill: css(colour), "text-decoration": column.contains("differs") ? "underline" : null }));
    }),
  );
  for (const label of duo.placed ?? []) {
    label.pair.forEach((weight, side) => {
      if (weight === null) return;
      const box = duo.boxes[side][label.column];
      const y = side ? box.top - 14 : box.bottom + 12;
      body.push(say(percent(weight), { x: label.x, y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": label.strong ? 18 : 14, "font-weight": label.strong ? 650 : 400, fill: css(label.strong ? paint.ink : paint.soft) }));
    });
  }
  return body;
}
