// A matrix as a vector picture of its own, with its names, for a slide or a paper.
import { css } from "../colour.js";
import { make } from "../dom.js";
import { fixed, percent } from "../format.js";
import { saveSvg } from "../save.js";
import { say, svgPage, tag } from "../svg.js";
import { shadeOf } from "./painted.js";

const ROOM = 110;
const LETTERS = 11;

export function svgButton(board, block, values, top) {
  const onclick = () => saveSvg(`${block.id || block.name}.svg`, vectors(board.paint, block, values, top));
  return make("button", { class: "numbers", type: "button", text: "SVG", "aria-label": `${block.name} as SVG`, onclick });
}

// One rectangle a run of equal colour; numbers that are hidden are left open.
export function vectors(paint, block, values, top) {
  const [n, m] = block.shape;
  const [wide, high] = [Math.min(28, Math.max(1, 720 / m)), Math.min(24, Math.max(1, 480 / n))];
  const [rows, cols] = [block.rows && high >= 9 ? block.rows : [], block.cols && wide >= 11 ? block.cols : []];
  const [x0, y0] = [rows.length ? ROOM : 12, 36 + (cols.length ? ROOM : 0)];
  const body = [say(`${block.name}  ${n} × ${m}`, { x: 12, y: 22, "font-size": 16, "font-weight": 600, fill: css(paint.ink) })];
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < m; ) {
      const colour = colourAt(paint, block, values[i * m + j], top);
      let stop = j + 1;
      while (stop < m && colourAt(paint, block, values[i * m + stop], top) === colour) stop += 1;
      if (colour) body.push(tag("rect", { x: x0 + j * wide, y: y0 + i * high, width: (stop - j) * wide, height: high, fill: colour }));
      j = stop;
    }
  }
  body.push(tag("rect", { x: x0, y: y0, width: m * wide, height: n * high, fill: "none", stroke: css(paint.line) }));
  rows.forEach((name, i) => body.push(say(name, { x: x0 - 6, y: y0 + (i + 0.5) * high, "text-anchor": "end", "dominant-baseline": "central", "font-size": LETTERS, fill: css(paint.soft) })));
  cols.forEach((name, j) => body.push(say(name, { transform: `translate(${x0 + (j + 0.5) * wide} ${y0 - 6}) rotate(-90)`, "dominant-baseline": "central", "font-size": LETTERS, fill: css(paint.soft) })));
  const scale = block.ramp === "weight" ? `full colour: ${percent(top)}` : `full colour: ±${fixed(top, 2)}`;
  body.push(say(scale, { x: x0, y: y0 + n * high + 20, "font-size": LETTERS, fill: css(paint.soft) }));
  return svgPage({ width: x0 + m * wide + 12, height: y0 + n * high + 32, paper: paint.paper, title: `${block.name}, ${n} by ${m}`, body });
}

function colourAt(paint, block, value, top) {
  const rgb = shadeOf(paint, block.ramp, value, top);
  return rgb && css(rgb);
}
