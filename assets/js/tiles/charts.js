// Drawings in lines: curves, a ruler, points in a plane, and which query head reads which keys.
import { make, vector } from "../dom.js";
import { lowered } from "./prose.js";

export function curve(board, block) {
  const [width, height, pad, over] = [560, 270, 44, block.side ? 26 : 10];
  const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": block.describe });
  const longest = Math.max(...block.lines.map((line) => line.count));
  svg.append(vector("path", { d: `M${pad},${over - 2}V${height - pad}H${width - 4}`, fill: "none", stroke: "var(--quiet)" }));
  svg.append(vector("text", { x: width - 4, y: height - 8, "text-anchor": "end", class: "quiet", text: block.axis }));
  for (const share of [0, 0.5, 1]) {
    const y = over + (height - pad - over) * (1 - share);
    svg.append(vector("path", { d: `M${pad - 4},${y}h4`, stroke: "var(--quiet)" }), vector("text", { x: pad - 8, y: y + 5, "text-anchor": "end", class: "quiet", text: String(share) }));
  }
  for (const place of [1, Math.round(longest / 2), longest]) {
    const x = pad + ((width - pad - 8) * (place - 1)) / Math.max(1, longest - 1);
    svg.append(vector("path", { d: `M${x},${height - pad}v4`, stroke: "var(--quiet)" }), vector("text", { x, y: height - pad + 18, "text-anchor": "middle", class: "quiet", text: String(place) }));
  }
  if (block.side) svg.append(vector("text", { x: 0, y: 14, class: "quiet", text: block.side }));
  block.lines.forEach((line, i) => {
    const values = board.numbers.subarray(line.at, line.at + line.count);
    const top = values[0] || 1;
    const x = (j) => pad + ((width - pad - 8) * j) / Math.max(1, longest - 1);
    const y = (v) => over + (height - pad - over) * (1 - v / top);
    const points = Array.from(values, (v, j) => `${x(j)},${y(v)}`).join(" ");
    const colour = i ? "var(--link)" : "var(--accent)";
    svg.append(vector("polyline", { points, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": i ? "5 3" : "" }));
    const end = values.length - 1;
    const [atX, atY] = i ? [x(end) * 0.55, y(values[Math.floor(end * 0.45)]) - 8] : [x(end) + 8, y(values[end]) - 10];
    svg.append(vector("text", { x: atX, y: Math.max(over + 14, atY), style: `fill:${colour}`, text: line.label }));
  });
  const made = make("figure");
  made.append(svg);
  return made;
}

export function ruler(board, block) {
  const made = make("figure");
  const line = make("div", { class: "ruler" });
  line.setAttribute("role", "img");
  line.setAttribute("aria-label", block.text);
  line.append(
    ...Array.from({ length: block.count }, (_, i) =>
      make("span", { class: i >= block.from && i < block.to ? "chosen" : "" }),
    ),
  );
  made.append(line, lowered(make("span", { class: "quiet" }), block.text));
  return made;
}

export function plane(board, block) {
  const [width, height, pad] = [block.wide || 520, 300, 30];
  const all = [...block.points, ...block.marks, ...block.hull];
  const [lowX, highX] = [Math.min(...all.map((p) => p[0])), Math.max(...all.map((p) => p[0]))];
  const [lowY, highY] = [Math.min(...all.map((p) => p[1])), Math.max(...all.map((p) => p[1]))];
  const scale = Math.min((width - 2 * pad) / (highX - lowX || 1), (height - 2 * pad) / (highY - lowY || 1));
  const [midX, midY] = [(lowX + highX) / 2, (lowY + highY) / 2];
  const at = ([x, y]) => [width / 2 + scale * (x - midX), height / 2 - scale * (y - midY)];
  const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": block.describe });
  const link = "var(--link)";
  if (block.hull.length > 1) {
    const corners = block.hull.map((p) => at(p).join(",")).join(" ");
    svg.append(vector("polygon", { points: corners, fill: link, "fill-opacity": 0.1, stroke: link, "stroke-width": 1.5 }));
  }
  const sizes = block.points.map((_, i) => 3 + 9 * Math.sqrt(block.weights ? block.weights[i] : 0));
  const taken = [...block.points.map((point, i) => around(at(point), sizes[i])), ...block.marks.map((point) => around(at(point), 8))];
  const named = block.marks.map((point, i) => freePlace(at(point), block.markLabels[i], taken, { width, reach: 11 }));
  const places = labelPlaces(block, at, sizes, taken, width);
  block.points.forEach((point, i) => {
    const [x, y] = at(point);
    const dot = vector("circle", { cx: x, cy: y, r: sizes[i], fill: link });
    dot.append(vector("title", { text: block.labels[i] }));
    svg.append(dot);
    if (places[i]) svg.append(vector("text", { x: places[i].x, y: places[i].y, class: "quiet", text: block.labels[i] }));
  });
  block.marks.forEach((point, i) => {
    const [x, y] = at(point);
    svg.append(vector("path", { d: `M${x - 7},${y}h14M${x},${y - 7}v14`, stroke: "var(--accent)", "stroke-width": 3 }));
    const place = named[i] ?? { x: x + 11, y: y + 5 };
    svg.append(vector("text", { x: place.x, y: place.y, style: "fill:var(--accent);font-weight:600", text: block.markLabels[i] }));
  });
  const made = make("figure");
  made.append(svg);
  return made;
}

// Names of the points that weigh most, the heaviest first; a name that finds no room is left to the pointer.
function labelPlaces(block, at, sizes, taken, width) {
  const order = block.points.map((_, i) => i);
  if (block.weights) order.sort((a, b) => block.weights[b] - block.weights[a]);
  const places = [];
  for (const i of order) {
    const said = !block.weights || block.weights[i] > 0.04 || block.points.length < 10;
    places[i] = said ? freePlace(at(block.points[i]), block.labels[i], taken, { width, reach: sizes[i] + 3 }) : null;
  }
  return places;
}

const around = ([x, y], r) => ({ left: x - r, right: x + r, top: y - r, bottom: y + r });
const textBox = (x, y, label) => ({ x, y, left: x, right: x + 7.5 * label.length, top: y - 11, bottom: y + 4 });
const apart = (a, b) => a.left > b.right || b.left > a.right || a.top > b.bottom || b.top > a.bottom;

// Where a name overlaps neither a point nor another name, around its point; null where there is no room.
export function freePlace([x, y], label, taken, { width = Infinity, reach = 8 } = {}) {
  const [right, left, middle] = [x + reach, x - reach - 7.5 * label.length, x - 3.75 * label.length];
  const [above, below] = [y - reach - 4, y + reach + 11];
  const tries = [[right, y + 4], [left, y + 4], [right, above], [right, below], [left, above], [left, below], [middle, above], [middle, below], [right, above - 12], [right, below + 12]];
  const box = tries.map(([a, b]) => textBox(a, b, label)).find((one) => one.left >= 0 && one.right <= width && taken.every((other) => apart(one, other)));
  if (box) taken.push(box);
  return box ?? null;
}

export function groups(board, block) {
  const { owner, keys } = block;
  const [gap, height] = [26, 86];
  const width = Math.max(owner.length, keys) * gap;
  const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": block.describe });
  const queryX = (i) => (i + 0.5) * (width / owner.length);
  const keyX = (i) => (i + 0.5) * (width / keys);
  owner.forEach((key, i) =>
    svg.append(vector("line", { x1: queryX(i), y1: 22, x2: keyX(key), y2: 64, stroke: "var(--quiet)", "stroke-width": 1.2 })),
  );
  owner.forEach((_, i) => {
    const chosenHead = i === block.chosen;
    svg.append(vector("circle", { cx: queryX(i), cy: 14, r: 8, fill: chosenHead ? "var(--accent)" : "var(--link)" }));
  });
  for (let i = 0; i < keys; i += 1) {
    svg.append(vector("rect", { x: keyX(i) - 9, y: 64, width: 18, height: 16, rx: 3, fill: "var(--text)" }));
  }
  const made = make("figure");
  made.append(svg);
  return made;
}
