// The models in a thread of their own: a text in, its tokens and all attention weights out.
//
// In: { id, load: model, files } (`files`: bytes by name, where nothing is to be fetched) or { id, text, model }.
// Out: { progress: 0..1, model }, { id, ready: model } and of a decoder { spellings, signs } of its pieces and special tokens,
// { id, model, error, fatal } where `fatal` says that this thread is of no more use, or { id, model, text, pieces, spans, cut,
// weights: float32 (layers, heads, n, n), layers, heads, took: { tokens, run } } in milliseconds, and of a decoder `next`, the
// probability of each piece after the text.
import { bertOf } from "./bert.js";
import { llamaOf } from "./llama.js";
import { filesOf, unpack } from "./models.js";
import { sessionOf } from "./runtime.js";
import { tokenizerOf } from "./tokens.js";
import { toyOf } from "./toy.js";

const CLOSE = 1e-4;
const FULL = "This browser has not enough memory for this model. Close other tabs, or take a smaller model.";
const MAKERS = { bert: bertOf, llama: llamaOf };
const loading = new Map();
const read = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

self.onmessage = async ({ data: { id, load, files, text, model = load } }) => {
  try {
    const found = await modelOf(model, files);
    if (load) return postMessage({ id, ready: model, spellings: found.tokens.spellings, signs: found.vocabulary.outside });
    const answer = await answered(found, text);
    postMessage({ id, model, ...answer }, answer.next ? [] : [answer.weights.buffer]); // a decoder goes on from its own
  } catch (error) {
    const fatal = isMemory(error);
    postMessage({ id, model, error: fatal ? FULL : error.message, fatal });
  }
};

// What a browser without memory throws: WebAssembly a number (std::bad_alloc), the others a sentence of their own.
const isMemory = (error) => typeof error === "number" || /memory|alloc|out of bounds|abort/i.test(error.message);

function modelOf(name, given) {
  if (!loading.has(name)) {
    const model = opened(name, given);
    loading.set(name, model);
    model.catch(() => loading.delete(name)); // a second try fetches what was missing
  }
  return loading.get(name);
}

async function opened(name, given) {
  const { files } = (await listed(given))[name] ?? {};
  if (!files) throw new Error(`This page has no model “${name}”.`);
  const bytes = await filesOf(files, given, (progress) => postMessage({ progress, model: name }));
  const about = read(await bytes(`models/${name}/model.json`));
  const values = new Uint8Array(about.bytes);
  await Promise.all(about.parts.map(async (part, number) => {
    unpack(about.stretches.filter((stretch) => stretch.part === number), await bytes(part), values);
  }));
  const run = about.graph
    ? MAKERS[about.family](about, await sessionOf(await bytes(about.graph), values, await bytes(about.runtime)))
    : toyOf(about, tensorsIn(new Float32Array(values.buffer), about.stretches));
  const model = { ...about, tokens: tokenizerOf(about.vocabulary), run };
  await check(model);
  return model;
}

async function listed(given) {
  if (given) return read(given["models.json"]);
  const answer = await fetch(new URL("models.json", self.location.href), { cache: "no-cache" }).catch(() => undefined);
  if (!answer?.ok) throw new Error("The list of models cannot be fetched. Check the connection and try again.");
  return answer.json();
}

function tensorsIn(values, stretches) {
  const views = new Map();
  for (const { name, to, rows, columns, plain = 4 * rows * columns } of stretches) {
    const start = views.get(name)?.byteOffset ?? to;
    views.set(name, values.subarray(start / 4, (to + plain) / 4));
  }
  return (name) => views.get(name);
}

async function answered({ tokens, run, layers, heads }, typed) {
  const start = performance.now(), read = tokens.read(typed), middle = performance.now();
  const numbers = await run(read.pieces);
  return { ...read, ...numbers, layers, heads, took: { tokens: middle - start, run: performance.now() - middle } };
}

// One row of every head of a known sentence, and a decoder's next token: what this browser computes must be what mha_core does.
async function check(model) {
  const { text, ids, query, rows, next: likeliest } = model.known, { pieces, weights, next } = await answered(model, text), n = ids.length;
  const isOff = (expected, i) => !(Math.abs(weights[(Math.floor(i / n) * n + query) * n + (i % n)] - expected) < CLOSE);
  if (pieces.length !== n || pieces.some((piece, i) => piece.id !== ids[i]) || rows.some(isOff) || next?.some((share) => !(share <= next[likeliest]))) {
    throw new Error("This browser computes other numbers than HeadScope, so nothing is shown. Try another browser.");
  }
}
