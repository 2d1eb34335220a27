// ONNX Runtime, whose code and binary come with the page.
const here = (path) => new URL(path, self.location.href).href;

// graph: what mha_core/draw/static_site wrote; values: the bytes of its numbers; binary: the runtime's, gzipped.
// Returns run(inputs), a promise of the outputs' numbers by name, and integers(numbers), floats(numbers, ...shape) for inputs.
export async function sessionOf(graph, values, binary) {
  const ort = await import(here("onnxruntime/ort.js")).catch(() => {
    throw new Error("ONNX Runtime cannot be fetched. Check the connection and load the model again.");
  });
  ort.env.wasm.wasmPaths = { mjs: here("onnxruntime/threads.js") };
  ort.env.wasm.wasmBinary = await unzipped(binary);
  ort.env.wasm.numThreads = self.crossOriginIsolated ? 2 : 1; // shared memory needs the isolation
  const session = await ort.InferenceSession.create(graph, { executionProviders: ["wasm"], externalData: [{ path: "weights", data: values }] });
  const run = async (inputs) => Object.fromEntries(Object.entries(await session.run(inputs)).map(([name, { data }]) => [name, data]));
  const integers = (numbers) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [numbers.length]);
  return { run, integers, floats: (numbers, ...shape) => new ort.Tensor("float32", numbers, shape) };
}

const unzipped = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
