import assert from "node:assert/strict";
import test from "node:test";

import draw, { arc } from "../../assets/js/atlas.js";
import { onPage, texts } from "./page.mjs";

test("an arc goes from the middle of one word to the middle of the other, above both", () => {
  const box = { left: 100 };
  const path = arc({ left: 110, width: 20, top: 50 }, { left: 210, width: 40, top: 50 }, { ...box, top: 40 });
  const [x0, y0, , top, x1, y1] = path.match(/-?[\d.]+/g).map(Number);
  assert.deepEqual([x0, x1], [20, 130]);
  assert.equal(y0, y1);
  assert.ok(top < y0);
});

test("a longer arc rises higher, up to a bound", () => {
  const rise = (far) => {
    const [, y0, , top] = arc({ left: 0, width: 2, top: 9 }, { left: far, width: 2, top: 9 }, { left: 0, top: 0 }).match(/-?[\d.]+/g).map(Number);
    return y0 - top;
  };
  assert.ok(rise(60) > rise(10));
  assert.equal(rise(2000), 14);
});

const HEADS = [["1-1", 0.2, 0.1], ["1-2", 0.8, 0.1], ["2-1", 0.2, 0.9]].map(([id, x, y]) => ({ id, x, y, label: `Head ${id}.`, letter: `P${id[0]}`, colour: "red", extreme: id === "2-1", line: ["", "it", " is ", "so", "."], first: "query" }));
const POINTS = { kind: "points", of: "All heads", chosen: "1-2", heads: HEADS, legend: [{ letter: "P", name: "position", colour: "red" }], x: { label: "distance", low: "0", high: "9" }, y: { label: "entropy", low: "none", high: "all" } };

function atlas(data, use) {
  return onPage((page) => {
    const told = [];
    const leave = draw({ data, parentElement: page, setTriggerValue: (...given) => told.push(given) });
    const found = use(page.children[0], told);
    leave();
    return found;
  });
}

test("every head of the atlas stands where its numbers say, up is more, and the axes say what they are", () => {
  atlas(POINTS, (root, told) => {
    const dots = root.querySelectorAll(".dot");
    assert.deepEqual(dots.map(({ style }) => [style.left, style.bottom]), [["20%", "10%"], ["80%", "10%"], ["20%", "90%"]]);
    assert.deepEqual(dots.map((dot) => [dot.ariaPressed, dot.tabIndex, dot.classList.contains("named")]), [["false", -1, false], ["true", 0, true], ["false", -1, true]]);
    assert.deepEqual(dots.map((dot) => texts(dot.querySelectorAll("span"))), [["P1", "1-1"], ["P1", "1-2"], ["P2", "2-1"]]);
    assert.deepEqual(dots.map((dot) => dot.ariaLabel), ["Head 1-1.", "Head 1-2.", "Head 2-1."]);
    assert.equal(root.querySelector(".plane").getAttribute("aria-label"), "All heads: distance across, entropy upwards");
    assert.deepEqual([texts(root.querySelectorAll(".x-ends span")), texts(root.querySelectorAll(".y-ends span"))], [["0", "distance", "9"], ["all", "none"]]);
    assert.equal(root.querySelector(".note").textContent, "Head 1-2. it is so.");
    assert.deepEqual(root.querySelectorAll(".note mark").map((mark) => [mark.textContent, mark.className]), [["it", "looks"], ["so", "seen"]]);
    dots[2].onmouseenter();
    assert.match(root.querySelector(".note").textContent, /^Head 2-1\./);
    dots[0].onclick();
    assert.deepEqual(told, [["head", "1-1"]]);
  });
});

test("the picture of one description's heads is not called that of all heads", () => {
  atlas({ ...POINTS, of: "Heads described by “itself”" }, (root) => {
    assert.equal(root.querySelector(".plane").getAttribute("aria-label"), "Heads described by “itself”: distance across, entropy upwards");
  });
});

test("the legend of the atlas has a letter and a colour for each kind", () => {
  const legend = [{ letter: "P", name: "position", colour: "red" }, { letter: "S", name: "separators", colour: "blue" }];
  atlas({ ...POINTS, legend }, (root) => {
    assert.deepEqual(texts(root.querySelectorAll(".key")), ["Pposition", "Sseparators"]);
    assert.deepEqual(root.querySelectorAll(".swatch").map(({ style }) => style["--dot"]), ["red", "blue"]);
  });
});

test("on the atlas arrows lead to the nearest head that way, and Tab comes back to it", () => {
  atlas(POINTS, (root) => {
    const dots = root.querySelectorAll(".dot");
    const plane = root.querySelector(".plane");
    dots.forEach((dot) => (dot.focus = () => dot.onfocus()));
    const press = (key) => {
      const event = { key, prevented: false, preventDefault: () => (event.prevented = true) };
      plane.onkeydown(event);
      return [dots.findIndex((dot) => dot.tabIndex === 0), event.prevented];
    };
    assert.deepEqual([press("ArrowLeft"), press("ArrowUp"), press("ArrowUp"), press("ArrowDown"), press("x")], [[0, true], [2, true], [2, false], [0, true], [0, false]]);
    assert.deepEqual(dots.map((dot) => dot.tabIndex), [0, -1, -1]);
  });
});

test("a head that is chosen elsewhere is the one that the note is of, whichever had the focus before", () => {
  onPage((page) => {
    const drawn = (chosen) => {
      const leave = draw({ data: { ...POINTS, chosen }, parentElement: page, setTriggerValue() {} });
      const [root] = page.children;
      return [leave, root.querySelectorAll(".dot"), root.querySelector(".note").textContent];
    };
    drawn("1-2")[1][0].onfocus();
    const [leave, dots, note] = drawn("2-1");
    leave();
    assert.match(note, /^Head 2-1\./);
    assert.deepEqual(dots.map((dot) => dot.tabIndex), [0, -1, -1], "Tab comes back to where it was");
  });
});

test("a moment has an arc from the word that looks to the one looked at, where both stand in one line", () => {
  const moment = (tops) => onPage((page) => {
    const line = { line: ["", "it", " is ", "so", "."], first: "key", href: "?a", label: "open", numbers: "90.0 %", note: "" };
    const boxes = { so: { left: 60, width: 20, top: tops[0] }, it: { left: 10, width: 20, top: tops[1] } };
    const given = document.createElement;
    document.createElement = (tag) => Object.assign(given(tag), { getBoundingClientRect() { return boxes[this.textContent] ?? { left: 0, top: 0, width: 300, height: 40 }; } });
    draw({ data: { kind: "moments", groups: [{ title: "strongest", moments: [line] }] }, parentElement: page, setTriggerValue() {} });
    const [link] = page.querySelectorAll(".moments a");
    assert.deepEqual(link.querySelectorAll("mark").map((mark) => [mark.textContent, mark.className]), [["it", "seen"], ["so", "looks"]]);
    return link.querySelector("path")?.getAttribute("d") ?? null;
  });
  assert.equal(moment([20, 20]), arc({ left: 60, width: 20, top: 20 }, { left: 10, width: 20, top: 20 }, { left: 0, top: 0 }));
  assert.equal(moment([20, 60]), null);
});

test("a moment says its numbers before its line, and what there is to add after it; its link and its group have their names", () => {
  const line = { line: ["", "it", " is ", "so", "."], first: "query", href: "?a", label: "Open “it is so.”" };
  const groups = [
    { title: "strongest", moments: [{ ...line, numbers: "90.0 %", note: "" }, { ...line, href: "?b", numbers: "7.5 %", note: "seen twice" }] },
    { title: "", moments: [{ ...line, numbers: "1.0 %", note: "once" }] },
  ];
  atlas({ kind: "moments", groups }, (root) => {
    const items = root.querySelectorAll(".moments").map((list) => list.children.map((item) => item.children.map((part) => [part.className, part.textContent])));
    const said = ["", "it is so."];
    assert.deepEqual(items, [[[["numbers", "90.0 %"], said], [["numbers", "7.5 %"], said, ["more", "seen twice"]]], [[["numbers", "1.0 %"], said, ["more", "once"]]]]);
    assert.deepEqual(texts(root.querySelectorAll(".group")), ["strongest"]);
    const links = root.querySelectorAll(".moments a").map((link) => ["href", "target", "aria-label"].map((name) => link.getAttribute(name)));
    assert.deepEqual(links, [["?a", "_self", line.label], ["?b", "_self", line.label], ["?a", "_self", line.label]]);
  });
});
