// What boards show of the numbers they are given, and what is told when something on them is pressed.
import assert from "node:assert/strict";
import test from "node:test";
import { OKABE_ITO } from "../../assets/js/colour.js";
import tiles from "../../assets/js/tiles.js";
import { arcs, described } from "../../assets/js/tiles/arcs.js";
import { ruler } from "../../assets/js/tiles/charts.js";
import { choosing } from "../../assets/js/tiles/choosing.js";
import { choose, whenChosen } from "../../assets/js/tiles/chosen.js";
import { steps, tokens } from "../../assets/js/tiles/controls.js";
import { curves } from "../../assets/js/tiles/curves.js";
import { fields } from "../../assets/js/tiles/fields.js";
import { follow } from "../../assets/js/tiles/follow.js";
import { matrix } from "../../assets/js/tiles/matrix.js";
import { numberTiles, shownNumber } from "../../assets/js/tiles/number_tiles.js";
import { change, softmaxRow, sum } from "../../assets/js/tiles/origin.js";
import { painted, shadeOf } from "../../assets/js/tiles/painted.js";
import { code, lowered, op, paragraph } from "../../assets/js/tiles/prose.js";
import { route } from "../../assets/js/tiles/route.js";
import { sheets } from "../../assets/js/tiles/sheets.js";
import { bars, gridTable, heads } from "../../assets/js/tiles/tables.js";
import { arc, tip, turn } from "../../assets/js/tiles/turn.js";
import { vectors } from "../../assets/js/tiles/vectors.js";
import { onPage, texts, withGlobals } from "./page.mjs";

// Every shade says its level: [level / 4, the rest, 0] on the ramp of weights, with 1 at the end on that of signed numbers.
const ramp = (last) => Array.from({ length: 1024 }, (_, i) => [i >> 2, i & 3, last]);
const PAINT = { ramp: ramp(0), change: { ramp: ramp(1) }, ink: [1, 1, 1], soft: [9, 9, 9], line: [8, 8, 8], paper: [255, 255, 255] };
const shade = (rgb) => (rgb === null ? null : `${rgb[2] ? "signed" : "weight"} ${((4 * rgb[0] + rgb[1]) / 1023).toFixed(2)}`);

// A board with these numbers; `told` lists what is told to Python.
function boardOf(...given) {
  const told = [];
  const heard = [];
  return { numbers: Float32Array.from(given), paint: PAINT, cells: {}, cell: null, open: new Set(), told, onChosen: (hear) => heard.push(hear), chosen: (query) => heard.forEach((hear) => hear(query)), root: document.createElement("div"), component: { setTriggerValue: (...pair) => told.push(pair), setStateValue: (...pair) => told.push(["state", ...pair]) } };
}
const press = (node, key, more = {}) => {
  const kept = [];
  (node.onkeydown ?? node.heard.keydown)({ key, target: node, preventDefault: () => kept.push("default"), stopPropagation: () => kept.push("further"), ...more });
  return kept;
};
const found = (node, name) => node.querySelectorAll(`.${name}`);

test("a matrix: its names, its frames, what stands under the pointer, and what its colours mean", () => {
  onPage(() => {
    const board = boardOf(0.1, 0.2, 0.7, 0.5, 0.25, NaN);
    const block = { at: 0, name: "W_q", note: "of head 1", hue: "k", shape: [2, 3], rows: ["a", "b"], cols: ["x", "y", "z"], ramp: "weight", high: 20, wide: 14, cuts: [2], slice: [1, 3], follow: true };
    const made = matrix(board, block);
    assert.deepEqual(texts(made.querySelectorAll("figcaption")[0].children), ["Wq", "of head 1", "2 × 3", "numbers"]);
    assert.deepEqual([found(made, "name")[0].className, found(made, "name")[0].style["--hue"]], ["name hue-k", OKABE_ITO[1]]);
    assert.deepEqual([texts(found(made, "labels")[0].children), found(made, "labels")[0].style.lineHeight, texts(found(made, "top")[0].children), found(made, "top")[0].className], [["a", "b"], "20px", ["x", "y", "z"], "top"]);
    const canvas = made.querySelector("canvas");
    assert.deepEqual([canvas.style.height, made.style.width, canvas.classList.contains("crisp"), canvas.classList.contains("absent"), canvas.getAttribute("aria-label")], ["40px", "146px", true, true, "W_q, 2 by 3 numbers"]);
    assert.deepEqual(found(made, "cut").map((line) => Math.round(Number.parseFloat(line.style.left) * 10) / 10), [66.7]);
    const [slice] = found(made, "slice");
    assert.deepEqual([slice.style.left, slice.style.width].map((said) => said.replace(/(\d+\.\d)\d+/, "$1")), ["calc(33.3% - 2px)", "calc(66.6% + 4px)"]);
    const [here] = found(made, "here");
    const at = (query) => board.chosen(query) ?? [here.hidden, here.style.top, here.style.height, ...found(made, "labels")[0].children.map((label) => label.classList.contains("chosen"))];
    assert.deepEqual([at(1), at(0)], [[false, "calc(50% - 2px)", "calc(50% + 4px)", false, true], [false, "calc(0% - 2px)", "calc(50% + 4px)", true, false]]);
    assert.deepEqual([at(2)[0], at(null)[0]], [true, true], "a row that is not there");
    const [readout] = found(made, "readout");
    assert.deepEqual(texts(readout.children), ["0 %", "", "70.0 %"]);
    canvas.getBoundingClientRect = () => ({ left: 100, top: 50, width: 42, height: 40 });
    const over = (x, y) => canvas.onpointermove({ clientX: 100 + x, clientY: 50 + y }) && readout.textContent;
    assert.deepEqual([over(13, 19), over(15, 19), over(41, 21), over(-5, 100), over(99, -5)], ["a, x: 10.0 %", "a, y: 20.0 %", "b, z: hidden", "b, x: 50.0 %", "a, z: 70.0 %"]);
    canvas.onpointerleave();
    assert.deepEqual(texts(readout.children), ["0 %", "", "70.0 %"]);
  });
});

test("a matrix of signed numbers without names counts from one, and says how far its colours reach", () => {
  onPage(() => {
    const made = matrix(boardOf(1, -2), { at: 0, name: "x", shape: [1, 2], ramp: "signed", numbers: false, unlabelled: true });
    assert.deepEqual(texts(found(made, "readout")[0].children), ["−2.00", "", "+2.00"]);
    const canvas = made.querySelector("canvas");
    canvas.getBoundingClientRect = () => ({ left: 0, top: 0, width: 2, height: 1 });
    canvas.onpointermove({ clientX: 1.5, clientY: 0.5 });
    assert.equal(found(made, "readout")[0].textContent, "1, 2: −2.0000");
    assert.deepEqual([made.querySelectorAll("button"), texts(made.querySelectorAll("figcaption")[0].children)], [[], ["x", "1 × 2"]]);
    assert.deepEqual([canvas.style.height, made.style.width], ["20px", "40px"], "as large as it may be");
    const large = matrix(boardOf(), { at: 0, name: "x", shape: [600, 800], ramp: "signed", rows: new Array(600).fill("r"), numbers: false, legend: false });
    assert.deepEqual([large.querySelector("canvas").style.height, large.style.width, large.querySelector("canvas").classList.contains("crisp"), found(large, "labels")[0].children, found(large, "readout")[0].children], ["1200px", "800px", false, [], []]);
    const tops = [[10, false], [11, false], [12, false], [13, false], [5, true]].map(([wide, flat]) => found(matrix(boardOf(1), { at: 0, name: "x", shape: [1, 1], cols: ["c"], wide, flat, numbers: false }), "top")[0]);
    assert.deepEqual(tops.map((top) => [top.className, top.children.length]), [["top", 0], ["top dense", 1], ["top dense", 1], ["top", 1], ["top flat", 1]]);
    const rows = [12, 13].map((high) => matrix(boardOf(1), { at: 0, name: "x", shape: [1, 1], rows: ["r"], high, wide: 10, numbers: false }));
    assert.deepEqual(rows.map((one) => [found(one, "labels")[0].children.length, one.style.width]), [[0, "10px"], [1, "114px"]]);
  });
});

test("a press on a matrix tells its row and its column, each by its name, and a cell that can be chosen is framed", () => {
  onPage(() => {
    const board = boardOf(1, 2, 3, 4, 5, 6, 7, 8);
    const block = { at: 0, id: "m", name: "x", shape: [2, 4], ramp: "signed", numbers: false, press: { rows: { values: [5, 6], tells: "token" }, cols: { values: [0, 1], tells: "head" } } };
    const canvas = matrix(board, block).querySelector("canvas");
    canvas.getBoundingClientRect = () => ({ left: 0, top: 0, width: 40, height: 20 });
    canvas.onclick({ clientX: 25, clientY: 15 });
    canvas.onclick({ clientX: 15, clientY: 5 });
    assert.deepEqual(board.told.splice(0), [["token", 6], ["head", 1], ["token", 5], ["head", 0]]);
    const half = matrix(board, { ...block, press: { cols: { values: [null, 3], tells: "head" } } }).querySelector("canvas");
    half.getBoundingClientRect = canvas.getBoundingClientRect;
    half.onclick({ clientX: 5, clientY: 15 });
    half.onclick({ clientX: 35, clientY: 15 });
    assert.deepEqual(board.told.splice(0), [["head", 3]]);
    board.cell = ["m", 1, 2];
    const picked = matrix(board, { ...block, press: null, cells: true });
    const [frame] = found(picked, "cell");
    const framed = () => ["left", "width", "top", "height"].map((name) => frame.style[name]);
    assert.deepEqual([frame.hidden, ...framed()], [false, "calc(62.5% - max(6px, 12.5%))", "max(12px, 25%)", "calc(75% - max(6px, 25%))", "max(12px, 50%)"]);
    const [place] = found(picked, "canvas");
    const readout = found(picked, "readout")[0];
    assert.deepEqual([press(place, "ArrowUp"), readout.textContent, found(picked, "aloud")[0].textContent, frame.style.top], [["default", "further"], "1, 3: 3.0000", "1, 3: 3.0000", "calc(25% - max(6px, 25%))"]);
    press(place, "Enter");
    assert.deepEqual(board.told.splice(0), [["cell", ["m", 0, 2]]]);
    board.cell = ["other", 0, 0];
    assert.equal(found(matrix(board, { ...block, press: null, cells: true }), "cell")[0].hidden, true);
  });
});

test("numbers open below a matrix and close again, with all of them as CSV and as a picture", async () => {
  let board;
  const saved = onPage((_, files) => {
    board = boardOf(0.125, -0.25, 0.5, 1, 2, -4);
    const block = { at: 0, id: "q", name: "Q", shape: [2, 3], ramp: "signed", rows: ["a", "b"] };
    const made = matrix(board, block);
    const [button] = made.querySelectorAll("button");
    const state = () => [button.textContent, button.getAttribute("aria-expanded"), button.getAttribute("aria-label"), made.querySelectorAll("table").length, board.open.has("q")];
    assert.deepEqual(state(), ["numbers", "false", "Numbers of Q", 0, false]);
    button.onclick();
    assert.deepEqual(state(), ["hide numbers", "true", "Hide numbers of Q", 1, true]);
    assert.deepEqual(made.querySelectorAll("tr").map((row) => texts(row.children)), [["", "1", "2", "3"], ["a", "0.12500", "−0.25000", "0.50000"], ["b", "1.00000", "2.00000", "−4.00000"]]);
    assert.equal(matrix(board, block).querySelectorAll("table").length, 1, "and stays open when it is drawn anew");
    const [, csv, svg] = made.querySelectorAll("button.numbers");
    assert.deepEqual([csv.textContent, svg.textContent, svg.getAttribute("aria-label")], ["CSV", "SVG", "Q as SVG"]);
    csv.onclick();
    svg.onclick();
    button.onclick();
    assert.deepEqual(state(), ["numbers", "false", "Numbers of Q", 0, false]);
    const tall = boardOf(...new Array(30 * 2000).fill(1));
    tall.open.add("t");
    const many = matrix(tall, { at: 0, id: "t", name: "T", shape: [30, 2000], ramp: "signed" });
    assert.deepEqual([many.querySelectorAll("tr").length, found(many, "quiet").at(-1).textContent], [21, "The first 20 of 30 rows; all of them are in the CSV."]);
    return files;
  });
  assert.equal((await saved[0].text()).replace("\ufeff", ""), ",1,2,3\r\na,0.125,-0.25,0.5\r\nb,1,2,-4\r\n");
  assert.match(await saved[1].text(), /full colour: ±4\.00/);
});

test("a picture of numbers leaves out what may not be seen, and gives the largest its full colour", () => {
  onPage(() => {
    const { canvas, top } = painted(boardOf(), { name: "n", shape: [1, 3], ramp: "weight" }, Float32Array.of(0.1, NaN, 0.4));
    assert.equal(Math.fround(top), Math.fround(0.4));
    const { data } = canvas.image;
    assert.deepEqual([0, 1, 2].map((i) => [shade([...data.subarray(4 * i, 4 * i + 3)]), data[4 * i + 3]]), [["weight 0.25", 255], ["weight 0.00", 0], ["weight 1.00", 255]]);
    assert.deepEqual([canvas.width, canvas.height], [3, 1]);
    assert.deepEqual([shade(shadeOf(PAINT, "weight", -0.5, 2)), shade(shadeOf(PAINT, "signed", -1, 2)), shade(shadeOf(PAINT, "signed", 1, 2)), shadeOf(PAINT, "signed", Infinity, 1), shade(shadeOf(PAINT, "weight", 0.5, 0))], ["weight 0.25", "signed 0.25", "signed 0.75", null, "weight 0.50"]);
    assert.equal(painted(boardOf(), { name: "n", shape: [1, 1], ramp: "weight" }, Float32Array.of(0)).top, 1);
  });
});

test("a row of tokens: one stop of Tab, arrows choose round the ends, and what is told depends on what it is for", () => {
  onPage(() => {
    const frames = [];
    globalThis.requestAnimationFrame = (act) => frames.push(act);
    const board = boardOf();
    const [heard, stop] = whenChosen((query) => board.chosen(query));
    const made = tokens(board, { labels: ["[CLS]", "cat", "it"], special: [true, false, false], line: true });
    const state = () => made.children.map((button) => `${button.getAttribute("aria-checked")} ${button.tabIndex}`);
    choose(null);
    heard();
    assert.deepEqual([made.className, made.getAttribute("aria-label"), made.children.map((button) => button.className), state()], ["tokens line", "Token", ["special", "", ""], ["false 0", "false -1", "false -1"]]);
    made.children[1].onclick();
    assert.deepEqual([state(), board.told.splice(0)], [["false -1", "true 0", "false -1"], [["state", "query", 1]]]);
    Object.assign(made, { offsetLeft: 10, clientWidth: 100 });
    Object.assign(made.children[1], { offsetLeft: 300, clientWidth: 40 });
    frames.at(-1)();
    assert.equal(made.scrollLeft, 300 - 10 - 30, "in the middle");
    const pressed = [];
    made.children.forEach((button, i) => Object.assign(button, { focus: () => pressed.push(`focus ${i}`), click: () => pressed.push(`click ${i}`) }));
    assert.deepEqual([press(made.children[2], "ArrowRight"), press(made.children[0], "ArrowLeft"), press(made.children[1], "a")], [["default", "further"], ["default", "further"], []]);
    assert.deepEqual(pressed, ["focus 0", "click 0", "focus 2", "click 2"]);
    const guess = tokens(board, { labels: ["a", "b"], apart: true, chosen: 1, trigger: "guess", label: "Your guess" });
    choose(0);
    assert.deepEqual([guess.getAttribute("aria-label"), guess.children.map((button) => button.getAttribute("aria-checked"))], ["Your guess", ["false", "true"]], "apart from what the page follows");
    guess.children[0].onclick();
    assert.deepEqual([guess.children.map((button) => button.getAttribute("aria-checked")), board.told], [["true", "false"], [["guess", 0]]]);
    assert.deepEqual(tokens(board, { labels: ["a"], apart: true }).children.map((button) => button.getAttribute("aria-checked")), ["false"]);
    board.root.classList.add("large");
    assert.deepEqual([tokens(board, { labels: [], line: true }).className, tokens(board, { labels: [] }).className], ["tokens line whole", "tokens"]);
    stop();
  });
});

test("a board begins with the token that the link asks for, also the first one", () => {
  onPage((root) => {
    const checked = (query) => {
      const data = { blocks: [{ type: "tokens", labels: ["a", "b", "c"] }], numbers: new Float32Array(), query };
      withGlobals({ getComputedStyle: () => ({ getPropertyValue: () => "" }) }, () => tiles({ data, parentElement: root })());
      return root.querySelectorAll("button").map((button) => button.getAttribute("aria-checked")).indexOf("true");
    };
    assert.deepEqual([checked(2), checked(0), checked(1)], [2, 0, 1]);
    assert.equal(checked(undefined), 1, "without one it is the token that the page follows");
  });
});

test("a key turns the screen once, however often the board was sent, and not at all once the board has gone", () => {
  onPage((root) => {
    const heard = new Set();
    const told = [];
    Object.assign(document, { addEventListener: (_, act) => heard.add(act), removeEventListener: (_, act) => heard.delete(act) });
    const sent = () => withGlobals({ getComputedStyle: () => ({ getPropertyValue: () => "" }) }, () => tiles({ data: { blocks: [], numbers: new Float32Array(), keys: true }, parentElement: root, setTriggerValue: (...pair) => told.push(pair) }));
    const pressed = () => {
      for (const act of heard) act({ key: "ArrowRight", composedPath: () => [], preventDefault() {} });
      return told.splice(0);
    };
    sent();
    const leave = sent();
    assert.deepEqual(pressed(), [["go", 1]]);
    leave();
    assert.deepEqual(pressed(), []);
  });
});

test("a number is marked as chosen as long as the page says so", () => {
  onPage((root) => {
    const marked = (cell) => {
      const data = { blocks: [{ type: "tiles", id: "q", name: "Q", at: 0, shape: [2, 2], cells: true }], numbers: Float32Array.of(1, 2, 3, 4), cell };
      withGlobals({ getComputedStyle: () => ({ getPropertyValue: () => "" }) }, () => tiles({ data, parentElement: root })());
      return texts(root.querySelectorAll(".picked"));
    };
    assert.deepEqual([marked(["q", 1, 0]), marked(["q", 0, 1]), marked(["other", 0, 1]), marked(["q", 0, 0]), marked(null)], [["3"], ["2"], [], ["1"], []]);
  });
});

test("steps are numbered, the one of now and those that are done are said", () => {
  onPage(() => {
    const board = boardOf();
    const made = steps(board, { label: "Steps", items: ["Read", "Look"], done: [true, false], now: 1 });
    assert.deepEqual([made.getAttribute("role"), made.getAttribute("aria-label"), ...made.children.map((button) => [button.textContent, button.className, button.title, button.getAttribute("aria-label"), button.getAttribute("aria-current")].join("|"))], ["group", "Steps", "1|done|Read|Step 1: Read, done|", "2||Look|Step 2: Look|step"]);
    made.children[1].onclick();
    assert.deepEqual(board.told, [["step", 2]]);
  });
});

test("the map of the calculation says where the reader is, what lies behind, and leads there", () => {
  onPage(() => {
    const frames = [];
    globalThis.requestAnimationFrame = (act) => frames.push(act);
    const board = boardOf();
    const items = [{ key: "q", name: "Q_x", shape: "3 × 4", about: "queries" }, { key: "k", name: "K", shape: "3 × 4", about: "keys", link: "learn?x" }, { key: "v", name: "V", shape: "3 × 4" }];
    const made = route(board, { label: "Map", items, now: 1 });
    const places = () => made.querySelectorAll("li").map((one) => [one.className, one.children[0].tag, one.children[0].className, one.children[0].getAttribute("aria-current"), one.children[0].getAttribute("title"), one.textContent]);
    assert.deepEqual(places(), [["passed", "span", "station", null, "queries", "Qx3 × 4"], ["", "a", "station here-now", "step", "keys", "K3 × 4"], ["", "span", "station", null, null, "V3 × 4"]]);
    assert.deepEqual([made.querySelector("a").href, made.querySelector("a").target, made.getAttribute("aria-label")], ["learn?x", "_self", "Map"]);
    const line = made.children[0];
    Object.assign(line, { clientWidth: 100 });
    Object.assign(line.children[1], { offsetLeft: 200, clientWidth: 60 });
    frames[0]();
    assert.equal(line.scrollLeft, 180);
    const live = route(board, { label: "Map", items, now: null, live: true });
    assert.deepEqual(live.querySelectorAll("li").map((one) => [one.className, one.children[0].tag]), [["", "button"], ["", "button"], ["", "button"]]);
    live.querySelectorAll("button")[2].onclick();
    assert.deepEqual([board.told, frames.length], [[["station", "v"]], 1]);
  });
});

test("words of a picture can be chosen: one stop of Tab, arrows round the ends, Enter and a click tell", () => {
  onPage(() => {
    const board = boardOf();
    const picture = document.createElement("svg");
    picture.setAttribute("role", "img");
    for (const text of ["a", "b", "c"]) picture.append(Object.assign(document.createElement("text"), { textContent: text, className: "w" }));
    const block = { item: {}, select: ".w", tells: "word", values: [4, 7], labels: ["Look at a", "Look at b"], now: 1 };
    const made = choosing(() => picture)(board, block);
    const [a, b, c] = made.children;
    assert.equal(made.getAttribute("role"), "group");
    assert.deepEqual([a, b, c].map((one) => [one.getAttribute("role"), one.getAttribute("aria-label"), one.classList.contains("choice"), one.getAttribute("aria-current"), one.getAttribute("tabindex"), one.dataset.focus ?? null]), [["button", "Look at a", true, null, "-1", "word-4"], ["button", "Look at b", true, "true", "0", "word-7"], [null, null, false, null, null, null]]);
    const stopped = [];
    a.heard.click({ stopPropagation: () => stopped.push("click") });
    press(b, "Enter");
    press(b, " ");
    const focused = [];
    [a, b].forEach((one, i) => (one.focus = () => focused.push(i)));
    const kept = ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft", "x"].map((key) => press(b, key).length);
    assert.deepEqual([board.told, stopped, focused, kept, a.getAttribute("tabindex"), b.getAttribute("tabindex")], [[["word", 4], ["word", 7], ["word", 7]], ["click"], [0, 0, 0, 0], [2, 2, 2, 2, 0], "0", "-1"]);
    const first = choosing(() => picture)(board, { ...block, now: null });
    assert.deepEqual(first.children.map((one) => one.getAttribute("tabindex")), ["0", "-1", null]);
  });
});

test("heads as small pictures: as large as is asked, chosen by keys that go by layers", () => {
  onPage(() => {
    const board = boardOf(...Array.from({ length: 8 }, (_, i) => i));
    const block = { at: 0, name: "heads", shape: [4, 1, 2], line: 2, pick: "Choose", chosen: 2, labels: ["1-1", "1-2", "2-1", "2-2"], about: "All heads", ramp: "signed" };
    const made = sheets(board, block);
    assert.deepEqual([made.getAttribute("role"), made.getAttribute("aria-label"), made.querySelectorAll("hr").length], ["radiogroup", "All heads", 1]);
    const buttons = found(made, "pick");
    // The largest of all is 7: every head is on that one scale, in its own two numbers.
    const shades = made.querySelectorAll("canvas").map((canvas) => [0, 1].map((i) => shade([...canvas.image.data.subarray(4 * i, 4 * i + 3)])));
    assert.deepEqual(shades, [0, 1, 2, 3].map((i) => [2 * i, 2 * i + 1].map((value) => `signed ${(Math.round(((value / 7 + 1) / 2) * 1023) / 1023).toFixed(2)}`)));
    assert.deepEqual(made.querySelectorAll("figure").map((figure) => figure.className), ["", "", "chosen", ""]);
    assert.deepEqual(buttons.map((button) => [button.getAttribute("aria-label"), button.getAttribute("aria-checked"), button.tabIndex]), [["Choose 1-1", "false", -1], ["Choose 1-2", "false", -1], ["Choose 2-1", "true", 0], ["Choose 2-2", "false", -1]]);
    const focused = [];
    buttons.forEach((button, i) => (button.focus = () => focused.push(i)));
    const kept = [[0, "ArrowRight"], [0, "ArrowDown"], [3, "ArrowUp"], [3, "ArrowLeft"], [0, "ArrowLeft"], [3, "ArrowRight"], [2, "ArrowDown"], [1, "x"]].map(([i, key]) => press(made, key, { target: buttons[i] }).length);
    assert.deepEqual([focused, kept], [[1, 2, 1, 2], [2, 2, 2, 2, 2, 2, 2, 0]]);
    buttons[3].onclick();
    assert.deepEqual(board.told.splice(0), [["state", "picked", 3]]);
    found(sheets(board, { ...block, tells: "head" }), "pick")[1].onclick();
    assert.deepEqual(board.told, [["head", "1-2"]]);
    const tallOnes = sheets(boardOf(0, 1, 2, 3, 4, 6), { at: 0, name: "h", shape: [2, 3, 1], ramp: "weight" }).querySelectorAll("canvas");
    assert.deepEqual(tallOnes.map((canvas) => [0, 1, 2].map((i) => shade([...canvas.image.data.subarray(4 * i, 4 * i + 3)]))), [["weight 0.00", "weight 0.50", "weight 1.00"], ["weight 0.50", "weight 0.67", "weight 1.00"]], "weights have a scale of their own in each head");
    const sizes = (more) => { const style = sheets(board, { at: 0, name: "h", shape: [1, 8, 1], ...more }).querySelector("canvas").style; return [style.width, style.height]; };
    assert.deepEqual([sizes({}), sizes({ square: true }), sizes({ square: true, small: true }), sizes({ small: true }), sizes({ side: 30 }), sizes({ slim: true })], [[undefined, "32px"], ["56px", "56px"], ["100%", "38px"], [undefined, "20px"], ["30px", "30px"], ["52px", "32px"]]);
    const tall = (rows, more = {}) => sheets(boardOf(...new Array(rows).fill(0)), { at: 0, name: "h", shape: [1, rows, 1], ...more }).querySelector("canvas").style.height;
    assert.deepEqual([tall(10), tall(30), tall(15, { small: true }), tall(30, { small: true })], ["40px", "88px", "30px", "44px"]);
    assert.deepEqual([sheets(board, { at: 0, name: "h", shape: [2, 1, 2], small: true }), sheets(board, { at: 0, name: "h", shape: [2, 1, 2], small: true, line: 12, square: true })].map((one) => [one.className, one.style.gridTemplateColumns, texts(one.querySelectorAll("span"))]), [["sheets small", "repeat(2, minmax(0, 96px))", ["head 1", "head 2"]], ["sheets small", "repeat(12, minmax(0, 46px))", ["head 1", "head 2"]]]);
  });
});

test("one query followed: a line a key, the strongest marked, those that are not shown together, and the sum", () => {
  onPage(() => {
    // d_k = d_v = 1, three keys: q, k, products, raw, scores, weights, weighted, z.
    const board = boardOf(2, 1, 2, 3, 2, 4, 6, 2, 4, 6, 1, 2, -Infinity, 0.25, 0.75, 0, 0.5, 1.5, 0, 2);
    const block = { tokens: ["cat", "it", "so"], d_k: 1, d_v: 1, query: 1, divisor: 2, q: 0, k: 1, products: 4, raw: 7, scores: 10, weights: 13, weighted: 16, z: 19, shown: [1, 2] };
    const made = follow(board, block);
    const rows = made.querySelectorAll("tr");
    assert.deepEqual(texts(rows[0].children), ["key", "k", "q × k, number by number", "q · k", "÷ 2.00", "softmax: weight", "weight × v"]);
    assert.deepEqual(rows.slice(1).map((row) => [row.className, texts(row.children).filter(Boolean)]), [
      ["top-row", ["q of it"]], ["strongest", ["it", "4.000", "2.000", "75.0 %"]], ["blocked", ["so", "6.000", "hidden", "0.0 %"]], ["", ["1 more", "25.0 %"]], ["sum", ["sum", "100.0 %"]],
    ]);
    assert.deepEqual(rows[2].querySelectorAll("canvas").map((canvas) => canvas.getAttribute("aria-label")), ["k of it, 1 by 1 numbers", "q times k of it, 1 by 1 numbers", "weight times v of it, 1 by 1 numbers"]);
    const shades = (row) => rows[row].querySelectorAll("canvas").map((canvas) => shade([...canvas.image.data.subarray(0, 3)]));
    // q and k share a scale that ends at 3, products one at 6, values one at 2.
    const level = (value, top) => `signed ${(Math.round(((value / top + 1) / 2) * 1023) / 1023).toFixed(2)}`;
    assert.deepEqual([shades(1), shades(2), shades(5)], [[level(2, 3)], [level(2, 3), level(4, 6), level(1.5, 2)], [level(2, 2)]]);
    assert.deepEqual(made.querySelectorAll("i").map((bar) => bar.style.width), ["62%", "0%", `${(62 * 0.25) / 0.75}%`]);
    // d_k = 1, d_v = 2, two keys: the weighted values are (0.25, −1) and (0.5, 2), z their sum.
    const wide = { ...block, tokens: ["cat", "it"], d_v: 2, shown: null, k: 1, products: 3, raw: 5, scores: 7, weights: 9, weighted: 11, z: 15 };
    const strips = follow(boardOf(2, 1, 3, 2, 6, 2, 6, 1, 3, 0.25, 0.75, 0.25, -1, 0.5, 2, 0.75, 1), wide).querySelectorAll(".value canvas");
    assert.deepEqual(strips.map((canvas) => [0, 1].map((at) => shade([...canvas.image.data.subarray(4 * at, 4 * at + 3)]))), [[0.25, -1], [0.5, 2], [0.75, 1]].map((two) => two.map((value) => level(value, 2))));
    const all = follow(board, { ...block, shown: null, upto: "raw", tight: true });
    assert.deepEqual([all.className, all.querySelectorAll("tr").length], ["follow upto-raw tight", 5], "no sum before there are weights");
  });
});

test("tables of heads, of bars and of numbers: the longest bar is full, the chosen row is marked, sums are sums", () => {
  onPage(() => {
    const board = boardOf();
    const made = heads(board, { rows: [{ label: "1-1", norm: 2, share: 0.4, cosine: -0.5 }, { label: "1-2", norm: 4, share: 0.5, cosine: null, chosen: true }], total: 5 });
    assert.deepEqual(made.querySelectorAll("tr").map((row) => [row.className, ...texts(row.children)]), [["", "head", "length", "share", "cosine"], ["", "1-1", "2.000", "40.0 %", "−0.50"], ["chosen", "1-2", "4.000", "50.0 %", ""], ["sum", "sum", "5.000 = length of the output", "90.0 %", ""]]);
    assert.deepEqual(made.querySelectorAll("i").map((bar) => bar.style.width), ["31%", "62%"]);
    const series = bars(board, { name: "b", series: ["now", "then"], rows: [{ label: "a", values: [0.5, 0.25] }, { label: "b", values: [-1, NaN], texts: ["less", "none"], chosen: true }] });
    assert.deepEqual(series.querySelectorAll("tr").map((row) => [row.className, ...texts(row.children)]), [["", "", "now", "then"], ["", "a", "50.0 %", "25.0 %"], ["chosen", "b", "less", "none"]]);
    assert.deepEqual(series.querySelectorAll("i").slice(0, 3).map((bar) => bar.style.width), ["62%", "31%", "0%"]);
    const grown = bars(board, { name: "b", series: ["now", "then"], rows: [{ label: "a", values: [0.25, 0.5] }, { label: "b", values: [0.125, 0] }] });
    assert.deepEqual(grown.querySelectorAll("i").map((bar) => bar.style.width), ["31%", "62%", "15.5%", "0%"], "the longest of all of them");
    const across = heads(board, { rows: [{ label: "1-1", norm: 2, share: 0, cosine: 0 }], total: 2 });
    assert.deepEqual(texts(across.querySelectorAll("tr")[1].children), ["1-1", "2.000", "0.0 %", "0.00"], "at a right angle is not unknown");
    const grid = gridTable(board, { label: "All", id: "g", head: ["W_q", "token"], rows: [["W_k", "W_k"], ["2", "x"]], tokens: 1, chosen: 1, tall: true, close: true });
    assert.deepEqual([grid.className, ...grid.querySelectorAll("tr").map((row) => [row.className, ...texts(row.children)].join("|"))], ["wide tall close", "|Wq|token", "|Wk|W_k", "chosen|2|x"], "a reader's word is not lowered");
  });
});

test("an arrow of full length points where its numbers say, upward as in mathematics, and its turn goes the shorter or the longer way", () => {
  onPage(() => {
    assert.deepEqual([tip([3, 4]), tip([0, -2]), tip([0, 0])].map((point) => point.map(Math.round)), [[152, 43], [105, 183], [105, 105]]);
    assert.equal(arc(0, Math.PI / 2, 34), "M139.00,105.00A34,34 0 0 0 105.00,71.00");
    assert.equal(arc(0, -Math.PI / 2, 34), "M139.00,105.00A34,34 0 1 0 105.00,139.00");
    assert.equal(arc(0, 4.5 * Math.PI, 34), arc(0, Math.PI / 2, 34), "whole circles are left out");
    const svg = turn({ before: [1, 0], after: [0, 1], angle: Math.PI / 2, describe: "turned" }).children[0];
    assert.deepEqual(["viewBox", "width", "height", "aria-label"].map((name) => svg.getAttribute(name)), ["-50 0 310 210", "310", "210", "turned"]);
    assert.deepEqual(svg.querySelectorAll("line").map((line) => ["x1", "y1", "x2", "y2", "stroke-dasharray", "class"].map((name) => line.getAttribute(name))), [["105", "105", "183", "105", "5 3", "before"], ["105", "105", "105", "27", "", "after"]]);
    const colours = ["var(--link)", "var(--accent)"];
    assert.deepEqual(svg.querySelectorAll("line").map((line) => line.getAttribute("stroke")), colours);
    assert.deepEqual([svg.querySelectorAll("circle").slice(1).map((tip) => tip.getAttribute("fill")), svg.querySelectorAll("text").map((text) => text.style.fill)], [colours, colours], "a name has the colour of its arrow");
    assert.deepEqual(svg.querySelectorAll("text").map((text) => [text.textContent, ...["x", "y", "text-anchor"].map((name) => text.getAttribute(name))]), [["before", "197", "110", "start"], ["after", "105", "18", "middle"]]);
    assert.equal(turn({ before: [-1, 0], after: [0, 1], angle: 0 }).querySelectorAll("text")[0].getAttribute("text-anchor"), "end");
    assert.deepEqual(svg.querySelectorAll("path").map((path) => path.getAttribute("d")), ["M27,105h156M105,27v156", arc(0, Math.PI / 2, 34)]);
    assert.deepEqual(svg.querySelectorAll("circle").map((circle) => ["cx", "cy", "r"].map((name) => circle.getAttribute(name))), [["105", "105", "78"], ["183", "105", "4"], ["105", "27", "4"]]);
  });
});

test("arcs of one word: none below half a percent, shares from five percent on, and for the word that is meant", () => {
  onPage(() => {
    const block = { at: 0, id: "a", name: "Head 1-1", words: ["cat", "sat", "it", "."], from: 2, meant: 3 };
    const made = arcs(boardOf(0.9, 0.0049, 0.05, 0.0451), block);
    assert.deepEqual(made.querySelectorAll("path").map((path) => path.getAttribute("d").split("A")[0]), ["M117,118", "M117,118"]);
    assert.deepEqual(made.querySelectorAll("text").map((text) => text.textContent), ["cat", "90.0 %", "sat", "it", "5.0 %", ".", "4.5 %"]);
    assert.deepEqual(made.querySelectorAll("text").filter((text) => text.style["font-weight"] === "700").map((text) => text.textContent), ["it", "."], "the word that looks, and the one that is meant");
    assert.deepEqual(made.querySelectorAll("text").map((text) => text.getAttribute("y")), ["138", "158", "138", "138", "158", "138", "158"]);
    assert.deepEqual(made.querySelectorAll("path").map((path) => [path.getAttribute("stroke-width"), path.getAttribute("opacity")].map((value) => Number(value).toFixed(3))), [["9.900", "0.935"], ["0.600", "0.379"]]);
    const svg = made.querySelector("svg");
    assert.deepEqual([svg.getAttribute("height"), svg.getAttribute("viewBox")], ["168", `0 0 ${svg.getAttribute("width")} 168`], "ten below the last line");
    assert.equal(described(block, [0.05, 0.049, 0.9, 0.001]), "Head 1-1: it looks at it 90.0 %, cat 5.0 %");
  });
});

test("words on a board: lowered names, code with remarks, terms, and a reader's token as it is", () => {
  onPage(() => {
    const board = boardOf();
    const said = (text) => lowered(document.createElement("p"), text).childNodes.map((node) => [node.tag, node.textContent]);
    assert.deepEqual(said("W_q and d_model"), [["#text", "W"], ["sub", "q"], ["#text", " and d"], ["sub", "model"]]);
    assert.deepEqual(said("12.5 % of −3 % here"), [["span", "12.5 %"], ["#text", " of "], ["span", "−3 %"], ["#text", " here"]]);
    assert.deepEqual(said("some_name"), [["#text", "some_name"]]);
    assert.equal(op(board, { text: "+" }).textContent, "+");
    const lines = code(board, { lines: [["x = 1   ", "one"], ["y = 2", ""]] });
    assert.deepEqual([lines.className, lines.childNodes.map((node) => node.textContent).join(""), lines.getAttribute("role"), found(lines, "pad").map((node) => node.textContent)], ["code", "x = 1     # one\ny = 2\n", "group", ["   ", ""]]);
    assert.deepEqual([20, 21].map((count) => code(board, { lines: Array.from({ length: count }, () => ["x", ""]) }).className), ["code", "code long"]);
    const made = paragraph(board, { style: "quiet", spans: ["W_q ", ["b", "bold 5 %"], ["token", "W_k"], ["code", "a.b_c"], ["em", "soft"], ["term", "softmax", { term: "Softmax", short: "shares" }]] });
    assert.deepEqual([made.className, made.children.map((node) => [node.tag, node.className, node.textContent])], ["quiet", [["span", "", "Wq "], ["b", "b", "bold 5 %"], ["span", "token", "W_k"], ["code", "", "a.b_c"], ["span", "em", "soft"], ["button", "term", "softmax"]]]);
    assert.equal(made.querySelectorAll("wbr").length, 2);
    const [button] = made.querySelectorAll("button");
    button.getBoundingClientRect = () => ({ left: 300, top: 500, bottom: 520 });
    const create = document.createElement;
    document.createElement = (tag) => Object.assign(create(tag), { showPopover() { this.offsetWidth = 200; this.offsetHeight = 100; } });
    const shown = (wide, high) => {
      Object.assign(globalThis, { innerWidth: wide, innerHeight: high });
      board.root.replaceChildren();
      button.onclick();
      const [note] = board.root.children;
      return [note, note.style.left, note.style.top];
    };
    const [note, left, top] = shown(1000, 800);
    assert.deepEqual([note.textContent, left, top], ["SoftmaxsharesAll terms", "300px", "526px"]);
    assert.deepEqual(note.querySelectorAll("a").map(({ href, target }) => [href, target]), [["learn?show=Glossary", "_blank"]]);
    assert.deepEqual([shown(400, 800)[1], shown(200, 800)[1], shown(1000, 620)[2], shown(1000, 627)[2]], ["188px", "12px", "394px", "526px"]);
    delete globalThis.innerWidth;
    delete globalThis.innerHeight;
  });
});

test("a sum of products: the product under the pointer in words, and what is added", () => {
  onPage(() => {
    const board = boardOf(1, -2, 3, 4, 3, -8);
    const block = { title: "q · k", left: 0, right: 2, products: 4, count: 2, most: 8, names: ["q", "k"], sum: -5, added: -1, added_name: "b_q", value: -6, terms: ["one", "two"] };
    const made = sum(board, block);
    const [readout] = found(made, "readout");
    assert.deepEqual([readout.textContent, found(made, "total")[0].textContent], ["Point at a product, or tap it.", "2 products: −5 − 1 (bq) = −6 CSV"]);
    const [, second] = found(made, "products")[0].children;
    second.onclick();
    assert.equal(readout.textContent, "two: −2 × 4 = −8");
    const small = sum(boardOf(0.00002, -0.5, -0.00001), { ...block, left: 0, right: 1, products: 2, count: 1, sum: -0.00001, added: 0.00003, value: 0.00002 });
    found(small, "products")[0].children[0].onclick();
    assert.deepEqual([found(small, "readout")[0].textContent, found(small, "total")[0].textContent], ["one: 2.0e−5 × −0.5 = −1.0e−5", "1 product: −1.0e−5 + 3.0e−5 (bq) = 2.0e−5 CSV"]);
    const alone = sum(boardOf(0.00002, -0.5, -0.00001), { ...block, left: 0, right: 1, products: 2, count: 1, sum: -0.00001, added: null });
    assert.equal(found(alone, "total")[0].textContent, "1 product adds up to −1.0e−5 CSV");
    found(made, "products")[0].onpointerleave();
    assert.equal(readout.textContent, "Point at a product, or tap it.");
    const canvas = made.querySelectorAll("canvas")[1];
    canvas.getBoundingClientRect = () => ({ left: 10, width: 100 });
    for (const [x, text] of [[59, "one: 1 × 3 = 3"], [61, "two: −2 × 4 = −8"], [0, "one: 1 × 3 = 3"], [500, "two: −2 × 4 = −8"]]) {
      canvas.onpointermove({ clientX: x });
      assert.equal(readout.textContent, text);
    }
    canvas.onpointerleave();
    assert.equal(readout.textContent, "Point at a product, or tap it.");
    const tiles = found(made, "products")[0].children;
    const level = (value) => Math.round(((value / (8 * 1.6) + 1) / 2) * 1023);
    assert.deepEqual(tiles.map((tile) => tile.style.background), [3, -8].map((value) => `rgb(${level(value) >> 2}, ${level(value) & 3}, 1)`));
    const many = sum(boardOf(...new Array(30).fill(1)), { ...block, left: 0, right: 10, products: 20, count: 10, added: 2, terms: null });
    assert.deepEqual([found(many, "readout")[0].textContent, found(many, "products")[0].children.length, texts(found(many, "products")[0].children)[0]], ["The 8 largest of 10 products:", 8, "1.00"]);
    assert.match(found(many, "total")[0].textContent, /^10 products: −5 \+ 2 /);
  });
});

test("a row of scores can be typed over, and says which are not shown", () => {
  onPage(() => {
    const board = boardOf(1, -Infinity, 2, 2.7, 0, 7.4, 0.25, 0, 0.75);
    const block = { tokens: ["a", "b", "c"], shown: [0, 1], scores: 0, powers: 3, weights: 6, before: null, query: 2, chosen: 0, editable: true, edited: [0] };
    const made = softmaxRow(board, block);
    assert.deepEqual(made.querySelectorAll("tr").map((row) => [row.className, ...texts(row.children)]), [["", "key", "score", "e^(score − largest)", "weight"], ["chosen", "a", "", "2.7000", "25.0 %"], ["", "b", "hidden", "0.0000", "0.0 %"], ["sum", "sum, with 1 more", "", "10.1000", "100.0 %"]]);
    const [input] = made.querySelectorAll("input");
    assert.deepEqual([input.value, input.getAttribute("aria-label"), input.className, made.querySelectorAll("input").length], ["1.000", "score of c for a", "edited", 1]);
    input.value = "1.5";
    input.onchange();
    input.value = "x";
    input.onchange();
    assert.deepEqual([board.told.splice(0), made.querySelector("p").textContent, input.getAttribute("aria-invalid")], [[["edit", ["score", 2, 0, 1.5]]], "“x” is not a number; 1.000 is still used.", "true"]);
    const [another] = softmaxRow(board, { ...block, chosen: 1 }).querySelectorAll("input");
    another.value = "3";
    another.onchange();
    assert.deepEqual(board.told.splice(0), [["edit", ["score", 2, 0, 3]]], "of its own key, whichever is chosen");
    const rows = made.querySelectorAll("tbody tr");
    rows[1].onclick({ target: { tagName: "TD" } });
    rows[0].onclick({ target: { tagName: "INPUT" } });
    assert.deepEqual(board.told, [["cell", ["weights", 2, 1]]]);
    assert.deepEqual(made.querySelectorAll("i").map((bar) => bar.style.width), [`${(62 * 0.25) / 0.75}%`, "0%"]);
    const hidden = softmaxRow(boardOf(NaN, NaN, NaN, NaN, NaN, NaN, 0, 0, 0, 0.25, 0, 0.75), { ...block, before: 9 });
    const [, first, , last] = hidden.querySelectorAll("tr").map((row) => texts(row.children).slice(1));
    assert.deepEqual([first, last], [["hidden", "0", "0.0 %", "25.0 %"], ["", "0.0000", "0.0 %", "100.0 %"]], "a row that may look at nothing any more");
  });
});

test("one number is changed in its place and put back", () => {
  onPage(() => {
    const board = boardOf();
    const block = { label: "W_q, row 1", place: ["weights", 0, 1], value: 0.5, was: null };
    const plain = change(board, block);
    assert.deepEqual([plain.querySelectorAll("button"), plain.querySelector("input").className, plain.querySelector("span").textContent], [[], "", "Wq, row 1"]);
    const made = change(board, { ...block, was: 0.25 });
    const [input] = made.querySelectorAll("input");
    assert.deepEqual([input.className, input.value, made.querySelector("button").textContent], ["edited", "0.5", "put 0.25 back"]);
    for (const typed of ["0.5", "0,75"]) {
      input.value = typed;
      input.onchange();
    }
    made.querySelector("button").onclick();
    assert.deepEqual(board.told, [["edit", ["weights", 0, 1, 0.75]], ["edit", ["weights", 0, 1, null]]], "the same number is no change");
  });
});

test("tiles of numbers: names around them, shades by size, how each is computed, and numbers that can be typed over", () => {
  onPage(() => {
    const board = boardOf(0.5, 0.25, -1, 0);
    const block = { at: 0, id: "t", name: "T", shape: [2, 2], rows: ["a", "b"], cols: ["x", "y"], ramp: "signed" };
    const made = numberTiles(board, block);
    const [grid] = found(made, "tiles");
    assert.deepEqual([grid.style.gridTemplateColumns, texts(grid.children)], ["auto repeat(2, auto)", ["", "x", "y", "a", "0.5", "0.25", "b", "−1", "0"]]);
    const level = (value) => Math.round(((value / 1.6 + 1) / 2) * 1023);
    assert.deepEqual(made.querySelectorAll("figcaption")[0].children.map((node) => node.textContent), ["T", "2 × 2"]);
    const places = grid.children.filter((node) => node.dataset.place !== undefined);
    assert.deepEqual(places.map((tile) => [tile.dataset.place, tile.style.background]), [0.5, 0.25, -1, 0].map((value, i) => [String(i), `rgb(${level(value) >> 2}, ${level(value) & 3}, 1)`]));
    assert.deepEqual([0, 1e-6, 0.12345, 1e7, 9999999, -2].map((value) => shownNumber(value)), ["0", "1.0e−6", "0.1235", "1.0e+7", "9999999", "−2"]);
    const shares = numberTiles(boardOf(0.5, 0.25, 1, 0), { ...block, rows: null, cols: null, ramp: "weight", shares: true, bare: true });
    assert.deepEqual([shares.querySelectorAll("figcaption").length, found(shares, "tiles")[0].style.gridTemplateColumns, texts(found(shares, "tiles")[0].children)], [0, "repeat(2, auto)", ["50.0 %", "25.0 %", "100.0 %", "0.0 %"]]);
    assert.equal(found(shares, "tiles")[0].children[0].style.background, `rgb(${512 >> 2}, ${512 & 3}, 0)`);
    board.cell = ["t", 1, 0];
    const told = numberTiles(board, { ...block, cells: true, origins: ["o1", "o2", "o3", "o4"] });
    const [line] = found(told, "written");
    const [picking] = found(told, "tiles");
    assert.deepEqual([line.textContent, picking.children.filter((node) => node.classList.contains("picked")).map((node) => node.textContent)], ["o3", ["−1"]]);
    const tile = (i) => picking.children.filter((node) => node.dataset.place !== undefined)[i];
    picking.heard.pointerover({ target: { closest: () => tile(1) } });
    assert.equal(line.textContent, "o2");
    picking.heard.pointerleave();
    assert.equal(line.textContent, "o3");
    picking.heard.click({ target: { closest: () => tile(3) } });
    assert.deepEqual([board.told.splice(0), line.textContent], [[["cell", ["t", 1, 1]]], "o4"]);
    const typed = numberTiles(board, { ...block, editable: true, first: 10, edited: [11] });
    const inputs = typed.querySelectorAll("input");
    assert.deepEqual(inputs.map((input) => [input.getAttribute("aria-label"), input.dataset.place, input.value, input.className]), [["T, a, x", "10", "0.5", ""], ["T, a, y", "11", "0.25", "edited"], ["T, b, x", "12", "−1", ""], ["T, b, y", "13", "0", ""]]);
    inputs[2].value = "2";
    inputs[2].onchange();
    assert.deepEqual(board.told.splice(0), [["state", "cells", { t: { 12: 2 } }]]);
    const asked = numberTiles(board, { ...block, rows: null, cols: null, editable: true, trigger: "typed" }).querySelectorAll("input");
    asked[0].value = "3";
    asked[0].onchange();
    assert.deepEqual([board.told, asked.map((input) => input.getAttribute("aria-label"))], [[["typed", { t: { 0: 3, 12: 2 } }]], ["T, row 1, column 1", "T, row 1, column 2", "T, row 2, column 1", "T, row 2, column 2"]]);
  });
});

test("numbers in boxes side by side, and flags", () => {
  onPage(() => {
    const board = boardOf();
    const made = fields(board, { id: "f", items: [{ key: "steps", label: "Steps", value: 100, least: 1, most: 2000 }], flags: [{ key: "tied", label: "Tied", on: true }] });
    const [number, flag] = made.querySelectorAll("input");
    const said = () => [made.querySelector("p").textContent, number.classList.contains("wrong"), number.getAttribute("aria-invalid"), board.told.splice(0)];
    const type = (text) => Object.assign(number, { value: text }).onchange() ?? said();
    assert.deepEqual(type("1,500"), ["", false, null, [["field", ["steps", 1500]]]]);
    assert.deepEqual(type("3000"), ["Steps: a whole number from 1 to 2,000 is taken; 100 is still used.", true, "true", []]);
    assert.deepEqual(type("100"), ["", false, null, []]);
    flag.checked = false;
    flag.onchange();
    assert.deepEqual(board.told, [["field", ["tied", false]]]);
  });
});

test("a ruler marks a part of all, and a matrix as vectors joins what looks alike and leaves open what is hidden", () => {
  onPage(() => {
    const made = ruler(boardOf(), { count: 5, from: 1, to: 3, text: "Numbers 2 to 3" });
    assert.deepEqual([made.querySelectorAll("span").slice(0, 5).map((one) => one.className), found(made, "ruler")[0].getAttribute("aria-label")], [["", "chosen", "chosen", "", ""], "Numbers 2 to 3"]);
    const page = vectors(PAINT, { name: "x", ramp: "weight", shape: [2, 3] }, [1, 1, NaN, 0.5, 1, 1], 1);
    const cells = [...page.matchAll(/<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" fill="(rgb[^"]+|none)"/g)].map((one) => one.slice(1));
    assert.deepEqual(cells, [["12", "36", "56", "24", "rgb(255, 3, 0)"], ["12", "60", "28", "24", "rgb(128, 0, 0)"], ["40", "60", "56", "24", "rgb(255, 3, 0)"], ["12", "36", "84", "48", "none"]]);
    assert.match(page, /width="108" height="116"/);
    const wide = vectors(PAINT, { name: "x", ramp: "weight", shape: [1, 360] }, Array(360).fill(1), 1);
    assert.match(wide, /width="744" height="92"/, "however many columns there are, 720 at most");
    assert.match(page, /<text x="12" y="104"[^>]*>full colour: 100.0 %/);
    assert.match(vectors(PAINT, { name: "x", ramp: "weight", shape: [1, 2] }, [0.1, 0.4], 0.4), />full colour: 40\.0 %/);
  });
});

test("curves of what is left: five places and even steps on the axes, levels, names, and every point in words", () => {
  onPage(() => {
    const block = { of: 100, xName: "heads off", describe: "curves", series: [{ name: "by effect", x: [0, 50, 100], y: [10, 8, 4] }, { name: "at random", x: [0, 50, 100], y: [10, 9.5, 9] }], levels: [{ y: 5, text: "chance" }] };
    const made = curves(boardOf(), block);
    const x = (value) => 44 + 432 * (value / 100);
    const y = (value) => 14 + 246 * ((10 - value) / 6);
    assert.deepEqual(made.querySelectorAll("polyline").map((line) => [line.getAttribute("points"), line.getAttribute("stroke-dasharray")]), [["44.0,14.0 260.0,96.0 476.0,260.0", ""], [`44.0,14.0 260.0,${y(9.5).toFixed(1)} 476.0,55.0`, "7 4"]]);
    assert.deepEqual(found(made, "end").map((one) => one.textContent), ["4", "5", "6", "7", "8", "9", "10"]);
    assert.deepEqual(found(made, "end").map((one) => Number(one.getAttribute("y"))), [4, 5, 6, 7, 8, 9, 10].map((value) => y(value) + 4));
    assert.deepEqual(found(made, "mid").map((one) => [one.textContent, Number(one.getAttribute("x"))]), [...[0, 25, 50, 75, 100].map((value) => [String(value), x(value)]), ["heads off", x(50)]]);
    const [level] = found(made, "level");
    assert.deepEqual(["x1", "x2", "y1", "y2"].map((name) => Number(level.getAttribute(name))), [44, 476, y(5), y(5)]);
    assert.deepEqual(made.querySelectorAll("text").filter((one) => one.textContent === "chance").map((one) => Number(one.getAttribute("y"))), [y(5) + 4], "its name stands beside it");
    assert.deepEqual(found(made, "name").map((one) => [one.textContent, Number(one.getAttribute("x"))]), [["by effect", x(50) + 7], ["at random", x(50) + 7]]);
    const dots = made.querySelectorAll("circle");
    dots[4].onpointerenter();
    assert.deepEqual([dots.length, found(made, "readout")[0].textContent, Number(dots[4].getAttribute("cx")), Number(dots[4].getAttribute("cy"))], [6, "at random: 9.5 with 50 heads off", x(50), y(9.5)]);
    const told = dots.map((dot) => (dot.onpointerenter(), found(made, "readout")[0].textContent));
    assert.deepEqual(told, [...["10.0", "8.0", "4.0"].map((value, i) => `by effect: ${value} with ${50 * i} heads off`), ...["10.0", "9.5", "9.0"].map((value, i) => `at random: ${value} with ${50 * i} heads off`)]);
    const one = curves(boardOf(), { ...block, xName: "heads gone", xOne: "head gone", series: [{ name: "greedy", x: [0, 1], y: [10, 9] }] });
    one.querySelectorAll("circle")[1].onpointerenter();
    assert.equal(found(one, "readout")[0].textContent, "greedy: 9.0 with 1 head gone");
    const steps = (high) => found(curves(boardOf(), { ...block, series: [{ name: "a", x: [0, 100], y: [high, 0] }], levels: [] }), "end").map((one) => one.textContent);
    assert.deepEqual([steps(0.5), steps(2), steps(30)], [["0", "0.1", "0.2", "0.3", "0.4", "0.5"], ["0", "0.5", "1", "1.5", "2"], ["0", "5", "10", "15", "20", "25", "30"]]);
    assert.deepEqual([steps(9), steps(50), steps(90), steps(1000).length], [["0", "2", "4", "6", "8"], ["0", "10", "20", "30", "40", "50"], ["0", "20", "40", "60", "80"], 41]);
  });
});
