// How numbers went while something was learnt: lines over steps, each named where it ends.
import { make, vector } from "../dom.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, GAP] = [440, 190, 46, 104, 12, 28, 16];
const DASHES = ["", "7 4", "2 4", "12 3 2 3", "1 6"];
const COLOURS = ["var(--accent)", "var(--link)", "var(--text)"];

export function course(board, block) {
  const svg = vector("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": block.describe });
  const lines = block.lines.map((line) => pointsOf(board, line));
  const last = Math.max(1, ...lines.map((line) => line.steps[line.steps.length - 1] || 0));
  const x = (step) => LEFT + ((WIDTH - LEFT - RIGHT) * step) / last;
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.min(1, value / block.high));
  svg.append(vector("path", { d: `M${LEFT},${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}`, fill: "none", stroke: "var(--line)" }));
  for (const tick of block.ticks) {
    svg.append(vector("text", { x: LEFT - 6, y: y(tick.value) + 5, "text-anchor": "end", class: "quiet", text: tick.text }));
    svg.append(vector("path", { d: `M${LEFT - 4},${y(tick.value)}h4`, stroke: "var(--line)" }));
  }
  svg.append(vector("text", { x: LEFT, y: HEIGHT - 8, class: "quiet", text: "0" }));
  svg.append(vector("text", { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end", class: "quiet", text: last > 1 ? `${last.toLocaleString("en")} steps` : "" }));
  lines.forEach((line, i) => {
    const points = line.values.map((value, j) => `${x(line.steps[j])},${y(value)}`).join(" ");
    svg.append(vector("polyline", { points, fill: "none", stroke: COLOURS[i % 3], "stroke-width": 2, "stroke-dasharray": DASHES[i % DASHES.length] }));
  });
  named(lines.map((line) => (line.values.length ? y(line.values[line.values.length - 1]) : TOP))).forEach((at, i) => {
    svg.append(vector("text", { x: WIDTH - RIGHT + 8, y: at + 5, style: `fill:${COLOURS[i % 3]}`, text: block.lines[i].label }));
  });
  const made = make("figure", { class: "course" }, make("figcaption", {}, make("span", { text: block.name })));
  made.dataset.matrix = block.id;
  made.append(svg);
  return made;
}

function pointsOf(board, line) {
  const numbers = Array.from(board.numbers.subarray(line.at, line.at + 2 * line.count));
  return { steps: numbers.slice(0, line.count), values: numbers.slice(line.count) };
}

// Where labels go: each beside its line's end, and none upon another.
export function named(wanted) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const places = [...wanted];
  order.forEach((i, rank) => {
    if (rank) places[i] = Math.max(places[i], places[order[rank - 1]] + GAP);
  });
  const over = order.length ? places[order[order.length - 1]] - (HEIGHT - BOTTOM) : 0;
  return over > 0 ? places.map((place) => place - over) : places;
}
