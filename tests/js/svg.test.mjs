import assert from "node:assert/strict";
import { test } from "node:test";
import { sequential } from "../../assets/js/colour.js";
import { escapeXml, matrixPaths, matrixPicture, say, svgPage } from "../../assets/js/svg.js";
import { themeOf } from "../../assets/js/theme.js";

const spec = (values) => ({ rows: ["a", "b"], columns: ["a", "b"], values, signed: false, least: 0, from: [1], hovered: [1, 0] });

test("markup in a text is text in the SVG", () => {
  assert.equal(escapeXml(`<script>&"'`), "&#60;script&#62;&#38;&#34;&#39;");
  assert.ok(!say("<b>", {}).includes("<b>"));
  assert.ok(!escapeXml("a\u0000b").includes("\u0000"));
});

test("a matrix is vectors: equal neighbours join, empty cells draw nothing", () => {
  const ramp = sequential([255, 255, 255]);
  const paths = matrixPaths(spec([1, 1, 0, 0]), ramp, { x: 0, y: 0, size: 20 });
  assert.equal(paths.length, 1);
  assert.match(paths[0], /M0 0h20v10h-20z/);
});

test("what lies below the threshold is not drawn", () => {
  const paths = matrixPaths({ ...spec([0.4, 0.9, 0, 0]), least: 0.5 }, sequential([255, 255, 255]), { x: 0, y: 0, size: 20 });
  assert.equal(paths.length, 1);
});

test("pinned rows and the pointed cell are in the picture, and both axes are labelled", () => {
  const paint = themeOf([251, 250, 247], [29, 28, 26], [168, 64, 12]);
  const { body } = matrixPicture(spec([1, 0, 0, 1]), paint, { x: 0, y: 0, size: 100 });
  assert.equal(body.filter((part) => part.includes("rgb(168, 64, 12)")).length, 2);
  assert.equal(body.filter((part) => part.startsWith("<text")).length, 4);
});

test("a page of SVG names its font with fallbacks and carries the sentence", () => {
  const page = svgPage({ width: 10.2, height: 5, paper: [255, 255, 255], title: "a < b", body: [] });
  assert.match(page, /font-family="HeadScope, .*serif"/);
  assert.match(page, /<title>a &#60; b<\/title>/);
  assert.match(page, /width="11"/);
});
