// Which query head reads which keys and values: a dot a query head, a block a key and value head.
import { make, vector } from "../dom.js";

export function groups(board, block) {
  const { owner, keys } = block;
  const [gap, height] = [26, 86];
  const width = Math.max(owner.length, keys) * gap;
  const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": block.describe });
  const queryX = (i) => (i + 0.5) * (width / owner.length);
  const keyX = (i) => (i + 0.5) * (width / keys);
  owner.forEach((key, i) => {
    svg.append(vector("line", { x1: queryX(i), y1: 22, x2: keyX(key), y2: 64, stroke: "var(--quiet)", "stroke-width": 1.2 }));
  });
  owner.forEach((_, i) => {
    svg.append(vector("circle", { cx: queryX(i), cy: 14, r: 8, fill: i === block.chosen ? "var(--accent)" : "var(--link)" }));
  });
  for (let i = 0; i < keys; i += 1) {
    svg.append(vector("rect", { x: keyX(i) - 9, y: 64, width: 18, height: 16, rx: 3, fill: "var(--text)" }));
  }
  return make("figure", {}, svg);
}
