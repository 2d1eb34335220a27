// The one place that knows where the component's modules lie, and a canvas that only remembers its pixels.
export * as colour from "../../assets/view/colour.js";
export * as exports from "../../assets/view/exports.js";
export * as geometry from "../../assets/view/geometry.js";
export * as headMap from "../../assets/view/head_map.js";
export * as lines from "../../assets/view/lines.js";
export * as matrix from "../../assets/view/matrix.js";
export * as numbers from "../../assets/view/numbers.js";
export * as record from "../../assets/view/record.js";
export * as sentence from "../../assets/view/sentence.js";
export * as sheet from "../../assets/view/sheet.js";
export * as table from "../../assets/view/table.js";
export * as words from "../../assets/view/words.js";

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
