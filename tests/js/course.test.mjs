// Lines over steps, and labels beside their ends: each where its line ends, none upon another, none below the axis.
import assert from "node:assert/strict";
import test from "node:test";

import { course, named } from "../../assets/js/tiles/course.js";
import { onPage, texts } from "./page.mjs";

test("labels that are far apart stay where their lines end", () => {
  assert.deepEqual(named([100, 20, 60]), [100, 20, 60]);
});

test("labels that would lie upon another move down, in the order of their lines", () => {
  assert.deepEqual(named([20, 20, 25]), [20, 36, 52]);
  assert.deepEqual(named([25, 20]), [36, 20]);
});

test("the lowest label stays above the axis, and the others make room", () => {
  const places = named([160, 161, 162]);
  assert.equal(Math.max(...places), 162);
  assert.deepEqual(places, [130, 146, 162]);
  assert.deepEqual(named([]), []);
});

test("on the logarithmic axis the present step stands where the lines have it", () => {
  // 0, 9 and 99 steps: log 1, log 10 and log 100 are evenly apart on the 290 pixels from 46 on.
  const block = { id: "c", name: "", describe: "", high: 1, ticks: [], log: true, now: 9, lines: [{ label: "a", at: 0, count: 3 }] };
  const made = onPage(() => course({ numbers: Float32Array.of(0, 9, 99, 1, 0.5, 0) }, block));
  const along = made.querySelector("polyline").getAttribute("points").split(" ").map((point) => Math.round(Number(point.split(",")[0])));
  assert.deepEqual(along, [46, 191, 336]);
  const present = made.querySelectorAll("path").find((path) => path.getAttribute("stroke-dasharray") === "3 3");
  assert.equal(Math.round(Number(/^M([\d.]+),/.exec(present.getAttribute("d"))[1])), 191);
});

test("each name beside a line has the colour of its line", () => {
  const lines = ["a", "b", "c", "d"].map((label, i) => ({ label, at: 4 * i, count: 2 }));
  const made = onPage(() => course({ numbers: Float32Array.from(lines.flatMap((_, i) => [0, 10, 0, i / 4])) }, { id: "c", name: "", describe: "", high: 1, ticks: [], lines }));
  const names = made.querySelectorAll("text").filter((node) => node.style.fill);
  assert.deepEqual(texts(names), ["a", "b", "c", "d"]);
  assert.ok(texts(made.querySelectorAll("text")).includes("10 steps"), "the axis ends at the last step");
  const colours = made.querySelectorAll("polyline").map((line) => line.getAttribute("stroke"));
  assert.deepEqual(names.map((node) => node.style.fill), colours);
  assert.deepEqual([new Set(colours.slice(0, 3)).size, colours[3]], [3, colours[0]]);
});

test("a line's name stands where the line ends", () => {
  const block = { id: "c", name: "", describe: "", high: 1, ticks: [], lines: [{ label: "a", at: 0, count: 2 }] };
  const made = onPage(() => course({ numbers: Float32Array.of(0, 10, 1, 0.25) }, block));
  const [name] = made.querySelectorAll("text").filter((node) => node.style.fill);
  const end = made.querySelector("polyline").getAttribute("points").split(" ")[1].split(",")[1];
  assert.equal(Number(name.getAttribute("y")), Number(end) + 5);
});
