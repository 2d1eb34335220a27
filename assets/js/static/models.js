// A model's files: fetched from the page's own host, compared with their digests, kept for the next visit.
const KEPT = "headscope-models";
const here = (path) => new URL(path, self.location.href);

// files: [{ name, size, sha256 }, …]; given: bytes by name that need no fetching; tell: told the share that is here.
// Returns (name) => promise of its bytes, once; all are on their way.
export async function filesOf(files, given, tell) {
  const cache = await globalThis.caches?.open(KEPT).catch(() => undefined);
  const all = files.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  const add = (bytes) => tell((done += bytes) / all);
  const coming = new Map(files.map((file) => [file.name, given?.[file.name] ?? bytesOf(file, cache, add)]));
  for (const bytes of coming.values()) Promise.resolve(bytes).catch(() => {}); // whoever awaits it hears of it
  return async (name) => {
    const bytes = await coming.get(name);
    coming.delete(name);
    return bytes;
  };
}

async function bytesOf(file, cache, add) {
  const address = here(`${file.name}?${file.sha256}`);
  const kept = await cache?.match(address);
  if (kept) {
    const bytes = new Uint8Array(await kept.arrayBuffer());
    if (await isWhole(bytes, file)) {
      add(file.size);
      return bytes;
    }
    await cache.delete(address);
  }
  for (const mode of ["default", "reload"]) {
    const bytes = await fetched(address, file, mode, add);
    if (await isWhole(bytes, file)) {
      await cache?.delete(address, { ignoreSearch: true }); // an older version of the file
      await cache?.put(address, new Response(bytes)).catch(() => {}); // no room to keep it
      return bytes;
    }
    add(-file.size);
  }
  throw new Error(`${file.name} is damaged. Load the model again.`);
}

async function fetched(address, file, cache, add) {
  const bytes = new Uint8Array(file.size);
  let at = 0;
  try {
    const answer = await fetch(address, { cache });
    if (!answer.ok) throw new Error(`${answer.status}`);
    for (const reader = answer.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (at + value.length <= bytes.length) bytes.set(value, at);
      at += value.length;
      add(value.length);
    }
  } catch {
    add(-at);
    throw new Error(`${file.name} cannot be fetched. Check the connection and load the model again.`);
  }
  add(file.size - at);
  return at === file.size ? bytes : bytes.subarray(0, 0);
}

// Digests are to be had on https and localhost alone; elsewhere the known sentence stands for them.
async function isWhole(bytes, { size, sha256 }) {
  if (bytes.length !== size || !globalThis.crypto?.subtle) return bytes.length === size;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") === sha256;
}

// The stretches of one part as they were, in the bytes `out`: mha_core/draw/static_site/pack.py, backwards.
export function unpack(stretches, bytes, out) {
  const { buffer, byteOffset } = bytes;
  for (const { at, to, rows, columns, plain } of stretches) {
    if (plain) {
      out.set(bytes.subarray(at, at + plain), to);
      continue;
    }
    const scales = new Float32Array(buffer, byteOffset + at, rows), n = rows * columns;
    const high = new Uint16Array(buffer, byteOffset + at + 4 * rows, n);
    const low = new Uint8Array(buffer, byteOffset + at + 4 * rows + 2 * n, (n + 1) >> 1);
    const values = new Float32Array(out.buffer, to, n);
    for (let row = 0, i = 0; row < rows; row++) {
      const scale = scales[row];
      for (const end = i + columns; i < end; i++) {
        values[i] = (((high[i] << 4) | ((low[i >> 1] >> ((i & 1) << 2)) & 15)) - 524288) * scale;
      }
    }
  }
}
