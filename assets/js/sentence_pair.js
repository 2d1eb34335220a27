// Two sentences, one above the other, word under word: arcs of A rise above, arcs of B hang below, and where they
// meet the two percentages stand face to face.
import { css } from "./colour.js";
import { arrowStep, make, vector } from "./dom.js";
import { colourOf, isOneLine, LINE_SIZE, tipOf } from "./sentence.js";
import { percent } from "./format.js";
import { WordEdit, types, unitsOfWord } from "./word_edit.js";
import { arcPath, arrowTip, beforeTip, heroSize, lanePath, placeLabels, riseOf, strokeWithin } from "./geometry.js";

export const DRAWN_BOTH = 10;
const SIGN = 32; // pixels: A and B stay at the left of one line
const LANE = 16; // the margin that arcs from line to line run in; view.css has the same
const LANE_WIDTH = 6;
const PRESENTED = 0.42; // of the screen's height
const SMALLEST_PRESENTED = 20;

export class SentencePair {
  constructor(actions) {
    this.actions = actions;
    this.arcs = vector("svg", { class: "arcs", "aria-hidden": "true" });
    this.words = make("div", { class: "words duo", role: "group", "aria-label": "Both sentences, word under word", "data-uncounted": "" });
    this.labels = make("div", { class: "labels", "aria-hidden": "true", "data-uncounted": "" });
    this.root = make("div", { class: "sentence pairwise" }, this.arcs, this.words, this.labels);
    this.columns = [];
    this.focus = 0;
    this.words.onkeydown = (event) => this.key(event);
    this.words.onpointerover = (event) => {
      const column = event.target.closest?.("[data-column]");
      if (event.pointerType !== "touch") actions.point(column ? Number(column.dataset.column) : null);
    };
    this.words.onpointerleave = () => actions.point(null);
    this.edit = new WordEdit({ changed: (word) => actions.retype(...this.edited, word), moved: () => this.relaid() });
    this.words.ondblclick = (event) => this.editAt(event.target.closest?.("[data-at]"));
    this.words.onclick = (event) => {
      if (this.edit.open) return;
      const ready = event.target.closest?.(".ready");
      if (ready) return this.editAt(ready);
      const column = event.target.closest?.("[data-column]");
      if (column && !(event.detail > 1 && this.kept)) this.kept = actions.choose(Number(column.dataset.column), event.shiftKey || event.ctrlKey || event.metaKey);
    };
  }

  // A word of A or B becomes a field of text; a piece of a word, the whole word.
  editAt(cell, typed = null) {
    if (!cell || this.edit.open || globalThis.headscope?.live === false) return;
    const [side, unit] = cell.dataset.at.split(" ").map(Number);
    if (this.records[side].specials[unit]) return;
    this.edited = [side, unit];
    this.edit.begin(unitsOfWord(this.records[side], unit).map((i) => this.cellOf[side][i]), typed);
  }

  // By the keyboard a word of B is changed, where B has it.
  editHere(typed = null) {
    const [inA, inB] = this.units.map((cells) => cells[this.focus]);
    this.editAt(inB ?? inA, typed);
  }

  relaid() {
    if (this.width) this.place(this.width);
    this.actions.redraw();
  }

  key(event) {
    const step = arrowStep(event.key, 1);
    if (step) {
      this.focus = Math.max(0, Math.min(this.columns.length - 1, this.focus + step));
      this.columns.forEach((column, i) => (column.tabIndex = i === this.focus ? 0 : -1));
      this.columns[this.focus].focus();
    } else if (event.key === "F2") this.editHere();
    else if (types(event)) this.editHere(event.key);
    else if (event.key === "Enter" || event.key === " ") this.actions.choose(this.focus, event.shiftKey);
    else return;
    event.preventDefault();
  }

  // pairs: [[a or null, b or null]], one a column
  fill(a, b, pairs, differs) {
    this.edit.cells = null;
    this.records = [a, b];
    this.units = [[], []]; // by column, null where a side has no word
    this.cellOf = [[], []]; // by the word's own place in its sentence
    this.columns = pairs.map((pair, i) => {
      const cells = pair.map((unit, side) => {
        const record = this.records[side];
        const special = unit !== null && record.specials[unit];
        const classes = ["unit", special ? "special" : "", unit !== null && record.unknown?.[unit] ? "unknown" : "", unit !== null && record.joined?.[unit] ? "joined" : ""];
        const cell = make("span", { text: unit === null ? "" : record.names[unit], class: classes.filter(Boolean).join(" "), "data-at": unit === null ? null : `${side} ${unit}` });
        this.units[side].push(unit === null ? null : cell);
        if (unit !== null) this.cellOf[side][unit] = cell;
        return cell;
      });
      const spaced = pair.some((unit, side) => unit !== null && /\s$/.test(this.records[side].before[unit]));
      const turn = pair.some((unit, side) => unit !== null && unit > 0 && this.records[side].segments[unit] !== this.records[side].segments[unit - 1]);
      return make(
        "span",
        {
          class: `column${spaced ? " spaced" : ""}${differs[i] ? " differs" : ""}${turn ? " turn" : ""}`,
          role: "button",
          tabindex: i === 0 ? 0 : -1,
          "data-column": i,
          "aria-pressed": "false",
          onfocus: (event) => {
            this.focus = i;
            if (event.target.matches(":focus-visible")) this.actions.point(i);
          },
          onblur: () => this.actions.point(null),
        },
        ...spokenCells(cells, pair, differs[i]),
      );
    });
    const marks = make("span", { class: "column sides", "aria-hidden": "true" }, make("span", { class: "side", text: "A" }), make("span", { class: "side", text: "B" }));
    this.words.dir = directionOf(a.names.join(" "));
    this.words.replaceChildren(marks, ...this.columns, ...cutMarks(this.records));
    this.characters = pairs.reduce((sum, pair) => sum + 1 + Math.max(...pair.map((unit, side) => (unit === null ? 0 : this.records[side].specials[unit] ? 3 : this.records[side].names[unit].length))), 0);
  }

  // The last word of B, where B is the same sentence still: ready to be changed.
  offer(ready) {
    const { specials, names } = this.records[1];
    const last = ready ? names.findLastIndex((name, i) => !specials[i] && /[\p{L}\p{N}]/u.test(name)) : -1;
    this.cellOf[1].forEach((cell, i) => cell.classList.toggle("ready", i === last));
  }

  measure(present) {
    const width = this.root.clientWidth;
    if (!width || !this.records) return;
    this.present = present;
    this.line = isOneLine(this.characters, width, present);
    this.root.classList.toggle("line", this.line);
    this.size = this.line ? LINE_SIZE : Math.min(heroSize(this.characters, width, present), present ? 60 : 33);
    this.place(width);
    while (present && this.size > SMALLEST_PRESENTED && this.root.scrollHeight > innerHeight * PRESENTED) {
      this.size *= 0.9;
      this.place(width);
    }
  }

  // Lay the words out at the present size, and read where they stand.
  place(width) {
    for (const side of ["width", "height"]) this.arcs.setAttribute(side, 0); // or the last layout would count as content
    this.labels.replaceChildren();
    this.root.style.setProperty("--size", `${this.size.toFixed(1)}px`);
    this.readBoxes();
    const known = this.boxes.flat().filter(Boolean);
    const many = known.some((box) => box.line > 0);
    this.most = many ? this.size * 1.5 : Math.min(this.size * 3.6, 150);
    const reach = Math.max(...known.map((box) => box.x)) - Math.min(...known.map((box) => box.x));
    const head = many ? this.size * 1.5 : Math.min(riseOf(reach * 0.8, this.most), this.most) * 0.75 + 12;
    this.root.style.setProperty("--rise", `${Math.round(head)}px`);
    this.root.classList.toggle("many", many);
    this.root.classList.toggle("scrolls", Math.max(...known.map((box) => box.line)) > 3 && !this.present);
    this.readBoxes();
    this.width = width;
    this.wide = this.line ? Math.max(width, this.words.offsetWidth) : width;
    this.arcs.setAttribute("viewBox", `0 0 ${this.wide} ${this.root.scrollHeight}`);
    this.arcs.setAttribute("width", this.wide);
    this.arcs.setAttribute("height", this.root.scrollHeight);
  }

  // In one line that scrolls, a word and the one it looks at come into sight.
  reveal(column, target = column) {
    if (!this.line) return;
    const [from, to] = [column, target].map((place) => this.boxes[0][place] ?? this.boxes[1][place]);
    this.root.scrollLeft = (from.x + to.x - this.width - SIGN) / 2;
  }

  readBoxes() {
    const origin = this.root.getBoundingClientRect();
    const tops = [...new Set(this.columns.map((column) => Math.round(column.getBoundingClientRect().top)))].sort((x, y) => x - y);
    this.boxes = [0, 1].map((side) =>
      this.units[side].map((unit, i) => {
        if (!unit) return null;
        const rect = unit.getBoundingClientRect();
        const centre = rect.top - origin.top + rect.height / 2 + this.root.scrollTop;
        const line = tops.indexOf(Math.round(this.columns[i].getBoundingClientRect().top));
        return { x: rect.left - origin.left + this.root.scrollLeft + rect.width / 2, width: rect.width, top: centre - this.size * 0.6, bottom: centre + this.size * 0.6, line };
      }),
    );
  }

  // shown: {links: [A, B] of {from, to, weight} in columns, from, to, pointed, masses: Map(column → [a, b])}
  draw(shown, paint) {
    const scale = Math.max(0.55, Math.min(1.4, this.size / 36)) * (this.root.classList.contains("many") ? 0.6 : 0.85);
    const isRest = (side, { to }) => this.isSpecial(side, to) && to !== shown.to;
    this.shapes = [0, 1].flatMap((side) =>
      shown.links[side]
        .slice(0, DRAWN_BOTH)
        .sort((x, y) => isRest(side, y) - isRest(side, x) || x.weight - y.weight)
        .filter((link) => this.boxes[side][link.from] && this.boxes[side][link.to])
        .map((link) => {
          const [from, to] = [this.boxes[side][link.from], this.boxes[side][link.to]];
          const width = Math.min(strokeWithin(link, this.boxes[side], scale), from.line === to.line ? Infinity : LANE_WIDTH);
          const tip = from !== to;
          const d = this.wayOf(from, tip ? beforeTip(to, tipOf(width)) : to, side);
          return { d, width, tip, colour: css(colourOf(link, isRest(side, link), paint)) };
        }),
    );
    this.arcs.replaceChildren(...this.shapes.map((s) => vector("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width.toFixed(2) })),
      ...this.shapes.filter((s) => s.tip).map((s) => vector("polygon", { points: arrowTip(s.d, tipOf(s.width)), fill: s.colour })));
    this.drawLabels(shown);
    this.columns.forEach((column, i) => {
      const on = shown.from.includes(i);
      column.classList.toggle("pinned", on);
      column.classList.toggle("aimed", shown.to === i);
      column.classList.toggle("hot", shown.pointed === i && !on);
      column.classList.toggle("still", shown.from.length > 0 && !on && shown.to !== i && !shown.masses.has(i));
      column.setAttribute("aria-pressed", String((shown.pins ?? shown.from).includes(i) || shown.to === i));
    });
  }

  isSpecial(side, column) {
    return Boolean(this.units[side][column]?.classList.contains("special"));
  }

  // A's arcs from line to line run through the left margin, B's through the right one: never across words.
  wayOf(from, to, side) {
    if (from.line === to.line) return arcPath(from, to, side ? -1 : 1, this.most);
    return lanePath(from, to, side ? -1 : 1, side ? this.width - LANE / 2 : LANE / 2, this.size * 0.55);
  }

  drawLabels(shown) {
    const wanted = [...shown.masses].map(([column, pair]) => {
      const loud = Math.max(...pair.filter((w) => w !== null));
      const isSpecial = this.isSpecial(0, column) || this.isSpecial(1, column);
      return { column, pair, weight: loud + (shown.to === column ? 2 : 0), strong: (loud >= 0.2 && !isSpecial) || shown.to === column };
    });
    const place = ({ column, pair, weight, strong }) => {
      const box = this.boxes[0][column] ?? this.boxes[1][column];
      return { column, pair, weight, strong, x: box.x, line: box.line, width: (strong ? 62 : 48) * (this.present ? 1.3 : 1) };
    };
    this.placed = placeLabels(wanted.map(place), this.wide, 1, this.columns.map((_, column) => this.boxes[0][column] ?? this.boxes[1][column]));
    this.labels.replaceChildren(
      ...this.placed.flatMap((label) =>
        label.pair.map((weight, side) => {
          if (weight === null) return "";
          const box = this.boxes[side][label.column];
          const node = make("span", { text: percent(weight), class: `share${label.strong ? " strong" : ""}${side ? " above" : ""}` });
          node.style.left = `${label.x}px`;
          node.style.top = `${side ? box.top - 2 : box.bottom + 2}px`;
          return node;
        }),
      ),
    );
  }
}

// The direction of a text is that of its first letter with one.
export function directionOf(text) {
  const strong = /\p{L}/u.exec(text.replace(/\[\w+\]/g, ""));
  return strong && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(strong[0]) ? "rtl" : "ltr";
}

// A column says what it shows: the same word once, two words with their sides.
function spokenCells(cells, [a, b], differs) {
  const aloud = (text) => make("span", { class: "hidden-aloud", text });
  if (a === null) return [cells[0], aloud("only in B: "), cells[1]];
  if (b === null) return [aloud("only in A: "), ...cells];
  if (differs) return [cells[0], aloud(" in A, "), cells[1], aloud(" in B")];
  cells[1].setAttribute("aria-hidden", "true");
  return cells;
}

// Where the model stopped reading, after the last word of the side that it is true of.
function cutMarks(records) {
  if (!records.some((record) => record.cut)) return [];
  const cells = records.map((record) => make("span", { class: record.cut ? "cut" : "unit", text: record.cut ? ` ✂ cut here: ${record.cut}` : "" }));
  return [make("span", { class: "column ends" }, ...cells)];
}
