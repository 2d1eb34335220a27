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

function lineToLine(from, to, room) {
  const up = to.line < from.line;
  const y1 = up ? from.top : from.bottom;
  const y2 = up ? to.bottom + room : to.top;
  const pull = (y2 - y1) * 0.6;
  return `M${f(from.x)} ${f(y1)}C${f(from.x)} ${f(y1 + pull)} ${f(to.x)} ${f(y2 - pull)} ${f(to.x)} ${f(y2)}`;
}

export const riseOf = (distance, most) => Math.min(most, 26 + 0.3 * distance);

const f = (v) => Math.round(v * 10) / 10;

// Percentages beside their words: the one asked for, then the heaviest first, a second row when the first is taken, left out when both are.
export function placeLabels(labels, width, rows = 2) {
  const placed = [];
  for (const label of [...labels].sort((a, b) => (b.asked ?? 0) - (a.asked ?? 0) || b.weight - a.weight)) {
    const half = label.width / 2;
    const x = Math.max(half, Math.min(width - half, label.x));
    for (let row = 0; row < rows; row++) {
      const free = placed.every((p) => p.line !== label.line || p.row !== row || Math.abs(p.x - x) >= (p.width + label.width) / 2 + 4);
      if (free) {
        placed.push({ ...label, x, row });
        break;
      }
    }
  }
  return placed;
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
