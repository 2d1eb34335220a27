// A PNG that says its size in print, read back as the format has it (PNG, 3rd edition: 5.3 and 11.3.4.3).
import assert from "node:assert/strict";
import { test } from "node:test";
import * as zlib from "node:zlib";
import { printPdf, sizeOf, withDots } from "../../assets/js/save.js";
import { withGlobals } from "./page.mjs";

test("a page says its size in pixels, or in centimetres of which 2.54 are 96 pixels", () => {
  assert.deepEqual(sizeOf('<svg width="120" height="60.5">'), [120, 60.5]);
  assert.deepEqual(sizeOf('<svg width="2.54cm" height="5.08cm">').map(Math.round), [96, 192]);
});

test("the dots of an inch stand in a chunk of their own after the header, in dots a metre", () => {
  const png = Uint8Array.from({ length: 60 }, (_, i) => i);
  const made = withDots(png, 300);
  const view = new DataView(made.buffer);
  assert.deepEqual([...made.subarray(0, 33), ...made.subarray(54)], [...png]);
  assert.deepEqual([view.getUint32(33), String.fromCharCode(...made.subarray(37, 41))], [9, "pHYs"]);
  assert.deepEqual([view.getUint32(41), view.getUint32(45), made[49]], [11811, 11811, 1]);
  if (zlib.crc32) assert.equal(view.getUint32(50), zlib.crc32(made.subarray(37, 50)));
});

test("what is printed is a page as large as the picture, under the file's name", async () => {
  const printed = [];
  const frame = { style: {}, contentDocument: { fonts: { ready: null } }, contentWindow: { print: () => printed.push(frame.srcdoc) } };
  const document = { createElement: () => frame, body: { append: () => setTimeout(() => frame.onload()) } };
  const said = await withGlobals({ document }, () => printPdf("headscope-head-4-2.pdf", '<?xml version="1.0"?>\n<svg width="300" height="200"></svg>'));
  assert.equal(said, "headscope-head-4-2.pdf, in the dialog that opened");
  assert.equal(printed.length, 1);
  assert.match(printed[0], /<title>headscope-head-4-2<\/title><style>@page\{size:300px 200px;margin:0\}/);
  assert.match(printed[0], /<\/style><svg width="300" height="200"><\/svg>$/);
});
