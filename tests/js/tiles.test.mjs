// The tiles' numbers and colours, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import * as colour from "../../assets/js/colour.js";
import * as format from "../../assets/js/format.js";
import { largest } from "../../assets/js/numbers.js";
import { arcs, described, middles } from "../../assets/js/tiles/arcs.js";
import { budget } from "../../assets/js/tiles/budget.js";
import { budgetResult } from "../../assets/js/tiles/budget_result.js";
import { keyboard, pager } from "../../assets/js/tiles/controls.js";
import { follow } from "../../assets/js/tiles/follow.js";
import { groups } from "../../assets/js/tiles/groups.js";
import { softmaxRow, sum } from "../../assets/js/tiles/origin.js";
import { bars } from "../../assets/js/tiles/bars.js";
import { numberTiles } from "../../assets/js/tiles/number_tiles.js";
import { painted, reach } from "../../assets/js/tiles/painted.js";
import { onPage, texts, withGlobals } from "./page.mjs";

// Every shade says its level in the ramp.
const LEVELLED = Array.from({ length: colour.LEVELS }, (_, i) => [i >> 2, i & 3, 0]);
const SCALE = { ramp: LEVELLED, pixels: colour.pixels(LEVELLED) };
const PAINT = { ...SCALE, change: SCALE, ink: [0, 0, 0], soft: [9, 9, 9], line: [8, 8, 8], paper: [255, 255, 255] };
const board = (...numbers) => ({ numbers: Float32Array.from(numbers), paint: PAINT, component: {} });

test("a number is written with a real minus and never as minus zero", () => {
  assert.deepEqual([-1.23456, -0.00001, NaN].map((value) => format.fixed(value)), ["−1.2346", "0.0000", "hidden"]);
  assert.deepEqual([...["2.5000", "20"].map(format.trim), format.tiny(-0.0000122)], ["2.5", "20", "−1.2e−5"]);
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
  assert.equal(reach(Float32Array.from({ length: 1000 }, (_, i) => i + 1)), 996, "five of a thousand have the full colour");
  assert.equal(reach(new Float32Array([0, 0])), 1);
  assert.equal(reach(new Float32Array([NaN, -3])), 3);
});

test("the largest of more numbers than a call may have arguments is found", () => {
  const values = new Float32Array(512 * 512);
  values[300000% values.length] = 0.5;
  assert.equal(largest(values), 0.5);
  assert.equal(largest([-3, -1, -2]), -1);
  const block = { name: "weights", ramp: "weight", shape: [512, 512] };
  assert.equal(onPage(() => painted(board(), block, values)).top, 0.5);
});

test("a bar is as long as its number beside the largest, and hatched where nothing may be seen", () => {
  const block = { id: "b", name: "lengths", rows: ["2-1", "2-2", "2-3"], texts: ["2", "1", "later"], shape: [3, 2], at: 1 };
  const drawn = onPage(() => bars(board(9, 2, 9, 1, 9, NaN, 9), block));
  assert.deepEqual(drawn.querySelectorAll("i").map((bar) => bar.style.width), ["100%", "50%", "0%"]);
  assert.deepEqual(drawn.querySelectorAll(".absent").length, 1);
  assert.deepEqual(texts(drawn.querySelectorAll("b")), block.rows);
  assert.deepEqual(texts(drawn.querySelectorAll("small")), block.texts);
});

test("one head dilutes two needs, and two heads of 100% each meet both", () => {
  const values = [[1, 0], [0, 1], [-1, -1]];
  const shared = budgetResult(["animal", "tired", "street"], [0, 1], [[50, 50, 0]], values);
  assert.deepEqual(shared.needs.map(({ label, share, met }) => [label, share, met]), [["animal", 50, false], ["tired", 50, false]]);
  assert.equal(shared.met, false);
  const apart = budgetResult(["animal", "tired", "street"], [0, 1], [[100, 0, 0], [0, 100, 0]], values);
  assert.deepEqual(apart.needs.map(({ share, like, met }) => [share, like, met]), [[100, 1, true], [100, 1, true]]);
  assert.equal(apart.met, true);
  assert.equal(budgetResult(["animal"], [], [[0]], [[1, 0]]).met, false, "without a need nothing is met");
});

test("the budget of the latest sentence is kept, however many came before", () => {
  let stored = "{}";
  const localStorage = { getItem: () => stored, setItem: (_, text) => { stored = text; } };
  const block = { labels: ["a", "b"], needs: [], at: 0, width: 1, token: "it", note: "" };
  for (let i = 0; i < 30; i++) withGlobals({ localStorage }, () => onPage(() => budget(board(1, 0), { ...block, name: `sentence ${i}` })));
  assert.ok("sentence 29" in JSON.parse(stored));
});

test("a row of scores says each weight as it is and as it was", () => {
  const block = { tokens: ["a", "b"], shown: [0, 1], scores: 0, powers: 2, weights: 4, before: 6, query: 0, chosen: 1, editable: false, edited: [] };
  const table = onPage(() => softmaxRow(board(-1, 0, 0.25, 1, 0.25, 0.75, 0.5, 0.5), block));
  assert.deepEqual(table.querySelectorAll("tbody tr").map((row) => texts(row.querySelectorAll("td"))), [
    ["a", "−1.000", "0.2500", "25.0%", "50.0%"],
    ["b", "0.000", "1.0000", "75.0%", "50.0%"],
    ["sum", "", "1.2500", "100.0%", "100.0%"],
  ]);
});

test("tiles of weights are as dark as they are large", () => {
  const drawn = onPage(() => numberTiles(board(0.25, 1), { id: "t", at: 0, shape: [1, 2], ramp: "weight" }));
  assert.deepEqual(drawn.querySelectorAll(".tiles div").map((tile) => tile.style.background), [0.25, 1].map((share) => colour.css(colour.at(LEVELLED, share))));
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

test("of more products than fit the largest are shown, whatever their sign", () => {
  const products = [1, -9, 2, -8, 3, 7, -6, 5, 4, 0.5];
  const block = { title: "", left: 0, right: 10, products: 20, count: 10, most: 8, names: ["q", "k"], sum: -0.5, added: null };
  const made = onPage(() => sum(board(...products, ...new Array(10).fill(1), ...products), block));
  assert.deepEqual(made.querySelectorAll(".products span").map((tile) => Number(tile.getAttribute("data-term"))), [1, 3, 5, 6, 7, 8, 4, 2]);
  assert.equal(made.querySelector(".readout").textContent, "The 8 largest of 10 products:");
  assert.match(made.querySelector(".total").textContent, /^10 products add up to −0\.5/);
});

test("what is added to a sum of products has its sign once, and one product is not called products", () => {
  const total = (count, more) => {
    const block = { title: "", names: ["q", "k"], most: 8, left: 0, right: count, products: 2 * count, count, sum: 11, added: null, ...more };
    return onPage(() => sum(board(1, 2, 3, 4, 3, 8), block)).querySelector(".total").textContent;
  };
  assert.match(total(2, { added: -2.5, added_name: "b", value: 8.5 }), /^2 products: 11 − 2\.5 \(b\) = 8\.5/);
  assert.match(total(2, { added: 2.5, added_name: "b", value: 13.5 }), /^2 products: 11 \+ 2\.5 \(b\) = 13\.5/);
  assert.match(total(1), /1 product adds up to 11/);
  assert.match(total(1, { added: 1, added_name: "b", value: 12 }), /1 product: 11 \+ 1/);
});

test("arcs end over the words they belong to, rise with the way and with the weight become thick and dark", () => {
  const words = ["cat", "sat", "it"];
  assert.deepEqual(middles(words), [31.5, 76.5, 117]);
  const drawn = onPage(() => arcs(board(0.5, 0.25, 0.25), { id: "a", at: 0, name: "Head 2-1", words, from: 2 }));
  const ways = drawn.querySelectorAll("path").map((node) => node.getAttribute("d"));
  assert.deepEqual(ways, ["M117,118A42.75,35.68 0 0 0 31.5,118", "M117,118A20.25,28.48 0 0 0 76.5,118"]);
  assert.deepEqual(drawn.querySelectorAll("path").map((node) => ["stroke-width", "opacity"].map((name) => Number(node.getAttribute(name)))), [[5.5, 0.675], [2.75, 0.5125]]);
  assert.deepEqual(drawn.querySelectorAll(".quiet").map((node) => [node.textContent, Number(node.getAttribute("x"))]), [["50%", 31.5], ["25%", 76.5], ["25%", 117]]);
  assert.equal(drawn.querySelector("svg").getAttribute("aria-label"), "Head 2-1: it looks at cat 50%, sat 25%, it 25%");
  assert.equal(described({ name: "", words: ["a", "b", "it"], from: 2 }, [0.2, 0.78, 0.02]), ": it looks at b 78%, a 20%", "the strongest first, small shares left out");
  const ahead = onPage(() => arcs(board(0, 1, 0), { id: "a", at: 0, name: "", words, from: 0 }));
  assert.match(ahead.querySelector("path").getAttribute("d"), /^M31.5,118A.* 0 0 1 76.5,118$/, "forward, over the words too");
});

test("the pager leads to the screens beside this one and to any by name, and stops at both ends", () => {
  const told = [];
  const items = ["first", "second", "third"].map((key) => ({ key, title: key }));
  const at = (now) => onPage(() => pager({ component: { setTriggerValue: (...given) => told.push(given) } }, { items, now }));
  const [back, next] = at(1).querySelectorAll(".way");
  back.onclick();
  next.onclick();
  assert.deepEqual(told.splice(0), [["station", "first"], ["station", "third"]]);
  assert.deepEqual([back.getAttribute("aria-label"), next.getAttribute("aria-label")], ["Back: first", "Next: third"]);
  const shut = (now) => at(now).querySelectorAll(".way").map((node) => Boolean(node.disabled || node.getAttribute("disabled") !== null));
  assert.deepEqual([shut(0), shut(1), shut(2)], [[true, false], [false, false], [false, true]]);
  assert.deepEqual(texts(at(2).querySelectorAll("option")), ["1 · first", "2 · second", "3 · third"]);
  assert.equal(at(2).querySelector(".place-of").textContent, "of 3");
});

test("keys turn the screens, but not those that are typed, that scroll what is wide, or come with Control, Alt or the command key", () => {
  onPage(() => {
    const told = [];
    const heard = {};
    Object.assign(document, { addEventListener: (kind, act) => (heard[kind] = act), removeEventListener: (kind) => delete heard[kind] });
    const stop = keyboard({ setTriggerValue: (...given) => told.push(given) });
    const press = (key, { field = false, wide = 400, ...more } = {}) => {
      const table = { matches: (selector) => selector === "[role=group][tabindex]", scrollWidth: wide, clientWidth: 400 };
      const event = { key, prevented: false, preventDefault: () => (event.prevented = true), composedPath: () => [{ matches: () => field }, table, {}], ...more };
      heard.keydown(event);
      return [told.splice(0).flat(), event.prevented];
    };
    const keys = ["ArrowRight", "PageDown", "ArrowLeft", "PageUp"];
    assert.deepEqual(keys.map((key) => press(key)), [1, 1, -1, -1].map((go) => [["go", go], true]));
    assert.deepEqual(keys.map((key) => press(key, { wide: 900 })[0].length), [0, 2, 0, 2]);
    for (const more of [{ field: true }, { ctrlKey: true }, { altKey: true }, { metaKey: true }]) assert.deepEqual(press("ArrowRight", more), [[], false]);
    assert.deepEqual(press("a"), [[], false]);
    stop();
    assert.deepEqual(heard, {});
  });
});

test("one query is followed through the keys that are shown, the others have together what is left of the row", () => {
  const block = { tokens: ["a", "b", "c", "d"], query: 3, shown: [1, 2], d_k: 1, d_v: 1, divisor: 1.5, q: 0, k: 0, products: 0, raw: 0, scores: 4, weights: 8, weighted: 0, z: 0 };
  const followed = (...weights) => onPage(() => follow(board(9, -1.5, 3, 0.125, 9, -1, NaN, 9, ...weights), block));
  const lines = (...weights) => followed(...weights).querySelectorAll("tr").map((row) => texts(row.children));
  assert.deepEqual(lines(0.125, 0.5, 0.25, 0.125), [
    ["key", "k", "q × k, number by number", "q · k", "÷ 1.50", "softmax: weight", "weight × v"],
    ["q of d", "", "", "", "", "", ""],
    ["b", "", "", "−1.500", "−1.000", "50.0%", ""],
    ["c", "", "", "3.000", "hidden", "25.0%", ""],
    ["2 more", "", "", "", "", "25.0%", ""],
    ["sum", "", "", "", "", "100.0%", ""],
  ]);
  assert.deepEqual(lines(0, 0, 0, 0).slice(-2).map((line) => line[5]), ["0.0%", "0.0%"], "all is hidden");
  const drawn = followed(0.125, 0.5, 0.25, 0.125);
  assert.deepEqual([texts(drawn.querySelectorAll("tr.strongest .word")), drawn.querySelectorAll(".barline i").map((bar) => bar.style.width)], [["b"], ["62%", "31%", "31%"]]);
});
