// Parts beside the matrix: all heads as small pictures, the switch of measures, the tabs, what the browser keeps, the figure.
import assert from "node:assert/strict";
import test from "node:test";
import atlas from "../../assets/js/atlas.js";
import { isDark, parseColour } from "../../assets/js/colour.js";
import examples from "../../assets/js/examples.js";
import { Explore } from "../../assets/js/explore.js";
import { LOOK, lookOf } from "../../assets/js/explore/look.js";
import { drawTabs } from "../../assets/js/explore/said.js";
import { shownLinks } from "../../assets/js/explore/shown.js";
import figure from "../../assets/js/figure.js";
import { ribbon } from "../../assets/js/geometry.js";
import headMap from "../../assets/js/head_map.js";
import { drawMeasure } from "../../assets/js/measure.js";
import memory from "../../assets/js/memory.js";
import { noted } from "../../assets/js/parts.js";
import { savePng } from "../../assets/js/save.js";
import { Sheet } from "../../assets/js/sheet.js";
import { applyTheme, gradient, themeOf } from "../../assets/js/theme.js";
import { WEIGHTS, column, numbers, opened, record as records } from "./drawing.mjs";
import { onPage, texts, urlsInto, withGlobals } from "./page.mjs";

const PAINT = { pixels: Uint32Array.from({ length: 1024 }, (_, i) => i), signed: false, line: [1, 1, 1] };

const ALL = [[0, 0], [0, 1], [1, 0], [1, 1]];

test("the small pictures lie where their buttons are, as fine as the screen up to two, and are drawn anew on a clean canvas", () => {
  onPage(() => {
    const sheet = new Sheet({});
    sheet.fill(opened(), ALL, { "1-2": { letter: "P", label: "previous token", colour: "#123456" }, "2-1": { letter: "?", label: "unclear", colour: null } }, () => "said");
    const place = (scale) => {
      const put = [];
      const cleared = [];
      sheet.stage.getBoundingClientRect = () => ({ left: 100, top: 50, width: 80, height: 60 });
      sheet.cells.forEach((cell, i) => (cell.getBoundingClientRect = () => ({ left: 110 + 40 * (i % 2), top: 55 + 30 * Math.floor(i / 2), width: 9 })));
      sheet.canvas.getContext = () => ({ createImageData: (width, height) => ({ width, height, data: new Uint8ClampedArray(4 * width * height) }), clearRect: (...box) => cleared.push(box), putImageData: (image, x, y) => put.push([x, y, image.width, [...new Uint32Array(image.data.buffer)]]) });
      withGlobals({ devicePixelRatio: scale }, () => sheet.draw(PAINT));
      return { put, cleared, canvas: [sheet.canvas.width, sheet.canvas.height] };
    };
    const stale = [sheet.stale];
    const once = place(1);
    stale.push(sheet.stale);
    assert.deepEqual(stale, [true, false]);
    assert.deepEqual([once.put.map((one) => one.slice(0, 3)), once.canvas, once.cleared], [[[10, 5, 9], [50, 5, 9], [10, 35, 9], [50, 35, 9]], [80, 60], []]);
    // Head 1-1, three pixels a cell; the darkest is the largest of its own weights.
    const shades = [0, 3, 6].map((x) => once.put[0][3][0 * 9 + x]);
    const steps = WEIGHTS[0][0].map((weight) => Math.round(weight * 65535));
    assert.ok(shades[0] > shades[1] && shades[1] > shades[2] && steps[0] > steps[1]);
    assert.deepEqual(place(1).cleared, [[0, 0, 80, 60]]);
    assert.deepEqual(place(3).put.map((one) => one.slice(0, 3)), [[20, 10, 18], [100, 10, 18], [20, 70, 18], [100, 70, 18]]);
    assert.deepEqual(sheet.cells.map((cell) => cell.querySelector(".role")?.style["--role"] ?? null), [null, "#123456", "var(--soft)", null]);
    sheet.stage.getBoundingClientRect = () => ({ left: 0, top: 0, width: 0, height: 0 });
    sheet.stale = true;
    sheet.draw(PAINT);
    assert.equal(sheet.stale, true, "where nothing is seen nothing is drawn");
  });
});

test("words of the text stand out in a notice, the rest is plain", () => {
  onPage(() => {
    const of = (sentence) => noted(sentence).childNodes.map((node) => [node.tag, node.className, node.textContent]);
    assert.deepEqual(of("The word `cat` is read as `c` and more."), [["#text", "", "The word "], ["b", "word", "cat"], ["#text", "", " is read as "], ["b", "word", "c"], ["#text", "", " and more."]]);
    assert.deepEqual(of("Nothing."), [["#text", "", "Nothing."]]);
  });
});

test("the small pictures are read out as what they are of, and where they lie while they go layer by layer", () => {
  onPage(() => {
    const named = (order, more) => {
      const sheet = new Sheet({});
      sheet.fill(opened(more), order, {}, () => "");
      return sheet.grid.getAttribute("aria-label");
    };
    assert.equal(named(ALL), "All heads: layers downward, heads across");
    assert.equal(named([...ALL].reverse()), "All heads", "by weight they lie otherwise");
    assert.equal(named([[0, 0], [1, 0]], { heads: 1, per: "layer", packing: "none" }), "All layers");
  });
});

test("a sheet of sixteen rows is long", () => {
  onPage(() => {
    const long = (layers) => {
      const below = Object.assign(document.createElement("div"), { className: "below" });
      const sheet = new Sheet({});
      below.append(sheet.root);
      sheet.fill(opened({ layers, packing: "none" }), Array.from({ length: 2 * layers }, (_, i) => [i >> 1, i % 2]), {}, () => "");
      return below.classList.contains("long");
    };
    assert.deepEqual([long(15), long(16)], [false, true]);
  });
});

function explore(more = {}) {
  const view = onPage((root) => new Explore(root, () => {}));
  Object.assign(view, { record: opened(), tween: 1, said: "said", measures: null, ghost: null, present: false, ...more });
  view.matrixNow = records.matrixOf(view.record, view.state.head);
  view.headNow = view.state.head;
  return view;
}

test("the switch of measures offers what the model can do and says in how many rows the shown head disagrees", () => {
  onPage(() => {
    const view = explore();
    const row = () => [view.measureRow.hidden, texts(view.measure.children), view.measure.value, view.bothRow.hidden, view.both.checked, view.measureSaid.textContent];
    drawMeasure(view);
    assert.match(view.bothRow.getAttribute("title") ?? view.bothRow.title, /as a share of the row$/);
    assert.equal(view.measureRow.hidden, true);
    view.measures = { chosen: "raw", offered: [["raw", "Raw attention"], ["value", "Value-weighted"]], said: "{} rows differ", differing: [3, 4, 5, 6] };
    view.state.head = [1, 0];
    view.state.brings = true;
    drawMeasure(view);
    assert.deepEqual(row(), [false, ["Raw attention", "Value-weighted"], "raw", false, true, "5 rows differ"]);
    view.measures = { chosen: "value", offered: view.measures.offered, said: "", differing: null };
    view.state.brings = false;
    drawMeasure(view);
    assert.deepEqual(row(), [false, ["Raw attention", "Value-weighted"], "value", true, false, ""]);
    view.measures = { chosen: "raw", offered: [["raw", "Raw attention"]], said: "", differing: null };
    drawMeasure(view);
    assert.deepEqual(row().slice(1, 4), [["Raw attention"], "raw", true], "without the norms of the values there is nothing that is brought");
  });
});

test("the tabs say which is open, and each shows what belongs to it", () => {
  onPage(() => {
    const drawn = [];
    const view = explore();
    view.sheet.draw = (paint) => drawn.push(paint);
    view.paint = "paint";
    const open = (panel, present = false) => {
      Object.assign(view.state, { panel });
      view.present = present;
      drawTabs(view);
      return [texts(view.tabs.children).join(), view.tabs.children.map((tab) => tab.getAttribute("aria-pressed")).indexOf("true"), view.root.dataset.panel, view.panelNote.textContent, view.scaledRow.hidden, view.together.hidden];
    };
    const reading = "row = query, looks at column = key";
    assert.deepEqual(open("matrix"), ["Matrix,Lines,Table", 0, "matrix", reading, false, true]);
    assert.deepEqual(open("lines"), ["Matrix,Lines,Table", 1, "lines", "left = query, looks at right = key", true, false]);
    view.record = opened({ heads: 1, layers: 4 });
    assert.equal(open("lines")[5], true, "one head has nothing to be drawn together with");
    view.record = opened({ sharing: 2 });
    view.state.head = [0, 1];
    assert.equal(open("matrix")[3], `${reading} · 1-2 shares its keys and values with 1-1.`);
    view.state.head = [0, 0];
    view.record = opened();
    assert.deepEqual([open("sheet", true)[2], drawn], ["sheet", ["paint"]]);
    open("sheet", true);
    assert.equal(drawn.length, 1, "once, when it comes into sight");
    assert.deepEqual([open("sheet")[2], open("table")[2], drawn.length], ["matrix", "table", 1]);
    view.state.scaled = true;
    assert.equal(open("matrix")[3], `${reading} · darkest = 75.0 %`.replace("75.0 %", view.panelNote.textContent.split("= ").at(-1)));
    // Head 1-1's largest weight is 0.9.
    assert.match(view.panelNote.textContent, /darkest = 90\.0 %$/);
    view.paint = { dark: true };
    assert.equal(open("matrix")[3], `${reading} · brightest = 90.0 %`, "on dark paper");
    assert.deepEqual([open("lines")[3], open("table")[3]], ["left = query, looks at right = key", ""], "only a matrix has shades");
    open("matrix");
    assert.deepEqual([view.scaled.checked, lookOf({ ...LOOK })], [true, {}], "what is not chosen stands in no link");
  });
});

test("under the pointer a small picture is described, and then no longer", () => {
  onPage(() => {
    const view = explore({ previewRest: "rest" });
    view.preview([1, 0]);
    assert.match(view.previewed.textContent, /^Head 2-1/);
    view.preview(null);
    assert.equal(view.previewed.textContent, "rest");
  });
});

test("the links of before are those of at least one percent, or of the threshold", () => {
  const from = (least) => {
    const before = opened({ weights: column(numbers.quantise([[0.005, 0.02, 0.975], [0.1, 0.15, 0.75], [0.05, 0.9, 0.05], ...WEIGHTS.slice(1).flat()].flat())) });
    const view = explore({ ghost: { record: before, change: { start: 3, old: 0, new: 0 }, words: ["x"] } });
    Object.assign(view.state, { pins: [0], least });
    return shownLinks(view).ghost.links.map(({ to }) => to).sort();
  };
  assert.deepEqual([from(0), from(0.1)], [[1, 2], [2]]);
});

test("what is answered in the lesson is kept in the browser, told once, and forgotten where that is asked for", () => {
  const store = new Map();
  const localStorage = { getItem: (name) => store.get(name) ?? null, setItem: (name, value) => store.set(name, value) };
  const page = {};
  const told = [];
  const mount = (save, forget = 0, parentElement = page) => {
    withGlobals({ localStorage }, () => memory({ data: { save, forget }, parentElement, setStateValue: (...pair) => told.push(pair) }));
    return [JSON.parse(store.get("headscope-lesson")), told.splice(0)];
  };
  store.set("headscope-lesson", JSON.stringify({ answers: { a: 1 }, done: ["x"] }));
  const all = { answers: { a: 1, b: 2 }, done: ["x", "y"] };
  assert.deepEqual(mount({ answers: { b: 2 }, done: ["y"] }), [all, [["kept", all]]]);
  assert.deepEqual(mount({ answers: { c: 3 }, done: [] }), [{ answers: { a: 1, b: 2, c: 3 }, done: ["x", "y"] }, []], "once");
  store.set("headscope-budget", JSON.stringify({ animal: { needs: [1] } }));
  mount({ answers: { c: 3 }, done: [] });
  assert.deepEqual(JSON.parse(store.get("headscope-budget")), { animal: { needs: [1] } });
  assert.deepEqual(mount({ answers: {}, done: [] }, 1), [{ answers: {}, done: [] }, []]);
  assert.deepEqual(JSON.parse(store.get("headscope-budget")), {}, "what was spread is forgotten too");
  assert.deepEqual(mount({ answers: { d: 4 }, done: [] }, 1)[0], { answers: { d: 4 }, done: [] });
  assert.deepEqual(mount({ answers: {}, done: [] }, 1)[0], { answers: { d: 4 }, done: [] }, "what was forgotten is not forgotten again");
  assert.deepEqual(mount({ answers: {}, done: [] }, 1, {})[0], { answers: { d: 4 }, done: [] }, "nor where the page is opened anew");
  assert.deepEqual(mount({ answers: { d: 4 }, done: [] }, 0, {})[1], [], "what Python knows is not told");
  store.set("headscope-lesson", "no JSON");
  assert.deepEqual(mount({ answers: { e: 5 }, done: [] }, 0, {})[0], { answers: { e: 5 }, done: [] });
});

test("a figure is shown as large as it will be printed, and says so", () => {
  onPage((page) => {
    const data = { name: "fig", alt: "A matrix", clear: true, svg: '<svg width="10.16cm" height="5.08cm"></svg>' };
    figure({ data, parentElement: page });
    const [picture] = page.querySelectorAll("img");
    // 10.16 cm are four inches of 96 pixels.
    assert.deepEqual([picture.alt, Number.parseFloat(picture.style.width), picture.style.height, page.querySelector(".size").textContent, page.querySelector(".paper").classList.contains("clear")], ["A matrix", 384, undefined, "10.2 × 5.1 cm, as it will be printed", true]);
    assert.equal(decodeURIComponent(picture.src.split(",")[1]), data.svg);
    assert.deepEqual(texts(page.querySelectorAll("button")), ["SVG", "PDF, through the print dialog", "PNG, 300 dpi"]);
    figure({ data: { ...data, clear: false }, parentElement: page });
    assert.deepEqual([page.querySelectorAll("img").length, page.querySelector(".paper").classList.contains("clear")], [1, false]);
  });
});

test("a PNG has as many dots as are asked for, in width and in height", async () => {
  const drawn = [];
  const made = {};
  const given = { setTimeout: () => 0, URL: urlsInto([]), Image: class { decode() {} }, document: { createElement: (tag) => (tag === "canvas" ? Object.assign(made, { getContext: () => ({ drawImage: (image, ...box) => drawn.push(box) }), toBlob: (done, type) => done(new Blob(["png"], { type })) }) : { click() {} }) } };
  const name = await withGlobals(given, () => savePng("a.png", '<svg width="100" height="40">', 3));
  assert.deepEqual([name, made.width, made.height, drawn], ["a.png", 300, 120, [[0, 0, 300, 120]]]);
});

test("a band along a slanting way is as wide everywhere as between its ends", () => {
  // A straight way down to the right: across it the band is 4 wide.
  const at = ribbon("M0 0C10 20 20 40 30 60", 4, 4).match(/-?[\d.]+/g).map(Number);
  const points = Array.from({ length: at.length / 2 }, (_, i) => [at[2 * i], at[2 * i + 1]]);
  for (let i = 0; i <= 60; i++) {
    const [near, far] = [points[i], points[points.length - 1 - i]];
    assert.ok(Math.abs(Math.hypot(near[0] - far[0], near[1] - far[1]) - 4) < 0.15, String(i));
    assert.ok(Math.abs((near[0] - far[0]) * 1 + (near[1] - far[1]) * 2) < 0.4, "at right angles to it");
  }
});

test("a map and an atlas that are drawn anew stand in their place, once", () => {
  const dots = { kind: "points", chosen: "1-1", x: { label: "x", low: "0", high: "1" }, y: { label: "y", low: "0", high: "1" }, legend: [], heads: [{ id: "1-1", x: 0.1, y: 0.2, letter: "A", colour: "#112233", label: "Head 1-1.", line: ["a ", "b", " c ", "d", " e"], first: "query" }] };
  onPage((page) => {
    const component = () => ({ data: dots, parentElement: page, setTriggerValue() {}, setStateValue() {} });
    atlas(component());
    const leave = atlas(component());
    assert.equal(page.querySelectorAll(".dot").length, 1);
    leave();
    atlas(component());
    assert.equal(page.querySelectorAll(".dot").length, 2, "who has left has no place any more");
  });
});

const head = (layer, at, more = {}) => ({ id: `${layer + 1}-${at + 1}`, layer, head: at, label: `Head ${layer + 1}-${at + 1}.`, fill: null, letter: "", colour: "", text: "", ...more });

test("examples stand in a row under their names, and a press says which one", () => {
  onPage((page) => {
    const told = [];
    const draw = (label) => examples({ data: { label, offered: [["Winograd", "The animal was too tired."], ["Plain", "A cat."]] }, parentElement: page, setTriggerValue: (...pair) => told.push(pair) });
    for (const label of ["Examples", "Examples", "Try"]) draw(label);
    assert.deepEqual([page.children.length, page.children[0].getAttribute("aria-label")], [1, "Try"]);
    const buttons = page.querySelectorAll("button");
    assert.deepEqual(buttons.map((one) => [one.textContent, one.getAttribute("title")]), [["Winograd", "The animal was too tired."], ["Plain", "A cat."]]);
    buttons[1].onclick();
    assert.deepEqual(told, [["chosen", "Plain"]]);
  });
});

test("a grid of heads: layers down and heads across, each with its job's colour and letter or with its share", () => {
  onPage((page) => {
    const told = [];
    const drawn = (more) => headMap({ data: { layout: "grid", chosen: "2-1", n_heads: 2, legend: [{ letter: "P", name: "position", colour: "#112233" }], heads: [head(0, 0, { letter: "P", colour: "#112233" }), head(0, 1), head(1, 0, { fill: 0.5, text: "50", letter: "S" }), head(1, 1, { fill: 0.51, text: "51" })], ...more }, parentElement: page, setTriggerValue: (...pair) => told.push(pair) });
    drawn({});
    const heads = page.querySelectorAll("button");
    assert.deepEqual(heads.map((one) => [one.dataset.id, one.ariaLabel, one.ariaPressed, one.tabIndex, one.textContent, one.className, one.style["--role"] ?? one.style["--fill"]]), [
      ["1-1", "Head 1-1.", "false", -1, "1-1P", "head marked", "#112233"], ["1-2", "Head 1-2.", "false", -1, "1-2", "head", "transparent"],
      ["2-1", "Head 2-1.", "true", 0, "2-150S", "head light", "44%"], ["2-2", "Head 2-2.", "false", -1, "2-251", "head dark", "57%"],
    ]);
    assert.deepEqual(page.querySelector(".grid-rows").children.map((one) => one.dataset.id ?? one.textContent), ["", "1", "2", "1", "1-1", "1-2", "2", "2-1", "2-2"]);
    assert.deepEqual(page.querySelectorAll(".key").map((one) => [one.textContent, one.children[0].style["--role"]]), [["Pposition", "#112233"]]);
    assert.equal(page.querySelector(".note").textContent, "Head 2-1.");
    heads[1].onclick();
    heads[0].onmouseenter();
    assert.deepEqual([told, page.querySelector(".note").textContent], [[["head", "1-2"]], "Head 1-1."]);
    const focused = [];
    heads.forEach((one, i) => (one.focus = () => focused.push(i)));
    const root = page.children[0];
    const kept = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "a"].map((key) => { let stopped = 0; root.onkeydown({ key, preventDefault: () => (stopped = 1) }); return stopped; });
    assert.deepEqual([focused, kept], [[3, 0, 0, 3], [0, 1, 1, 0, 1, 1, 0]]);
    heads[3].onfocus();
    assert.deepEqual([heads.map((one) => one.tabIndex), page.querySelector(".note").textContent], [[-1, -1, -1, 0], "Head 2-2."]);
    drawn({});
    assert.deepEqual(page.querySelectorAll("button").map((one) => one.tabIndex), [-1, -1, -1, 0], "Tab comes back to it");
    const hued = drawn({ hue: "#445566" });
    assert.deepEqual(page.querySelectorAll("button").slice(2).map((one) => [one.className, one.style["--role"], one.style["--fill"]]), [["head hued", "#445566", "31%"], ["head hued", "#445566", "32%"]]);
    hued();
    drawn({});
    assert.equal(page.children.length, 2);
  });
});

test("a map of heads: each where it is, around the chosen one's cluster an outline, of three heads at least", () => {
  onPage((page) => {
    const at = (id, x, y, cluster) => ({ ...head(0, id), x, y, cluster });
    const heads = [at(0, 0.1, 0.2, 0), at(1, 0.9, 0.2, 0), at(2, 0.5, 0.8, 0), at(3, 0.5, 0.4, 0), at(4, 0.3, 0.9, 1), at(5, 0.4, 0.9, 1), at(6, 0.6, 0.9, -1)];
    const drawn = (chosen, all = heads) => {
      headMap({ data: { layout: "map", chosen, n_heads: 7, legend: [], heads: all }, parentElement: page, setTriggerValue() {} });
      return page.querySelectorAll("polygon").map((one) => one.getAttribute("points"));
    };
    assert.deepEqual(drawn("1-4"), ["0.1,0.2 0.9,0.2 0.5,0.8"]);
    assert.deepEqual(page.querySelectorAll("button").slice(0, 2).map((one) => [one.style.left, one.style.top]), [["10%", "20%"], ["90%", "20%"]]);
    assert.equal(page.querySelector(".plane").style.aspectRatio, "1");
    assert.deepEqual([drawn("1-5"), drawn("1-7"), drawn("none")], [[], [], []]);
    assert.equal(drawn("1-1", heads.slice(0, 3)).length, 1, "three are enough");
    assert.deepEqual(drawn("1-1", heads.map((one) => ({ ...one, cluster: -1 }))), [], "heads that are like no others are no cluster");
    drawn("1-1", Array.from({ length: 220 }, (_, i) => at(i, 0, 0, 9)));
    assert.equal(page.querySelector(".plane").style.aspectRatio, "0.5", "with more heads it is taller");
  });
});

test("a paper is dark below a luminance of 0.18", () => {
  // sRGB 118 has a luminance of 0.181, 117 one of 0.178.
  assert.deepEqual([118, 117].map((grey) => isDark(parseColour(`rgb(${grey}, ${grey}, ${grey})`))), [false, true]);
});

// Of WCAG 2.2: relative luminance, and the contrast of two colours.
const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};

test("the colours that are derived from a page's own three can be read on it, by day and by night", () => {
  const themes = { light: [[251, 250, 247], [29, 28, 26], [168, 64, 12]], dark: [[20, 20, 18], [236, 234, 228], [240, 138, 70]], pale: [[255, 255, 255], [60, 60, 60], [255, 220, 120]] };
  for (const [name, [paper, ink, accent]] of Object.entries(themes)) {
    const theme = themeOf(paper, ink, accent);
    assert.equal(theme.dark, name === "dark");
    for (const each of ["accentText", "soft"]) assert.ok(contrast(theme[each], paper) >= 4.6, `${name}: ${each}`);
    assert.ok(contrast(theme.soft, paper) < contrast(ink, paper) * 0.75, `${name}: what stands back stands back`);
    assert.deepEqual(theme.onAccent, contrast(paper, accent) >= contrast(ink, accent) ? paper : ink, name);
    const steps = [theme.line, theme.trace, theme.soft].map((each) => contrast(each, paper));
    assert.ok(1.05 < steps[0] && steps[0] < steps[1] && steps[1] < steps[2], `${name}: a line is paler than a trace, and that than a word`);
    const root = { style: { setProperty: (key, value) => (root.style[key] = value) } };
    applyTheme(root, theme);
    const rgb = (colour) => `rgb(${colour.join(", ")})`;
    assert.deepEqual(["--paper", "--ink", "--accent", "--accent-text", "--on-accent", "--soft", "--line"].map((key) => root.style[key]), [paper, ink, accent, theme.accentText, theme.onAccent, theme.soft, theme.line].map(rgb));
    assert.deepEqual([root.style["--ramp"], root.style["--change"]], [gradient(theme.ramp), gradient(theme.change.ramp)]);
    assert.ok(gradient(theme.ramp).startsWith(`linear-gradient(90deg, ${rgb(theme.ramp[0])}, ${rgb(theme.ramp[256])}, `));
    // Less is warm and more is cold, on either side of the paper.
    const [less, more] = ["--less", "--more"].map((key) => root.style[key].match(/\d+/g).map(Number));
    assert.ok(less[0] > less[2] && more[2] > more[0], name);
  }
});

test("Explore draws the panel that is open, and all heads where they are out of date", () => {
  onPage(() => {
    const drawn = [];
    const view = explore();
    for (const name of ["matrix", "lines", "sheet"]) view[name].draw = () => drawn.push(name);
    Object.assign(view, { paint: { ramp: [] }, shownValues: null });
    view.ranking.reveal = () => drawn.push("reveal");
    const open = (panel, stale) => {
      Object.assign(view.state, { panel });
      view.sheet.stale = stale;
      view.drawPanel();
      return drawn.splice(0);
    };
    assert.deepEqual([open("matrix", false), open("lines", true), open("table", false)], [["reveal", "matrix"], ["reveal", "sheet", "lines"], ["reveal"]]);
  });
});
