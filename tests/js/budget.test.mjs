// The budget of the lesson's first step, and what the browser keeps of the answers.
import assert from "node:assert/strict";
import test from "node:test";
import { merged } from "../../assets/js/memory.js";
import { budget } from "../../assets/js/tiles/budget.js";
import { said } from "../../assets/js/tiles/budget_said.js";
import { added, arrived, centred, cosine, empty, left, mixOf } from "../../assets/js/tiles/budget_sums.js";
import { onPage } from "./page.mjs";

const VALUES = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

test("a head has 100 to give, once", () => {
  let head = empty(3);
  head = added(head, 0, 70);
  head = added(head, 1, 50);
  assert.deepEqual(head, [70, 30, 0]);
  assert.equal(left(head), 0);
  assert.deepEqual(added(head, 0, -100), [0, 30, 0]);
  assert.deepEqual(added(head, 2, 10), head);
});

test("the mix is the weighted sum, and is as like a word as their cosine says", () => {
  assert.deepEqual(mixOf([50, 50, 0], VALUES), [0.5, 0.5, 0]);
  assert.ok(Math.abs(cosine([1, 1, 0], [1, 0, 0]) - Math.SQRT1_2) < 1e-12);
  assert.equal(cosine([0, 0], [1, 0]), 0);
  const plain = centred(VALUES);
  assert.ok(plain[0].reduce((a, b) => a + b) < 1e-12);
  const [first] = arrived([0], [[100, 0, 0]], VALUES);
  assert.deepEqual([first.share, first.met], [100, true]);
  assert.ok(Math.abs(first.like - 1) < 1e-12);
});

test("one head loses or dilutes what two bring", () => {
  const labels = ["animal", "was", "tired"];
  const say = (...heads) => said(labels, [0, 2], heads, VALUES);
  assert.match(say([100, 0, 0]).sentence, /^Lost: tired\. One row adds up to 100 %/);
  assert.match(say([50, 0, 50]).sentence, /^Diluted: animal and tired \(under 80 %/);
  assert.match(say([80, 0, 20]).sentence, /^Diluted: tired/);
  assert.match(say([50, 0, 0]).sentence, /^Head 1 has 50 % left/);
  assert.equal(say([50, 0, 50]).met, false);
  const two = say([100, 0, 0], [0, 0, 100]);
  assert.equal(two.met, true);
  assert.match(two.sentence, /^2 heads, each with 100 % of its own/);
  assert.equal(said(labels, [], [[0, 0, 0]], VALUES).met, false);
});

test("what is answered now counts more than what the browser kept, and marks stay", () => {
  const before = { answers: { a: "1", b: "2" }, done: ["b"] };
  assert.deepEqual(merged(before, { answers: { a: "3" }, done: ["a"] }), { answers: { a: "3", b: "2" }, done: ["a", "b"] });
  assert.deepEqual(merged({}, { answers: {}, done: [] }), { answers: {}, done: [] });
});

test("the bar of a need is as long as what arrives of it, and what is given to a word stands in its cup", () => {
  const block = { labels: ["animal", "was", "tired"], needs: [0, 2], at: 0, width: 3, token: "it", name: "animal" };
  const shown = onPage(() => {
    const made = budget({ numbers: Float32Array.from(VALUES.flat()) }, block);
    for (let i = 0; i < 3; i++) made.querySelectorAll(".cup")[0].onclick({ target: made.querySelectorAll(".cup")[0] });
    return made;
  });
  assert.deepEqual(shown.querySelectorAll(".lane i").map((bar) => bar.style.width), ["30%", "0%"]);
  assert.deepEqual(shown.querySelectorAll(".well i").map((fill) => fill.style.height), ["30%", "0%", "0%"]);
  assert.equal(shown.querySelector(".purse").textContent, "70 % left");
});
