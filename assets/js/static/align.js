// Two rows of labels side by side: as mha_core/record/compare.py and pages/parts/frame/selection.py have them.

// [[i, j], ...], null where one has no counterpart. Equal labels meet, case aside (difflib's longest runs first); runs of
// the same length that differ are taken one by one.
export function align(a, b) {
  const [left, right] = [a, b].map((labels) => labels.map((label) => label.toLowerCase()));
  const gap = (a1, a2, b1, b2) => {
    const [here, there] = [Array.from({ length: a2 - a1 }, (_, i) => a1 + i), Array.from({ length: b2 - b1 }, (_, j) => b1 + j)];
    if (here.length === there.length) return here.map((i, at) => [i, there[at]]);
    return [...here.map((i) => [i, null]), ...there.map((j) => [null, j])];
  };
  const between = (a1, a2, b1, b2) => {
    const [i, j, k] = longest(left, right, a1, a2, b1, b2);
    if (!k) return gap(a1, a2, b1, b2);
    return [...between(a1, i, b1, j), ...gap(i, i + k, j, j + k), ...between(i + k, a2, j + k, b2)];
  };
  return between(0, a.length, 0, b.length);
}

// The first of the longest runs that both have.
function longest(a, b, a1, a2, b1, b2) {
  let best = [a1, b1, 0];
  let ends = [];
  for (let i = a1; i < a2; i++) {
    const next = [];
    for (let j = b1; j < b2; j++) {
      if (a[i] !== b[j]) continue;
      next[j] = (ends[j - 1] ?? 0) + 1;
      if (next[j] > best[2]) best = [i - next[j] + 1, j - next[j] + 1, next[j]];
    }
    ends = next;
  }
  return best;
}

// The one stretch in which two rows differ; null where less than half of the longer one stays.
export function changeBetween(before, after) {
  const least = Math.min(before.length, after.length);
  let [start, end] = [0, 0];
  while (start < least && before[start] === after[start]) start++;
  while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  if (2 * (start + end) < Math.max(before.length, after.length)) return null;
  return { start, old: before.length - start - end, new: after.length - start - end };
}

// The words that were changed, before and after, without the marks around them.
export function wordsBetween(a, b) {
  const rows = [a, b].map((text) => text.split(/\s+/).filter(Boolean));
  const { start, old, new: now } = changeBetween(...rows) ?? { start: 0, old: Infinity, new: Infinity };
  return [old, now].map((count, side) => rows[side].slice(start, start + count).join(" ").replace(/^[.,;:!?"'()]+|[.,;:!?"'()]+$/g, ""));
}
