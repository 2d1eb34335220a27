// Lists beside the picture: the ranked heads, the likeliest next words, and the jobs.
import assert from "node:assert/strict";
import test from "node:test";
import jobs, { scale } from "../../assets/js/jobs.js";
import { NextWords, chance } from "../../assets/js/next.js";
import { Ranking } from "../../assets/js/ranking.js";
import { onPage, texts } from "./page.mjs";

const ENTRIES = [{ layer: 0, head: 1, weight: 0.5, kind: "coref", note: "looks at cat" }, { layer: 1, head: 0, weight: -0.25, text: "25.0 % less" }];

test("the ranked heads have their names, shares and bars, and the chosen one is marked and reached by Tab", () => {
  onPage(() => {
    const list = new Ranking({});
    list.fill(["[CLS]", "cat", "it"]);
    const draw = (more) => list.draw({ title: "Heads", entries: ENTRIES, pins: [2], to: 1, chosen: [1, 0], hint: "", ...more });
    draw({});
    const rows = () => list.list.querySelectorAll("button");
    assert.deepEqual(rows().map((row) => [row.dataset.head, ...texts(row.children.slice(0, 3)), row.children[2].hidden, row.children[3].className, row.children[3].style["--share"], row.tabIndex, row.getAttribute("aria-current")]), [
      ["1-2", "1-2", "50.0 %", "looks at cat", false, "bar coref", "50.00%", -1, null], ["2-1", "2-1", "25.0 % less", "", true, "bar ", "25.00%", 0, "true"],
    ]);
    assert.deepEqual([list.title.textContent, list.from.value, list.to.value, list.to.disabled, list.from.options[0].textContent], ["Heads", "2", "1", false, "a word"]);
    draw({ entries: [{ ...ENTRIES[0], weight: 2 }, { ...ENTRIES[1], weight: -4 }], short: ([layer, head]) => `${layer}/${head}`, chosen: [0, 0] });
    assert.deepEqual(rows().map((row) => [row.children[0].textContent, row.children[3].style["--share"], row.tabIndex, row.getAttribute("aria-current")]), [["0/1", "50.00%", 0, null], ["1/0", "100.00%", -1, null]]);
    draw({ pins: [1, 2], to: null });
    assert.deepEqual([list.from.value, list.to.value, list.from.options[0].textContent], ["", "", "2 words"]);
    draw({ pins: [], to: 0 });
    assert.deepEqual([list.from.value, list.to.value, list.to.disabled, list.from.options[0].textContent], ["", "0", true, "a word"]);
  });
});

test("where nothing can be ranked yet other words are offered, and special tokens left out only of what is ranked", () => {
  onPage(() => {
    const asked = [];
    const list = new Ranking({ from: (unit) => asked.push(["from", unit]), to: (unit) => asked.push(["to", unit]), head: (head) => asked.push(["head", head]), plain: (on) => asked.push(["plain", on]) });
    list.fill(["a", "b", "c", "d"], 2);
    assert.deepEqual([texts(list.from.options), list.from.options.map((one) => one.value)], [["a word", "c", "d"], ["", 2, 3]]);
    assert.deepEqual([texts(list.to.options), list.to.options.map((one) => one.value)], [["any word", "a", "b"], ["", 0, 1]]);
    list.fill(["a", "b"]);
    assert.deepEqual([texts(list.from.options), texts(list.to.options)], [["a word", "a", "b"], ["any word", "a", "b"]]);
    const plain = { here: true, on: true, names: ["[CLS]", "[SEP]"] };
    list.draw({ title: "t", entries: ENTRIES, pins: [], to: null, chosen: [0, 0], hint: "", plain });
    assert.deepEqual([list.leaveRow.hidden, list.leave.checked, list.leaveSaid.textContent], [false, true, "leave out [CLS] and [SEP]"]);
    list.draw({ title: "t", entries: null, pins: [], to: null, chosen: [0, 0], hint: "Choose a word", offers: [[1, "b"]], plain });
    assert.deepEqual([list.leaveRow.hidden, texts(list.list.children), list.ranked], [true, ["Choose a word", "b"], false]);
    assert.deepEqual(list.list.querySelectorAll(".offer").map((offer) => [offer.textContent, offer.dataset.pin]), [["b", "1"]]);
    list.draw({ title: "t", entries: ENTRIES, pins: [], to: null, chosen: [0, 0], hint: "", plain: { ...plain, here: false } });
    assert.deepEqual([list.leaveRow.hidden, list.list.children.length], [true, 2], "nothing of the offers stays");
    const at = (found) => ({ target: { closest: (css) => found[css] ?? null } });
    list.list.onclick(at({ "[data-pin]": { dataset: { pin: "3" } } }));
    list.list.onclick(at({ "[data-head]": { dataset: { head: "2-12" } } }));
    list.list.onclick(at({}));
    for (const [select, value] of [[list.from, ""], [list.from, "2"], [list.to, "0"], [list.to, ""]]) {
      select.value = value;
      select.onchange();
    }
    list.leave.checked = false;
    list.leave.onchange();
    assert.deepEqual(asked, [["from", 3], ["head", [1, 11]], ["from", null], ["from", 2], ["to", 0], ["to", null], ["plain", false]]);
  });
});

test("the row that has the focus keeps it while heads are ranked anew, and the chosen one comes into sight", () => {
  onPage(() => {
    const list = new Ranking({});
    list.fill([]);
    const draw = () => list.draw({ title: "t", entries: ENTRIES, pins: [], to: null, chosen: [1, 0], hint: "" });
    draw();
    const rows = list.list.querySelectorAll("button");
    const focused = [];
    rows.forEach((row) => (row.focus = () => focused.push(row.dataset.head)));
    list.root.getRootNode = () => ({ activeElement: rows[0] });
    draw();
    assert.deepEqual([focused, rows.map((row) => row.tabIndex)], [["1-2"], [0, -1]]);
    list.root.getRootNode = () => ({ activeElement: document.createElement("p") });
    const scrolled = (top, bottom) => {
      draw();
      list.list.scrollTop = 100;
      list.list.getBoundingClientRect = () => ({ top: 50, bottom: 150 });
      rows[1].getBoundingClientRect = () => ({ top, bottom });
      list.list.children.forEach((item, i) => (item.getBoundingClientRect = () => ({ top: 30 + 40 * i })));
      list.reveal();
      const first = list.list.scrollTop;
      list.reveal();
      return [first, list.list.scrollTop];
    };
    assert.deepEqual([scrolled(50, 150), scrolled(45, 80), scrolled(120, 160), scrolled(140, 180)], [[100, 100], [95, 95], [120, 120], [130, 130]], "once");
    assert.deepEqual(focused, ["1-2"]);
  });
});

const NEXT = { title: "Next", caption: "how", note: "said", rows: [{ id: 7, mark: "·", text: "cat", p: 0.25, stands: true, does: "Take cat" }, { id: 9, mark: "", text: "s", p: 0.0004, stands: false, does: "Take s" }, { id: 3, mark: "", text: "x", p: 0.01, does: "Take x" }], places: [{ value: 2, label: "cat" }, { value: 4, label: "the end" }], place: 4, pins: [1, 2], talk: null };

test("the likeliest words have their chances, and a press takes one", () => {
  onPage(() => {
    const asked = [];
    const next = new NextWords((what) => asked.push(what));
    assert.equal(next.root.hidden, true);
    next.fill(NEXT);
    assert.deepEqual([next.root.hidden, next.title.textContent, next.caption.textContent, next.note.textContent, next.root.getAttribute("aria-label"), next.going.hidden], [false, "Next", "how", "said", "Next", true]);
    const buttons = next.list.querySelectorAll("button");
    assert.deepEqual(buttons.map((button) => [button.textContent, button.getAttribute("aria-label"), button.querySelector(".bar").style.width]), [
      ["·catin the text25.0 %", "Take cat, 25.0 %", "25.00%"], ["s< 0.1 %", "Take s, < 0.1 %", "0.04%"], ["x1.0 %", "Take x, 1.0 %", "1.00%"],
    ]);
    assert.equal(next.list.style["--half"], 2);
    buttons[1].onclick();
    const places = next.places.querySelectorAll("button");
    assert.deepEqual(places.map((place) => [place.textContent, place.getAttribute("aria-pressed")]), [["cat", "false"], ["the end", "true"]]);
    places[0].onclick();
    assert.deepEqual(asked, [{ do: "append", id: 9 }, { do: "place", value: 2 }]);
    assert.deepEqual([next.holds([1, 2]), next.holds([1]), next.places.hidden], [true, false, false]);
    next.fill({ ...NEXT, rows: NEXT.rows.slice(0, 1), places: NEXT.places.slice(0, 1) });
    assert.deepEqual([next.list.children.length, next.list.querySelectorAll("button")[0] === buttons[0], next.places.hidden], [1, true, true], "what stands there stays");
    next.fill(NEXT);
    assert.deepEqual([next.list.children.length, next.list.querySelectorAll("button")[2].textContent], [3, "x1.0 %"]);
    next.fill(null);
    assert.deepEqual([next.root.hidden, next.holds([9])], [true, true]);
    assert.deepEqual([0, 0.0004, 0.0005].map(chance), ["0.0 %", "< 0.1 %", "0.1 %"]);
  });
});

test("going on: a word after the other until it is stopped, with a temperature, and a seed where that counts", () => {
  onPage(() => {
    const asked = [];
    const timers = [];
    const cleared = [];
    globalThis.setTimeout = (act, after) => timers.push([act, after]);
    const clear = globalThis.clearTimeout;
    globalThis.clearTimeout = (id) => cleared.push(id);
    const next = new NextWords((what) => asked.push(what));
    const talk = (more) => next.fill({ ...NEXT, talk: { running: false, turn: 0, temperature: 0.5, seed: 3, ...more } });
    const shown = () => [next.start.textContent, next.start.getAttribute("aria-label"), next.warmth.textContent, next.seeded.hidden, next.temperature.disabled, next.seed.disabled];
    talk({});
    assert.deepEqual([next.going.hidden, next.temperature.value, next.seed.value, ...shown()], [false, 0.5, 3, "Go on", "Go on word by word", "0.5", false, false, false]);
    Object.assign(next.temperature, { value: "0" }).oninput();
    assert.deepEqual(shown().slice(2, 4), ["0, the likeliest", true]);
    next.seed.value = "-7";
    next.start.onclick();
    Object.assign(next.temperature, { value: "1.2" });
    next.seed.value = "12.9";
    next.start.onclick();
    next.seed.value = "x";
    next.start.onclick();
    assert.deepEqual(asked.splice(0), [{ do: "go", temperature: 0, seed: 0 }, { do: "go", temperature: 1.2, seed: 12 }, { do: "go", temperature: 1.2, seed: 0 }]);
    talk({ running: true, turn: 1 });
    assert.deepEqual([next.temperature.value, ...shown()], ["1.2", "Stop", "Stop going on", "1.2", false, true, true], "what the reader chose stays");
    assert.deepEqual(timers.map(([, after]) => after), [150]);
    timers.pop()[0]();
    assert.deepEqual(asked.splice(0), [{ do: "on", turn: 1 }]);
    const before = cleared.length;
    next.start.onclick();
    assert.deepEqual([asked.splice(0), cleared.length - before], [[{ do: "stop" }], 1]);
    talk({ running: true, turn: 2 });
    assert.equal(timers.length, 0, "what came on its way does not go on");
    talk({ running: false, turn: 2 });
    talk({ running: true, turn: 3 });
    assert.equal(timers.length, 1, "and after the stop it may begin again");
    globalThis.clearTimeout = clear;
  });
});

const CHIPS = { kind: "chips", job: "b", groups: [{ title: "Words", chips: [{ key: "a", letter: "A", colour: "#111111", name: "alpha" }, { key: "b", letter: "B", colour: "#222222", name: "beta" }] }, { title: "Places", chips: [{ key: "c", letter: "C", colour: "#333333", name: "gamma" }] }] };

function drawn(data, parent) {
  const sent = [];
  const left = jobs({ data, parentElement: parent, setTriggerValue: (...pair) => sent.push(pair) });
  return { sent, left };
}

test("jobs are chips of their groups: the chosen one is pressed, in the middle, and the stop of Tab", () => {
  onPage((page) => {
    const frames = [];
    globalThis.requestAnimationFrame = (act) => frames.push(act);
    const { sent, left } = drawn(CHIPS, page);
    assert.deepEqual(texts(page.querySelectorAll(".group-name")), ["Words", "Places"]);
    const chips = page.querySelectorAll("button");
    assert.deepEqual(chips.map((chip) => [chip.textContent, chip.ariaPressed, chip.style["--role"], chip.tabIndex]), [["Aalpha", "false", "#111111", -1], ["Bbeta", "true", "#222222", 0], ["Cgamma", "false", "#333333", -1]]);
    chips[2].onclick();
    assert.deepEqual(sent, [["job", "c"]]);
    const focused = [];
    chips.forEach((chip, i) => (chip.focus = () => focused.push(i)));
    const kept = [];
    const row = page.querySelector(".chips");
    for (const [i, key] of [[1, "ArrowRight"], [1, "ArrowLeft"], [0, "ArrowLeft"], [2, "ArrowRight"], [1, "a"]]) row.onkeydown({ key, target: chips[i], preventDefault: () => kept.push(key) });
    assert.deepEqual([focused, kept], [[2, 0], ["ArrowRight", "ArrowLeft"]]);
    const found = Object.assign(row.querySelector('[aria-pressed="true"]') ?? chips[1], { offsetLeft: 700, offsetWidth: 100 });
    assert.ok(found);
    const root = page.children[0];
    root.getRootNode = () => ({ activeElement: chips[1] });
    root.querySelectorAll = (css) => Object.getPrototypeOf(root).querySelectorAll.call(root, css);
    drawn(CHIPS, page);
    assert.equal(page.children.length, 1, "in the same place");
    left();
    drawn(CHIPS, page);
    assert.equal(page.children.length, 2, "a page that was left is another");
  });
});

test("a table of evidence: groups, marks, the job that is shown, heads to go to", () => {
  onPage((page) => {
    const row = (key, more = {}) => ({ key, name: key, cells: [{ text: "1", note: "of 3" }, { head: "4-2" }], ...more });
    const { sent } = drawn({ kind: "table", caption: "Found", job: "b", columns: [{ title: "Job" }, { title: "Score", note: "in %" }, { title: "Head" }], groups: [{ title: "One", rows: [row("a", { note: "small" })] }, { title: "Two", rows: [row("b", { marked: true }), row("c", { marked: true })] }] }, page);
    assert.equal(page.querySelector("caption").textContent, "Found");
    assert.deepEqual(texts(page.querySelectorAll("thead th")), ["Job", "Scorein %", "Head"]);
    assert.deepEqual(page.querySelectorAll("tbody").map((body) => [body.querySelector(".group").textContent, body.querySelector("[colspan]").getAttribute("colspan"), body.children.length]), [["One", "3", 2], ["Two", "3", 3]]);
    const rows = page.querySelectorAll("tbody tr").filter((one) => one.className !== "group");
    assert.deepEqual(rows.map((one) => [one.className, one.textContent]), [["", "asmall1of 34-2"], ["marked this", "b1of 34-2"], ["marked", "c1of 34-2"]]);
    assert.deepEqual(page.querySelectorAll("td").slice(0, 2).map((cell) => cell.dataset.label), ["Score", "Head"]);
    const [job, head] = rows[1].querySelectorAll("button");
    assert.deepEqual([job.ariaPressed, rows[0].querySelector("button").ariaPressed, head.textContent, head.ariaLabel], ["true", "false", "4-2", "Head 4-2: open its card"]);
    job.onclick();
    head.onclick();
    assert.deepEqual(sent, [["job", "b"], ["head", "4-2"]]);
    const { sent: gone } = drawn({ kind: "heads", groups: [{ said: "Like it:", heads: [{ id: "1-2", note: "90 %," }, { id: "3-4" }], after: "." }] }, page);
    assert.equal(page.querySelector("p").textContent, "Like it: 1-2 90 %, 3-4  .");
    page.querySelectorAll("button")[1].onclick();
    assert.deepEqual(gone, [["head", "3-4"]]);
  });
});

test("the strip of all heads ends at the next round share, and labels in its right half turn inwards", () => {
  onPage((page) => {
    assert.deepEqual([0, 0.1, 0.11, 0.2, 0.3, 0.5, 0.6, 1, 1.2].map(scale), [0.1, 0.1, 0.2, 0.2, 0.5, 0.5, 1, 1, 1]);
    drawn({ kind: "strip", said: "All heads", chosen: "1-2", rows: [{ name: "trained", heads: [["1-1", 0.125], ["1-2", 0.375]] }, { name: "untrained", heads: [["1-2", 0.25]] }], marks: [{ name: "rule", value: 0.05 }] }, page);
    const plot = page.querySelector(".strip");
    assert.deepEqual([plot.role, plot.ariaLabel, ...texts(plot.querySelector(".ends").children)], ["img", "All heads", "0 %", "25 %", "50 %"]);
    assert.deepEqual(page.querySelectorAll("i").map((tick) => [tick.style.left, tick.getAttribute("title"), tick.className]), [["25%", "1-1: 12.5 %", ""], ["75%", "1-2: 37.5 %", "chosen"], ["50%", "1-2: 25.0 %", ""]]);
    const [chosen, rule] = page.querySelectorAll(".flag");
    assert.deepEqual([chosen.textContent, chosen.className, chosen.style.right, rule.textContent, rule.className, rule.style.left], ["1-2: 37.5 %", "flag chosen inwards", "25%", "rule 5.0 %", "flag mark outwards", "10%"]);
    assert.deepEqual([page.querySelectorAll(".flag").length, page.querySelectorAll("b").length, page.querySelectorAll(".rug").map((rug) => rug.children[0].textContent)], [2, 1, ["trained", "untrained"]]);
  });
});
