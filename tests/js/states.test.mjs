// What words, columns and cells show of what is chosen: by their marks, and for those who listen.
import assert from "node:assert/strict";
import test from "node:test";
import { Duo } from "../../assets/js/duo.js";
import { Explore } from "../../assets/js/explore.js";
import { Lines } from "../../assets/js/lines.js";
import { Matrix } from "../../assets/js/matrix.js";
import { mix } from "../../assets/js/numbers.js";
import { Sentence } from "../../assets/js/sentence.js";
import { matrixPicture } from "../../assets/js/svg.js";
import { onPage, texts } from "./page.mjs";

const PAINT = { ramp: Array.from({ length: 1024 }, () => [0, 0, 0]), line: [1, 1, 1], accent: [2, 2, 2], accentText: [3, 3, 3], soft: [4, 4, 4] };
const record = (more = {}) => ({ names: ["[CLS]", "the", "cat", "##s", "[SEP]"], specials: [true, false, false, false, true], joined: [false, false, false, true, false], segments: [0, 0, 0, 0, 0], before: ["", "", " ", "", ""], ...more });

test("a word is pinned, looked at, pointed at or in the background; its kind stays with it", () => {
  onPage(() => {
    const units = record().names.map(() => document.createElement("span"));
    const words = Object.assign(Object.create(Sentence.prototype), { units, record: record(), states: new Array(5).fill("") });
    const links = [{ from: 1, to: 2, weight: 0.4 }, { from: 1, to: 3, weight: 0.01 }];
    const shown = (more, found = links) => {
      words.drawStates({ from: [], to: null, pointed: null, ...more }, found);
      return units.map((unit) => `${unit.className.replace(/\s+/g, " ").trim()}|${unit.getAttribute("aria-pressed")}`);
    };
    assert.deepEqual(shown({ from: [1] }), ["unit special quiet|false", "unit from|true", "unit|false", "unit joined quiet|false", "unit special quiet|false"]);
    assert.deepEqual(shown({ from: [1], to: 4, pointed: 3 }), ["unit special quiet|false", "unit from|true", "unit|false", "unit joined pointed quiet|false", "unit special to|true"]);
    assert.deepEqual(shown({}), ["unit special|false", "unit|false", "unit|false", "unit joined|false", "unit special|false"]);
    assert.deepEqual(shown({ from: [1], blind: (i) => i > 2 }, [])[3], "unit joined quiet blind|false");
  });
});

const PAIRS = [[0, 0], [1, 1], [2, null], [null, 2]];
function pair(pairs = PAIRS) {
  const a = { names: ["[CLS]", "was", "tired"], specials: [true, false, false], segments: [0, 0, 0], before: ["", "", " "] };
  const b = { names: ["[CLS]", "is", "wide"], specials: [true, false, false], segments: [0, 0, 0], before: ["", "", " "] };
  const both = new Duo({});
  both.fill(a, b, pairs, [false, true, true, true]);
  return both;
}

test("a column says its word once where both have it, and else whose word it is", () => {
  const both = onPage(() => pair());
  assert.deepEqual(texts(both.columns), ["[CLS][CLS]", "was in A, is in B", "only in A: tired", "only in B: wide"]);
  assert.deepEqual(both.columns[0].children.map((cell) => cell.getAttribute("aria-hidden")), [null, "true"]);
  assert.deepEqual(both.columns.map((column) => column.classList.contains("differs")), [false, true, true, true]);
  assert.deepEqual(both.columns.map((column) => column.classList.contains("spaced")), [false, false, true, true]);
  assert.deepEqual(both.columns.map((column) => column.getAttribute("tabindex") ?? column.tabIndex), ["0", "-1", "-1", "-1"]);
  const cells = both.columns.flatMap((column) => column.querySelectorAll("span").map((cell) => [cell.getAttribute("data-at"), cell.className]).filter(([at]) => at));
  assert.deepEqual(cells, [["0 0", "unit special"], ["1 0", "unit special"], ["0 1", "unit"], ["1 1", "unit"], ["0 2", "unit"], ["1 2", "unit"]]);
});

test("a column is pinned, aimed at, pointed at or still", () => {
  onPage(() => {
    const both = Object.assign(pair(), { size: 30, width: 400, boxes: [0, 1].map((side) => PAIRS.map((units, i) => (units[side] === null ? null : { x: 100 * i, width: 40, top: 10 + 40 * side, bottom: 30 + 40 * side, line: 0 }))) });
    const shown = (more) => {
      both.draw({ links: [[], []], from: [], to: null, pointed: null, masses: new Map(), ...more }, PAINT);
      return both.columns.map((column) => `${["pinned", "aimed", "hot", "still"].filter((name) => column.classList.contains(name)).join(" ")}|${column.getAttribute("aria-pressed")}`);
    };
    assert.deepEqual(shown({ pointed: 2 }), ["|false", "|false", "hot|false", "|false"]);
    assert.deepEqual(shown({ from: [1], to: 3, pointed: 1, masses: new Map([[0, [0.3, 0.2]]]) }), ["|false", "pinned|true", "still|false", "aimed|true"]);
    const labels = both.labels.children.map((node) => [node.textContent, node.className, node.style.left, node.style.top]);
    assert.deepEqual(labels, [["30.0 %", "share strong", "31px", "32px"], ["20.0 %", "share strong above", "31px", "48px"]]);
    shown({ from: [1], masses: new Map([[2, [0.3, null]], [3, [null, 0.05]]]) });
    assert.deepEqual(both.labels.children.map((node) => [node.textContent, node.className]), [["30.0 %", "share strong"], ["5.0 %", "share above"]]);
  });
});

test("the last word of B is offered to be changed, while B is the same sentence", () => {
  onPage(() => {
    const both = pair([[0, 0], [1, 1], [2, 2]]);
    const ready = () => both.units.map((side) => side.map((cell) => cell.classList.contains("ready")));
    both.offer(true);
    assert.deepEqual(ready(), [[false, false, false], [false, false, true]]);
    both.offer(false);
    assert.deepEqual(ready()[1], [false, false, false]);
  });
});

// What is framed in a matrix of 3 × 3 cells of 10 pixels that begins at (50, 20): [left, top, width, height, thickness].
function frames(more) {
  const drawn = [];
  const context = { strokeRect: (...box) => drawn.push([...box, context.lineWidth]) };
  const view = Object.assign(Object.create(Matrix.prototype), { frame: { left: 50, top: 20, size: 30, high: 30 }, tip: { style: {} } });
  view.highlight(context, { rows: ["a", "b", "c"], columns: ["a", "b", "c"], values: new Array(9).fill(0.1), from: [], to: null, hovered: [null, null], ...more }, PAINT);
  return { frames: drawn, tip: view.tip };
}

test("around the matrix lies a line, around the pinned row and the target a frame, around the cell under the pointer three", () => {
  const around = [49.5, 19.5, 31, 31, 1];
  assert.deepEqual(frames({}).frames, [around]);
  assert.deepEqual(frames({ from: [1], to: 2 }).frames, [around, [49.5, 29.5, 31, 11, 2], [70, 20, 10, 30, 1]]);
  assert.deepEqual(frames({ hovered: [2, 1] }).frames, [around, [50, 40, 30, 10, 1], [60, 20, 10, 30, 1], [59, 39, 12, 12, 3]]);
  assert.deepEqual(frames({ from: [2], hovered: [2, 0] }).frames.slice(1).map((box) => box[4]), [2, 1, 3], "the pinned row has its frame already");
});

test("what the pointer reads stands below its cell, above it at the lower edge, and never leaves the picture", () => {
  const at = (q, k) => {
    const { tip } = frames({ hovered: [q, k] });
    return [Boolean(tip.hidden), tip.textContent];
  };
  assert.deepEqual([at(0, 1), at(2, 0)], [[false, "a looks at b: 10.0 %"], [false, "c looks at a: 10.0 %"]]);
  const wide = (q, k) => {
    const view = Object.assign(Object.create(Matrix.prototype), { frame: { left: 50, top: 20, size: 300, high: 300 }, tip: { style: {} } });
    view.readOut({ rows: ["a", "b", "c"], columns: ["a", "b", "c"], values: new Array(9).fill(0.1), hovered: [q, k] }, q, k, 100, 100);
    return [view.tip.style.left, view.tip.style.top];
  };
  assert.deepEqual([wide(0, 0), wide(1, 1), wide(2, 2)], [["100px", "128px"], ["200px", "228px"], ["260px", "182px"]]);
  const view = Object.assign(Object.create(Matrix.prototype), { frame: { left: 0, top: 0, size: 200, high: 300 }, tip: { style: {} } });
  view.readOut({ rows: ["X", "Y", "Z"], columns: ["a", "b"], values: [0.1, 0.9, 0.2, 0.8, 0.3, 0.7] }, 1, 0, 100, 100);
  assert.equal(view.tip.textContent, "Y looks at a: 20.0 %", "also where there are fewer columns than rows");
  assert.equal(frames({ hovered: [1, null] }).tip.hidden, true);
});

test("a saved matrix has its columns' names above their middles and its rows' beside theirs", () => {
  const spec = { rows: ["r0", "r1", "r2"], columns: ["c0", "c1", "c2"], values: new Array(9).fill(0.1), signed: false, least: 0, from: [1], hovered: [null, null], to: null };
  const { body } = matrixPicture(spec, PAINT, { x: 0, y: 0, size: 300, room: 100 });
  const all = body.join("");
  const above = [...all.matchAll(/translate\((\S+) (\S+)\) rotate\(-90\)[^>]*>([^<]+)</g)].map((found) => found.slice(1));
  const [line] = body.filter((part) => part.includes("rgb(2, 2, 2)"));
  const left = Number(/x="(\S+)"/.exec(line)[1]);
  assert.deepEqual(above.map(([x, , text]) => [x - left, text]), [[50, "c0"], [150, "c1"], [250, "c2"]]);
  const beside = [...all.matchAll(/<text x="(\S+)" y="(\S+)" text-anchor="end"[^>]*>([^<]+)</g)].map((found) => found.slice(1));
  const top = Number(/ y="(\S+)"/.exec(line)[1]) - 100;
  assert.deepEqual(beside.map(([x, y, text]) => [left - x, y - top, text]), [[8, 50, "r0"], [8, 150, "r1"], [8, 250, "r2"]]);
});

test("a position beyond the text is no position, and a head beyond the model its last one", () => {
  const view = Object.assign(Object.create(Explore.prototype), { record: { n: 3, layers: 2, heads: 4 }, state: {}, least: {}, leastSaid: {}, pairs: {} });
  const after = (selection) => {
    view.move({ head: [0, 0], pins: [], to: null, look: {}, ...selection });
    return [view.state.head, view.state.pins, view.state.to];
  };
  assert.deepEqual(after({ head: [5, 9], pins: [0, 2, 3, -1, 1.5], to: 2 }), [[1, 3], [0, 2], 2]);
  assert.deepEqual(after({ pins: [1], to: 3 }), [[0, 0], [1], null]);
  assert.deepEqual(after({ pins: [1], to: -1 }), [[0, 0], [1], null]);
  assert.deepEqual(after({ pins: [3], to: 1 }), [[0, 0], [], null], "no target without a word that looks");
});

test("a click on the matrix asks for its cell, beside it for its row, and with Shift, Control or the command key adds the row", () => {
  onPage(() => {
    const asked = [];
    const view = new Matrix({ choose: (...given) => asked.push(given), cell: (...given) => asked.push(["cell", ...given]) }, "matrix");
    view.canvas.getBoundingClientRect = () => ({ left: 1000, top: 500 });
    Object.assign(view, { frame: { left: 50, top: 20, size: 30, high: 60 }, spec: { rows: ["a", "b"], columns: ["x", "y", "z"] } });
    const click = (x, y, more = {}) => {
      view.canvas.onclick({ clientX: 1000 + x, clientY: 500 + y, shiftKey: false, ctrlKey: false, metaKey: false, ...more });
      return asked.splice(0);
    };
    assert.deepEqual(click(65, 25), [[0, false, "query", 1]]);
    assert.deepEqual(click(79, 75), [[1, false, "query", 2]]);
    assert.deepEqual(click(20, 75), [[1, false, "query", null]], "the name of a row");
    for (const [x, y] of [[65, 10], [65, 81], [81, 25]]) assert.deepEqual(click(x, y), []);
    for (const key of ["shiftKey", "ctrlKey", "metaKey"]) assert.deepEqual(click(65, 25, { [key]: true }), [[0, true, "query", 1]]);
    view.canvas.onpointermove({ clientX: 1052, clientY: 551 });
    view.canvas.onpointermove({ clientX: 1052, clientY: 505 });
    view.canvas.onpointerleave();
    assert.deepEqual(asked.splice(0), [["cell", 1, 0], ["cell", null, null], ["cell", null, null]]);
  });
});

test("token lines are as large as they say, their words stand at their ends, and each head's number on its line", () => {
  onPage(() => {
    const asked = [];
    const view = new Lines({ cell: (...given) => asked.push(given), choose: (...given) => asked.push(["choose", ...given]) });
    view.root.clientWidth = 500;
    const part = (head, weight) => ({ head: [0, head], weight });
    const shown = { names: ["cat", "it"], keys: 0, heads: [[0, 0], [0, 1]], summed: false, from: [1], to: 0, hovered: [null, null], label: "Head 1-1", links: [{ from: 1, to: 0, parts: [part(0, 0.6), part(1, 0.2)] }, { from: 1, to: 1, parts: [part(0, 0.1), part(1, 0.5)] }] };
    view.draw(shown, { ...PAINT, ink: [0, 0, 0], paper: [255, 255, 255] });
    const { height, left, right } = view.size;
    assert.deepEqual([left, right], [145, 355], "42 % of 500 between them");
    assert.deepEqual(["viewBox", "height", "aria-label"].map((name) => view.picture.getAttribute(name)), [`0 0 500 ${height}`, String(height), "Head 1-1"]);
    const headings = view.picture.querySelectorAll("text").filter((node) => node.getAttribute("class") === "side");
    assert.deepEqual(headings.map((node) => [node.textContent, Number(node.getAttribute("x"))]), [["looks (query)", 135], ["looked at (key)", 365]]);
    const words = view.picture.querySelectorAll("text").filter((node) => node.getAttribute("data-side"));
    assert.deepEqual(words.map((node) => [node.textContent, node.getAttribute("data-side"), Number(node.getAttribute("x")), node.getAttribute("class")]), [["cat", "query", 135, "token"], ["cat", "key", 365, "token on"], ["it", "query", 135, "token on"], ["it", "key", 365, "token"]]);
    // The strongest link of each head carries its number: 1-1 to `cat`, 1-2 to `it`, where the line is.
    assert.deepEqual(view.tags.map(({ text, x }) => [text, Math.round(x)]), [["1-1", 208], ["1-2", 292]]);
    for (const tag of view.tags) {
      const stroke = view.strokes.find((one) => `1-${one.head[1] + 1}` === tag.text && one.to === (tag.text === "1-1" ? 0 : 1));
      const [, y1, , , , , , y2] = stroke.d.match(/[\d.]+/g).map(Number);
      assert.ok(tag.y >= Math.min(y1, y2) - 0.01 && tag.y <= Math.max(y1, y2) + 0.01);
    }
    const marked = (hovered) => {
      view.draw({ ...shown, from: [], to: null, hovered }, { ...PAINT, ink: [0, 0, 0], paper: [255, 255, 255] });
      return view.texts.filter((text) => text.on).map(({ side, text }) => [side, text]);
    };
    assert.deepEqual([marked([0, 1]), marked([1, null]), marked([null, 1])], [[["query", "cat"], ["key", "it"]], [["query", "it"]], [["key", "it"]]], "what is pointed at, on its side");
    // Colours come round after eight heads.
    view.draw({ ...shown, heads: [[0, 0], [0, 8]], links: [{ from: 1, to: 0, parts: [part(0, 0.6), part(8, 0.2)] }] }, { ...PAINT, ink: [0, 0, 0], paper: [255, 255, 255] });
    const dashes = () => Object.fromEntries(view.strokes.map((one, i) => [one.head?.[1], view.picture.querySelectorAll("path")[i].getAttribute("stroke-dasharray")]));
    assert.deepEqual(dashes(), { 0: null, 8: "7 4" });
    assert.equal(new Set(view.strokes.map((one) => one.colour)).size, 1);
    view.hovered({ dataset: { unit: "1", side: "query" } });
    view.hovered({ dataset: { unit: "0", side: "key" } });
    view.hovered({ dataset: {} });
    view.picture.onclick({ target: { dataset: { unit: "1", side: "key" } }, shiftKey: false, ctrlKey: true });
    assert.deepEqual(asked, [[1, null], [null, 0], ["choose", 1, true, "key"]]);
  });
});

test("numbers on their way to others are between them, and begin with those where there are as many", () => {
  assert.deepEqual([...mix([0, 1], [1, 0], 0.25)], [0.25, 0.75]);
  const to = [1, 0];
  for (const from of [null, [1], [1, 2, 3]]) assert.equal(mix(from, to, 0.25), to);
  assert.equal(mix([0, 0], to, 1), to);
});

test("where one link was asked for the other arcs step back, and only it has a point", () => {
  onPage(() => {
    const words = Object.assign(new Sentence({}), { width: 400, size: 34, most: 100, roomy: true, units: [], states: [], record: record() });
    words.boxes = [0, 1, 2].map((i) => ({ x: 100 * i + 50, width: 40, top: 40, bottom: 80, line: 0 }));
    const arcs = (asked) => {
      const links = [{ from: 0, to: 1, weight: 0.6 }, { from: 0, to: 2, weight: 0.3 }, { from: 0, to: 0, weight: 0.1 }];
      words.draw({ links, from: [0], to: asked, asked, pointed: null, exact: new Map() }, PAINT);
      return words.shapes.map(({ weight, faded, tip }) => [weight, faded, tip]);
    };
    assert.deepEqual(arcs(null), [[0.1, false, false], [0.3, false, true], [0.6, false, true]], "the strongest on top");
    assert.deepEqual(arcs(1), [[0.1, true, false], [0.3, true, false], [0.6, false, true]]);
    assert.deepEqual(words.arcs.querySelectorAll("path").map((path) => path.getAttribute("opacity")), ["0.3", "0.3", null]);
    assert.equal(words.arcs.querySelectorAll("polygon").length, 1);
  });
});
