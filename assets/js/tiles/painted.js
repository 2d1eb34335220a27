// Numbers as pixels, one a number: where a number stands on the ramp, and what the full colour stands for.
import { at } from "../colour.js";
import { make } from "../dom.js";
import { largest } from "../numbers.js";

export function valuesOf(board, block) {
  return board.numbers.subarray(block.at, block.at + block.shape[0] * block.shape[1]);
}

// The colour of a number on the page's one ramp, as a share of `top`; null where nothing may be seen.
export function shadeOf(paint, kind, value, top) {
  if (!Number.isFinite(value)) return null;
  if (kind === "weight") return at(paint.ramp, Math.abs(value) / (top || 1));
  return at(paint.change.ramp, value / (top || 1), true);
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
  for (let i = 0; i < n * m; i += 1) {
    const rgb = shadeOf(board.paint, block.ramp, values[i], top);
    if (rgb) image.data.set([...rgb, 255], 4 * i);
    else canvas.classList.add("absent");
  }
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
