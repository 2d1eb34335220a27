// Explore: one text, every head. State lives here; hovering never leaves the browser, a click tells Python once.
import { cellInWords } from "./visibility_text.js";
import { chosenAcross, sources } from "./cross_attention.js";
import { build } from "./explore/build.js";
import { FirstVisit } from "./explore/first_visit.js";
import { describe, drawRanking, fillSheet } from "./explore/heads.js";
import { hasTwo, lookFrom, lookOf, isPageChoice } from "./explore/look.js";
import { drawTabs, drawUsual, drawWords, sentenceShown } from "./explore/captions.js";
import { matrixSpec, shownLinks } from "./explore/view_model.js";
import { answered, drawWhy, reachWhy, reasonArcs } from "./explore/why.js";
import { percent } from "./format.js";
import { STEPS, strongest } from "./numbers.js";
import { announceOnce } from "./parts.js";
import { allHeads, hasHead, matrixOf, pairAllows, rowOf } from "./record.js";
import { betweenWords } from "./visibility.js";
import { headName } from "./words.js";

const TWEEN = 150;

export class Explore {
  constructor(root, emit, _ask = () => {}, draw = () => {}, retype = () => {}, go = () => {}) {
    this.root = root;
    this.emit = emit;
    this.askMeasure = draw;
    this.retype = retype;
    this.go = go;
    this.state = { head: [0, 0], pins: [], to: null, panel: "matrix", least: 0, sort: "layer", kind: null, pair: "all", adding: false, ranked: false, scaled: false };
    this.hovered = { unit: null, q: null, k: null };
    this.before = { values: null };
    this.mine = {};
    build(this);
  }

  // ---- what Python sends
  open(record, view) {
    if (this.record !== record) {
      this.record = record;
      this.hovered = { unit: null, q: null, k: null };
      this.before = { values: null };
      this.matrixNow = null;
      this.headNow = null;
      this.valuesOf = null;
      this.valuesNow = null;
      this.opened = null;
      this.mine = {};
      this.state.pair = "all";
      this.state.sort = "layer";
      this.sentence.fill(record);
      this.pairs.hidden = sources(record) > 0 || !hasTwo(record);
      this.sheetFor = null;
    }
    this.usual = view.usual ?? null;
    this.evidence = view.evidence ?? null;
    this.link = view.link ?? "";
    this.measures = view.measures ?? null;
    this.opening = view.opening ?? null;
    this.openGhost(view.ghost);
    this.twin = view.twin ?? null;
    this.why = view.why ?? null;
    this.asked = this.asking;
    this.asking = false;
    this.present = Boolean(view.present);
    if (this.present && !this.wasPresent) this.state.panel = "matrix";
    if (this.present !== this.wasPresent) this.sheet.stale = true;
    this.wasPresent = this.present;
    if (view.first) FirstVisit.begin(this, record, view);
  }

  left() {
    this.firstVisit?.end();
  }

  // Another text of as many units in place of this one, its arcs coming slowly from those that were drawn.
  turn(record, view, time) {
    const values = this.valuesNow;
    this.open(record, view);
    this.place(true);
    this.before = { values: time ? values : null };
    this.slow = time;
    this.update(Boolean(time));
    this.slow = 0;
  }

  // What was drawn before a word was changed; a reader who sent it away does not see it again.
  openGhost(ghost) {
    const gone = this.ghost?.gone && ghost?.record === this.ghost.record;
    this.ghost = ghost?.record ? { ...ghost, gone } : null;
  }

  forgetGhost() {
    this.ghost.gone = true;
    this.update(false);
  }

  move(selection) {
    const inside = (unit) => Number.isInteger(unit) && unit >= 0 && unit < this.record.n;
    const [layer, head] = selection.head;
    this.state.head = [Math.min(layer, this.record.layers - 1), Math.min(head, this.record.heads - 1)];
    if (!hasHead(this.record, this.state.head)) this.state.head = allHeads(this.record).find((other) => hasHead(this.record, other)) ?? this.state.head;
    this.state.pins = selection.pins.filter(inside);
    this.state.to = inside(selection.to) && this.state.pins.length ? selection.to : null;
    Object.assign(this.state, lookFrom(selection.look, this.record));
    this.least.value = Math.round(this.state.least * 100);
    this.leastSaid.textContent = `${this.least.value}%`;
    this.pairs.value = this.state.pair;
    this.sheetFor = null;
  }

  // ---- what the reader does
  select(change, quiet = false) {
    Object.assign(this.state, change);
    Object.assign(this.mine, change);
    if (!this.state.pins.length) this.state.to = null;
    this.hovered = { unit: null, q: null, k: null };
    this.update(true);
    if (!quiet) this.tell();
  }

  get chosen() {
    return { head: this.state.head, pins: this.state.pins, to: this.state.to, look: lookOf(this.state) };
  }

  // Whether the address goes on asking why: for as long as the link of the question is chosen.
  get asksWhy() {
    return this.asking || answered(this);
  }

  tell() {
    this.emit(this.chosen);
  }

  // target: the key of a cell, which asks for both at once, by click, tap and Enter alike. Returns whether a word that the
  // page had chosen by itself is kept: the first click on it is no taking back.
  choose(unit, more, side = "query", target = null) {
    const { pins, to } = this.state;
    const across = chosenAcross(this, unit, more, target);
    if (across) return this.select(across);
    if (target !== null && !more) {
      const again = pins.length === 1 && pins[0] === unit && to === target;
      return this.select(again ? { pins: [], to: null } : { pins: [unit], to: target });
    }
    if (more || (this.state.adding && side === "query")) {
      const next = pins.includes(unit) ? pins.filter((pin) => pin !== unit) : [...pins, unit].sort((a, b) => a - b);
      return this.select({ pins: next });
    }
    if (side === "key" && pins.length) return this.select({ to: to === unit ? null : unit });
    if (side === "query" && isPageChoice(this, unit)) {
      this.select(to === unit ? { to } : { pins, to: null });
      return true;
    }
    if (to === unit) return this.select({ to: null });
    if (pins.includes(unit)) return this.select({ pins: pins.filter((pin) => pin !== unit), to: null });
    if (this.hovered.q === null && pins.length && to === null && side === "query") return this.select({ to: unit });
    return this.select({ pins: [unit], to: null });
  }

  chooseHead(head) {
    if (hasHead(this.record, head)) this.select({ head });
  }

  // How it is shown changes; the link hears of it.
  show(change = {}) {
    Object.assign(this.state, change);
    this.update(false);
    this.tell();
  }

  combine(adding) {
    this.state.adding = adding;
    this.update(false);
  }

  setLeast(least) {
    this.state.least = least;
    this.leastSaid.textContent = `${Math.round(least * 100)}%`;
    this.show();
  }

  resort(order) {
    this.state.sort = order;
    this.arrange();
    this.sheet.draw(this.paint);
    this.tell();
  }

  hover(hovered, aloud = false) {
    if (["unit", "q", "k", "sink"].every((what) => hovered[what] === this.hovered[what])) return;
    this.hovered = hovered;
    performance.mark("headscope:hover");
    this.drawSentence();
    this.drawPanel();
    announceOnce(this.line, sentenceShown(this));
    if (aloud && hovered.q !== null && hovered.k !== null && this.matrixNow) {
      const { n } = this.record;
      this.live.textContent = cellInWords(this.record, hovered.q, hovered.k, percent(this.matrixNow[hovered.q * n + hovered.k] / STEPS));
    }
  }

  preview(head) {
    this.previewed.textContent = head ? describe(this, head) : this.previewRest;
  }

  // Whether everything that the picture shows of what is chosen is in the browser.
  get complete() {
    return Boolean(this.record.full);
  }

  // ---- what follows from the state
  allowed = (q, k) => pairAllows(this.record, this.state.pair, q, k);

  // ---- drawing
  update(moving) {
    if (!this.record || !this.paint) return;
    const matrix = matrixOf(this.record, this.state.head);
    if (matrix) {
      this.matrixNow = matrix;
      this.headNow = this.state.head;
    }
    this.record.layer = this.state.head[0];
    this.root.classList.toggle("waiting", !matrix);
    this.root.classList.toggle("present", Boolean(this.present));
    if (this.state.sort === "weight" || this.sheetFor !== this.state.pins.join()) this.arrange();
    else this.sheet.mark(this.state.head);
    drawWords(this);
    drawRanking(this);
    drawTabs(this);
    drawUsual(this);
    drawWhy(this);
    this.animate(moving);
  }

  // The pictures of all heads in their order, each with what is said of it for the pinned words.
  arrange() {
    const focused = this.sheet.cells.includes(this.root.getRootNode().activeElement);
    fillSheet(this);
    this.sheet.mark(this.state.head);
    if (focused) this.sheet.cells.find((cell) => cell.tabIndex === 0)?.focus();
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
    const [start, time] = [performance.now(), this.slow || TWEEN];
    const step = (now) => {
      const t = Math.min(1, Math.max(0.12, (now - start) / time));
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
    this.before = { values: this.valuesNow };
  }

  drawSentence() {
    if (!this.sentence.width) this.sentence.measure(this.present);
    if (!this.sentence.width) return;
    this.sentence.draw({ ...shownLinks(this), pins: this.state.pins }, this.paint);
  }

  // What reads where things stand comes after all that was written, so that the browser lays the page out once.
  drawPanel() {
    this.ranking.reveal();
    reachWhy(this);
    if (this.sheet.stale) this.sheet.draw(this.paint);
    if (this.state.panel === "matrix") this.matrix.draw(matrixSpec(this), this.paint);
  }

  // anew: see Headscope.draw.
  place(anew) {
    if (!this.record) return;
    this.root.classList.toggle("present", Boolean(this.present));
    if (anew || this.sentence.present !== this.present) this.sentence.measure(this.present);
    const [pin] = this.state.pins;
    if (pin === undefined) return;
    const [reason] = reasonArcs(this);
    if (reason) return this.sentence.reveal(reason.from, reason.to);
    const row = rowOf(this.record, this.state.head, [pin]);
    const [link] = row ? strongest(row, 1, 0.01, (k) => betweenWords(this.record, pin, k)) : [];
    this.sentence.reveal(pin, this.state.to ?? link?.to);
  }

  drawAll(anew = true) {
    if (!this.record || !this.paint) return;
    if (anew) this.sheet.stale = true;
    this.update(false);
  }
}
