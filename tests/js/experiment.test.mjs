import assert from "node:assert/strict";
import { test } from "node:test";
import { Experiment } from "../../assets/js/experiment.js";
import { BeforeAfter } from "../../assets/js/experiment/before_after.js";
import { effect, inWords } from "../../assets/js/experiment/said.js";
import { Strongest } from "../../assets/js/experiment/strongest.js";
import { Toolbar } from "../../assets/js/experiment/toolbar.js";
import { onPage, texts } from "./page.mjs";

const roles = { "2-1": { letter: "P", label: "previous token" } };

test("a head that was not tried yet is not said to do nothing", () => {
  assert.equal(effect(NaN, { measure: "loss", was: 3 }), "not tried yet.");
  assert.equal(effect(-0.5, { measure: "loss", was: 3 }), "loss 3.00 → 2.50 (−0.50).");
  assert.equal(effect(0.25, { measure: "loss", was: -1 }), "loss −1.00 → −0.75 (+0.25).");
});

test("of a switch it is said what was done to it, else how much it moved", () => {
  const view = { data: { roles, done: "taken away", moved: { "2-1": 0.123 } }, off: new Set(["1-1"]) };
  assert.equal(inWords([0, 0], view), "Head 1-1: taken away.");
  assert.equal(inWords([1, 0], view), "Head 2-1, previous token: 12.3 % of its attention looks elsewhere.");
  assert.equal(inWords([1, 1], view), "Head 2-2.");
});

test("of every word two bars and two numbers: as it was, and as it is", () => {
  const rows = [{ id: null, mark: "", text: "mat", before: 0.5, after: 0.125, target: true }];
  const { root } = onPage(() => {
    const bars = new BeforeAfter(() => {});
    bars.fill({ title: "", before: "as it is", after: "without 1-2", unit: "percent", rows, note: "" });
    return bars;
  });
  const width = (name) => root.querySelector(`.track .${name}`).style.width;
  assert.deepEqual([width("was"), width("is")], ["50.00%", "12.50%"]);
  assert.deepEqual(texts(root.querySelectorAll(".numbers")), ["50.0 %12.5 %"]);
  const key = root.querySelector(".key").childNodes.map((node) => node.className || node.textContent);
  assert.deepEqual(key, ["bar was", " as it is", "bar is", " without 1-2"]);
});

test("the strongest heads: what falls goes to the left in the colour of less", () => {
  const strongest = [{ head: "1-1", label: "", effect: -2, address: "" }, { head: "1-2", label: "", effect: 1, address: "" }];
  const { root } = onPage(() => {
    const list = new Strongest();
    list.fill({ strongest, top: 2, measure: "loss" });
    return list;
  });
  const bars = root.querySelectorAll(".both-ways i").map(({ className, style: { width, left, right } }) => ({ className, width, left, right }));
  assert.deepEqual(bars, [{ className: "less", width: "50.00%", left: undefined, right: "50%" }, { className: "more", width: "25.00%", left: "50%", right: undefined }]);
});

test("as many at random are drawn from those that are not switched", () => {
  const off = new Set(["1-1", "2-2"]);
  for (let draw = 0; draw < 20; draw++) {
    onPage(() => {
      const bar = new Toolbar({ set: (drawn) => assert.deepEqual([drawn.size, [...drawn].some((name) => off.has(name))], [2, false]) });
      Object.assign(bar, { data: { shape: [2, 3] }, off });
      bar.draw();
    });
  }
});

test("a map of effects has a row a layer, and its legend goes from less to more", () => {
  const page = Object.assign(Object.create(Experiment.prototype), { effects: [1, 2, 3, 4, 5, 6], data: { shape: [2, 3], top: 1.5 } });
  assert.deepEqual([page.effectOf([0, 1]), page.effectOf([1, 0])], [2, 4]);
  assert.deepEqual(onPage(() => texts(page.legendsNow()[0].querySelectorAll("span"))), ["−1.50", "+1.50"]);
});
