// The arithmetic of a budget: shares of 100 in steps, the mix of values that they make, and how like a word it is.
export const STEP = 10;
export const MOST_HEADS = 4;
export const ENOUGH = 80; // a need is met where one head gives it this much of 100

export function empty(n) {
  return Array.from({ length: n }, () => 0);
}

export function left(head) {
  return 100 - head.reduce((all, share) => all + share, 0);
}

// A word's share moved by so much, as far as the budget and the word allow.
export function added(head, i, by) {
  const next = Math.max(0, Math.min(head[i] + by, head[i] + left(head)));
  return head.map((share, j) => (j === i ? next : share));
}

// The values are compared without what all of them have in common, their mean.
export function centred(values) {
  const width = values[0].length;
  const mean = Array.from({ length: width }, (_, d) => values.reduce((all, value) => all + value[d], 0) / values.length);
  return values.map((value) => Array.from(value, (x, d) => x - mean[d]));
}

export function mixOf(head, values) {
  return values[0].map((_, d) => values.reduce((all, value, i) => all + (head[i] / 100) * value[d], 0));
}

export function cosine(a, b) {
  const dot = a.reduce((all, x, d) => all + x * b[d], 0);
  const size = Math.hypot(...a) * Math.hypot(...b);
  return size ? dot / size : 0;
}

// For every need: the head that gives it most, how much, and how like the word that head's mix is.
export function arrived(needs, heads, values) {
  const plain = centred(values);
  return needs.map((i) => {
    const best = heads.reduce((found, head, h) => (head[i] > heads[found][i] ? h : found), 0);
    const share = heads[best][i];
    return { word: i, head: best, share, like: share ? cosine(mixOf(heads[best], plain), plain[i]) : 0, met: share >= ENOUGH };
  });
}
