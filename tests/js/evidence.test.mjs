// Tables of evidence, strips of heads and the atlas, as they stand on the page.
import assert from "node:assert/strict";
import test from "node:test";
import atlas from "../../assets/js/atlas.js";
import jobs from "../../assets/js/jobs.js";
import { onPage, texts } from "./page.mjs";

const drawn = (component, data) =>
  onPage((parent) => {
    const sent = [];
    component({ data, parentElement: parent, setTriggerValue: (...pair) => sent.push(pair) });
    return parent;
  });

test("a score is a dot on its interval, and the simple rule a mark of its own", () => {
  const row = { key: "det", name: "articles", cells: [{ text: "80.0 %", bar: { low: 0.7, high: 0.9, dot: 0.8, base: 0.25 } }, { text: "12" }] };
  const data = { kind: "table", caption: "", job: "", columns: [{ title: "Job" }, { title: "Score" }, { title: "n" }], groups: [{ title: "All", rows: [row] }] };
  const page = drawn(jobs, data);
  const left = (name) => page.querySelector(`.${name}`).style.left;
  assert.deepEqual([left("dot"), left("base"), left("ci"), page.querySelector(".ci").style.width], ["80.0%", "25.0%", "70.0%", "20.0%"]);
  assert.deepEqual(page.querySelectorAll("td").map((cell) => [cell.dataset.label, cell.querySelector("span").textContent]), [["Score", "80.0 %"], ["n", "12"]]);
});

test("the chosen head is marked among the model's heads, not among the untrained ones", () => {
  const rows = [{ name: "trained", heads: [["1-1", 0.1], ["1-2", 0.4]] }, { name: "untrained", heads: [["1-1", 0.2], ["1-2", 0.3]] }];
  const page = drawn(jobs, { kind: "strip", said: "", rows, chosen: "1-2", marks: [{ name: "rule", value: 0.25 }] });
  const [trained, untrained] = page.querySelectorAll(".rug");
  const tick = trained.querySelector("i.chosen");
  assert.deepEqual([tick.style.left, trained.querySelector(".flag").textContent, trained.querySelector(".mark").style.left], ["80%", "1-2: 40.0 %", "50%"]);
  assert.deepEqual(untrained.querySelectorAll(".chosen"), []);
});

test("on the strip a share has the tenths that it has everywhere else: halves of a tenth go up", () => {
  const rows = [{ name: "trained", heads: [["1-1", 0.7865], ["1-2", 0.1285]] }];
  const page = drawn(jobs, { kind: "strip", said: "", rows, chosen: "1-1", marks: [{ name: "simple rule", value: 0.9335 }] });
  assert.deepEqual(texts(page.querySelectorAll(".flag")), ["1-1: 78.7 %", "simple rule 93.4 %"]);
  assert.deepEqual(page.querySelectorAll("i").map((tick) => tick.getAttribute("title")), ["1-1: 78.7 %", "1-2: 12.9 %"]);
});

test("the line of the strip is long enough for a rule or a twin above every head", () => {
  const placed = (twin, rule) => {
    const rows = [{ name: "trained", heads: [["1-1", 0.05], ["1-2", 0.1]] }, { name: "untrained", heads: [["1-1", twin]] }];
    const page = drawn(jobs, { kind: "strip", said: "", rows, chosen: "1-1", marks: [{ name: "simple rule", value: rule }, { name: "control", value: 0.02 }] });
    const ticks = [...page.querySelectorAll("i"), ...page.querySelectorAll("b")].map((tick) => tick.style.left);
    return [ticks, texts(page.querySelector(".ends").children), page.querySelectorAll(".flag").map(({ textContent, style }) => [textContent, style.left ?? null, style.right ?? null])];
  };
  assert.deepEqual(placed(0.025, 0.375), [
    ["10%", "20%", "5%", "75%", "4%"], ["0 %", "25 %", "50 %"],
    [["1-1: 5.0 %", "10%", null], ["simple rule 37.5 %", null, "25%"], ["control 2.0 %", "4%", null]],
  ]);
  assert.deepEqual(placed(0.75, 0.0625), [
    ["5%", "10%", "75%", "6.25%", "2%"], ["0 %", "50 %", "100 %"],
    [["1-1: 5.0 %", "5%", null], ["simple rule 6.3 %", "6.25%", null], ["control 2.0 %", "2%", null]],
  ]);
});

const POINTS = {
  kind: "points",
  of: "All heads",
  chosen: "1-2",
  x: { label: "first token", low: "0 %", high: "100 %" },
  y: { label: "entropy", low: "0.0", high: "3.2" },
  legend: [{ letter: "A", name: "rests", colour: "#112233" }],
  heads: [
    { id: "1-1", x: 0.1, y: 0.2, letter: "A", colour: "#112233", label: "Head 1-1: rests.", line: ["a ", "b", " c ", "d", " e"], first: "query" },
    { id: "1-2", x: 0.7, y: 0.9, letter: "B", colour: "#445566", label: "Head 1-2: looks back.", line: ["v ", "w", " x ", "y", " z"], first: "key" },
  ],
};

test("a head stands where its two measures put it, the high ones up and to the right", () => {
  const page = drawn(atlas, POINTS);
  const [low, high] = page.querySelectorAll(".dot").map(({ style }) => [style.left, style.bottom, style["--dot"]]);
  assert.deepEqual([low, high], [["10%", "20%", "#112233"], ["70%", "90%", "#445566"]]);
  assert.deepEqual(texts(page.querySelectorAll(".y-ends span")), ["3.2", "0.0"]);
  assert.deepEqual(texts(page.querySelectorAll(".x-ends span")), ["0 %", "first token", "100 %"]);
  assert.deepEqual(texts(page.querySelectorAll(".key")), ["Arests"]);
});

test("of the two words of a line one looks and the other is looked at, whichever comes first", () => {
  const page = drawn(atlas, POINTS);
  const words = () => [page.querySelector(".note .looks").textContent, page.querySelector(".note .seen").textContent];
  assert.deepEqual(words(), ["y", "w"]);
  onPage(() => page.querySelectorAll(".dot")[0].onmouseenter());
  assert.deepEqual(words(), ["b", "d"]);
});

test("a press on a job or a head of the table tells its key, whatever it is called there", () => {
  const row = { key: "det:back", name: "noun → its determiner", cells: [{ head: "3-9" }] };
  const data = { kind: "table", caption: "", job: "", columns: [{ title: "Job" }, { title: "Best head" }], groups: [{ title: "All", rows: [row] }] };
  const sent = [];
  onPage((parent) => {
    jobs({ data, parentElement: parent, setTriggerValue: (...pair) => sent.push(pair) });
    for (const button of parent.querySelectorAll("button")) button.onclick();
  });
  assert.deepEqual(sent, [["job", "det:back"], ["head", "3-9"]]);
});
