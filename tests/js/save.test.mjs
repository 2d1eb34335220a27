// What is handed to the reader's printer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { printPdf } from "../../assets/js/save.js";
import { withGlobals } from "./page.mjs";

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
