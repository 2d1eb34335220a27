// A decoder on the page without a server: what a text began with is not computed again, and the next token is drawn fairly.
import assert from "node:assert/strict";
import { test } from "node:test";
import { llamaOf } from "../../assets/js/static/llama.js";
import { fallsOn, likeliest, tempered } from "../../assets/js/static/next.js";

const LAYERS = 2, HEADS = 3, SPEEDS = [1, 0.25];

// Weights and states that name what they are of: a token, its place and its head; zeros where the mask hides a key.
function session() {
  const sizes = [];
  const floats = (values, ...shape) => ({ values, shape });
  const run = async ({ ids, past, mask, cos, sin }) => {
    const [layers, states, first, width] = past.shape, [count, n] = mask.shape;
    sizes.push(count);
    const states_ = Array.from({ length: layers * states }, (_, i) => [...past.values.slice(i * first * width, (i + 1) * first * width), ...ids.flatMap((id, q) => Array(width).fill(id + (first + q) / 128))]);
    const known = (k) => states_[0][k * width]; // the token of a key, and its place
    const row = (head) => ids.flatMap((id, q) => Array.from({ length: n }, (_, k) => (mask.values[q * n + k] === 0 ? Math.fround(head + id * known(k) + cos.values[q * width] + sin.values[q * width + 3]) : 0)));
    return { next: Float32Array.of(ids.at(-1)), present: Float32Array.from(states_.flat()), weights: Float32Array.from(Array.from({ length: layers * HEADS }, (_, head) => row(head)).flat()) };
  };
  return { sizes, run, floats, integers: (ids) => ids };
}

const llama = (own) => llamaOf({ heads: HEADS, cached: [LAYERS, 2], speeds: SPEEDS }, own);
const pieces = (...ids) => ids.map((id) => ({ id }));

test("only new tokens are computed, and every text has the weights that it has alone", async () => {
  const own = session(), run = llama(own);
  for (const ids of [[5, 6, 7], [5, 6, 7, 8], [5, 6, 9, 8, 4], [5, 6], [1, 6]]) {
    const alone = await llama(session())(pieces(...ids)), { weights, next } = await run(pieces(...ids));
    assert.deepEqual([weights.length, [...weights], [...next]], [LAYERS * HEADS * ids.length ** 2, [...alone.weights], [...alone.next]]);
  }
  assert.deepEqual(own.sizes, [3, 1, 3, 1, 2]);
});

test("a temperature sharpens or flattens the same order, and at 0 the likeliest has all", () => {
  const next = Float32Array.of(0.125, 0.5, 0.25, 0.125), round = (shares) => Array.from(shares, (share) => Math.round(1e6 * share) / 1e6);
  assert.deepEqual([round(tempered(next, 1)), round(tempered(next, 0)), round(tempered(next, 0.5))], [[...next], [0, 1, 0, 0], [1, 16, 4, 1].map((part) => Math.round(1e6 * part / 22) / 1e6)]);
  assert.deepEqual(likeliest(next, 3), [1, 2, 0]);
});

test("each token is drawn as often as it is likely", () => {
  const drawn = [0, 0, 0, 0], shares = [0.125, 0.5, 0, 0.375];
  for (let i = 0; i < 800; i++) drawn[fallsOn(shares, i / 800)]++;
  assert.deepEqual([drawn, fallsOn(shares, 1)], [[100, 400, 0, 300], 3]);
});
