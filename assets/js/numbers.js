// Weights as numbers: one step of uint16 is 1/65535, rows are sums over the pinned units, links are (unit, weight).

export const STEPS = 65535;

export function quantise(weights) {
  const steps = new Uint16Array(weights.length);
  for (let i = 0; i < weights.length; i++) steps[i] = Math.round(Math.min(Math.max(weights[i], 0), 1) * STEPS);
  return steps;
}

export function dequantise(steps) {
  const weights = new Float64Array(steps.length);
  for (let i = 0; i < steps.length; i++) weights[i] = steps[i] / STEPS;
  return weights;
}

// One row of weights for several pinned units: their mean, so that a share stays one.
export function meanRow(matrix, n, pins) {
  const row = new Float64Array(n);
  for (const q of pins) for (let k = 0; k < n; k++) row[k] += matrix[q * n + k] / STEPS / pins.length;
  return row;
}

// The strongest entries of a row: by weight, then by position, so that two languages agree on ties.
export function strongest(row, limit, least = 0, allowed = () => true) {
  const found = [];
  for (let k = 0; k < row.length; k++) if (row[k] > 0 && row[k] >= least && allowed(k)) found.push(k);
  found.sort((a, b) => row[b] - row[a] || a - b);
  return found.slice(0, limit).map((k) => ({ to: k, weight: row[k] }));
}

// The strongest links of a whole matrix, at most one a row.
export function strongestLinks(matrix, n, limit, allowed = () => true) {
  const links = [];
  for (let q = 0; q < n; q++) {
    let best = -1;
    for (let k = 0; k < n; k++) {
      if (matrix[q * n + k] > (best < 0 ? 0 : matrix[q * n + best]) && allowed(q, k)) best = k;
    }
    if (best >= 0) links.push({ from: q, to: best, weight: matrix[q * n + best] / STEPS });
  }
  links.sort((a, b) => b.weight - a.weight || a.from - b.from);
  return links.slice(0, limit);
}

// entries: [{layer, head, weight, ...}] → the same, heaviest first; ties in layer order.
export function ranked(entries) {
  return [...entries].sort((a, b) => b.weight - a.weight || a.layer - b.layer || a.head - b.head);
}

// Math.max takes its numbers as arguments, of which a browser allows some hundred thousand.
export function largest(values) {
  let most = -Infinity;
  for (const value of values) if (value > most) most = value;
  return most;
}

export function mix(from, to, t) {
  if (!from || from.length !== to.length || t >= 1) return to;
  const mixed = new Float64Array(to.length);
  for (let i = 0; i < to.length; i++) mixed[i] = from[i] + (to[i] - from[i]) * t;
  return mixed;
}
