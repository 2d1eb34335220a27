import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, csvCell, saveCsv } from "../../assets/js/csv.js";
import { fileName } from "../../assets/js/save.js";
import { onPage } from "./page.mjs";

test("a cell that a spreadsheet would run stays text", () => {
  for (const bad of ["=1+1", "+1", "-1", "@x", " =1", "\t=1", "＝1"]) assert.match(csvCell(bad), /^"?'/);
  assert.equal(csvCell("it"), "it");
  assert.equal(csvCell(-0.5), "-0.5");
});

test("commas, quotes and line breaks are quoted", () => {
  assert.equal(csv([["a,b", 'say "x"', "two\nlines"]]), '"a,b","say ""x""","two\nlines"\r\n');
});

test("a file is named after its head and its text", () => {
  assert.equal(fileName(["head-4-2", "The animal didn't cross", ""], "svg"), "headscope-head-4-2-the-animal-didn-t-cross.svg");
  const long = "the-animal-didn-t-cross-the-street-because-it-1a2b3c4d";
  assert.equal(fileName(["head-4-2", long, "from-2-10", "to-6"], "svg"), `headscope-head-4-2-${long}-from-2-10-to-6.svg`, "all of it");
});

test("a saved table says that it is UTF-8, so that a spreadsheet reads its umlauts", async () => {
  const bytes = await onPage(async (_, saved) => {
    saveCsv("x.csv", [["Tür"]]);
    return new Uint8Array(await saved[0].arrayBuffer());
  });
  assert.deepEqual([...bytes], [0xef, 0xbb, 0xbf, 0x54, 0xc3, 0xbc, 0x72, 0x0d, 0x0a]);
});
