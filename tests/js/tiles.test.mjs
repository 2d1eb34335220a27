// The tiles' numbers and colours, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import * as colour from "../../assets/js/colour.js";
import * as format from "../../assets/js/format.js";
import { largest } from "../../assets/js/numbers.js";
import { arcs } from "../../assets/js/tiles/arcs.js";
import { groups, curve } from "../../assets/js/tiles/charts.js";
import { course } from "../../assets/js/tiles/course.js";
import { curves } from "../../assets/js/tiles/curves.js";
import { softmaxRow, sum } from "../../assets/js/tiles/origin.js";
import { numberTiles } from "../../assets/js/tiles/number_tiles.js";
import { painted, reach } from "../../assets/js/tiles/painted.js";
import { vectors } from "../../assets/js/tiles/vectors.js";
import { onPage, texts } from "./page.mjs";

// Every shade says its level in the ramp.
const LEVELLED = Array.from({ length: colour.LEVELS }, (_, i) => [i >> 2, i & 3, 0]);
const level = (rgb) => (4 * rgb[0] + rgb[1]) / (colour.LEVELS - 1);
const PAINT = { ramp: LEVELLED, change: { ramp: LEVELLED }, ink: [0, 0, 0], soft: [9, 9, 9], line: [8, 8, 8], paper: [255, 255, 255] };
const board = (...numbers) => ({ numbers: Float32Array.from(numbers), paint: PAINT, component: {} });

test("a number is written with a real minus and never as minus zero", () => {
  assert.equal(format.fixed(-1.23456), "−1.2346");
  assert.equal(format.fixed(-0.00001), "0.0000");
  assert.equal(format.fixed(NaN), "hidden");
  assert.equal(format.percent(0.6774), "67.7 %");
  assert.equal(format.trim("2.5000"), "2.5");
  assert.equal(format.trim("20"), "20");
  assert.equal(format.tiny(-0.0000122), "−1.2e−5");
});

test("a typed number may have a comma, a point or a real minus, and nothing else is one", () => {
  assert.equal(format.parseNumber(" 1,5 "), 1.5);
  assert.equal(format.parseNumber("−.5"), -0.5);
  assert.equal(format.parseNumber("2e-3"), 0.002);
  for (const text of ["", "1 2", "1,000,000", "x", "Infinity", "0x10", "--1"]) assert.ok(Number.isNaN(format.parseNumber(text)), text);
});

test("one outlier does not make everything else pale", () => {
  const values = Float32Array.from({ length: 1000 }, (_, i) => (i === 5 ? 100 : (i % 10) / 10));
  assert.ok(reach(values) < 1);
  assert.equal(reach(new Float32Array([0, 0])), 1);
  assert.equal(reach(new Float32Array([NaN, -3])), 3);
});

test("the largest of more numbers than a call may have arguments is found", () => {
  const values = new Float32Array(512 * 512);
  values[300000 % values.length] = 0.5;
  assert.equal(largest(values), 0.5);
  assert.equal(largest([-3, -1, -2]), -1);
  const block = { name: "weights", ramp: "weight", shape: [512, 512] };
  assert.equal(onPage(() => painted(board(), block, values)).top, 0.5);
});

test("an arc is as thick as its weight, and none goes to the word itself", () => {
  const block = { id: "a", at: 0, name: "Head 2-1", words: ["cat", "sat", "it"], from: 2 };
  const drawn = onPage(() => arcs(board(0.5, 0.25, 0.25), block)).querySelectorAll("path");
  assert.deepEqual(drawn.map((path) => Number(path.getAttribute("stroke-width"))), [5.5, 2.75]);
});

test("a matrix that is saved as SVG has its rows from top to bottom and its columns from left to right", () => {
  const block = { name: "weights", ramp: "weight", shape: [2, 3], rows: ["a", "b"], cols: ["x", "y", "z"] };
  const page = vectors(PAINT, block, [0, 0.2, 0.4, 0.6, 0.8, 1], 1);
  const cells = [...page.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="28" height="24" fill="rgb\((\d+), (\d+)/g)].map((found) => found.slice(1).map(Number));
  assert.deepEqual(cells.map(([x, y, ...rgb]) => [(x - 110) / 28, (y - 146) / 24, level(rgb).toFixed(1)]), [[0, 0, "0.0"], [1, 0, "0.2"], [2, 0, "0.4"], [0, 1, "0.6"], [1, 1, "0.8"], [2, 1, "1.0"]]);
  assert.match(page, /full colour: 100.0 %/);
});

test("all products of a sum are saved, each beside its own two numbers", async () => {
  const block = { title: "q · k", left: 0, right: 2, products: 4, count: 2, most: 8, names: ["q", "k"], sum: 11, added: null };
  const saved = onPage((_, files) => {
    sum(board(1, 2, 3, 4, 3, 8), block).querySelector("button.numbers").onclick();
    return files;
  });
  assert.equal(await saved[0].text(), ",q,k,product\r\n1,1,3,3\r\n2,2,4,8\r\n");
});

test("a row of scores says each weight as it is and as it was", () => {
  const block = { tokens: ["a", "b"], shown: [0, 1], scores: 0, powers: 2, weights: 4, before: 6, query: 0, chosen: 1, editable: false, edited: [] };
  const table = onPage(() => softmaxRow(board(-1, 0, 0.25, 1, 0.25, 0.75, 0.5, 0.5), block));
  assert.deepEqual(table.querySelectorAll("tbody tr").map((row) => texts(row.querySelectorAll("td"))), [
    ["a", "−1.000", "0.2500", "25.0 %", "50.0 %"],
    ["b", "0.000", "1.0000", "75.0 %", "50.0 %"],
    ["sum", "", "1.2500", "100.0 %", "100.0 %"],
  ]);
});

const heights = (svg) => svg.querySelector("polyline").getAttribute("points").split(" ").map((point) => Number(point.split(",")[1]));

test("what grows is a line that rises, what is lost one that falls", () => {
  const learnt = { id: "c", name: "", describe: "", high: 1, ticks: [], lines: [{ label: "a", at: 0, count: 2 }] };
  const [start, end] = heights(onPage(() => course(board(0, 50, 0, 0.5), learnt)));
  assert.deepEqual([start, end], [162, 87]); // the axis, and half way up to 12
  const left = { of: 10, xName: "heads gone", series: [{ name: "by effect", x: [0, 10], y: [90, 40] }], levels: [], describe: "" };
  assert.deepEqual(heights(onPage(() => curves(board(), left))), [14, 260]);
});

test("tiles of weights are as dark as they are large; those of other numbers stay paler, so that both signs can be read", () => {
  const colours = (block) => onPage(() => numberTiles(board(0.25, 1), { id: "t", at: 0, shape: [1, 2], ...block })).querySelectorAll(".tiles div").map((tile) => tile.style.background);
  const shade = (share, paint = LEVELLED) => colour.css(colour.at(paint, share));
  assert.deepEqual(colours({ ramp: "weight" }), [shade(0.25), shade(1)]);
  assert.deepEqual(colours({ ramp: "signed" }), [0.25, 1].map((value) => colour.css(colour.at(LEVELLED, value / 1.6, true))));
});

test("which query head reads which keys is drawn once for each head", () => {
  const drawn = onPage(() => groups(board(), { owner: [0, 0, 1, 1], keys: 2, chosen: 2, describe: "" }));
  const of = (tag, ...names) => drawn.querySelectorAll(tag).map((node) => names.map((name) => Number(node.getAttribute(name))));
  assert.deepEqual(of("line", "x1", "x2"), [[13, 26], [39, 26], [65, 78], [91, 78]]);
  assert.deepEqual([of("circle", "cx"), of("rect", "x", "width")], [[[13], [39], [65], [91]], [[17, 18], [69, 18]]]);
  assert.deepEqual(drawn.querySelectorAll("circle").map((node) => node.getAttribute("fill")), ["var(--link)", "var(--link)", "var(--accent)", "var(--link)"]);
  const [svg] = drawn.querySelectorAll("svg");
  assert.deepEqual(["viewBox", "width", "height"].map((name) => svg.getAttribute(name)), ["0 0 104 86", "104", "86"]);
  const crowded = onPage(() => groups(board(), { owner: [0], keys: 3, chosen: 0, describe: "" }));
  assert.deepEqual(crowded.querySelectorAll("rect").map((node) => Number(node.getAttribute("x")) + 9), [13, 39, 65], "as wide as what there is more of");
});

test("a curve goes through its numbers from the axis to the top, and names its first, middle and last place", () => {
  const drawn = onPage(() => curve(board(4, 2, 1, 0, 0), { axis: "place", describe: "", lines: [{ at: 0, count: 5, label: "share" }] }));
  const points = drawn.querySelector("polyline").getAttribute("points").split(" ").map((point) => point.split(",").map(Number));
  assert.deepEqual(points, [[44, 10], [171, 118], [298, 172], [425, 226], [552, 226]]);
  assert.deepEqual(texts(drawn.querySelectorAll("text")), ["place", "0", "0.5", "1", "1", "3", "5", "share"]);
  const named = drawn.querySelectorAll("text").slice(4, 7).map((node) => Number(node.getAttribute("x")));
  assert.deepEqual(named, [points[0][0], points[2][0], points[4][0]]);
  const heights = drawn.querySelectorAll("text").slice(1, 4).map((node) => Number(node.getAttribute("y")) - 5);
  assert.deepEqual(heights, [226, 118, 10]);
});

test("what is added to a sum of products has its sign once", () => {
  const line = (added) => onPage(() => sum(board(1, 2, 3, 4, 3, 8), { title: "", left: 0, right: 2, products: 4, count: 2, most: 8, names: ["q", "k"], sum: 11, added, added_name: "b", value: 11 + added })).querySelector(".total").childNodes;
  assert.match(texts(line(-2.5)).join(""), /^2 products: 11 − 2\.5 \(b\) = 8\.5/);
  assert.match(texts(line(2.5)).join(""), /^2 products: 11 \+ 2\.5 \(b\) = 13\.5/);
});
