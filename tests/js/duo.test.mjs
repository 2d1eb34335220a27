// Two sentences, word under word: where the words stand, the arcs of either side, and the percentages between them.
import assert from "node:assert/strict";
import test from "node:test";
import { Duo, directionOf } from "../../assets/js/duo.js";
import { onPage, texts, withGlobals } from "./page.mjs";

const RAMP = Array.from({ length: 1024 }, (_, i) => [i, 0, 0]);
const PAINT = { ramp: RAMP };
const text = (names, more = {}) => ({ names, specials: names.map((name) => name.startsWith("[")), segments: names.map(() => 0), before: names.map((_, i) => (i ? " " : "")), ...more });
const A = text(["[CLS]", "was", "tired"]);
const B = text(["[CLS]", "is", "wide", "."]);
const PAIRS = [[0, 0], [1, 1], [2, 2], [null, 3]];

// Columns at `rects`: [left, line, width]; a line is 120 pixels high, the word of A in its upper half, that of B in its lower.
function laid(rects, { present = false, width = 500, high = 900, tall = 150, actions = {}, a = A, b = B, pairs = PAIRS, differs = [false, true, true, true] } = {}) {
  const duo = new Duo(actions);
  duo.fill(a, b, pairs, differs);
  Object.assign(duo.root, { clientWidth: width, scrollHeight: tall, scrollTop: 0, getBoundingClientRect: () => ({ left: 20, top: 100 }) });
  duo.columns.forEach((column, i) => (column.getBoundingClientRect = () => ({ left: 20 + rects[i][0], top: 100 + 120 * rects[i][1] })));
  for (const side of [0, 1]) duo.units[side].forEach((unit, i) => unit && (unit.getBoundingClientRect = () => ({ left: 20 + rects[i][0], top: 110 + 120 * rects[i][1] + 50 * side, width: rects[i][2], height: 20 })));
  withGlobals({ innerHeight: high }, () => duo.measure(present));
  return duo;
}
const ONE = [[0, 0, 40], [100, 0, 60], [200, 0, 40], [300, 0, 20]];

test("a column says where the text is cut, where a new line begins, and which way it is read", () => {
  onPage(() => {
    const duo = laid(ONE, { b: { ...B, cut: "4 more", segments: [0, 0, 1, 1], unknown: [false, true], joined: [false, false, false, true] } });
    assert.deepEqual(texts(duo.words.children), ["AB", "[CLS][CLS]", "was in A, is in B", "tired in A, wide in B", "only in B: .", " ✂ cut here: 4 more"]);
    assert.deepEqual(duo.columns.map((column) => ["spaced", "differs", "turn"].filter((name) => column.classList.contains(name)).join(" ")), ["", "spaced differs", "spaced differs turn", "spaced differs"]);
    assert.deepEqual(duo.units.map((side) => side.map((cell) => cell?.className ?? null)), [["unit special", "unit", "unit", null], ["unit special", "unit unknown", "unit", "unit joined"]]);
    assert.deepEqual(duo.words.children.at(-1).children.map((node) => node.className), ["unit", "cut"]);
    const both = laid(ONE, { a: { ...A, cut: "1 piece left out" }, b: { ...B, cut: "4 more" } });
    assert.deepEqual(texts(both.words.children.at(-1).children), [" ✂ cut here: 1 piece left out", " ✂ cut here: 4 more"]);
    assert.equal(duo.words.dir, "ltr");
    assert.equal(duo.characters, 4 + 1 + 3 + 1 + 5 + 1 + 1);
    assert.deepEqual([directionOf("[CLS] 12 שלום a"), directionOf("abc שלום"), directionOf("123")], ["rtl", "ltr", "ltr"]);
  });
});

test("columns are pointed at, chosen, added and changed; a finger points at nothing", () => {
  onPage(() => {
    const said = [];
    const duo = laid(ONE, { actions: { point: (unit) => said.push(["point", unit]), choose: (...given) => said.push(["choose", ...given]), retype: () => {}, redraw: () => {} } });
    const on = (column) => ({ target: { closest: (css) => (css === "[data-column]" && column !== null ? duo.columns[column] : null) } });
    const after = () => said.splice(0);
    duo.words.onpointerover({ ...on(3), pointerType: "mouse" });
    duo.words.onpointerover({ ...on(null), pointerType: "mouse" });
    duo.words.onpointerover({ ...on(3), pointerType: "touch" });
    duo.words.onpointerleave();
    assert.deepEqual(after(), [["point", 3], ["point", null], ["point", null]]);
    duo.words.onclick(on(null));
    duo.words.onclick({ ...on(1), shiftKey: false, ctrlKey: false, metaKey: false });
    for (const key of ["shiftKey", "ctrlKey", "metaKey"]) duo.words.onclick({ ...on(2), shiftKey: false, ctrlKey: false, metaKey: false, [key]: true });
    assert.deepEqual(after(), [["choose", 1, false], ["choose", 2, true], ["choose", 2, true], ["choose", 2, true]]);
    const changed = [];
    duo.edit.begin = (cells, typed) => changed.push([duo.edited, texts(cells), typed]);
    duo.words.onclick({ target: { closest: (css) => (css === ".ready" ? duo.units[1][2] : null) } });
    duo.words.ondblclick({ target: { closest: () => duo.units[0][1] } });
    duo.words.ondblclick({ target: { closest: () => duo.units[0][0] } });
    assert.deepEqual(changed.splice(0), [[[1, 2], ["wide"], null], [[0, 1], ["was"], null]], "special tokens are not changed");
    Object.assign(duo, { focus: 2 });
    duo.editHere("x");
    duo.focus = 3;
    duo.editHere();
    assert.deepEqual(changed, [[[1, 2], ["wide"], "x"], [[1, 3], ["."], null]]);
    duo.columns[2].matches = () => true;
    duo.columns[2].onfocus({ target: duo.columns[2] });
    duo.columns[1].onfocus({ target: { matches: () => false } });
    duo.columns[1].onblur();
    assert.deepEqual([after(), duo.focus], [[["point", 2], ["point", null]], 1]);
  });
});

test("the word that is typed goes to the sentence and the place that were pressed", () => {
  onPage(() => {
    const said = [];
    const duo = laid(ONE, { actions: { retype: (...given) => said.push(given), redraw() {}, point() {} } });
    duo.edit.begin = () => {};
    for (const [side, unit] of [[1, 2], [0, 1], [1, 3]]) {
      duo.words.ondblclick({ target: { closest: () => duo.cellOf[side][unit] } });
      duo.edit.changed("new");
    }
    assert.deepEqual(said, [[1, 2, "new"], [0, 1, "new"], [1, 3, "new"]]);
  });
});

test("after a word that only one sentence has, the word that is pressed is the one that is changed", () => {
  onPage(() => {
    const changed = (duo) => {
      const begun = [];
      duo.edit.begin = (cells, typed) => begun.push([duo.edited, texts(cells), typed]);
      return begun;
    };
    const press = (duo, cell) => duo.words.ondblclick({ target: { closest: () => cell } });
    // "very" stands in B alone, so that A's third and fourth word, pieces of one, stand in the fourth and fifth column.
    const pieces = { joined: [false, false, false, true] };
    const more = { a: text(["[CLS]", "was", "ti", "red"], pieces), b: text(["[CLS]", "is", "very", "ti", "red"], { joined: [false, false, false, false, true] }), pairs: [[0, 0], [1, 1], [null, 2], [2, 3], [3, 4]], differs: [false, true, true, false, false] };
    const longer = laid([...ONE, [340, 0, 20]], more);
    const begun = changed(longer);
    press(longer, longer.units[0][4]);
    press(longer, longer.units[0][1]);
    longer.focus = 2;
    longer.editHere();
    assert.deepEqual(begun, [[[0, 3], ["ti", "red"], null], [[0, 1], ["was"], null], [[1, 2], ["very"], null]]);
    const shorter = laid(ONE, { a: text(["[CLS]", "was", "very", "tired"]), b: text(["[CLS]", "is", "wide"]), pairs: [[0, 0], [1, 1], [2, null], [3, 2]] });
    const again = changed(shorter);
    press(shorter, shorter.units[1][3]);
    shorter.focus = 2;
    shorter.editHere("x");
    assert.deepEqual(again, [[[1, 2], ["wide"], null], [[0, 2], ["very"], "x"]]);
    shorter.offer(true);
    assert.deepEqual(shorter.units[1].map((cell) => cell?.classList.contains("ready") ?? null), [false, false, null, true]);
  });
});

test("on one line the arcs of A have room above and those of B below", () => {
  onPage(() => {
    const duo = laid(ONE);
    assert.equal(duo.size, 33);
    assert.equal(laid(ONE, { present: true, width: 2000 }).size, 60);
    // From 20 to 310: 0.8 of 290 rise to 26 + 0.3 * 232 = 95.6.
    assert.deepEqual([duo.most, duo.root.style["--rise"], duo.root.style["--size"]], [33 * 3.6, `${Math.round(95.6 * 0.75 + 12)}px`, "33.0px"]);
    assert.deepEqual(duo.boxes.map((side) => side.map((box) => box && [box.x, box.width, box.top.toFixed(1), box.bottom.toFixed(1), box.line])), [
      [[20, 40, "0.2", "39.8", 0], [130, 60, "0.2", "39.8", 0], [220, 40, "0.2", "39.8", 0], null],
      [[20, 40, "50.2", "89.8", 0], [130, 60, "50.2", "89.8", 0], [220, 40, "50.2", "89.8", 0], [310, 20, "50.2", "89.8", 0]],
    ]);
    assert.deepEqual(["viewBox", "width", "height"].map((name) => duo.arcs.getAttribute(name)), ["0 0 500 150", "500", "150"]);
    assert.deepEqual(["many", "scrolls"].map((name) => duo.root.classList.contains(name)), [false, false]);
  });
});

test("on several lines they have lanes in the margins, and more than four lines scroll, but not before a class", () => {
  onPage(() => {
    const lines = (last, more) => laid(ONE.map(([left, , width], i) => [left, i === 3 ? last : 0, width]).map((rect, i) => (i === 2 && last > 1 ? [rect[0], last - 1, rect[2]] : rect)), more);
    const two = lines(1);
    assert.deepEqual([two.most, two.root.style["--rise"], two.boxes[1].map((box) => box.line)], [33 * 1.5, "50px", [0, 0, 0, 1]]);
    assert.deepEqual(["many", "scrolls"].map((name) => two.root.classList.contains(name)), [true, false]);
    const many = (count, more = {}) => {
      const names = Array.from({ length: count }, (_, i) => `w${i}`);
      return laid(names.map((_, i) => [0, i, 40]), { a: text(names), b: text(names), pairs: names.map((_, i) => [i, i]), differs: names.map(() => false), ...more });
    };
    assert.deepEqual([many(4), many(5), many(5, { present: true })].map((duo) => duo.root.classList.contains("scrolls")), [false, true, false]);
  });
});

test("before a class both sentences get smaller until they take no more than 42 percent of the screen", () => {
  onPage(() => {
    assert.equal(laid(ONE, { present: true, width: 2000, high: 1000, tall: 420 }).size, 60);
    const full = laid(ONE, { present: true, width: 2000, high: 1000, tall: 421 });
    assert.ok(full.size <= 20 && full.size > 18);
    assert.equal(laid(ONE, { high: 100, tall: 500 }).size, 33);
  });
});

test("arcs of A rise, those of B hang, each as thick and dark as its weight and with its point", () => {
  onPage(() => {
    const duo = Object.assign(laid(ONE), { size: 36 });
    for (const side of [0, 1]) duo.boxes[side].forEach((box) => box && Object.assign(box, { top: 10 + 50 * side, bottom: 40 + 50 * side }));
    duo.most = 200;
    const draw = (links, more = {}) => {
      duo.draw({ links, from: [], to: null, pointed: null, masses: new Map(), ...more }, PAINT);
      return duo.arcs.querySelectorAll("path").map((path) => ["d", "stroke-width", "stroke"].map((name) => path.getAttribute(name)));
    };
    const weight = (share) => (1 + 21 * share) * 0.85;
    const point = (share) => 1.3 * Math.max(4, weight(share) * 0.85);
    const r = (v) => Math.round(v * 10) / 10;
    // 26 + 0.3 * 110 = 59 and 26 + 0.3 * 90 = 53.
    assert.deepEqual(draw([[{ from: 0, to: 1, weight: 0.5 }], [{ from: 2, to: 1, weight: 0.2 }]]), [
      [`M20 10C20 -49 130 ${r(10 - point(0.5) - 59)} 130 ${r(10 - point(0.5))}`, weight(0.5).toFixed(2), `rgb(${Math.round(0.65 * 1023)}, 0, 0)`],
      [`M220 90C220 143 130 ${r(90 + point(0.2) + 53)} 130 ${r(90 + point(0.2))}`, weight(0.2).toFixed(2), `rgb(${Math.round(0.44 * 1023)}, 0, 0)`],
    ]);
    assert.equal(duo.arcs.querySelectorAll("polygon").length, 2);
    draw([[{ from: 1, to: 1, weight: 0.5 }, { from: 3, to: 0, weight: 0.4 }], []]);
    assert.deepEqual([duo.shapes.length, duo.arcs.querySelectorAll("polygon").length], [1, 0], "a word that looks at itself has no point, and one that is not there no arc");
    draw([Array.from({ length: 12 }, (_, i) => ({ from: 0, to: 1, weight: 0.5 - i / 100 })), []]);
    assert.deepEqual([duo.shapes.length, duo.shapes[0].width.toFixed(2), duo.shapes.at(-1).width.toFixed(2)], [10, weight(0.41).toFixed(2), weight(0.5).toFixed(2)], "the ten strongest, the strongest on top");
    duo.root.classList.toggle("many", true);
    draw([[{ from: 0, to: 1, weight: 0.5 }], []]);
    assert.equal(duo.shapes[0].width, 11.5 * 0.6);
  });
});

test("from line to line the arcs of A run through the left margin, those of B through the right one, and are thin", () => {
  onPage(() => {
    const duo = laid(ONE.map(([left, , width], i) => [left, i > 1 ? 1 : 0, width]));
    const lane = (side) => {
      const links = [[], []];
      links[side] = [{ from: 1, to: 2, weight: 0.9 }];
      duo.draw({ links, from: [], to: null, pointed: null, masses: new Map() }, PAINT);
      const [, , , x] = /H(-?[\d.]+)Q(-?[\d.]+) (-?[\d.]+) (-?[\d.]+)/.exec(duo.shapes[0].d);
      return [Number(/Q(\S+) \S+ (\S+) \S+V/.exec(duo.shapes[0].d)[1]), duo.shapes[0].width, x !== undefined];
    };
    assert.deepEqual([lane(0), lane(1)], [[8, 6, true], [492, 6, true]]);
    // The way leaves the word and the level of its line 0.55 of the size away.
    const up = duo.wayOf(duo.boxes[0][1], duo.boxes[0][2], 0).match(/-?[\d.]+/g).map(Number);
    const down = duo.wayOf(duo.boxes[1][1], duo.boxes[1][2], 1).match(/-?[\d.]+/g).map(Number);
    const gap = 0.55 * 33;
    assert.ok(Math.abs(up[4] - (duo.boxes[0][1].top - gap)) < 0.06);
    assert.ok(Math.abs(down[4] - (duo.boxes[1][1].bottom + gap)) < 0.06);
  });
});

test("two percentages stand face to face, large ones strong, and none where the other text has no such word", () => {
  onPage(() => {
    const duo = laid(ONE);
    const shares = (masses, more = {}) => {
      duo.draw({ links: [[], []], from: [], to: null, pointed: null, masses: new Map(masses), ...more }, PAINT);
      return duo.labels.children.map((node) => [node.textContent, node.className, node.style.left, node.style.top]);
    };
    assert.deepEqual(shares([[1, [0.2, 0.05]], [3, [null, 0.1]]]), [
      ["20.0 %", "share strong", "130px", "41.8px"], ["5.0 %", "share strong above", "130px", "48.2px"], ["10.0 %", "share above", "310px", "48.2px"],
    ]);
    assert.deepEqual(shares([[1, [0.19, 0.05]]]).map(([, name]) => name), ["share", "share above"]);
    assert.deepEqual(shares([[1, [0.01, 0.05]]], { to: 1 }).map(([, name]) => name), ["share strong", "share strong above"]);
    // Two that would lie upon one another: the one that was asked for stands, whatever it weighs.
    duo.boxes[0][2].x = 135;
    duo.boxes[0][1].x = 130;
    assert.deepEqual(shares([[1, [0.01, 0.01]], [2, [0.6, 0.6]]], { to: 1 })[0].slice(0, 1), ["1.0 %"]);
    assert.deepEqual(shares([[1, [0.01, 0.01]], [2, [0.6, 0.6]]])[0].slice(0, 1), ["60.0 %"]);
  });
});
