// Curves of what is left while something goes: one line each with a dash and a name of its own, and levels to compare with.
//
// block: {type: "curves", of, xName, xOne, series: [{name, x, y}], levels: [{y, text}], describe}
import { make, vector } from "../dom.js";
import { fixed, trim } from "../format.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [560, 300, 44, 84, 14, 40];
const DASHES = ["", "7 4", "2 4", "10 3 2 3"];
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25];

export function curves(board, block) {
  const all = block.series.flatMap((line) => line.y);
  const high = Math.max(...all);
  const floor = Math.min(...all, ...block.levels.map((level) => level.y - 1));
  const x = (value) => LEFT + ((WIDTH - LEFT - RIGHT) * value) / block.of;
  const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / (high - floor || 1);
  const svg = vector("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curves", role: "img", "aria-label": block.describe });
  const readout = make("div", { class: "readout" });
  axes(svg, block, { x, y, floor, high });
  for (const { y: at, text } of block.levels) {
    svg.append(vector("line", { class: "level", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }), vector("text", { class: "quiet", x: WIDTH - RIGHT + 4, y: y(at) + 4, text }));
  }
  block.series.forEach((line, i) => {
    const points = line.x.map((value, j) => `${x(value).toFixed(1)},${y(line.y[j]).toFixed(1)}`).join(" ");
    svg.append(vector("polyline", { points, "stroke-dasharray": DASHES[i % DASHES.length] }));
    const at = Math.min(line.x.length - 1, Math.floor((line.x.length * (3 + i)) / 8));
    svg.append(vector("text", { class: "name", x: x(line.x[at]) + 7, y: y(line.y[at]) - 6, text: line.name }));
    line.x.forEach((value, j) => {
      const said = `${line.name}: ${fixed(line.y[j], 1)} with ${value} ${value === 1 ? block.xOne : block.xName}`;
      svg.append(vector("circle", { cx: x(value), cy: y(line.y[j]), r: 3, onpointerenter: () => (readout.textContent = said) }));
    });
  });
  const made = make("figure");
  made.append(svg, readout);
  return made;
}

function axes(svg, block, { x, y, floor, high }) {
  const step = STEPS.find((size) => (high - floor) / size <= 6) ?? 25;
  svg.append(vector("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(floor), y2: y(floor) }));
  for (let value = Math.ceil(floor / step) * step; value <= high + 1e-9; value += step) svg.append(vector("text", { class: "quiet end", x: LEFT - 6, y: y(value) + 4, text: trim(fixed(value, 1)) }));
  for (let i = 0; i <= 4; i += 1) {
    const value = Math.round((block.of * i) / 4);
    svg.append(vector("text", { class: "quiet mid", x: x(value), y: HEIGHT - BOTTOM + 18, text: value }));
  }
  svg.append(vector("text", { class: "quiet mid", x: x(block.of / 2), y: HEIGHT - 4, text: block.xName }));
}
