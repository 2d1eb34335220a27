// Drawings in lines: curves, a ruler, points in a plane, and which query head reads which keys.
import { make, vector } from "../dom.js";
import { lowered } from "./prose.js";

export function curve(board, block) {
  const [width, height, pad] = [560, 260, 44];
  const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": block.describe });
  const longest = Math.max(...block.lines.map((line) => line.count));
  svg.append(vector("path", { d: `M${pad},8V${height - pad}H${width - 4}`, fill: "none", stroke: "var(--line)" }));
  svg.append(vector("text", { x: width - 4, y: height - 8, "text-anchor": "end", class: "quiet", text: block.axis }));
  for (const share of [0, 0.5, 1]) {
    const y = 10 + (height - pad - 10) * (1 - share);
    svg.append(vector("path", { d: `M${pad - 4},${y}h4`, stroke: "var(--line)" }), vector("text", { x: pad - 8, y: y + 5, "text-anchor": "end", class: "quiet", text: String(share) }));
  }
  for (const place of [1, Math.round(longest / 2), longest]) {
    const x = pad + ((width - pad - 8) * (place - 1)) / Math.max(1, longest - 1);
    svg.append(vector("path", { d: `M${x},${height - pad}v4`, stroke: "var(--line)" }), vector("text", { x, y: height - pad + 18, "text-anchor": "middle", class: "quiet", text: String(place) }));
  }
  if (block.side) svg.append(vector("text", { x: pad + 6, y: 18, class: "quiet", text: block.side }));
  block.lines.forEach((line, i) => {
    const values = board.numbers.subarray(line.at, line.at + line.count);
    const top = values[0] || 1;
    const x = (j) => pad + ((width - pad - 8) * j) / Math.max(1, longest - 1);
    const y = (v) => 10 + (height - pad - 10) * (1 - v / top);
    const points = Array.from(values, (v, j) => `${x(j)},${y(v)}`).join(" ");
    const colour = i ? "var(--link)" : "var(--accent)";
    svg.append(vector("polyline", { points, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": i ? "5 3" : "" }));
    const end = values.length - 1;
    const [atX, atY] = i ? [x(end) * 0.55, y(values[Math.floor(end * 0.45)]) - 8] : [x(end) + 8, y(values[end]) - 10];
    svg.append(vector("text", { x: atX, y: Math.max(16, atY), style: `fill:${colour}`, text: line.label }));
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
  const [width, height, pad] = [520, 300, 30];
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
  const taken = block.marks.map((point, i) => boxOf(at(point), block.markLabels[i], 11, 5));
  block.points.forEach((point, i) => {
    const [x, y] = at(point);
    svg.append(vector("circle", { cx: x, cy: y, r: 3 + 9 * Math.sqrt(block.weights ? block.weights[i] : 0), fill: link }));
    if (!block.weights || block.weights[i] > 0.04 || block.points.length < 10) {
      const place = freePlace([x, y], block.labels[i], taken);
      if (place) svg.append(vector("text", { x: place.x, y: place.y, class: "quiet", text: block.labels[i] }));
    }
    if (!svg.lastChild.textContent) svg.lastChild.append(vector("title", { text: block.labels[i] }));
  });
  block.marks.forEach((point, i) => {
    const [x, y] = at(point);
    svg.append(vector("path", { d: `M${x - 7},${y}h14M${x},${y - 7}v14`, stroke: "var(--accent)", "stroke-width": 3 }));
    svg.append(vector("text", { x: x + 11, y: y + 5, style: "fill:var(--accent);font-weight:600", text: block.markLabels[i] }));
  });
  const made = make("figure");
  made.append(svg);
  return made;
}

const boxOf = ([x, y], label, dx, dy) => ({ x: x + dx, y: y + dy, wide: 7.5 * label.length, high: 14 });
const apart = (a, b) => a.x > b.x + b.wide || b.x > a.x + a.wide || Math.abs(a.y - b.y) > a.high;

// Where a label overlaps no other: to the right and above first, then around the point; null where there is no room.
export function freePlace(point, label, taken) {
  const left = -8 - 7.5 * label.length;
  for (const [dx, dy] of [[8, -8], [8, 14], [left, -8], [left, 14], [8, 28], [8, -22]]) {
    const box = boxOf(point, label, dx, dy);
    if (taken.every((other) => apart(box, other))) {
      taken.push(box);
      return box;
    }
  }
  return null;
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
