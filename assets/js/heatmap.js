// Numbers as cells of colour: one scale and one painter for matrices, for the small pictures of all heads and for boards.
import { at, LEVELS } from "./colour.js";
import { edges } from "./geometry.js";

// The place of a value on its ramp, 0..1: `top` has the full shade; differences may be stretched to `span`.
export function level(value, { signed, top = 1, span = 1 }) {
  if (!signed) return Math.min(Math.max(value / top, 0), 1);
  return (Math.min(Math.max(value / span, -1), 1) + 1) / 2;
}

// The colour of a value on a ramp; null for a number that may not be seen.
export const shade = (ramp, value, scale) => (Number.isFinite(value) ? at(ramp, level(value, scale)) : null);

// Paint cells into `out`, wide x tall pixels of 32 bits. shape: [rows, columns]; valueAt(q, k): null where no cell is;
// scale: as `level` takes it. Of several cells under a pixel the strongest is painted: a mean would hide a single link.
export function paintCells(out, [wide, tall], [rows, columns], valueAt, pixels, scale) {
  const [high, across] = [Math.min(rows, tall), Math.min(columns, wide)];
  const cell = high < rows || across < columns ? strongestUnder([rows, columns], [high, across], valueAt) : valueAt;
  const [xs, ys] = [edges(across, wide), edges(high, tall)];
  for (let q = 0; q < high; q++) {
    const start = ys[q] * wide;
    for (let k = 0; k < across; k++) {
      const value = cell(q, k);
      if (value !== null) out.fill(pixels[Math.round(level(value, scale) * (LEVELS - 1))], start + xs[k], start + xs[k + 1]);
    }
    for (let y = ys[q] + 1; y < ys[q + 1]; y++) out.copyWithin(y * wide, start, start + wide);
  }
}

// Fewer cells, each the strongest of those under it, with its sign; null where there are none.
export function strongestUnder([rows, columns], [high, across], valueAt) {
  const best = new Array(high * across).fill(null);
  for (let q = 0; q < rows; q++) {
    const start = Math.floor((q * high) / rows) * across;
    for (let k = 0; k < columns; k++) {
      const value = valueAt(q, k);
      const i = start + Math.floor((k * across) / columns);
      if (value !== null && (best[i] === null || Math.abs(value) > Math.abs(best[i]))) best[i] = value;
    }
  }
  return (q, k) => best[q * across + k];
}
