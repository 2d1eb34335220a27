// The one place that knows where the component's modules lie, and a canvas that only remembers its pixels.
import { quantise } from "../../assets/js/numbers.js";
import { openRecord } from "../../assets/js/record.js";

export * as colour from "../../assets/js/colour.js";
export * as format from "../../assets/js/format.js";
export * as geometry from "../../assets/js/geometry.js";
export * as heatmap from "../../assets/js/heatmap.js";
export * as matrix from "../../assets/js/matrix.js";
export * as numbers from "../../assets/js/numbers.js";
export * as record from "../../assets/js/record.js";
export * as sentence from "../../assets/js/sentence.js";
export * as sheet from "../../assets/js/head_thumbnails.js";
export * as words from "../../assets/js/words.js";

// What a canvas's 2d context is asked for: pixels are kept as they were put.
export function paper() {
  const put = [];
  return {
    put,
    createImageData: (width, height) => ({ width, height, data: new Uint8ClampedArray(width * height * 4) }),
    setTransform() {},
    putImageData: (image, x, y) => put.push({ x, y, width: image.width, height: image.height, pixels: new Uint32Array(image.data.buffer.slice(0)) }),
  };
}

// A paint whose pixels are the numbers of their levels, so that a drawn pixel says its value: 0..1, or -1..1.
export function levels(signed = false) {
  return { pixels: Uint32Array.from({ length: 1024 }, (_, i) => i), signed };
}

export const shareOf = (pixel) => pixel / 1023;
export const signedOf = (pixel) => (2 * pixel) / 1023 - 1;

// A column as the server sends it.
export const column = (array) => ({ getChildAt: () => ({ toArray: () => array }) });

// Two layers of two heads; every row another, so that no two cells can be exchanged unseen.
export const WEIGHTS = [
  [[0.5, 0.3, 0.2], [0.1, 0.15, 0.75], [0.05, 0.9, 0.05]],
  [[0.2, 0.2, 0.6], [0.33, 0.33, 0.34], [0.7, 0.02, 0.28]],
  [[1, 0, 0], [0, 1, 0], [0.4, 0.25, 0.35]],
  [[0.12, 0.44, 0.44], [0.6, 0.3, 0.1], [0.01, 0.19, 0.8]],
];

// A record of them as it is in the browser: three tokens, the third of a second text.
export function opened(more = {}) {
  return openRecord({
    names: ["[CLS]", "cat", "it"], specials: [true, false, false], segments: [0, 0, 1], before: ["", "", " "], layers: 2, heads: 2,
    packing: "full", weights: column(quantise(WEIGHTS.flat(2))), ...more,
  });
}
