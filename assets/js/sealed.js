// A record as it travels from pages/parts/picture/sealed.py, which says what stands where.

const TYPES = { uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, float32: Float32Array };

export async function decodeRecord(bytes) {
  const numbers = new DataView(bytes.buffer, bytes.byteOffset);
  const [length, squeezed] = [numbers.getUint32(0, true), numbers.getUint32(4, true)];
  const soft = await inflated(bytes.subarray(8, 8 + squeezed));
  const { rest, columns } = JSON.parse(new TextDecoder().decode(soft.subarray(0, length)));
  let [high, at] = [length, 8 + squeezed];
  for (const [name, type, size] of columns) {
    const Kind = TYPES[type];
    if (type === "uint16") {
      rest[name] = new Kind(size);
      for (let i = 0; i < size; i++) rest[name][i] = (soft[high + i] << 8) | bytes[at + i];
      high += size;
      at += size;
    } else {
      const end = at + size * Kind.BYTES_PER_ELEMENT;
      rest[name] = new Kind(bytes.slice(at, end).buffer);
      at = end;
    }
  }
  return rest;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
