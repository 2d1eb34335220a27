import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, csvCell } from "../../assets/js/csv.js";
import { fileName } from "../../assets/js/save.js";

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
});
