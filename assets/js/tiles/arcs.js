// One word's attention as arcs over its sentence: as thick as the weight, with the share under every word that has some.
import { make, vector } from "../dom.js";
import { percent } from "../format.js";

const [LETTER, GAP, HIGH, LINE, THICK, LEAST] = [9, 18, 118, 20, 11, 0.05];

export function arcs(board, block) {
  const weights = Array.from(board.numbers.subarray(block.at, block.at + block.words.length));
  const places = middles(block.words);
  const width = places.at(-1) + (LETTER * block.words.at(-1).length) / 2 + GAP;
  const height = HIGH + 2 * LINE + 10;
  const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": described(block, weights), style: "min-width:600px" });
  weights.forEach((weight, i) => {
    if (i === block.from || weight < 0.005) return;
    svg.append(vector("path", { d: arc(places[block.from], places[i]), fill: "none", stroke: "var(--accent)", "stroke-width": Math.max(0.6, THICK * weight), "stroke-linecap": "round", opacity: 0.35 + 0.65 * weight }));
  });
  block.words.forEach((word, i) => {
    const strong = i === block.from || i === block.meant;
    svg.append(vector("text", { x: places[i], y: HIGH + LINE, "text-anchor": "middle", style: `font-size:16px;font-weight:${strong ? 700 : 400}`, text: word }));
    if (weights[i] >= LEAST || i === block.meant) svg.append(vector("text", { x: places[i], y: HIGH + 2 * LINE, "text-anchor": "middle", class: "quiet", text: percent(weights[i]) }));
  });
  const element = make("figure", { class: "arcs" }, make("figcaption", {}, make("span", { text: block.name })), make("div", { class: "wide" }, svg));
  element.dataset.matrix = block.id;
  return element;
}

// Where the middle of each word stands.
export function middles(words) {
  let at = GAP / 2;
  return words.map((word) => {
    const wide = LETTER * word.length;
    at += wide + GAP;
    return at - GAP / 2 - wide / 2;
  });
}

// Half an ellipse from one word to the other, higher the further they are apart.
function arc(from, to) {
  const across = Math.abs(to - from) / 2;
  return `M${from},${HIGH}A${across},${Math.min(HIGH - 8, 22 + 0.32 * across)} 0 0 ${to > from ? 1 : 0} ${to},${HIGH}`;
}

export function described(block, weights) {
  const most = weights.map((weight, i) => [weight, i]).filter(([weight]) => weight >= LEAST).sort((a, b) => b[0] - a[0]);
  const links = most.map(([weight, i]) => `${block.words[i]} ${percent(weight)}`).join(", ");
  return `${block.name}: ${block.words[block.from]} looks at ${links}`;
}
