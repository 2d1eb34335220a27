// Explore: one text, every head. State lives here; hovering never leaves the browser, a click tells Python once.
import { make, spoken } from "./dom.js";
import { csv, fileName, matrixPicture, save, savePng, say, svgPage, tag } from "./exports.js";
import { css } from "./colour.js";
import { Lines, tintOf } from "./lines.js";
import { Matrix } from "./matrix.js";
import { Menu } from "./menu.js";
import { STEPS, mix, percent, strongest, strongestLinks, summedRow } from "./numbers.js";
import { Ranking } from "./ranking.js";
import { allHeads, matrixOf, pairAllows, rankHeads, thumbOf } from "./record.js";
import { Sentence } from "./sentence.js";
import { Sheet } from "./sheet.js";
import { drawTable, pinnedTable, strongestTable } from "./table.js";
import { headInWords, headName, listed, quoted, rolesInWords, rowInWords } from "./words.js";

const TWEEN = 150;
const PANELS = [["matrix", "Matrix"], ["lines", "Lines"], ["table", "Table"]];

// What the shades mean.
export function legend(low, high, kind) {
  return make("p", { class: "legend", "aria-hidden": "true" }, make("span", { text: low }), make("i", { class: kind }), make("span", { text: high }));
}

// A line of words is written again only when it changes.
export function spokenOnce(node, sentence) {
  if (node.dataset.said === sentence) return;
  node.dataset.said = sentence;
  spoken(node, sentence);
}

// Sentences with `words` in backticks, as the core writes them.
export function noted(sentence) {
  return make("p", {}, ...sentence.split(/`([^`]*)`/).map((part, i) => (i % 2 ? make("b", { class: "word", text: part }) : part)));
}

export class Explore {
  constructor(root, tell) {
    this.root = root;
    this.tell = tell;
    this.state = { head: [0, 0], pins: [], to: null, panel: "matrix", least: 0, sort: "layer", also: [], summed: false, pair: "all", adding: false };
    this.over = { unit: null, q: null, k: null };
    this.before = { row: null, values: null };
    this.build();
  }

  build() {
    const actions = {
      point: (unit) => this.hover({ unit, q: null, k: null }),
      cell: (q, k, aloud) => this.hover({ unit: null, q, k }, aloud),
      choose: (unit, more, side) => this.choose(unit, more, side),
      head: (head, more) => this.chooseHead(head, more),
      glance: (head) => this.glance(head),
      from: (unit) => this.select({ pins: unit === null ? [] : [unit], to: unit === null ? null : this.state.to }),
      to: (unit) => this.select({ to: unit }),
    };
    this.sentence = new Sentence(actions);
    this.sheet = new Sheet(actions);
    this.matrix = new Matrix(actions, "The chosen head as a matrix");
    this.lines = new Lines(actions);
    this.ranking = new Ranking(actions);
    this.table = make("div", { class: "table" });
    this.line = make("p", { class: "inwords" });
    this.live = make("p", { class: "hidden-aloud", "aria-live": "polite" });
    this.menu = new Menu([
      ["Picture, SVG", "vectors; the key S keeps what you point at", () => this.saveSvg()],
      ["Picture, PNG", "twice the screen's resolution", () => this.savePng()],
      ["Numbers, CSV", "every weight of this head", () => this.saveCsv()],
      ["Numbers, JSON", "the same, with what is chosen", () => this.saveJson()],
    ]);
    this.adding = make("button", { type: "button", class: "plain", "aria-pressed": "false", text: "Add words up", title: "While on, a click adds a word; the words are summed", onclick: () => this.toggleAdding() });
    this.clear = make("button", { type: "button", class: "plain", text: "Clear", onclick: () => this.select({ pins: [], to: null }) });
    this.hint = make("p", { class: "hint" });
    const tools = make("div", { class: "tools" }, this.clear, this.adding, this.menu.root);
    this.hero = make("section", { class: "hero", "aria-label": "The sentence" }, this.sentence.root, make("div", { class: "under" }, make("div", { class: "said" }, this.line, this.hint), tools), this.live);
    this.sheetTitle = make("h2", { text: "All heads" });
    this.sort = make("select", { "aria-label": "Order of the heads", onchange: () => this.resort(this.sort.value) });
    this.glanced = make("p", { class: "caption" });
    this.why = make("div", { class: "why" });
    this.kinds = make("p", { class: "kinds" });
    this.sheetPart = make("section", { class: "part overview", "aria-label": "All heads" }, make("header", {}, this.sheetTitle, this.sort), this.sheet.root, legend("0 %", "100 %", "ramp"), this.kinds, this.glanced, this.why);
    this.panelTitle = make("h2", {});
    this.tabs = make("div", { class: "tabs", role: "group", "aria-label": "How to show the head" });
    this.controls = make("div", { class: "controls" });
    this.panelNote = make("p", { class: "caption" });
    this.panel = make("div", { class: "panel" }, this.matrix.root, this.lines.root, this.table);
    this.headPart = make("section", { class: "part onehead", "aria-label": "The chosen head" }, make("header", {}, this.panelTitle, this.tabs), this.panelNote, this.controls, this.panel);
    this.buildControls();
    this.root.append(this.hero, make("div", { class: "below" }, this.sheetPart, this.headPart, this.ranking.root));
    this.root.onkeydown = (event) => {
      if (event.key === "Escape" && (this.state.pins.length || this.state.to !== null)) this.select({ pins: [], to: null });
    };
  }

  buildControls() {
    this.least = make("input", { type: "range", min: 0, max: 50, step: 1, value: 0, oninput: () => this.setLeast(Number(this.least.value) / 100) });
    this.leastSaid = make("output", { text: "0 %" });
    const threshold = make("label", { class: "threshold" }, make("span", { text: "hide below" }), this.least, this.leastSaid);
    this.pairs = make("select", { "aria-label": "Which sentence looks at which", onchange: () => this.setPair(this.pairs.value) },
      ...[["all", "both sentences"], ["AA", "A → A"], ["AB", "A → B"], ["BA", "B → A"], ["BB", "B → B"]].map(([value, text]) => make("option", { value, text })));
    this.chips = make("div", { class: "chips", role: "group", "aria-label": "Heads of this layer, drawn together" });
    this.sum = make("button", { type: "button", class: "plain", text: "Sum", "aria-pressed": "false", onclick: () => this.toggleSum() });
    this.together = make("div", { class: "together" }, make("span", { text: "with heads" }), this.chips, this.sum);
    this.controls.append(threshold, this.pairs, this.together);
  }

  // ---- what Python sends
  open(record, view) {
    if (this.record !== record) {
      this.record = record;
      this.over = { unit: null, q: null, k: null };
      this.before = { row: null, values: null };
      this.matrixNow = null;
      this.headNow = null;
      this.valuesOf = null;
      this.valuesNow = null;
      this.state.pair = "all";
      this.state.sort = "layer";
      this.sentence.fill(record);
      this.ranking.fill(record.names);
      this.pairs.hidden = !record.segments.some((segment) => segment > 0);
      this.fillSheet();
    }
    this.notices = { texts: view.notices ?? [], of: view.noticesOf };
    this.present = Boolean(view.present);
    if (this.present && !this.wasPresent) this.state.panel = "matrix";
    this.wasPresent = this.present;
  }

  move(selection) {
    const inside = (unit) => Number.isInteger(unit) && unit >= 0 && unit < this.record.n;
    const [layer, head] = selection.head;
    this.state.head = [Math.min(layer, this.record.layers - 1), Math.min(head, this.record.heads - 1)];
    this.state.pins = selection.pins.filter(inside);
    this.state.to = inside(selection.to) && this.state.pins.length ? selection.to : null;
    this.state.also = [];
  }

  // ---- what the reader does
  select(change, quiet = false) {
    Object.assign(this.state, change);
    if (!this.state.pins.length) this.state.to = null;
    this.over = { unit: null, q: null, k: null };
    this.update(true);
    if (!quiet) this.tell({ head: this.state.head, pins: this.state.pins, to: this.state.to });
  }

  choose(unit, more, side = "query") {
    const { pins, to } = this.state;
    if (more || (this.state.adding && side === "query")) {
      const next = pins.includes(unit) ? pins.filter((pin) => pin !== unit) : [...pins, unit].sort((a, b) => a - b);
      return this.select({ pins: next });
    }
    if (side === "key" && pins.length) return this.select({ to: to === unit ? null : unit });
    if (to === unit) return this.select({ to: null });
    if (pins.includes(unit)) return this.select({ pins: pins.filter((pin) => pin !== unit), to: null });
    if (this.over.q === null && pins.length && to === null && side === "query") return this.select({ to: unit });
    return this.select({ pins: [unit], to: null });
  }

  chooseHead(head, more) {
    if (more && head[0] === this.state.head[0] && headName(head) !== headName(this.state.head)) return this.toggleAlso(head);
    this.select({ head, also: head[0] === this.state.head[0] ? this.state.also.filter((other) => other[1] !== head[1]) : [] });
  }

  toggleAlso(head) {
    const has = this.state.also.some((other) => other[1] === head[1]);
    this.state.also = has ? this.state.also.filter((other) => other[1] !== head[1]) : [...this.state.also, head].sort((a, b) => a[1] - b[1]);
    if (this.state.also.length) this.state.panel = "lines";
    this.update(false);
  }

  toggleAdding() {
    this.state.adding = !this.state.adding;
    this.update(false);
  }

  toggleSum() {
    this.state.summed = !this.state.summed;
    this.update(false);
  }

  setLeast(least) {
    this.state.least = least;
    this.leastSaid.textContent = `${Math.round(least * 100)} %`;
    this.update(false);
  }

  setPair(pair) {
    this.state.pair = pair;
    this.update(false);
  }

  setPanel(panel) {
    this.state.panel = panel;
    this.update(false);
  }

  resort(order) {
    this.state.sort = order;
    this.fillSheet();
    this.sheet.mark(this.state.head, this.state.also);
    this.sheet.draw(this.paint);
  }

  hover(over, aloud = false) {
    if (over.unit === this.over.unit && over.q === this.over.q && over.k === this.over.k) return;
    this.over = over;
    performance.mark("headscope:hover");
    this.drawSentence();
    this.drawPanel();
    spokenOnce(this.line, this.sentenceShown());
    if (aloud && over.q !== null && over.k !== null && this.matrixNow) {
      const { names, n } = this.record;
      this.live.textContent = `${names[over.q]} looks at ${names[over.k]}: ${percent(this.matrixNow[over.q * n + over.k] / STEPS)}`;
    }
  }

  glance(head) {
    this.glanced.textContent = head ? this.describe(head) : this.glanceRest;
  }

  // ---- what follows from the state
  allowed = (q, k) => pairAllows(this.record, this.state.pair, q, k);

  fromNow() {
    if (this.over.q !== null) return [this.over.q];
    if (this.state.pins.length) return this.state.pins;
    return this.over.unit === null ? [] : [this.over.unit];
  }

  toNow() {
    if (this.over.k !== null) return this.over.k;
    if (this.state.pins.length && this.over.unit !== null && !this.state.pins.includes(this.over.unit)) return this.over.unit;
    return this.over.q === null ? this.state.to : null;
  }

  describe(head) {
    const { names, specials } = this.record;
    const role = this.record.roles?.[headName(head)];
    const matrix = matrixOf(this.record, head);
    const pins = this.state?.pins ?? [];
    let what = `Head ${headName(head)}`;
    if (matrix && pins.length) what = rowInWords(head, names, pins, summedRow(matrix, this.record.n, pins));
    else if (matrix) {
      const [link] = strongestLinks(matrix, this.record.n, 1, (q, k) => !specials[q] && !specials[k]);
      if (link) what = `Head ${headName(head)}: strongest link ${quoted(names[link.from])} to ${quoted(names[link.to])}, ${percent(link.weight)}`;
    } else if (this.record.loudest) {
      const at = (head[0] * this.record.heads + head[1]) * 3;
      const [q, k, w] = this.record.loudest.slice(at, at + 3);
      what = `Head ${headName(head)}: strongest link ${quoted(names[q])} to ${quoted(names[k])}, ${percent(w / STEPS)}`;
    }
    return role ? `${what} Role: ${role.label}.` : what;
  }

  fillSheet() {
    const roles = this.record.roles;
    const orders = [["layer", "layer by layer"], ["weight", this.weightOrderName()]];
    if (roles && Object.keys(roles).length) orders.push(["role", "by role"]);
    this.sort.replaceChildren(...orders.map(([value, text]) => make("option", { value, text })));
    if (!orders.some(([value]) => value === this.state.sort)) this.state.sort = "layer";
    this.sort.value = this.state.sort;
    this.sheet.fill(this.record, this.orderNow(), roles, (head) => this.describe(head));
    this.kinds.replaceChildren(...rolesInWords(roles).flatMap(([letter, kind], i) => [i ? " · " : "", make("b", { text: letter }), ` ${kind}`]));
    this.kinds.hidden = !this.kinds.childNodes.length;
    this.sheetPins = this.state.pins.join();
  }

  weightOrderName() {
    const { pins, to } = this.state;
    if (!pins.length) return "by weight (pin a word)";
    const who = pins.length > 1 ? "the pinned words" : quoted(this.record.names[pins[0]]);
    return to === null ? `by where ${who} looks most` : `by ${who} to ${quoted(this.record.names[to])}`;
  }

  orderNow() {
    const heads = allHeads(this.record);
    if (this.state.sort === "weight") {
      const entries = rankHeads(this.record, this.state.pins, this.state.to);
      if (entries) return entries.map((entry) => [entry.layer, entry.head]);
    }
    if (this.state.sort === "role") {
      const roles = this.record.roles ?? {};
      const label = (head) => roles[headName(head)]?.label ?? "\uffff";
      return heads.sort((a, b) => (label(a) < label(b) ? -1 : label(a) > label(b) ? 1 : a[0] - b[0] || a[1] - b[1]));
    }
    return heads;
  }

  // ---- drawing
  update(moving) {
    if (!this.record || !this.paint) return;
    const matrix = matrixOf(this.record, this.state.head);
    if (matrix) {
      this.matrixNow = matrix;
      this.headNow = this.state.head;
    }
    this.root.classList.toggle("waiting", !matrix);
    this.root.classList.toggle("present", Boolean(this.present));
    if (this.state.sort === "weight" || this.sheetPins !== this.state.pins.join()) {
      const focused = this.sheet.cells.includes(this.root.getRootNode().activeElement);
      this.fillSheet();
      this.sheet.mark(this.state.head, this.state.also);
      if (focused) this.sheet.cells.find((cell) => cell.tabIndex === 0)?.focus();
      if (this.state.sort === "weight") this.sheet.draw(this.paint);
    } else this.sheet.mark(this.state.head, this.state.also);
    this.drawWords();
    this.drawRanking();
    this.drawTabs();
    this.drawNotices();
    this.animate(moving);
  }

  animate(moving) {
    cancelAnimationFrame(this.frame);
    const still = !moving || !this.before.values || matchMedia("(prefers-reduced-motion: reduce)").matches || this.record.n > 200;
    if (still) {
      this.tween = 1;
      this.drawSentence();
      this.drawPanel();
      this.remember();
      return;
    }
    const start = performance.now();
    const step = (now) => {
      const t = Math.min(1, Math.max(0.12, (now - start) / TWEEN));
      this.tween = t * (2 - t);
      this.drawSentence();
      this.drawPanel();
      if (t < 1) this.frame = requestAnimationFrame(step);
      else this.remember();
    };
    step(start);
  }

  remember() {
    this.tween = 1;
    this.before = { values: this.valuesNow, row: this.rowShown, pins: this.state.pins.join() };
  }

  values() {
    if (!this.matrixNow) return null;
    if (this.valuesOf !== this.matrixNow) {
      this.valuesOf = this.matrixNow;
      this.valuesNow = Float64Array.from(this.matrixNow, (step) => step / STEPS);
    }
    return this.tween < 1 ? mix(this.before.values, this.valuesNow, this.tween) : this.valuesNow;
  }

  // While a head of a long text is on its way: its small picture in place of the matrix.
  preview() {
    const { cells, side, top } = thumbOf(this.record, this.state.head);
    return { values: Float64Array.from(cells, (cell) => cell / top), shape: [side, side], hidden: null, silent: true };
  }

  shownLinks() {
    const { names, specials, n } = this.record;
    const from = this.fromNow();
    const allowed = this.allowed;
    if (!this.matrixNow) return { links: [], from, to: null, pointed: null };
    if (!from.length) {
      const links = strongestLinks(this.matrixNow, n, 5, (q, k) => allowed(q, k) && !specials[q] && !specials[k] && q !== k);
      return { links: links.filter((link) => link.weight >= Math.max(0.02, this.state.least)), from, to: null, pointed: this.over.k, names };
    }
    const values = this.values();
    const links = [];
    for (const q of from) {
      const row = values.subarray(q * n, (q + 1) * n);
      for (const link of strongest(row, 12, Math.max(0.01, this.state.least), (k) => allowed(q, k))) links.push({ from: q, ...link });
    }
    links.sort((a, b) => b.weight - a.weight);
    const to = this.toNow();
    const sum = (k) => from.reduce((total, q) => total + values[q * n + k], 0);
    const exact = new Map(to === null ? [] : [[to, sum(to)]]);
    for (const link of links) exact.set(link.to, sum(link.to));
    if (to !== null) for (const q of from) if (!links.some((link) => link.from === q && link.to === to)) links.push({ from: q, to, weight: values[q * n + to] });
    links.sort((a, b) => (b.to === to) - (a.to === to)); // only the first few are drawn: what was asked for is among them
    return { links, from, to, pointed: this.over.unit ?? this.over.k, exact };
  }

  drawSentence() {
    if (!this.sentence.width) this.sentence.measure(this.present);
    if (!this.sentence.width) return;
    this.sentence.draw(this.shownLinks(), this.paint);
  }

  drawPanel() {
    if (this.state.panel === "matrix") this.matrix.draw(this.matrixSpec(), this.paint);
    else if (this.state.panel === "lines") this.lines.draw(this.linesSpec(), this.paint);
  }

  matrixSpec() {
    const { names } = this.record;
    const inSentence = this.over.unit;
    const pinned = this.state.pins.length > 0;
    return {
      rows: names,
      columns: names,
      values: this.values(),
      signed: false,
      from: this.state.pins,
      to: this.state.to,
      over: [this.over.q ?? (pinned ? null : inSentence), this.over.k ?? (pinned ? inSentence : null)],
      least: this.state.least,
      hidden: this.state.pair === "all" ? null : (q, k) => !this.allowed(q, k),
      labelSize: this.present ? 20 : 15,
      ...(matrixOf(this.record, this.state.head) ? {} : this.preview()),
    };
  }

  linesSpec() {
    const { names, specials, n } = this.record;
    const heads = [this.headNow ?? this.state.head, ...this.state.also.filter((head) => matrixOf(this.record, head))].sort((a, b) => a[1] - b[1]);
    const from = this.fromNow();
    const links = new Map();
    for (const head of heads) {
      const matrix = heads.length === 1 && this.tween < 1 ? null : matrixOf(this.record, head);
      const value = matrix ? (q, k) => matrix[q * n + k] / STEPS : ((values) => (q, k) => values[q * n + k])(this.values());
      const rows = from.length ? from : strongestLinks(this.matrixNow ?? [], n, 12, (q, k) => !specials[q] && !specials[k] && this.allowed(q, k)).map((link) => link.from);
      for (const q of rows) {
        const row = Float64Array.from({ length: n }, (_, k) => value(q, k));
        for (const { to, weight } of strongest(row, from.length ? 24 : 1, Math.max(0.01, this.state.least), (k) => this.allowed(q, k) && (from.length || !specials[k]))) {
          const key = q * n + to;
          if (!links.has(key)) links.set(key, { from: q, to, parts: [] });
          links.get(key).parts.push({ head, weight });
        }
      }
    }
    return { names, links: [...links.values()], heads, summed: this.state.summed && heads.length > 1, from, to: this.toNow(), over: [this.over.q, this.over.k ?? this.over.unit], label: this.line.textContent, large: this.present };
  }

  // The line under the sentence follows the pointer; what is announced and saved is what is chosen.
  sentenceShown() {
    const from = this.fromNow();
    if (!this.matrixNow || !from.length || from === this.state.pins) return this.said;
    return rowInWords(this.headNow, this.record.names, from, summedRow(this.matrixNow, this.record.n, from));
  }

  sentenceNow() {
    const { names, specials, n } = this.record;
    if (!this.matrixNow) return `Head ${headName(this.state.head)}.`;
    if (!this.state.pins.length) return headInWords(this.headNow, names, specials, this.matrixNow);
    const row = summedRow(this.matrixNow, n, this.state.pins);
    return rowInWords(this.headNow, names, this.state.pins, row);
  }

  drawWords() {
    const sentence = this.sentenceNow();
    this.line.classList.toggle("open", !this.state.pins.length);
    if (this.said !== sentence) {
      this.said = sentence;
      spokenOnce(this.line, sentence);
      this.live.textContent = sentence.replace(/[“”]/g, "");
    }
    const { pins, to } = this.state;
    if (!pins.length) this.hint.textContent = "Point at a word to see where it looks. Click it to pin it.";
    else if (this.state.adding) this.hint.textContent = "Every click adds a word; what the pinned words look at is summed.";
    else if (to === null) this.hint.textContent = "Click a second word to ask which heads link the two.";
    else this.hint.textContent = "";
    this.hint.hidden = !this.hint.textContent;
    this.adding.hidden = !pins.length;
    this.adding.setAttribute("aria-pressed", String(this.state.adding));
    this.clear.hidden = !pins.length;
    this.glanceRest = this.record.packing === "small" ? "Rows look at columns; a cell of a small picture is the strongest link under it." : "In each small picture, rows look at columns; the darker, the more.";
    if (globalThis.headscope?.live === false && this.headNow && this.record.packing === "small") this.glanceRest += ` This file holds head ${headName([...this.record.opened.keys()].map((at) => [Math.floor(at / this.record.heads), at % this.record.heads])[0])} in full, the others as small pictures.`;
    if (this.paint.dark) this.glanceRest = this.glanceRest.replace("darker", "brighter");
    this.glanced.textContent = this.glanceRest;
  }

  drawRanking() {
    const { names } = this.record;
    const { pins, to } = this.state;
    const who = listed(pins.map((pin) => quoted(names[pin])));
    const entries = rankHeads(this.record, pins, to, (k) => pins.every((q) => this.allowed(q, k)));
    const alone = globalThis.headscope?.live === false;
    let title = "Which heads?";
    if (pins.length && to !== null) title = `${who} to ${quoted(names[to])}`;
    else if (pins.length) title = `Where ${who} ${pins.length > 1 ? "look" : "looks"} most`;
    this.ranking.draw({
      title,
      entries: entries?.map((entry) => ({ ...entry, note: to === null && entry.to !== null ? names[entry.to] : null })),
      pins,
      to,
      chosen: this.state.head,
      hint: pins.length ? (alone ? "This file ranks only the words that were pinned when it was saved." : "Counting.") : "Choose a word, here or in the sentence, and every head is ranked by where that word looks.",
    });
  }

  drawTabs() {
    const state = this.state;
    const panels = this.present ? [["sheet", "All heads"], ...PANELS] : PANELS;
    if (!this.present && state.panel === "sheet") state.panel = "matrix";
    if (this.tabs.dataset.kind !== String(this.present)) {
      this.tabs.dataset.kind = String(this.present);
      this.tabs.replaceChildren(...panels.map(([id, text]) => make("button", { type: "button", "data-panel": id, text, onclick: () => this.setPanel(id) })));
    }
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.panel === state.panel));
    const was = this.root.dataset.panel;
    this.root.dataset.panel = state.panel;
    if (was !== state.panel && state.panel === "sheet") this.sheet.draw(this.paint);
    this.panelTitle.textContent = `Head ${headName(state.head)}`;
    this.panelNote.textContent = { matrix: "row = query, looks at column = key", lines: "left = query, looks at right = key", table: "", sheet: "" }[state.panel];
    this.together.hidden = state.panel !== "lines";
    this.drawChips();
    if (state.panel === "table") this.drawTable();
  }

  drawChips() {
    if (this.state.panel !== "lines") return;
    const [layer] = this.state.head;
    const on = new Set([this.state.head, ...this.state.also].map((head) => head[1]));
    this.chips.replaceChildren(
      ...Array.from({ length: this.record.heads }, (_, head) => {
        const here = matrixOf(this.record, [layer, head]);
        const chip = make("button", { type: "button", text: String(head + 1), "aria-pressed": String(on.has(head)), "aria-label": `Head ${layer + 1}-${head + 1}`, disabled: !here, onclick: () => head !== this.state.head[1] && this.toggleAlso([layer, head]) });
        chip.style.setProperty("--tint", tintOf([layer, head]));
        return chip;
      }),
    );
    this.sum.hidden = !this.state.also.length;
    this.sum.setAttribute("aria-pressed", String(this.state.summed));
  }

  // They come from Python with the head they speak of; in a saved file only that head has them.
  drawNotices() {
    const { texts, of } = this.notices;
    const fits = texts.length && (globalThis.headscope?.live !== false || of === headName(this.state.head));
    this.why.hidden = !fits;
    if (fits) this.why.replaceChildren(make("h2", { text: "Why does it look like this?" }), ...texts.map(noted));
  }

  tableNow() {
    const { names, n } = this.record;
    const { pins } = this.state;
    const table = pins.length ? pinnedTable(names, pins, this.matrixNow, n) : strongestTable(names, this.matrixNow, n);
    return { ...table, caption: this.said };
  }

  drawTable() {
    if (this.matrixNow) drawTable(this.table, this.tableNow());
  }

  // After a change of size, theme or data: everything again.
  drawAll() {
    if (!this.record || !this.paint) return;
    this.root.classList.toggle("present", Boolean(this.present));
    this.sentence.measure(this.present);
    if (this.state.pins.length) this.sentence.reveal(this.state.pins[0]);
    this.update(false);
    this.sheet.draw(this.paint);
  }

  // ---- saving
  fileName(ending) {
    return fileName(headName(this.headNow), this.record.title, ending);
  }

  page(style = "") {
    const width = Math.max(720, this.sentence.width);
    const paint = this.paint;
    const heading = this.sentencePicture(paint);
    const body = [...heading.body];
    let y = heading.height + 40;
    for (const line of wrapped(this.sentenceShown(), 90)) {
      body.push(say(line, { x: 0, y, "font-size": 18, fill: css(paint.ink) }));
      y += 26;
    }
    y += 6;
    if (this.state.panel === "lines") {
      const { height, font } = this.lines.size;
      const inside = [
        ...this.lines.strokes.map((s) => tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width })),
        ...this.lines.texts.map((t) => say(t.text, { x: t.x, y: t.y, "text-anchor": t.anchor, "dominant-baseline": "central", "font-size": font, fill: css(t.on ? paint.accentText : paint.ink) })),
      ];
      body.push(tag("g", { transform: `translate(0 ${y})` }, ...inside));
      y += height;
    } else {
      const size = Math.min(width - 120, Math.max(420, Math.min(760, this.record.n * 28)));
      const picture = matrixPicture(this.matrixSpec(), paint, { x: 0, y, size });
      body.push(...picture.body);
      y += picture.height;
    }
    body.push(say(`${this.record.model} · head ${headName(this.headNow)} · row = query, looks at column = key · HeadScope`, { x: 0, y: y + 30, "font-size": 13, fill: css(paint.soft) }));
    const inner = tag("g", { transform: "translate(40 40)" }, ...body);
    return svgPage({ width: width + 80, height: y + 110, paper: paint.paper, title: this.sentenceShown(), body: [inner], style });
  }

  sentencePicture(paint) {
    return sentenceSvg(this.sentence, paint);
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
    const { names, n } = this.record;
    const rows = [["query", "key", "query position", "key position", "weight", "pinned"]];
    const matrix = this.matrixNow;
    for (let q = 0; q < n; q++) for (let k = 0; k < n; k++) rows.push([names[q], names[k], q, k, Number((matrix[q * n + k] / STEPS).toFixed(6)), this.state.pins.includes(q) ? 1 : 0]);
    const name = this.fileName("csv");
    save(name, "text/csv;charset=utf-8", `\ufeff${csv(rows)}`);
    return name;
  }

  saveJson() {
    const { names, n, model, words, specialsShown } = this.record;
    const matrix = Array.from({ length: n }, (_, q) => Array.from(this.matrixNow.subarray(q * n, (q + 1) * n), (step) => Number((step / STEPS).toFixed(6))));
    const name = this.fileName("json");
    const content = { model, head: headName(this.headNow), text: this.record.title, unit: words ? "words" : "pieces", specials: specialsShown, labels: names, pinned: this.state.pins, to: this.state.to, said: this.said, weights: matrix };
    save(name, "application/json", `${JSON.stringify(content)}\n`);
    return name;
  }
}

// The sentence with its arcs as SVG, where the browser has set it.
export function sentenceSvg(sentence, paint, shift = 0) {
  const body = (sentence.shapes ?? []).map((s) => tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width, "stroke-linecap": "butt" }));
  sentence.units.forEach((unit, i) => {
    const box = sentence.boxes[i];
    const from = unit.classList.contains("from");
    const size = Number.parseFloat(getComputedStyle(unit).fontSize);
    if (from) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: css(paint.accent) }));
    if (unit.classList.contains("to")) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: "none", stroke: css(paint.accent), "stroke-width": 2 }));
    const colour = from ? paint.onAccent : unit.classList.contains("quiet") || unit.classList.contains("special") ? paint.soft : paint.ink;
    body.push(say(unit.textContent, { x: box.x, y: (box.top + box.bottom) / 2, "text-anchor": "middle", "dominant-baseline": "central", "font-size": size, fill: css(colour) }));
  });
  for (const label of sentence.placed ?? []) {
    const y = sentence.boxes[label.unit].bottom + sentence.size * 0.14 + label.row * sentence.size * 0.62 + 10;
    body.push(say(percent(label.weight), { x: label.x, y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": label.strong ? 18 : 14, "font-weight": label.strong ? 650 : 400, fill: css(label.strong ? paint.ink : paint.soft) }));
  }
  return { body: shift ? [tag("g", { transform: `translate(0 ${shift})` }, ...body)] : body, height: sentence.root.scrollHeight };
}

export function wrapped(text, limit) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + word.length + 1 > limit) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}
