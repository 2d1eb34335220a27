// A minus B: two runs side by side over the words that both have.
import { STEPS } from "../numbers.js";

// Pairs of positions that have a counterpart on both sides.
export const meeting = (pairs) => pairs.filter(([a, b]) => a !== null && b !== null);

// A minus B over the units that both have: m x m, -1..1.
export function difference(matrixA, nA, matrixB, nB, both) {
  const m = both.length;
  const out = new Float64Array(m * m);
  both.forEach(([qa, qb], i) => both.forEach(([ka, kb], j) => (out[i * m + j] = (matrixA[qa * nA + ka] - matrixB[qb * nB + kb]) / STEPS)));
  return out;
}

// A row of A and a row of B spread over the columns of the alignment; what has no counterpart meets zero.
export function spread(row, pairs, side) {
  return Float64Array.from(pairs, (pair) => (pair[side] === null ? 0 : row[pair[side]]));
}
