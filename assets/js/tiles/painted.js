// The numbers of a block on the page's ramps, one pixel a number, and what the full colour stands for.
import { make } from "../dom.js";
import { paintCells, shade } from "../heatmap.js";
import { largest } from "../numbers.js";

export function valuesOf(board, block) {
  return board.numbers.subarray(block.at, block.at + block.shape[0] * block.shape[1]);
}

// The ramp of a kind of numbers, weights or signed ones, and its scale up to `top`.
function scaleOf(paint, kind, top) {
  return kind === "weight" ? { ...paint, signed: false, top } : { ...paint.change, signed: true, span: top };
}

export function shadeOf(paint, kind, value, top) {
  const scale = scaleOf(paint, kind, top || 1);
  return shade(scale.ramp, value, scale);
}

// The value that gets the full colour: one outlier in two hundred may be darker than the scale can say.
export function reach(values, share = 0.995) {
  const sizes = Array.from(values, Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
  if (!sizes.length) return 1;
  return sizes[Math.min(sizes.length - 1, Math.floor(share * sizes.length))] || sizes[sizes.length - 1] || 1;
}

export function painted(board, block, values) {
  const [n, m] = block.shape;
  const canvas = make("canvas");
  canvas.width = m;
  canvas.height = n;
  const context = canvas.getContext("2d");
  const image = context.createImageData(m, n);
  const top = block.top || (block.ramp === "weight" ? largest(values.map((v) => v || 0)) || 1 : reach(values));
  const scale = scaleOf(board.paint, block.ramp, top);
  const valueAt = (row, col) => (Number.isFinite(values[row * m + col]) ? values[row * m + col] : null);
  paintCells(new Uint32Array(image.data.buffer), [m, n], [n, m], valueAt, scale.pixels, scale);
  canvas.classList.toggle("absent", !values.every(Number.isFinite));
  context.putImageData(image, 0, 0);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", block.describe || `${block.name}, ${n} by ${m} numbers`);
  return { canvas, top };
}

export function strip(board, at, width, top, kind = "signed", label = "") {
  const values = board.numbers.subarray(at, at + width);
  const { canvas } = painted(board, { name: label, shape: [1, width], ramp: kind, top }, values);
  canvas.classList.add("crisp");
  return canvas;
}
