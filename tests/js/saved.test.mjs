// Saved pictures and numbers of Explore and Compare: every word, arc, number and line where it belongs, counted by hand.
import assert from "node:assert/strict";
import test from "node:test";
import { Compare } from "../../assets/js/compare.js";
import * as compared from "../../assets/js/compare/saving.js";
import { diffOf, spanOf } from "../../assets/js/compare/rows.js";
import { Explore } from "../../assets/js/explore.js";
import * as explored from "../../assets/js/explore/saving.js";
import { WEIGHTS, column, numbers, opened, record as records } from "./drawing.mjs";
import { onPage, urlsInto, withGlobals } from "./page.mjs";

const [INK, SOFT, ACCENT, ON, LINE, TEXT, TRACE] = [1, 2, 3, 4, 5, 6, 7].map((i) => [i, i, i]);
const RAMP = Array.from({ length: 1024 }, () => [9, 9, 9]);
const PAINT = { ink: INK, soft: SOFT, accent: ACCENT, onAccent: ON, line: LINE, accentText: TEXT, trace: TRACE, paper: [255, 255, 255], ramp: RAMP, change: { ramp: RAMP.map(() => [8, 8, 8]) } };
const rgb = ([i]) => `rgb(${i}, ${i}, ${i})`;

// What a picture has, in order: its name, its attributes, its text.
const parts = (page) => [...page.matchAll(/<(path|rect|line|polygon|text|g)([^>]*)>([^<]*)/g)].map(([, name, given, text]) => ({ name, ...Object.fromEntries([...given.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value])), text }));
const look = (all, ...names) => all.map((one) => names.map((name) => one[name]));

// With a page whose letters have 30 pixels; what is saved there: [name, text].
function saving(use) {
  const files = [];
  const links = [];
  const page = { createElement: () => ({ click() { links.push(this.download); } }) };
  const given = { location: { origin: "http://h", pathname: "/" }, getComputedStyle: () => ({ fontSize: "30px" }), setTimeout: () => 0, document: page, URL: urlsInto(files) };
  return withGlobals(given, async () => {
    await use();
    return Promise.all(files.map(async (file, i) => [links[i], await file.text(), file.type]));
  });
}

const whole = (more = {}) =>
  opened({
    title: "cat it", model: "m", digest: "d1", file: "cat-it", words: true, normalised: "rows add up to 1",
    labels: ["[CLS]", "cat", "it"], columns: { text: "cat it", model: "m" }, about: { model: "m" }, query: { text: "cat it" }, exact: column(Float32Array.from(WEIGHTS.flat(2))), ...more,
  });

function explore({ state = {}, record = whole(), words = {}, lines = {} } = {}) {
  const view = onPage((root) => new Explore(root, () => {}));
  Object.assign(view.state, { head: [1, 0], pins: [2], to: 1 }, state);
  Object.assign(view, { record, tween: 1, said: "In head 2-1, it looks at cat.", paint: PAINT, headNow: view.state.head, matrixNow: numbers.dequantise(records.matrixOf(record, view.state.head)), shown: null });
  view.valuesNow = view.matrixNow;
  const box = (x) => ({ x, width: 40, top: 70, bottom: 110, line: 0 });
  const unit = (textContent, ...names) => ({ textContent, classList: { contains: (name) => names.includes(name) } });
  Object.assign(view.sentence, { width: 800, size: 50, root: { scrollHeight: 150 }, boxes: [box(30), box(130), box(330)], units: [unit("[CLS]", "special"), unit("cat", "to"), unit("it", "from")], shapes: [], traces: [], placed: [], ...words });
  Object.assign(view.lines, lines);
  return view;
}

const pageOf = (view, module) => {
  let page;
  return saving(() => { page = module.pageOf(view); }).then(() => page);
};

test("the sentence of a saved picture: arcs, points, grounds and marks of its words, and percentages below them", async () => {
  const shapes = [{ d: "M1 1C1 1 2 2 2 2", width: 6, colour: "c1", faded: true, tip: false }, { d: "M0 0C0 9 5 9 5 20", width: 10, colour: "c2", faded: false, tip: true }, { d: "M3 3C3 3 4 4 4 4", band: "M9 9z", width: 3, colour: "c3", faded: true, tip: false }];
  const placed = [{ unit: 1, weight: 0.25, strong: true, x: 131, row: 0, was: "20.0 %" }, { unit: 0, weight: 0.05, strong: false, x: 31, row: 1, brings: "brings 7.0 %" }, { unit: 2, weight: 0.1, strong: false, x: 331, row: 0 }];
  const all = parts(await pageOf(explore({ words: { shapes, traces: [{ d: "M7 7", width: 2, colour: "c0" }], placed } }), explored));
  assert.deepEqual(look(all.slice(0, 6), "name", "d", "stroke", "stroke-width", "opacity", "fill"), [
    ["rect", undefined, undefined, undefined, undefined, "rgb(255, 255, 255)"], ["g", undefined, undefined, undefined, undefined, undefined],
    ["path", "M7 7", "c0", "2", undefined, "none"], ["path", "M1 1C1 1 2 2 2 2", "c1", "6", "0.3", "none"], ["path", "M0 0C0 9 5 9 5 20", "c2", "10", undefined, "none"], ["path", "M9 9z", undefined, undefined, "0.3", "c3"],
  ]);
  assert.equal(all[2]["stroke-dasharray"], "5 5");
  assert.deepEqual([all[6].name, all[6].fill], ["polygon", "c2"]);
  // A stroke of 10 has a point of 8.5: 1.3 of it beyond its end, straight down.
  const [x, y] = all[6].points.split(" ")[0].split(",").map(Number);
  assert.deepEqual([x, y], [5, 31.1].map((v) => Math.round(v * 10) / 10));
  const words = all.slice(7, 12);
  assert.deepEqual(look(words, "name", "x", "y", "width", "height", "fill", "stroke", "font-size", "text"), [
    ["text", "30", "90", undefined, undefined, rgb(SOFT), undefined, "30", "[CLS]"],
    ["rect", "110", "70", "40", "40", "none", rgb(ACCENT), undefined, ""], ["text", "130", "90", undefined, undefined, rgb(INK), undefined, "30", "cat"],
    ["rect", "310", "70", "40", "40", rgb(ACCENT), undefined, undefined, ""], ["text", "330", "90", undefined, undefined, rgb(ON), undefined, "30", "it"],
  ]);
  // Below the words at 110: 0.14 of the size of 50, 0.62 for the second row, and half a line.
  assert.deepEqual(look(all.slice(12, 17), "x", "y", "font-size", "font-weight", "fill", "text-decoration", "text"), [
    ["131", "127", "18", "650", rgb(INK), undefined, "25.0 %"], ["131", "146", "13", undefined, rgb(SOFT), "line-through", "20.0 %"],
    ["31", "158", "14", "400", rgb(SOFT), undefined, "5.0 %"], ["31", "174", "13", undefined, rgb(SOFT), undefined, "brings 7.0 %"],
    ["331", "127", "14", "400", rgb(SOFT), undefined, "10.0 %"],
  ]);
});

test("unknown words, pieces and words that cannot be seen keep their marks in a saved picture", async () => {
  const unit = (textContent, ...names) => ({ textContent, classList: { contains: (name) => names.includes(name) } });
  const all = parts(await pageOf(explore({ words: { units: [unit("a", "unknown"), unit("b", "joined"), unit("c", "blind", "quiet")] } }), explored)).slice(2, 8);
  assert.deepEqual(look(all.slice(0, 4), "name", "x1", "x2", "y1", "y2", "stroke", "stroke-dasharray", "text"), [
    ["line", "10", "50", "108", "108", rgb(ACCENT), "2 3", ""], ["text", undefined, undefined, undefined, undefined, undefined, undefined, "a"],
    ["line", "105", "115", "106", "106", rgb(SOFT), undefined, ""], ["text", undefined, undefined, undefined, undefined, undefined, undefined, "b"],
  ]);
  assert.deepEqual([all[4].class, all[4].stroke, all[5].text, all[5].fill], ["absent", rgb(LINE), "c", rgb(SOFT)]);
  const numbersIn = all[4].d.match(/-?[\d.]+/g).map(Number);
  const xs = numbersIn.filter((_, i) => i % 2 === 0);
  const ys = numbersIn.filter((_, i) => i % 2);
  assert.ok(Math.min(...xs) >= 310 - 0.01 && Math.max(...xs) <= 350.01 && Math.min(...ys) >= 104 - 0.01 && Math.max(...ys) <= 110.01, "a strip of six pixels below the word");
});

test("below the sentence of a saved picture stand the words, the matrix and where it comes from", async () => {
  const page = await pageOf(explore(), explored);
  const all = parts(page);
  const say = (text) => all.find((one) => one.text.startsWith(text));
  assert.deepEqual([say("In head 2-1").y, say("In head 2-1")["font-size"]], ["190", "18"]);
  // 150 + 40 + 26 + 6 = 222; the names have 110, the matrix 420.
  const frame = all.find((one) => one.name === "rect" && one.stroke === rgb(LINE));
  assert.deepEqual(look([frame], "x", "y", "width", "height")[0], ["110", "332", "420", "420"]);
  // 222 + 530 + 30 = 782, and a line every 18.
  const print = ["m (d1) · head 2-1", "row = query", "Text: cat it", "http://h/"].map(say);
  assert.deepEqual(print.map((one) => [one.y, one["font-size"], one.fill]), [782, 800, 818, 836].map((y) => [String(y), "13", rgb(SOFT)]));
  assert.equal(print[0].text, "m (d1) · head 2-1 · Raw attention · words · rows add up to 1");
  assert.match(print[1].text, /^row = query, looks at column = key · HeadScope$/);
  assert.match(page, /width="880" height="924"/, "752 + 100 + 4 * 18");
  const [, told] = /<desc>([^<]*)<\/desc>/.exec(page);
  assert.deepEqual(told.split("\n").map((line) => line.slice(0, 12)), ["m (d1) · hea", "row = query,", "Text: cat it", "http://h/?te"]);
  assert.match(page, /<title>In head 2-1, it looks at cat\.<\/title>/);
  const narrow = await pageOf(explore({ words: { width: 300 } }), explored);
  assert.match(narrow, /^<\?xml[^>]*>\n<svg[^>]* width="800"/);
});

test("a saved picture says what it shows: the word pointed at, and of the heads drawn together only what Lines draw", async () => {
  const view = explore({ state: { also: [[1, 1]] } });
  view.matrixNow = records.matrixOf(view.record, [1, 0]);
  view.hovered.q = 0;
  const page = await pageOf(view, explored);
  const said = "Head 2-1: “[CLS]” looks at “[CLS]” (100.0 %).";
  assert.equal(/<title>([^<]*)<\/title>/.exec(page)[1], said);
  assert.ok(parts(page).some((one) => one.text === said));
  assert.match(page, />m \(d1\) · head 2-1 · Raw attention/);
});

test("a saved matrix that is scaled to its largest weight says what its strongest shade stands for", async () => {
  const reading = (state, paint) => {
    const view = explore({ state: { head: [0, 0], pins: [], to: null, ...state } });
    view.matrixNow = records.matrixOf(view.record, [0, 0]);
    view.paint = { ...PAINT, ...paint };
    return pageOf(view, explored).then((page) => parts(page).find((one) => one.text.startsWith("row = query")).text);
  };
  const plain = "row = query, looks at column = key";
  assert.equal(await reading({}), `${plain} · HeadScope`);
  assert.equal(await reading({ scaled: true }), `${plain} · darkest = 90.0 % · HeadScope`);
  assert.equal(await reading({ scaled: true, panel: "table" }, { dark: true }), `${plain} · brightest = 90.0 % · HeadScope`);
});

test("a large matrix is 28 pixels a word up to 760, in a narrow page what it has room for", async () => {
  const many = (n) => whole({ names: Array.from({ length: n }, (_, i) => `w${i}`), specials: new Array(n).fill(false), segments: new Array(n).fill(0), before: new Array(n).fill(""), labels: new Array(n).fill("x"), exact: null, weights: column(new Uint16Array(4 * n * n).fill(65535 / n)) });
  const size = async (n, width) => {
    const page = await pageOf(explore({ record: many(n), words: { width, units: [], boxes: [] }, state: { pins: [], to: null } }), explored);
    return Number(parts(page).find((one) => one.name === "rect" && one.stroke === rgb(LINE)).width);
  };
  assert.deepEqual([await size(20, 1200), await size(40, 1200), await size(40, 800)], [560, 760, 680]);
});

test("saved token lines: lines, the numbers of their heads, and the words at their ends", async () => {
  const lines = { size: { width: 500, height: 300, font: 15 }, strokes: [{ d: "M1 2", colour: "c1", width: 4, dash: "3 3" }], tags: [{ x: 50, y: 60, text: "2-1", colour: "c1" }], texts: [{ text: "cat", x: 10, y: 20, anchor: "end", on: true }, { text: "it", x: 90, y: 20, anchor: "start", on: false }] };
  const page = await pageOf(explore({ state: { panel: "lines", also: [[1, 1]], summed: true }, lines }), explored);
  const all = parts(page);
  const from = all.findIndex((one) => one.name === "g" && one.transform === "translate(0 222)");
  assert.deepEqual(look(all.slice(from + 1, from + 6), "name", "d", "x", "y", "width", "height", "rx", "stroke", "stroke-width", "stroke-dasharray", "fill", "text-anchor", "font-size", "text"), [
    ["path", "M1 2", undefined, undefined, undefined, undefined, undefined, "c1", "4", "3 3", "none", undefined, undefined, ""],
    ["rect", undefined, "33", "50", "34", "20", "10", "c1", "1.5", undefined, "rgb(255, 255, 255)", undefined, undefined, ""],
    ["text", undefined, "50", "60", undefined, undefined, undefined, undefined, undefined, undefined, rgb(INK), "middle", "13", "2-1"],
    ["text", undefined, "10", "20", undefined, undefined, undefined, undefined, undefined, undefined, rgb(TEXT), "end", "15", "cat"],
    ["text", undefined, "90", "20", undefined, undefined, undefined, undefined, undefined, undefined, rgb(INK), "start", "15", "it"],
  ]);
  assert.deepEqual(["m (d1)", "left = query"].map((text) => all.find((one) => one.text.startsWith(text))).map(({ y, text }) => [y, text.slice(0, 40)]), [["552", "m (d1) · heads 2-1, 2-2, summed · Raw at"], ["570", "left = query, looks at right = key · Hea"]]);
  const one = await pageOf(explore({ state: { panel: "lines" }, lines }), explored);
  assert.match(one, /m \(d1\) · head 2-1 · /);
  assert.match(one, />left = query, looks at right = key · HeadScope</);
});

test("the numbers of Explore's files: each cell with its place, its words and where it comes from, and the name says what is in it", async () => {
  const files = await saving(async () => {
    const view = explore({ state: { pins: [2], to: 1 } });
    await explored.csvFile(view);
    await explored.jsonFile(view);
    await explored.svgFile(view);
    await explored.svgFile(explore({ state: { panel: "lines", pins: [1, 2], to: null }, lines: { size: { width: 1, height: 1, font: 1 }, strokes: [], texts: [] } }));
  });
  assert.deepEqual(files.map(([name, , type]) => [name, type.split(";")[0]]), [["headscope-head-2-1-cat-it.csv", "text/csv"], ["headscope-head-2-1-cat-it.json", "application/json"], ["headscope-head-2-1-cat-it-from-2-to-1.svg", "image/svg+xml"], ["headscope-head-2-1-cat-it-lines-from-1-2.svg", "image/svg+xml"]]);
  const beside = await saving(() => explored.svgFile(explore({ state: { panel: "table" } })));
  assert.equal(beside[0][0], "headscope-head-2-1-cat-it-from-2-to-1.svg", "beside the table the picture is that of the matrix");
  const named = async (state) => (await saving(() => explored.svgFile(explore({ state: { pins: [], to: null, also: [[1, 1], [1, 2]], least: 0.05, pair: "AB", scaled: true, ...state }, lines: { size: { width: 1, height: 1, font: 1 }, strokes: [], texts: [] } }))))[0][0].replace("headscope-head-2-1-cat-it", "");
  assert.equal(await named({ panel: "lines", summed: true }), "-lines-with-2-2-2-3-summed-least-5-ab.svg");
  assert.equal(await named({ panel: "lines", summed: false }), "-lines-with-2-2-2-3-least-5-ab.svg");
  assert.equal(await named({ panel: "matrix", summed: true, brings: true }), "-largest-least-5-ab-brings.svg", "heads are drawn together in lines alone");
  const rows = files[0][1].replace("\ufeff", "").trim().split(/\r?\n/).map((row) => row.split(","));
  const link = "http://h/?text=cat+it&head=2-1&pin=2&to=1";
  assert.deepEqual(rows[0].slice(0, 7), ["layer", "head", "query", "key", "query_text", "key_text", "weight"]);
  assert.deepEqual(rows.slice(1, 5).map((row) => row.slice(0, 6)), [["2", "1", "0", "0", "[CLS]", "[CLS]"], ["2", "1", "0", "1", "[CLS]", "cat"], ["2", "1", "0", "2", "[CLS]", "it"], ["2", "1", "1", "0", "cat", "[CLS]"]]);
  assert.deepEqual(rows.slice(1).map((row) => Number(row[6])), WEIGHTS[2].flat());
  assert.equal(rows[1].at(-1), link);
  const told = JSON.parse(files[1][1]);
  assert.deepEqual([told.layers, told.heads, told.weights[0][0], told.units, told.head, told.pinned, told.to, told.said, told.link, told.normalisation, told.causal, told.model], [[2], [1], WEIGHTS[2], ["[CLS]", "cat", "it"], "2-1", [2], 1, "In head 2-1, it looks at cat.", link, "rows add up to 1", false, "m"]);
});

test("each entry of the menu saves the file that it names", async () => {
  const view = explore();
  const entry = (name) => view.menu.list.children.find((one) => one.textContent.startsWith(name));
  const files = await saving(async () => {
    for (const name of ["Picture, SVG", "Numbers, CSV", "Numbers, JSON"]) await entry(name).onclick();
  });
  assert.deepEqual(files.map(([name]) => name.split(".")[1]), ["svg", "csv", "json"]);
  assert.equal(view.menu.status.textContent, "Saved headscope-head-2-1-cat-it.json");
  await view.menu.run(() => Promise.reject(new Error("there is no room")));
  assert.equal(view.menu.status.textContent, "Not saved: there is no room");
});

test("numbers that come late are saved under what was chosen when they were asked for", async () => {
  const later = setTimeout;
  const files = await saving(async () => {
    globalThis.setTimeout = (act) => later(act, 1);
    const view = explore();
    Object.assign(view.record, { whole: null, about: null, columns: null });
    const asked = [explored.csvFile(view), explored.jsonFile(view)];
    Object.assign(view, { headNow: [1, 1], said: "Something else." });
    Object.assign(view.state, { head: [1, 1], pins: [0], to: null });
    records.keepOpened(view.record, [1, 0], Float32Array.from(WEIGHTS[2].flat()));
    Object.assign(view.record, { about: { model: "m" }, columns: { model: "m" } });
    await Promise.all(asked);
  });
  assert.deepEqual(files.map(([name]) => name).sort(), ["headscope-head-2-1-cat-it.csv", "headscope-head-2-1-cat-it.json"]);
  const [table, told] = files.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  assert.match(table, /http:\/\/h\/\?text=cat\+it&head=2-1&pin=2&to=1/);
  assert.match(table, /,weight,model,link\r\n2,1,0,0,/, "what comes with the numbers is in it, and the place is that of the numbers");
  const { head, pinned, to, said, link, weights, model } = JSON.parse(told);
  assert.deepEqual([head, pinned, to, said, weights[0][0], model], ["2-1", [2], 1, "In head 2-1, it looks at cat.", WEIGHTS[2], "m"]);
  assert.match(link, /head=2-1&pin=2&to=1$/);
});

test("the JSON of a head says the sentence of what is chosen, whatever is pointed at", async () => {
  const [[, text]] = await saving(() => {
    const view = explore();
    view.hovered.q = 0;
    return explored.jsonFile(view);
  });
  assert.equal(JSON.parse(text).said, "In head 2-1, it looks at cat.");
});

test("what is saved while another head is on its way is of the head that is shown, in name, numbers and link alike", async () => {
  const record = whole({ exact: null, packing: "small", side: 2, weights: column(new Uint8Array(16).fill(100)) });
  records.keepOpened(record, [1, 0], Float32Array.from(WEIGHTS[2].flat()));
  const files = (head) => saving(async () => {
    const view = explore({ record });
    view.matrixNow = records.matrixOf(record, [1, 0]);
    view.state.head = head;
    for (const save of [explored.svgFile, explored.csvFile, explored.jsonFile]) await save(view);
  });
  const [shown, onItsWay] = [await files([1, 0]), await files([0, 1])];
  assert.deepEqual(onItsWay, shown);
  assert.deepEqual(shown.map(([name]) => name), ["headscope-head-2-1-cat-it-from-2-to-1.svg", "headscope-head-2-1-cat-it.csv", "headscope-head-2-1-cat-it.json"]);
  for (const [, text] of shown) assert.match(text, /head=2-1/);
  // The first two cells of the diagonal are full: squares of a third of 420 from (110, 332) on.
  assert.match(shown[0][1], /M110 332h140v140h-140zM250 472h140v140h-140z/);
});

test("of two long texts no picture is made of a head that is not here", () => {
  const view = compare();
  for (const one of view.records) one.full = null;
  const refused = (live) => withGlobals({ headscope: { live } }, () => assert.throws(() => compared.svgFile(view), (error) => (said.push(error.message), true)));
  const said = [];
  for (const live of [true, false]) refused(live);
  assert.deepEqual(said, ["the numbers have not come yet, try once more", "this file holds this head only as a picture"]);
});

test("a saved comparison names both texts, and says of each how its rows are normalised", async () => {
  const b = run("b", ["[CLS]", "She"], B, { file: "b-87654321", normalised: "special tokens left out" });
  const [[name, text]] = await saving(() => compared.jsonFile(compare({ b })));
  assert.equal(name, "headscope-head-1-1-compared-a-12345678-654321.json");
  const { A: one, B: other } = JSON.parse(text).about;
  assert.deepEqual([one.normalisation, other.normalisation], ["rows add up to 1", "special tokens left out"]);
});

test("words of B before it do not count where a saved comparison says the places of A's words", async () => {
  const files = await saving(async () => {
    const view = compare({ pairs: [[null, 0], [0, null], [1, null], [2, 1]], state: { pins: [2], to: null } });
    await compared.csvFile(view);
    await compared.jsonFile(view);
  });
  const rows = files[0][1].trim().split(/\r?\n/).slice(1).map((row) => row.split(",").slice(2, 6));
  assert.deepEqual(rows, [["2", "2", "it / She", "it / She"]]);
  assert.deepEqual(JSON.parse(files[1][1]).pinned, [2]);
});

test("of a source and a target the files count the words of each from 0", async () => {
  const record = whole({ keys: 1, labels: ["chat", "the", "cat"], named: ["chat", "the", "cat"], weights: column(numbers.quantise([1, 1, 1, 1, 0.25, 0.75, 1, 1])), exact: column(Float32Array.of(1, 1, 1, 1, 0.25, 0.75, 1, 1)) });
  record.whole = null;
  records.keepOpened(record, [1, 0], Float32Array.of(0.25, 0.75));
  const files = await saving(async () => {
    const view = explore({ record, state: { pins: [2], to: 0 } });
    await explored.csvFile(view);
    await explored.jsonFile(view);
  });
  const rows = files[0][1].replace("\ufeff", "").trim().split(/\r?\n/).map((row) => row.split(",").slice(0, 7));
  assert.deepEqual(rows.slice(1), [["2", "1", "0", "0", "the", "chat", "0.25"], ["2", "1", "1", "0", "cat", "chat", "0.75"]]);
  const told = JSON.parse(files[1][1]);
  assert.deepEqual([told.units, told.weights, told.pinned, told.to], [["the", "cat"], [[[[0.25], [0.75]]]], [1], 0]);
});

// A: three tokens, B: two; `cat` stands in A only.
const A = [[[0.5, 0.3, 0.2], [0.1, 0.15, 0.75], [0.05, 0.9, 0.05]]];
const B = [[[0.9, 0.1], [0.4, 0.6]]];
const run = (id, names, weights, more = {}) =>
  records.openRecord({
    id, names, labels: names, specials: names.map((name) => name === "[CLS]"), segments: names.map(() => 0), before: names.map(() => ""), layers: 1, heads: 1, title: `text ${id}`, model: "m", file: `${id}-12345678`, words: true, normalised: "rows add up to 1",
    columns: { text: `text ${id}`, model: "m" }, about: { id }, query: {}, packing: "full", exact: column(Float32Array.from(weights.flat(2))), weights: column(numbers.quantise(weights.flat(2))), ...more,
  });

function compare({ state = {}, duo = {}, pairs = [[0, 0], [1, null], [2, 1]], a = run("a", ["[CLS]", "cat", "it"], A), b = run("b", ["[CLS]", "She"], B) } = {}) {
  const view = onPage((root) => {
    const one = new Compare(root, () => {});
    Object.assign(one.duo, { fill() {}, offer() {}, draw() {} });
    Object.assign(one.ranking, { fill() {}, draw() {} });
    one.open([a, b], { pairs, titles: ["one", "two"], query: { text: "text a", text2: "text b" } });
    Object.assign(one.state, { head: [0, 0], pins: [2], to: 0 }, state);
    one.line.dataset.said = "It looks less at [CLS].";
    return one;
  });
  view.span = spanOf(view);
  view.paint = PAINT;
  view.shownValues = [...view.records.map((record) => numbers.dequantise(records.matrixOf(record, view.state.head))), diffOf(view, view.state.head)];
  const unit = (textContent, ...names) => ({ textContent, classList: { contains: (name) => names.includes(name) } });
  const box = (x, top) => ({ x, width: 40, top, bottom: top + 30, line: 0 });
  Object.assign(view.duo, {
    width: 900, root: { scrollHeight: 200 }, shapes: [{ d: "M0 0C0 9 5 9 5 20", width: 10, colour: "c1", tip: true }, { d: "M8 8C8 8 9 9 9 9", width: 2, colour: "c2", tip: false }],
    units: [[unit("[CLS]", "special"), unit("cat"), unit("it")], [unit("[CLS]", "special"), null, unit("She")]], boxes: [[box(30, 60), box(130, 60), box(230, 60)], [box(30, 110), null, box(230, 110)]],
    columns: [unit("", "aimed"), unit("", "still", "differs"), unit("", "pinned", "differs")], placed: [{ column: 0, x: 31, strong: true, pair: [0.05, 0.4] }, { column: 1, x: 131, strong: false, pair: [0.9, null] }], ...duo,
  });
  return view;
}

test("a saved comparison: arcs, both words of a column with their marks, and percentages face to face", async () => {
  const all = parts(await pageOf(compare(), compared)).slice(2);
  assert.deepEqual(look(all.slice(0, 3), "name", "d", "stroke", "stroke-width", "fill"), [["path", "M0 0C0 9 5 9 5 20", "c1", "10", "none"], ["path", "M8 8C8 8 9 9 9 9", "c2", "2", "none"], ["polygon", undefined, undefined, undefined, "c1"]]);
  assert.equal(all[2].points.split(" ")[0], "5,31.1");
  assert.deepEqual(look(all.slice(3, 12), "name", "x", "y", "width", "height", "fill", "stroke", "text-decoration", "text"), [
    ["rect", "10", "60", "40", "30", "none", rgb(ACCENT), undefined, ""], ["text", "30", "75", undefined, undefined, rgb(SOFT), undefined, undefined, "[CLS]"],
    ["text", "130", "75", undefined, undefined, rgb(SOFT), undefined, "underline", "cat"],
    ["rect", "210", "60", "40", "30", rgb(ACCENT), undefined, undefined, ""], ["text", "230", "75", undefined, undefined, rgb(ON), undefined, "underline", "it"],
    ["rect", "10", "110", "40", "30", "none", rgb(ACCENT), undefined, ""], ["text", "30", "125", undefined, undefined, rgb(SOFT), undefined, undefined, "[CLS]"],
    ["rect", "210", "110", "40", "30", rgb(ACCENT), undefined, undefined, ""], ["text", "230", "125", undefined, undefined, rgb(ON), undefined, "underline", "She"],
  ]);
  assert.deepEqual(look(all.slice(12, 15), "x", "y", "font-size", "font-weight", "fill", "text"), [["31", "102", "18", "650", rgb(INK), "5.0 %"], ["31", "96", "18", "650", rgb(INK), "40.0 %"], ["131", "102", "14", "400", rgb(SOFT), "90.0 %"]]);
});

test("below it stand the words, three matrices beside one another, and where both come from", async () => {
  const page = await pageOf(compare(), compared);
  const all = parts(page);
  const say = (text) => all.find((one) => one.text === text || (text.length > 5 && one.text.startsWith(text)));
  assert.deepEqual([say("It looks less").y, say("A: one").y], ["236", "262"]);
  // 960 wide: three times 300, 30 between them; 282 is where they begin.
  assert.deepEqual(["A", "B", "A − B"].map((name) => [say(name).x, say(name).y, say(name)["font-weight"]]), [["0", "298", "650"], ["330", "298", "650"], ["660", "298", "650"]]);
  const frames = all.filter((one) => one.name === "rect" && one.stroke === rgb(LINE));
  assert.deepEqual(look(frames, "x", "y", "width", "height"), [["100", "392", "200", "200"], ["430", "392", "200", "200"], ["760", "392", "200", "200"]]);
  const fills = all.filter((one) => one.name === "path" && one.d?.endsWith("z")).map((one) => one.fill);
  assert.deepEqual([...new Set(fills)], ["rgb(9, 9, 9)", "rgb(8, 8, 8)"], "changes have colours of their own");
  // 282 + 300 + 30 + 10 = 622.
  const print = ["A: m · head 1-1", "B: m · head 1-1", "row = query", "http://h/"].map(say);
  assert.deepEqual(print.map((one) => one.y), ["622", "640", "658", "676"]);
  assert.deepEqual(print.slice(0, 2).map((one) => one.text.split(" · ").at(-1)), ["“text a”", "“text b”"]);
  assert.match(page, /width="1040" height="764"/, "612 + 80 + 4 * 18");
  assert.match(page, /<title>It looks less at \[CLS\]\.<\/title>/);
  const masked = await pageOf(compare({ a: run("a", ["[CLS]", "cat", "it"], A, { causal: true }) }), compared);
  assert.match(masked, />row = query, looks at column = key · hatched: comes later, cannot be seen · HeadScope</);
  const apart = await pageOf(compare({ pairs: [[0, null], [1, null], [2, null], [null, 0], [null, 1]], state: { pins: [], to: null }, duo: { units: [[], []], columns: [], placed: [], shapes: [] } }), compared);
  assert.equal(parts(apart).filter((one) => one.name === "rect" && one.stroke === rgb(LINE)).length, 2, "no word of both, no difference");
});

test("the numbers of Compare's files: both, their difference, of words that both have", async () => {
  const files = await saving(async () => {
    const view = compare();
    await compared.csvFile(view);
    await compared.jsonFile(view);
    await compared.svgFile(view);
  });
  assert.deepEqual(files.map(([name]) => name), ["headscope-head-1-1-compared-a-12345678-345678.csv", "headscope-head-1-1-compared-a-12345678-345678.json", "headscope-head-1-1-compared-a-12345678-345678-from-2-to-0.svg"]);
  const rows = files[0][1].replace("\ufeff", "").trim().split(/\r?\n/).map((row) => row.split(","));
  const at = (name) => rows[0].indexOf(name);
  assert.deepEqual(rows.slice(1).map((row) => [...row.slice(0, 6), ...["A", "B", "A minus B"].map((name) => Number(Number(row[at(name)]).toFixed(4)))]), [
    ["1", "1", "0", "0", "[CLS]", "[CLS]", 0.5, 0.9, -0.4], ["1", "1", "0", "2", "[CLS]", "it / She", 0.2, 0.1, 0.1],
    ["1", "1", "2", "0", "it / She", "[CLS]", 0.05, 0.4, -0.35], ["1", "1", "2", "2", "it / She", "it / She", 0.05, 0.6, -0.55],
  ]);
  assert.deepEqual([rows[1][at("text A")], rows[1][at("text B")], rows[1][at("model")], at("text")], ["text a", "text b", "m", -1]);
  const other = await saving(async () => {
    const view = compare();
    const asked = [compared.csvFile(view), compared.jsonFile(view)];
    Object.assign(view.state, { head: [1, 1], pins: [0], to: null });
    view.line.dataset.said = "Something else.";
    await Promise.all(asked);
  });
  assert.deepEqual(other.sort(), files.slice(0, 2).sort(), "what was chosen when they were asked for");
  const told = JSON.parse(files[1][1]);
  assert.deepEqual([told.A, told.B, told.pairs, told.pinned, told.to, told.labels, told.about.A.id, told.about.B.id, told.about.A.normalisation, told.head, told.said, told.causal], [A[0], B[0], [[0, 0], [1, null], [2, 1]], [2], 0, [["[CLS]", "cat", "it"], ["[CLS]", "She"]], "a", "b", "rows add up to 1", "1-1", "It looks less at [CLS].", [false, false]]);
  assert.match(told.link, /^http:\/\/h\/\?text=text\+a&text2=text\+b&head=1-1&pin=2&to=0/);
});

test("in the numbers of a decoder beside an encoder only the encoder has weights of what comes later", async () => {
  const causal = run("a", ["[CLS]", "cat", "it"], [[[1, 0, 0], [0.4, 0.6, 0], [0.05, 0.9, 0.05]]], { causal: true });
  const rowsOf = async (given) => {
    const [[, text]] = await saving(() => compared.csvFile(compare(given)));
    const [head, ...rows] = text.replace("\ufeff", "").trim().split(/\r?\n/).map((row) => row.split(","));
    const round = (cell) => (cell === "" ? "" : Number(Number(cell).toFixed(4)));
    return rows.map((row) => [row[2], row[3], ...["A", "B", "A minus B"].map((name) => round(row[head.indexOf(name)]))]);
  };
  assert.deepEqual(await rowsOf({ a: causal }), [["0", "0", 1, 0.9, 0.1], ["0", "2", "", 0.1, ""], ["2", "0", 0.05, 0.4, -0.35], ["2", "2", 0.05, 0.6, -0.55]]);
  const both = { a: causal, b: run("b", ["[CLS]", "She"], [[[1, 0], [0.4, 0.6]]], { causal: true }) };
  assert.deepEqual(await rowsOf(both), [["0", "0", 1, 1, 0], ["2", "0", 0.05, 0.4, -0.35], ["2", "2", 0.05, 0.6, -0.55]]);
});
