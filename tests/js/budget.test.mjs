// The budget of the lesson's first step, and what the browser keeps of the answers.
import assert from "node:assert/strict";
import test from "node:test";
import { merged } from "../../assets/js/memory.js";
import { budget } from "../../assets/js/tiles/budget.js";
import { said } from "../../assets/js/tiles/budget_said.js";
import { added, arrived, centred, cosine, empty, left, mixOf } from "../../assets/js/tiles/budget_sums.js";
import { onPage, texts } from "./page.mjs";

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
  assert.match(say([100, 0, 0], [0, 0, 60]).sentence, /^Head 2 has 40 % left/);
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
  const [first] = shown.querySelectorAll(".cup");
  assert.deepEqual(["aria-label", "aria-valuetext"].map((name) => first.getAttribute(name)), ["animal, head 1", "30 %"]);
});

test("the word that was pressed last is where the tabulator comes back to", () => {
  const block = { labels: ["animal", "was", "tired"], needs: [0, 2], at: 0, width: 3, token: "it", name: "animal" };
  const stops = onPage(() => {
    const made = budget({ numbers: Float32Array.from(VALUES.flat()), component: { setStateValue() {} } }, block);
    const found = () => made.querySelectorAll(".need").map((button) => button.tabIndex);
    const before = found();
    made.querySelectorAll(".need")[1].onclick();
    return [before, found()];
  });
  assert.deepEqual(stops, [[0, -1, -1], [-1, 0, -1]]);
});

// What the reader finds who comes back to words of whom the browser kept this.
function reopened(kept, use, others = {}) {
  const stored = { "headscope-budget": JSON.stringify({ ...others, animal: kept }) };
  globalThis.localStorage = { getItem: (name) => stored[name], setItem: (name, value) => (stored[name] = value) };
  const block = { labels: ["animal", "was", "tired"], needs: [0, 2], at: 0, width: 3, token: "it", name: "animal" };
  try {
    return onPage(() => use(budget({ numbers: Float32Array.from(VALUES.flat()), component: { setStateValue() {} } }, block), () => JSON.parse(stored["headscope-budget"]).animal));
  } finally {
    delete globalThis.localStorage;
  }
}
const shares = (made) => made.querySelectorAll(".cups").map((row) => row.querySelectorAll(".share").map((node) => Number(node.textContent)));

test("what the browser kept of a budget comes back, and what is no budget does not", () => {
  const found = (kept) => reopened(kept, shares);
  assert.deepEqual(found({ heads: [[0, 60, 40], [100, 0, 0]], needs: [1] }), [[0, 60, 40], [100, 0, 0]]);
  const none = [[0, 0, 0]];
  for (const heads of [[[0, 60, 50]], [[0, -10, 50]], [[0, 0.5, 0]], [[0, 60]], [[0, 0, 0, 0]], [], "x", null, [[101, 0, 0]], Array(5).fill([0, 0, 0])]) assert.deepEqual(found({ heads }), none, JSON.stringify(heads));
  const elsewhere = reopened({}, shares, { boat: { heads: [[0, 0, 70]] } });
  assert.deepEqual(elsewhere, none, "each sentence has a budget of its own");
  const needed = (needs) => reopened({ needs }, (made) => made.querySelectorAll(".need").map((button) => button.getAttribute("aria-pressed")).indexOf("true"));
  assert.deepEqual([[1], [3], [-1], [0.5], "1"].map(needed), [1, 0, 0, 0, 0]);
});

test("six words at most are needed: a seventh is not taken, no other one is lost, and the line says why", () => {
  const labels = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const found = onPage(() => {
    const made = budget({ numbers: new Float32Array(24), component: { setStateValue() {} } }, { labels, needs: [1, 2, 3, 4, 5], at: 0, width: 3, token: "it", name: "n" });
    const press = (i) => {
      made.querySelectorAll(".need")[i].onclick();
      const buttons = made.querySelectorAll(".need");
      const with_ = (name) => labels.filter((_, at) => buttons[at].getAttribute(name) === "true").join("");
      return [made.querySelector(".needs").querySelector(".quiet").textContent, with_("aria-pressed"), with_("aria-disabled")];
    };
    return [press(7), press(0), press(2), press(0)];
  });
  const full = "What it needs (6 at most):";
  assert.deepEqual(found, [[full, "bcdefh", "ag"], [full, "bcdefh", "ag"], ["What it needs:", "bdefh", ""], [full, "abdefh", "cg"]]);
});

test("a second head is offered once the first has given all, and the next one up to the fourth", () => {
  const offered = (heads) => reopened({ heads }, (made) => made.querySelectorAll(".press").map(({ textContent, disabled }) => [textContent, disabled]));
  const back = ["Take all back", false];
  assert.deepEqual(offered([[100, 0, 0]]), [["Add a second head", false], back]);
  assert.deepEqual(offered([[90, 0, 0]]), [["Add a second head", true], back]);
  assert.deepEqual(offered(Array(2).fill([0, 0, 100])), [["Add a third head", false], back]);
  assert.deepEqual(offered([[100, 0, 0], [0, 0, 90]]), [["Add a third head", true], back], "each of them has to give all");
  assert.deepEqual(offered(Array(3).fill([0, 0, 100])), [["Add a fourth head", false], back]);
  assert.deepEqual(offered(Array(4).fill([0, 0, 100])), [back]);
  reopened({ heads: [[100, 0, 0]] }, (made, kept) => {
    made.querySelectorAll(".press")[0].onclick();
    assert.deepEqual([shares(made), kept().heads], [[[100, 0, 0], [0, 0, 0]], [[100, 0, 0], [0, 0, 0]]]);
    made.querySelectorAll(".press")[1].onclick();
    assert.deepEqual([shares(made), kept().heads], [[[0, 0, 0]], [[0, 0, 0]]]);
  });
});

test("a press on a word gives it ten, on its number or with Shift takes ten back", () => {
  reopened({ heads: [[0, 50, 0]] }, (made) => {
    const press = (name, more = {}) => {
      const cup = made.querySelectorAll(".cup")[1];
      cup.onclick({ target: cup.querySelector(name), ...more });
      return shares(made)[0][1];
    };
    assert.deepEqual([press(".well"), press(".word"), press(".share"), press(".word", { shiftKey: true })], [60, 70, 60, 50]);
  });
});

test("keys give and take, and go from word to word round the end", () => {
  reopened({}, (made) => {
    const press = (i, key) => {
      const cup = made.querySelectorAll(".cup")[i];
      let focused = null;
      made.querySelectorAll(".cup").forEach((other, at) => (other.focus = () => (focused = at)));
      cup.onkeydown({ key, preventDefault() {}, stopPropagation() {} });
      return focused;
    };
    for (const key of ["ArrowUp", "+", "ArrowDown"]) press(1, key);
    assert.deepEqual(shares(made), [[0, 10, 0]]);
    press(2, "End");
    assert.deepEqual(shares(made), [[0, 10, 90]]);
    press(1, "Delete");
    assert.deepEqual(shares(made), [[0, 0, 90]]);
    assert.deepEqual([press(2, "ArrowRight"), press(0, "ArrowLeft"), press(0, "ArrowRight"), press(0, "x")], [0, 2, 1, null]);
  });
});

test("what arrives of a need is told of the head that gives it most, without what all values have in common", () => {
  const [need] = arrived([1], [[0, 80, 20], [0, 20, 0]], VALUES);
  assert.deepEqual([need.head, need.share, need.met], [0, 80, true]);
  // Less their mean the three values are at 120 degrees; half of the first and half of the second are at 60 to each.
  const [half] = arrived([0], [[50, 50, 0]], VALUES);
  assert.ok(Math.abs(half.like - 0.5) < 1e-12);
});

test("Delete takes all of a word back, and the minus sign a step", () => {
  const block = { labels: ["animal", "was", "tired"], needs: [0], at: 0, width: 3, token: "it", name: "taken" };
  onPage(() => {
    const made = budget({ numbers: Float32Array.from(VALUES.flat()), component: { setStateValue() {} } }, block);
    const cup = () => made.querySelectorAll(".cup")[0];
    const key = (name) => cup().onkeydown({ key: name, preventDefault() {}, stopPropagation() {} });
    const share = () => cup().getAttribute("aria-valuenow");
    key("End");
    key("-");
    assert.equal(share(), "90");
    key("Delete");
    assert.equal(share(), "0");
  });
});
