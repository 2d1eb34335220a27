// Compare: two runs, word beside word. A minus B for every head, both rows of the chosen word face to face.
import { maskNote, rowNote } from "./visibility_text.js";
import { build } from "./compare/build.js";
import { drawMeasure } from "./measure.js";
import { meeting } from "./compare/change.js";
import { drawHero, drawMatrix } from "./compare/drawn.js";
import { describe, diffOf, isHere, rowsFor, seenIn, spanOf } from "./compare/rows.js";
import { drawWords } from "./compare/sentences.js";
import { isPageChoice } from "./explore/look.js";
import { percent } from "./format.js";
import { legend } from "./parts.js";
import { strongest } from "./numbers.js";
import { allHeads, headIndex, kindOf, titleOf } from "./record.js";
import { nameAll } from "./head_thumbnails.js";
import { verbOf } from "./words.js";

export class Compare {
  constructor(root, emit, _ask = () => {}, draw = () => {}, retype = () => {}) {
    this.root = root;
    this.emit = emit;
    this.askMeasure = draw;
    this.retype = retype;
    this.state = { head: [0, 0], pins: [], to: null };
    this.hovered = { column: null, q: null, k: null };
    this.mine = {};
    build(this);
  }

  open([a, b, change], view) {
    const key = `${a.id} ${b.id} ${JSON.stringify(view.pairs)}`;
    this.change = change ?? null;
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
      this.mine = {};
      this.diffs = new Map();
      // What both see where they stand word for word beside each other: a window has no place among other columns.
      const reach = this.both.length === a.n && a.n === b.n && JSON.stringify(a.reach) === JSON.stringify(b.reach) ? a.reach : undefined;
      this.common = { ...a, reach, causal: Boolean(a.causal || b.causal), sharing: a.sharing === b.sharing ? a.sharing : 1, layers: Math.min(a.layers, b.layers), heads: Math.min(a.heads, b.heads) };
      this.duo.fill(a, b, this.pairs, this.differs);
    }
    this.link = view.link ?? "";
    this.present = Boolean(view.present);
    const models = view.titles[0] === view.titles[1] ? "" : `A: ${view.titles[0]} · B: ${view.titles[1]}`;
    this.titles.textContent = models;
    this.ready = view.ready ?? "";
    this.root.classList.toggle("alike", Boolean(view.ready));
    this.duo.offer(view.ready);
    this.measures = view.measures ?? null;
    this.note.textContent = `${rowNote(this.common)}${maskNote(this.common)}`;
  }

  move(selection) {
    const inside = (unit) => Number.isInteger(unit) && unit >= 0 && unit < this.record.n;
    const [layer, head] = selection.head;
    this.state.head = [Math.min(layer, this.common.layers - 1), Math.min(head, this.common.heads - 1)];
    this.state.pins = selection.pins.filter(inside);
    this.state.to = inside(selection.to) && this.state.pins.length ? selection.to : null;
  }

  get chosen() {
    return { head: this.state.head, pins: this.state.pins, to: this.state.to };
  }

  tell() {
    this.emit(this.chosen);
  }

  // As in Explore.
  get complete() {
    return this.records.every((record) => record.full);
  }

  select(change) {
    Object.assign(this.state, change);
    Object.assign(this.mine, change);
    if (!this.state.pins.length) this.state.to = null;
    this.hovered = { column: null, q: null, k: null };
    this.update();
    this.tell();
  }

  // target and what is returned: as in Explore.
  choose(column, more, row = false, target = null) {
    const unit = this.pairs[column]?.[0] ?? null;
    if (unit === null) return;
    const { pins, to } = this.state;
    const aim = target === null ? null : this.pairs[target]?.[0] ?? null;
    if (aim !== null && !more) {
      const again = pins.length === 1 && pins[0] === unit && to === aim;
      return this.select(again ? { pins: [], to: null } : { pins: [unit], to: aim });
    }
    if (more) this.select({ pins: pins.includes(unit) ? pins.filter((pin) => pin !== unit) : [...pins, unit].sort((x, y) => x - y) });
    else if (!row && isPageChoice(this, unit)) {
      this.select(to === unit ? { to } : { pins, to: null });
      return true;
    } else if (to === unit) this.select({ to: null });
    else if (pins.includes(unit)) this.select({ pins: pins.filter((pin) => pin !== unit), to: null });
    else if (pins.length && to === null && !row) this.select({ to: unit });
    else this.select({ pins: [unit], to: null });
  }

  hover(hovered, aloud = false) {
    if (hovered.column === this.hovered.column && hovered.q === this.hovered.q && hovered.k === this.hovered.k) return;
    this.hovered = hovered;
    drawHero(this);
    drawMatrix(this);
    if (aloud && hovered.q !== null && hovered.k !== null && isHere(this)) {
      const [a, b] = rowsFor(this, [hovered.q]).map((row) => row[hovered.k]);
      const [inA, inB] = seenIn(this, [hovered.q], hovered.k).map((sees, side) => (sees ? percent([a, b][side]) : "nothing"));
      const [from, to] = [hovered.q, hovered.k].map((column) => this.nameOf(column));
      this.live.textContent = inA === inB && inA === "nothing" ? `${from} cannot see ${to}: it comes later` : `${from} ${verbOf(this.common)} ${to}: ${inA} in A, ${inB} in B`;
    }
  }

  nameOf(column) {
    const [a, b] = this.pairs[column];
    if (a === null) return this.records[1].named[b];
    if (b === null || !this.differs[column]) return this.records[0].named[a];
    return `${this.records[0].named[a]} / ${this.records[1].named[b]}`;
  }

  // [0] or [1] where only A or only B has this word; null where both do.
  onlyIn(column) {
    const [a, b] = this.pairs[column];
    return a === null ? 1 : b === null ? 0 : null;
  }

  pinColumns() {
    return this.state.pins.map((pin) => this.columnOf[0][pin]);
  }

  // Those of these columns that both have.
  shared(columns) {
    return columns.filter((column) => this.onlyIn(column) === null);
  }

  // The pinned words that can be compared.
  sharedPins() {
    return this.shared(this.pinColumns());
  }

  pictureOf = (head, span = this.span) => {
    if (this.change) {
      const size = this.change.side ** 2;
      const at = headIndex(this.common, head);
      return { cells: this.change.cells.subarray(at * size, (at + 1) * size), side: this.change.side, top: 127 * span };
    }
    return { cells: diffOf(this, head), side: this.both.length, top: span };
  };

  update() {
    if (!this.records || !this.paint) return;
    this.root.classList.toggle("present", Boolean(this.present));
    this.root.classList.toggle("waiting", !isHere(this));
    for (const record of [this.common, ...this.records]) record.layer = this.state.head[0];
    this.sheet.mark(this.state.head);
    drawWords(this);
    this.headTitle.textContent = titleOf(this.common, this.state.head);
    drawMeasure(this);
    drawHero(this);
    drawMatrix(this);
  }

  drawAll() {
    if (!this.records || !this.paint) return;
    this.root.classList.toggle("present", Boolean(this.present));
    this.duo.measure(this.present);
    if (this.sheetFor !== this.opened || !this.sheet.cells.length) {
      this.sheetFor = this.opened;
      nameAll(this, `${kindOf(this.common).all}, A − B`);
      this.span = this.both.length ? spanOf(this) : 1;
      const end = Math.round(this.span * 100);
      this.legend.replaceChildren(legend(`more in B, ${end} points`, `${end} points, more in A`, "change"));
      this.sheet.fill(this.common, allHeads(this.common), (head) => describe(this, head));
    }
    this.update();
    this.reveal();
    this.sheet.draw(this.paint.change, (head) => this.pictureOf(head));
  }

  // On a phone: the first chosen word, and the word that it looks at most in A.
  reveal() {
    const [column] = this.pinColumns();
    if (column === undefined) return;
    const isWord = (other) => this.onlyIn(other) !== 1 && !this.record.specials[this.pairs[other][0]];
    const [link] = strongest(rowsFor(this, [column])[0], 1, 0.01, isWord);
    this.duo.reveal(column, this.state.to === null ? link?.to : this.columnOf[0][this.state.to]);
  }
}
