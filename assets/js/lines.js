// Token lines: queries on the left, keys on the right, a stroke as thick as the weight. Several heads of one layer
// lie side by side in colours with numbers, or are summed into one stroke; a head never fades because others came.
import { OKABE_ITO, at, css, readable, parseColour } from "./colour.js";
import { make, vector } from "./dom.js";
import { headName } from "./words.js";

// More heads than colours: the second round is dashed.
export const dashOf = (head) => (head[1] >= OKABE_ITO.length ? "7 4" : null);

export const tintOf = (head) => OKABE_ITO[head[1] % OKABE_ITO.length];

// links: [{from, to, parts: [{head, weight}]}] → strokes with their offset across the line, so that parts lie beside each other.
export function sideBySide(links, thick) {
  const strokes = [];
  for (const link of links) {
    const widths = link.parts.map((part) => thick(part.weight));
    let across = -widths.reduce((sum, w) => sum + w, 0) / 2;
    link.parts.forEach((part, i) => {
      strokes.push({ from: link.from, to: link.to, head: part.head, weight: part.weight, width: widths[i], across: across + widths[i] / 2 });
      across += widths[i];
    });
  }
  return strokes;
}

export function summedStrokes(links, thick) {
  return links.map((link) => {
    const weight = link.parts.reduce((sum, part) => sum + part.weight, 0);
    return { from: link.from, to: link.to, head: null, weight, width: thick(weight), across: 0 };
  });
}

export class Lines {
  constructor(actions) {
    this.actions = actions;
    this.picture = vector("svg", { class: "lines", role: "img" });
    this.scroll = make("div", { class: "scroll" }, this.picture);
    this.root = make("div", { class: "tokenlines" }, this.scroll);
    this.picture.onpointerover = (event) => this.hovered(event.target);
    this.picture.onpointerleave = () => actions.cell(null, null);
    this.picture.onclick = (event) => {
      const side = event.target.dataset?.side;
      if (side) actions.choose(Number(event.target.dataset.unit), event.shiftKey || event.ctrlKey || event.metaKey, side);
    };
  }

  hovered(target) {
    const unit = target.dataset?.unit;
    if (unit === undefined) return;
    if (target.dataset.side === "query") this.actions.cell(Number(unit), null);
    else this.actions.cell(null, Number(unit));
  }

  // shown: {names, links, heads, summed, from, to, hovered, label}
  draw(shown, paint) {
    const width = Math.floor(this.root.clientWidth);
    if (!width) return;
    const font = shown.large ? 24 : 16;
    const pitch = Math.round(font * 1.62);
    const gap = Math.max(110, Math.min(width * 0.42, 340));
    const keys = shown.keys ?? 0; // of two texts the source stands on the right, the target on the left
    this.size = { width, height: pitch + Math.max(keys, shown.names.length - keys) * pitch + 6, font, left: (width - gap) / 2, right: (width + gap) / 2 };
    const y = (i) => pitch + ((i < keys ? i : i - keys) + 0.5) * pitch;
    const several = shown.heads.length > 1 && !shown.summed;
    this.placeStrokes(shown, paint, { y, pitch, several });
    this.tags = several ? this.numbers() : [];
    this.show(shown, y);
  }

  placeStrokes(shown, paint, { y, pitch, several }) {
    const { left, right } = this.size;
    const thick = (weight) => Math.max(0.8, Math.min(weight, 1.5) * pitch * 0.8);
    const strokes = shown.summed ? summedStrokes(shown.links, thick) : sideBySide(shown.links, thick);
    const colour = (s) => (several ? css(readable(parseColour(tintOf(s.head)), paint.ink, paint.paper, 3)) : css(at(paint.ramp, 0.3 + 0.7 * Math.min(s.weight, 1))));
    this.strokes = [...strokes].sort((a, b) => a.weight - b.weight).map((s) => {
      const [y1, y2] = [y(s.from) + s.across, y(s.to) + s.across];
      const bend = (right - left) * 0.4;
      return { d: `M${left} ${y1.toFixed(1)}C${left + bend} ${y1.toFixed(1)} ${right - bend} ${y2.toFixed(1)} ${right} ${y2.toFixed(1)}`, ...s, colour: colour(s), dash: several ? dashOf(s.head) : null };
    });
  }

  show(shown, y) {
    const { width, height, font, left, right } = this.size;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.picture.setAttribute("height", height);
    this.picture.setAttribute("aria-label", shown.label);
    const token = (side, unit, x, anchor, on) =>
      vector("text", { x, y: y(unit), "text-anchor": anchor, "dominant-baseline": "central", "font-size": font, class: on ? "token on" : "token", "data-unit": unit, "data-side": side, text: shown.names[unit], direction: "ltr" });
    const units = [...shown.names.keys()];
    const keys = shown.keys || shown.names.length; // the first so many are looked at
    this.picture.replaceChildren(
      vector("text", { x: left - 10, y: 14, "text-anchor": "end", class: "side", text: "looks (query)" }),
      vector("text", { x: right + 10, y: 14, "text-anchor": "start", class: "side", text: "looked at (key)" }),
      ...this.strokes.map((s) => vector("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width.toFixed(2), "stroke-dasharray": s.dash })),
      ...this.tags.map(numberOn),
      ...units.slice(shown.keys ?? 0).map((i) => token("query", i, left - 10, "end", shown.from.includes(i) || shown.hovered[0] === i)),
      ...units.slice(0, keys).map((i) => token("key", i, right + 10, "start", shown.to === i || shown.hovered[1] === i)),
    );
  }

  // The head's number on its strongest stroke: colour alone is never the label.
  numbers() {
    const best = new Map();
    for (const s of this.strokes) if (!best.has(s.head[1]) || best.get(s.head[1]).weight < s.weight) best.set(s.head[1], s);
    return [...best.values()].map((s, i) => {
      const t = 0.3 + 0.4 * (i / Math.max(1, best.size - 1));
      const [y1, y2] = s.d.match(/[\d.]+/g).map(Number).filter((_, j) => j === 1 || j === 7);
      const ease = t * t * (3 - 2 * t);
      return { x: this.size.left + (this.size.right - this.size.left) * t, y: y1 + (y2 - y1) * ease, text: headName(s.head), colour: s.colour };
    });
  }
}

function numberOn({ x, y, text, colour }) {
  return vector("g", { class: "number" },
    vector("rect", { x: x - 17, y: y - 10, width: 34, height: 20, rx: 10, stroke: colour }),
    vector("text", { x, y, "text-anchor": "middle", "dominant-baseline": "central", text }),
  );
}
