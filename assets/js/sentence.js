// The reader's own words, large, and the arcs drawn on them: from the pinned words to where they look.
import { at, css } from "./colour.js";
import { arrowStep, make, vector } from "./dom.js";
import { percent } from "./format.js";
import { arcPath, arcTop, arrowTip, beforeTip, heroSize, placeLabels, riseOf, strokeWithin } from "./geometry.js";
import { WordEdit, types, unitsOfWord } from "./word_edit.js";

const DRAWN = 14;
const FAINT = 0.02;
const NARROW = 560; // pixels: a phone, on which the sentence is one line that scrolls
const ONE_LINE = 260; // characters of a text that is shown so
export const LINE_SIZE = 18;
const NUMBERED = 0.05; // smaller weights have an arc and no number
const PRESENTED = 0.4; // of the screen's height
const SMALLEST_PRESENTED = 22;
const STEPPED_BACK = 0.3;
const DASHES = "5 5"; // of the arcs before a word was changed
const LOW = 800; // a screen on which the arcs stay flat, so that all heads are seen below them
const FLATTEST = 110;
const LABEL = 58; // pixels: half of the largest label on a phone
const LIT = 4; // words beside the chosen one
const REASON = 4.5; // the point of an arc that an earlier head gave
const LOWER = 0.7; // they rise less than the arcs of now

// Where one link was asked for, the others stand behind it.
const steppedBack = (shown, link) => shown.asked !== null && shown.asked !== undefined && link.to !== shown.asked;

const hasTip = (shown, link) => link.from !== link.to && !steppedBack(shown, link);

export const isOneLine = (characters, width, present) => width < NARROW && !present && characters <= ONE_LINE;

// Arcs to special tokens are light grey: only their width says the weight.
export const colourOf = ({ weight }, isSpecial, { ramp, rest }) => (isSpecial ? rest : at(ramp, 0.3 + 0.7 * Math.min(weight, 1)));

// Where a line scrolls to show two words in its middle, the left one with room for its label if the right one fits.
function scrollFor(from, to, width) {
  const [left, right] = [Math.min(from, to), Math.max(from, to)];
  const middle = (left + right - width) / 2;
  return right - left + LABEL < width - 10 ? Math.min(middle, left - LABEL) : middle;
}

export const tipOf = (width) => Math.max(4, width * 0.85);

// A word piece that goes on with the word before it, and one that the model does not know, show it.
const classOf = (record, i) => ["unit", record.specials[i] ? "special" : "", record.unknown?.[i] ? "unknown" : "", record.joined?.[i] ? "joined" : ""].filter(Boolean).join(" ");

// Of two texts it is said which looks.
function lineOf(record, segment) {
  return make("p", { dir: "auto" }, record.keys ? make("span", { class: "whose", text: segment ? "target" : "source" }) : null);
}

// The word, no special token and not the changed one, whose share has moved most.
function movedMost(wanted, { shares, isNew }, specials) {
  const moved = ([unit, weight]) => (specials[unit] || isNew(unit) ? 0 : Math.abs(weight - (shares.get(unit) ?? 0)));
  const [most] = [...wanted].sort((a, b) => moved(b) - moved(a));
  return most && moved(most) > 0.01 ? most[0] : null;
}

export class Sentence {
  constructor(actions) {
    this.actions = actions;
    this.arcs = vector("svg", { class: "arcs", "aria-hidden": "true" });
    this.words = make("div", { class: "words", role: "group", "aria-label": "Your sentence, word by word" });
    this.labels = make("div", { class: "labels", "aria-hidden": "true" });
    this.root = make("div", { class: "sentence", "data-uncounted": "" }, this.arcs, this.words, this.labels);
    this.units = [];
    this.boxes = [];
    this.pins = [];
    this.focus = 0;
    this.words.onkeydown = (event) => this.key(event);
    this.words.onpointerover = (event) => this.hovered(event);
    this.words.onpointerleave = () => actions.point(null);
    this.edit = new WordEdit({ changed: (word) => actions.retype?.(this.edited, word), moved: () => this.relaid() });
    this.words.ondblclick = (event) => this.editAt(event.target.closest?.("[data-unit]"));
    this.words.onclick = (event) => {
      if (this.edit.open) return;
      const unit = event.target.closest?.("[data-unit]");
      if (unit && !(event.detail > 1 && this.kept)) this.kept = actions.choose(Number(unit.dataset.unit), event.shiftKey || event.ctrlKey || event.metaKey);
    };
  }

  hovered(event) {
    const unit = event.target.closest?.("[data-unit]");
    if (event.pointerType !== "touch") this.actions.point(unit ? Number(unit.dataset.unit) : null);
  }

  // A word becomes a field of text; a piece of a word, the whole word.
  editAt(unit, typed = null) {
    const at = Number(unit?.dataset.unit);
    if (!unit || this.edit.open || this.record.specials[at] || !this.actions.retype || globalThis.headscope?.live === false) return;
    this.edited = at;
    this.edit.begin(unitsOfWord(this.record, at).map((i) => this.units[i]), typed);
  }

  // While a word is changed the others move.
  relaid() {
    if (this.width) this.place(this.width);
    this.actions.redraw?.();
  }

  key(event) {
    const step = arrowStep(event.key, 1);
    const here = this.units[this.focus];
    if (step) this.goTo(this.focus + step);
    else if (event.key === "F2" || (event.key === "Enter" && !event.shiftKey && this.pins.includes(this.focus))) this.editAt(here);
    else if (types(event)) this.editAt(here, event.key);
    else if (event.key === "Enter" || event.key === " ") this.actions.choose(this.focus, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // quiet: the word has the focus back, and nobody points at it.
  goTo(i, quiet = false) {
    this.quiet = quiet;
    this.focus = Math.max(0, Math.min(this.units.length - 1, i));
    this.units.forEach((unit, k) => (unit.tabIndex = k === this.focus ? 0 : -1));
    this.units[this.focus].focus({ preventScroll: quiet });
    this.quiet = false;
  }

  fill(record) {
    const refocus = this.units.includes(this.root.getRootNode().activeElement) ? this.focus : null;
    this.edit.cells = null;
    this.record = record;
    this.units = [];
    this.focus = 0;
    const lines = [];
    record.names.forEach((name, i) => {
      const segment = record.segments[i];
      lines[segment] ??= lineOf(record, segment);
      const unit = make("span", {
        text: name,
        class: classOf(record, i),
        title: record.unknown?.[i] ? `${record.unknownName}: not in the model's vocabulary; the model sees only ${record.unknownName} here` : null,
        dir: record.specials[i] ? "ltr" : null, // so that the line takes the direction of its words
        role: "button",
        tabindex: i === 0 ? 0 : -1,
        "data-unit": i,
        "aria-pressed": "false",
        onfocus: () => {
          this.focus = i;
          if (!this.quiet && unit.matches(":focus-visible")) this.actions.point(i);
        },
        onblur: () => this.actions.point(null),
      });
      this.units.push(unit);
      if (record.before[i]) lines[segment].append(record.before[i]);
      lines[segment].append(unit);
    });
    record.after.forEach((tail, segment) => tail && lines[segment]?.append(tail));
    if (record.cut) lines.filter(Boolean).at(-1)?.append(make("span", { class: "cut", text: ` ✂ cut here: ${record.cut}` }));
    this.words.replaceChildren(...lines.filter(Boolean));
    this.root.classList.toggle("across", Boolean(record.keys));
    this.states = new Array(record.n).fill("");
    this.filled = true;
    if (refocus !== null) this.goTo(refocus, true);
    this.characters = record.names.reduce((sum, name, i) => sum + (record.specials[i] ? 3.5 : name.length + record.before[i].length), 0);
  }

  // Other words are laid out in the width of the ones before, for to ask for it makes the browser lay out the page.
  measure(present) {
    if (!this.record) return;
    const known = this.filled && present === this.present && this.width;
    this.filled = false;
    this.present = present;
    if (!this.fit(known || this.root.clientWidth)) return;
    if (known && this.root.offsetWidth !== this.outer) this.fit(this.root.clientWidth);
    this.outer = this.root.offsetWidth;
  }

  fit(width) {
    this.width = width;
    if (!width) return false;
    this.line = isOneLine(this.characters, width, this.present);
    this.root.classList.toggle("line", this.line);
    this.size = this.line ? LINE_SIZE : heroSize(this.characters, width, this.present);
    this.place(width);
    // On a projector the sentence leaves more than half of the screen to the picture below it.
    while (this.present && this.size > SMALLEST_PRESENTED && this.height > innerHeight * PRESENTED) {
      this.size *= 0.9;
      this.place(width);
    }
    return true;
  }

  // Lay the words out at the present size, and read where they stand.
  place(width) {
    for (const side of ["width", "height"]) this.arcs.setAttribute(side, 0); // or what was drawn last would count as content
    this.labels.replaceChildren();
    this.root.style.setProperty("--size", `${this.size.toFixed(1)}px`);
    this.readBoxes(this.root.getBoundingClientRect());
    this.height = this.root.scrollHeight;
    this.form();
    this.wide = this.line ? Math.max(width, this.words.offsetWidth) : width;
    this.arcs.setAttribute("viewBox", `0 0 ${this.wide} ${this.height}`);
    this.arcs.setAttribute("width", this.wide);
    this.arcs.setAttribute("height", this.height);
    this.width = width;
  }

  // What the lines ask for: room above for the arcs, and between. Where that is another room above and nothing else, the
  // words stand lower by it; only for more do they have to be laid out again.
  form() {
    const many = this.boxes.length > 0 && this.boxes.some((box) => box.line > 0);
    this.most = many ? this.size * 1.25 : Math.min(this.size * 5, innerHeight < LOW && !this.present ? FLATTEST : 210);
    const reach = Math.max(...this.boxes.map((box) => box.x)) - Math.min(...this.boxes.map((box) => box.x));
    const head = many ? this.size * 0.7 : Math.min(riseOf(reach * 0.8, this.most), this.most) * 0.75 + 14;
    const rise = Math.round(head);
    const lines = 1 + Math.max(0, ...this.boxes.map((box) => box.line));
    this.roomy = lines <= 5;
    const leading = this.roomy ? (lines > 2 || this.present ? "2.9" : "3.6") : "2.6";
    const scrolls = lines > 9 && !this.present;
    const lower = rise - this.rise;
    const formed = [many, many && leading, scrolls, this.present].join();
    const same = formed === this.formed;
    Object.assign(this, { rise, formed });
    this.root.style.setProperty("--rise", `${rise}px`);
    this.root.style.setProperty("--leading", leading);
    this.root.classList.toggle("many", many);
    this.root.classList.toggle("scrolls", scrolls);
    if (!same) {
      this.readBoxes(this.root.getBoundingClientRect());
      this.height = this.root.scrollHeight;
      return;
    }
    for (const box of this.boxes) {
      box.top += lower;
      box.bottom += lower;
    }
    this.height += lower;
  }

  readBoxes(origin) {
    let line = -1;
    let last = -Infinity;
    this.boxes = this.units.map((unit) => {
      const rect = unit.getClientRects()[0] ?? origin;
      const middle = rect.top + rect.height / 2;
      if (middle > last + this.size * 0.9) {
        line += 1;
        last = middle;
      }
      const centre = last - origin.top + this.root.scrollTop;
      return {
        x: rect.left - origin.left + this.root.scrollLeft + rect.width / 2,
        width: rect.width,
        top: centre - this.size * 0.62,
        bottom: centre + this.size * 0.58,
        line,
      };
    });
  }

  // In a text that scrolls, the chosen word comes into sight; in one line, with the word that it looks at.
  reveal(unit, target = unit) {
    const box = this.boxes[unit];
    if (box && this.line) this.root.scrollLeft = scrollFor(box.x, (this.boxes[target] ?? box).x, this.width);
    if (!box || !this.root.classList.contains("scrolls")) return;
    const { scrollTop, clientHeight } = this.root;
    if (box.top - this.size < scrollTop || box.bottom + this.size > scrollTop + clientHeight) this.root.scrollTop = box.top - clientHeight / 2;
  }

  // shown: {links: [{from, to, weight}], from: [units], to, pointed, pins: [units]}
  draw(shown, paint) {
    const links = shown.links.slice(0, DRAWN);
    const isRest = ({ to }) => Boolean(this.record.specials[to]) && to !== shown.asked;
    const inked = [...links].sort((a, b) => isRest(b) - isRest(a) || a.weight - b.weight);
    const scale = Math.max(0.6, Math.min(1.5, this.size / 34)) * (this.root.classList.contains("many") ? 0.75 : 1);
    this.shapes = inked
      .filter((link) => this.boxes[link.from] && this.boxes[link.to])
      .map((link) => ({
        d: arcPath(this.boxes[link.from], this.arriving(shown, link, scale), 1, this.most, this.roomy ? this.size * 0.14 + (link.weight >= 0.2 ? 25 : 20) : null),
        width: strokeWithin(link, this.boxes, scale),
        colour: css(colourOf(link, isRest(link), paint)),
        faded: steppedBack(shown, link),
        weight: link.weight,
        tip: hasTip(shown, link),
      }));
    const traces = (shown.ghost?.links ?? [])
      .slice(0, DRAWN)
      .filter((link) => this.boxes[link.from] && this.boxes[link.to])
      .map((link) => ({ d: arcPath(this.boxes[link.from], this.boxes[link.to], LOWER, this.most, this.roomy ? this.size * 0.14 + 20 : null), width: Math.max(1, strokeWithin(link, this.boxes, scale) * 0.4), colour: css(paint.trace) }));
    const reasons = (shown.reasons ?? []).map((link) => this.reason(link, paint));
    this.arcs.replaceChildren(
      ...traces.map((s) => vector("path", { class: "trace", d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width.toFixed(2), "stroke-dasharray": DASHES })),
      ...this.shapes.map((s) => vector("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width.toFixed(2), "stroke-linecap": "butt", opacity: s.faded ? STEPPED_BACK : null })),
      ...this.shapes.filter((s) => s.tip).map((s) => vector("polygon", { points: arrowTip(s.d, tipOf(s.width)), fill: s.colour })),
      ...reasons.flat(),
    );
    this.drawLabels(shown, links);
    this.drawStates(shown, links);
  }

  // Where an earlier head looked: a dotted arc under the others, with the head's name at its top.
  reason({ from, to, label }, paint) {
    const d = arcPath(this.boxes[from], beforeTip(this.boxes[to], REASON), LOWER, this.most, this.roomy ? this.size * 0.14 + 20 : null);
    const [colour, [x, y]] = [css(paint.accentText), arcTop(d)];
    return [
      vector("path", { class: "reason", d, fill: "none", stroke: colour, "stroke-width": 2.5, "stroke-linecap": "round", "stroke-dasharray": "0.1 5" }),
      vector("polygon", { points: arrowTip(d, REASON), fill: colour }),
      vector("text", { class: "reason", x, y: y - 6, "text-anchor": "middle", fill: colour, text: label }),
    ];
  }

  // The box of the word that is looked at; before it there is room for the arc's point.
  arriving(shown, link, scale) {
    const box = this.boxes[link.to];
    return hasTip(shown, link) ? beforeTip(box, tipOf(strokeWithin(link, this.boxes, scale))) : box;
  }

  drawLabels(shown, links) {
    const sums = new Map();
    if (shown.from.length) for (const link of links) sums.set(link.to, (sums.get(link.to) ?? 0) + link.weight / shown.from.length);
    else links.forEach((link) => sums.set(link.to, Math.max(sums.get(link.to) ?? 0, link.weight)));
    for (const [unit, weight] of shown.exact ?? []) sums.set(unit, weight);
    const was = shown.ghost?.shares;
    const wanted = [...sums].filter(([unit, weight]) => weight >= NUMBERED || unit === shown.to || was?.get(unit) >= NUMBERED);
    const { specials } = this.record;
    const loud = Math.max(0.2, ...wanted.map(([unit, weight]) => (specials[unit] ? 0 : weight)));
    const most = was && this.roomy ? movedMost(wanted, shown.ghost, specials) : null;
    this.placed = placeLabels(
      wanted.map(([unit, weight]) => {
        const strong = (weight >= loud * 0.5 && !specials[unit]) || shown.to === unit;
        const width = unit === most ? 132 : strong ? 56 : 40;
        return { unit, weight, strong, asked: shown.to === unit || unit === most, x: this.boxes[unit].x, line: this.boxes[unit].line, width: width * (this.present ? 1.6 : 1) };
      }),
      this.wide,
      this.root.classList.contains("many") || was ? 1 : 2,
      this.boxes,
    );
    this.labels.replaceChildren(
      ...this.placed.map((label) => {
        const node = make("span", { text: percent(label.weight), class: label.strong ? "share strong" : "share" });
        label.was = was && this.roomy ? percent(was.get(label.unit) ?? 0) : null;
        if (label.unit === most) {
          node.className = "share moved";
          node.textContent = `${label.was} → ${percent(label.weight)}`;
        } else if (label.was) node.append(make("s", { class: "was", text: label.was }));
        node.style.left = `${label.x}px`;
        node.style.top = `${this.boxes[label.unit].bottom + this.size * 0.14 + label.row * this.size * 0.62}px`;
        return node;
      }),
    );
  }

  // In a long text the words around the chosen ones stay lit, so that the eye finds the place.
  isBeside(unit, from) {
    return this.root.classList.contains("many") && from.some((pin) => Math.abs(pin - unit) <= LIT && this.record.segments[pin] === this.record.segments[unit]);
  }

  drawStates(shown, links) {
    const looked = new Set(links.filter((link) => link.weight >= FAINT).map((link) => link.to));
    const from = new Set(shown.from);
    this.pins = shown.pins ?? shown.from;
    const quiet = shown.from.length > 0;
    this.units.forEach((unit, i) => {
      if (unit.hasAttribute("contenteditable")) return; // a field of text is no button
      const state = [
        classOf(this.record, i),
        from.has(i) ? "from" : "",
        shown.to === i ? "to" : "",
        shown.pointed === i ? "pointed" : "",
        quiet && !from.has(i) && !looked.has(i) && shown.to !== i && !this.isBeside(i, shown.from) ? "quiet" : "",
        shown.blind?.(i) ? "blind" : "", // none of the chosen words can see it
      ].join(" ");
      const pressed = String(this.pins.includes(i) || shown.to === i);
      if (state + pressed === this.states[i]) return;
      this.states[i] = state + pressed;
      unit.className = state;
      unit.setAttribute("aria-pressed", pressed);
    });
  }
}
