// A record as it travels: text and high bytes compressed, low bytes and other numbers as they are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { column } from "../../assets/js/column.js";
import { decodeRecord } from "../../assets/js/sealed.js";

function sealed(text, high, plain) {
  const letters = Buffer.from(JSON.stringify(text));
  const squeezed = deflateSync(Buffer.concat([letters, Buffer.from(high)]));
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32LE(letters.length, 0);
  numbers.writeUInt32LE(squeezed.length, 4);
  const message = Buffer.concat([Buffer.from("before"), numbers, squeezed, Buffer.from(plain)]);
  return new Uint8Array(message.buffer, message.byteOffset + 6, message.length - 6); // within a larger message
}

test("a sealed record is opened as it was, numbers of every kind", async () => {
  const columns = [["weights", "uint16", 3], ["small", "int8", 2], ["exact", "float32", 1], ["more", "uint16", 1]];
  const floats = [...new Uint8Array(Float32Array.of(0.1).buffer)];
  const record = await decodeRecord(sealed({ rest: { title: "“ä” 🙂", n: 1 }, columns }, [0, 1, 255, 2], [7, 0, 255, 255, 5, ...floats, 3]));
  assert.deepEqual({ ...record }, { title: "“ä” 🙂", n: 1, weights: Uint16Array.of(7, 256, 65535), small: Int8Array.of(-1, 5), exact: Float32Array.of(0.1), more: Uint16Array.of(515) });
  assert.equal(column(record.weights), record.weights);
});
