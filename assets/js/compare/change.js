// A minus B: two runs side by side over the words that both have, for one head and for a row of it.
import { moved, STEPS } from "../numbers.js";

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

// For one head: how much of the look moved, and the column that changed most (or the aimed one).
export function changeOf(rowA, rowB, aim = null) {
  let most = 0;
  for (let i = 0; i < rowA.length; i++) if (Math.abs(rowA[i] - rowB[i]) > Math.abs(rowA[most] - rowB[most])) most = i;
  const column = aim ?? most;
  return { moved: moved(rowA, rowB), column, a: rowA[column], b: rowB[column] };
}
