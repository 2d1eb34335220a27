// A budget of 100% in steps: the mix of values that its shares make, how like a word it is, and the result in a sentence.
export const STEP = 10;
export const MAX_HEADS = 4;
export const ENOUGH = 80; // a need is met where need head gives it this much of 100

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
    const best = heads.reduce((most, head, h) => (head[i] > heads[most][i] ? h : most), 0);
    const share = heads[best][i];
    return { word: i, head: best, share, like: share ? cosine(mixOf(heads[best], plain), plain[i]) : 0, met: share >= ENOUGH };
  });
}

// What a spread budget comes to: every need with its share, and a sentence.
export function budgetResult(labels, needs, heads, values) {
  const results = arrived(needs, heads, values).map((need) => ({ ...need, label: labels[need.word] }));
  const met = results.length > 0 && results.every((need) => need.met);
  return { needs: results, met, sentence: sentence(results, heads, met) };
}

function sentence(results, heads, met) {
  if (!results.length) return "Mark the words that are needed.";
  const open = heads.findIndex((head) => left(head) > 0);
  if (open >= 0) return `Head ${open + 1} has ${left(heads[open])}% left. Click a word to add 10%, its number to remove 10%.`;
  const lost = results.filter((need) => need.share === 0).map((need) => need.label);
  const thin = results.filter((need) => need.share > 0 && !need.met).map((need) => need.label);
  if (met) return heads.length === 1 ? "One head is enough for one need. Is there no other?" : `${heads.length} heads, each with 100% of its own: nothing you need is lost.`;
  const parts = [];
  if (thin.length) parts.push(`diluted: ${list(thin)} (under ${ENOUGH}%)`);
  if (lost.length) parts.push(`lost: ${list(lost)}`);
  const why = heads.length === 1 ? " One row adds up to 100%: more for one word is less for the others." : " Each head has 100% of its own.";
  return `${capital(parts.join("; "))}.${why}`;
}

function list(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
