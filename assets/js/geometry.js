// Where things go: arcs over words, percentages under words, ticks along an axis. Pixels in, pixels out.

export const strokeOf = (weight, scale = 1) => Math.max(0.75, (1 + 21 * weight) * scale);

// Between neighbours an arc stays thinner than the way it goes.
export function strokeWithin(link, boxes, scale) {
  const [from, to] = [boxes[link.from], boxes[link.to]];
  const way = from.line === to.line ? Math.max(14, Math.abs(from.x - to.x)) : Infinity;
  return Math.min(strokeOf(Math.min(link.weight, 1.2), scale), way * 0.28);
}

// An arc between two words. boxes: {x, top, bottom, line}; side 1 rises above the words, -1 hangs below them.
// room: what stands under a word; with it, lines of one sentence are joined between, not across, their words.
export function arcPath(from, to, side = 1, most = 170, room = null) {
  const edge = (box) => (side > 0 ? box.top : box.bottom);
  const [x1, y1, x2, y2] = [from.x, edge(from), to.x, edge(to)];
  if (from === to) {
    const r = 20 * side;
    return `M${f(x1 - 9)} ${f(y1)}C${f(x1 - 22)} ${f(y1 - r * 1.6)} ${f(x1 + 22)} ${f(y1 - r * 1.6)} ${f(x1 + 9)} ${f(y1)}`;
  }
  const rise = riseOf(Math.abs(x2 - x1), most) * side;
  if (from.line === to.line) return `M${f(x1)} ${f(y1)}C${f(x1)} ${f(y1 - rise)} ${f(x2)} ${f(y2 - rise)} ${f(x2)} ${f(y2)}`;
  if (room !== null) return lineToLine(from, to, room);
  const short = Math.min(Math.abs(rise), 46) * side;
  return `M${f(x1)} ${f(y1)}C${f(x1)} ${f(y1 - short * 1.4)} ${f(x2)} ${f(y2 - short * 1.6)} ${f(x2)} ${f(y2)}`;
}

// From line to line around the words: up (or down) into the gap beside the own line, along a lane in the margin, back in.
export function lanePath(from, to, side, lane, gap) {
  const edge = (box) => (side > 0 ? box.top : box.bottom);
  const level = (box) => edge(box) - side * gap;
  const [x1, x2, y1, y2] = [from.x, to.x, level(from), level(to)];
  const r = Math.min(8, gap, Math.abs(x1 - lane) / 2, Math.abs(x2 - lane) / 2);
  const [out, back, way] = [Math.sign(lane - x1) * r, Math.sign(lane - x2) * r, Math.sign(y2 - y1) * r];
  return [
    `M${f(x1)} ${f(edge(from))}V${f(y1 + side * r)}Q${f(x1)} ${f(y1)} ${f(x1 + out)} ${f(y1)}`,
    `H${f(lane - out)}Q${f(lane)} ${f(y1)} ${f(lane)} ${f(y1 + way)}V${f(y2 - way)}Q${f(lane)} ${f(y2)} ${f(lane - back)} ${f(y2)}`,
    `H${f(x2 + back)}Q${f(x2)} ${f(y2)} ${f(x2)} ${f(y2 + side * r)}L${f(x2)} ${f(edge(to))}`,
  ].join("");
}

function lineToLine(from, to, room) {
  const up = to.line < from.line;
  const y1 = up ? from.top : from.bottom;
  const y2 = up ? to.bottom + room : to.top;
  const pull = (y2 - y1) * 0.6;
  return `M${f(from.x)} ${f(y1)}C${f(from.x)} ${f(y1 + pull)} ${f(to.x)} ${f(y2 - pull)} ${f(to.x)} ${f(y2)}`;
}

const TIP = 1.3;

// A box whose word is looked at, with room for the point.
export const beforeTip = (box, size) => ({ ...box, top: box.top - TIP * size, bottom: box.bottom + TIP * size });

// The point of an arc, from where its stroke ends to the word that is looked at: a small triangle, as points of SVG.
export function arrowTip(d, size) {
  const at = d.match(/-?[\d.]+/g).map(Number);
  const [px, py, x, y] = at.slice(-4);
  const long = Math.hypot(x - px, y - py) || 1;
  const [ux, uy] = [(x - px) / long, (y - py) / long];
  const corner = (along, across) => `${f(x + ux * along - uy * across)},${f(y + uy * along + ux * across)}`;
  return [corner(TIP * size, 0), corner(-0.2, 0.8 * size), corner(-0.2, -0.8 * size)].join(" ");
}

// The middle of an arc between two words, which is its top on a line.
export function arcTop(d) {
  const [ax, ay, bx, by, cx, cy, x, y] = d.match(/-?[\d.]+/g).map(Number);
  return [(ax + 3 * (bx + cx) + x) / 8, (ay + 3 * (by + cy) + y) / 8];
}

export const riseOf = (distance, most) => Math.min(most, 26 + 0.3 * distance);

const f = (v) => Math.round(v * 10) / 10;

// Percentages beside their words: the one asked for, then the heaviest first. One that finds its place taken moves to
// the next row, then aside by less than its width; where nothing is free it is left out with all lighter ones of its line.
const ASIDE = [0, -0.25, 0.25, -0.5, 0.5, -0.75, 0.75];

export function placeLabels(labels, width, rows = 2, words = []) {
  const placed = [];
  const lightest = new Map(); // by line: the heaviest that found no place
  for (const label of [...labels].sort((a, b) => (b.asked ?? 0) - (a.asked ?? 0) || b.weight - a.weight)) {
    if (label.weight < (lightest.get(label.line) ?? 0) && !label.asked) continue;
    const spot = freeSpot(label, placed, width, rows, words);
    if (spot) placed.push({ ...label, ...spot });
    else lightest.set(label.line, label.weight);
  }
  return placed;
}

function freeSpot(label, placed, width, rows, words) {
  const half = label.width / 2;
  for (const aside of ASIDE) {
    const x = Math.max(half, Math.min(width - half, label.x + aside * label.width));
    // Moved aside it still stands nearest to its own word.
    if (aside && words.some((word) => word && word.line === label.line && Math.abs(word.x - x) < Math.abs(label.x - x))) continue;
    for (let row = 0; row < rows; row++) {
      if (placed.every((p) => p.line !== label.line || p.row !== row || Math.abs(p.x - x) >= (p.width + label.width) / 2 + 4)) return { x, row };
    }
  }
  return null;
}

// Which of n labels fit on an axis where each needs `room` pixels and a step is `step` pixels.
export function ticks(n, step, room) {
  const every = Math.max(1, Math.ceil(room / step));
  return Array.from({ length: Math.ceil(n / every) }, (_, i) => i * every);
}

// The size of the sentence: large, on one line where that stays large, smaller as the text grows.
export function heroSize(characters, width, present) {
  const tiers = present ? [[70, 72], [110, 56], [200, 46], [420, 34], [900, 26], [Infinity, 21]] : [[70, 36], [110, 33], [200, 30], [420, 25], [900, 21], [Infinity, 18]];
  const size = tiers.find(([most]) => characters <= most)[1];
  const oneLine = width / (characters * 0.445 + 1);
  if (oneLine >= (present ? 40 : 27)) return Math.min(size, oneLine);
  return Math.min(size, Math.max(20, width / 15));
}

// Cell edges on a pixel grid: no hairlines between neighbours.
export function edges(n, size) {
  return Int32Array.from({ length: n + 1 }, (_, i) => Math.round((i * size) / n));
}
