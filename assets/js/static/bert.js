// BERT by ONNX Runtime, whose code and binary come with the page.
const here = (path) => new URL(path, self.location.href).href;

// graph: what mha_core/draw/static_site/graph.py wrote; values: its numbers (float32); binary: the runtime's, gzipped.
// Returns (pieces) => promise of all weights (layers, heads, n, n).
export async function bertOf(graph, values, binary) {
  const ort = await import(here("onnxruntime/ort.js")).catch(() => {
    throw new Error("ONNX Runtime cannot be fetched. Check the connection and load the model again.");
  });
  ort.env.wasm.wasmPaths = { mjs: here("onnxruntime/threads.js") };
  ort.env.wasm.wasmBinary = await unzipped(binary);
  ort.env.wasm.numThreads = 1; // two were slower, and need a page of its own isolation
  const session = await ort.InferenceSession.create(graph, {
    executionProviders: ["wasm"],
    externalData: [{ path: "weights", data: new Uint8Array(values.buffer) }],
  });
  const integers = (numbers) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [numbers.length]);
  return async (pieces) => {
    const ids = integers(pieces.map(({ id }) => id)), segments = integers(pieces.map(({ segment }) => segment));
    return (await session.run({ ids, segments })).weights.data;
  };
}

const unzipped = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
