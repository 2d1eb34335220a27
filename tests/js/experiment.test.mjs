import assert from "node:assert/strict";
import { test } from "node:test";
import { Experiment } from "../../assets/js/experiment.js";
import { BeforeAfter } from "../../assets/js/experiment/before_after.js";
import { HeadGrid } from "../../assets/js/experiment/head_grid.js";
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
  view.off.add("2-1");
  assert.equal(inWords([1, 0], view), "Head 2-1, previous token: taken away.", "what is taken away does not look elsewhere");
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
  assert.equal(root.querySelector(".pair-row").getAttribute("aria-label"), "mat: 50.0 %, then 12.5 %, the word that is followed");
  const key = root.querySelector(".key").childNodes.map((node) => node.className || node.textContent);
  assert.deepEqual(key, ["bar was", " as it is", "bar is", " without 1-2"]);
});

test("similarities are numbers to three places, and what points away has no bar", () => {
  const rows = [{ id: null, mark: "", text: "mat", before: 0.98765, after: -0.25, target: false }];
  const { root } = onPage(() => {
    const bars = new BeforeAfter(() => {});
    bars.fill({ title: "", before: "as it is", after: "without 1-2", unit: "cosine", rows, note: "" });
    return bars;
  });
  assert.deepEqual(texts(root.querySelectorAll(".numbers")), ["0.988−0.250"]);
  assert.deepEqual(root.querySelectorAll(".track .bar").map((bar) => bar.style.width), ["98.77%", "0.00%"]);
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
  assert.deepEqual(root.querySelectorAll(".pair-row").map((row) => row.getAttribute("aria-label")), ["Head 1-1: loss −2.00", "Head 1-2: loss +1.00"]);
});

test("what is drawn at random are heads of this model, each of them once", () => {
  const drawn = [];
  onPage(() => {
    const bar = new Toolbar({ set: (names) => drawn.push(...[...names].sort()) });
    Object.assign(bar, { data: { shape: [2, 4] }, off: new Set() });
    bar.draw();
  });
  assert.deepEqual(drawn, ["1-1", "1-2", "1-3", "1-4", "2-1", "2-2", "2-3", "2-4"]);
});

test("chance alone says which heads are drawn", (t) => {
  const drawn = (chance) => {
    t.mock.method(Math, "random", () => chance);
    let found;
    const bar = new Toolbar({ set: (names) => (found = [...names]) });
    Object.assign(bar, { data: { shape: [2, 3] }, off: new Set(["1-1", "2-2"]) });
    bar.draw();
    return found;
  };
  onPage(() => assert.deepEqual([0, 0.5, 0.99].map(drawn), [["1-2", "1-3"], ["2-1", "1-2"], ["2-3", "1-2"]]));
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
  const drawn = [];
  const idle = { mark() {}, fill() {}, replaceChildren() {}, arrange: () => false, draw: (...given) => drawn.push(given) };
  Object.assign(page, { root: { clientWidth: 900 }, grid: idle, toolbar: idle, legends: idle, pointed: {}, off: new Set(), paint: { change: "changes" } });
  onPage(() => page.drawAll());
  const [[paint, pictureOf]] = drawn;
  assert.deepEqual([paint, pictureOf([1, 0])], ["changes", { cells: [4], side: 1, top: 1.5 }], "full colour is where the legend ends");
});

// Four heads of two layers as switches; what is asked of them is kept.
function switches(use, given = {}) {
  return onPage(() => {
    const asked = [];
    const actions = { change: (next) => asked.push([...next].sort().join()), done: () => asked.push("done"), preview: () => {} };
    const grid = new HeadGrid(actions);
    grid.fill({ shape: [2, 2], turned: false, ...given }, (head) => `Head ${head.map((i) => i + 1).join("-")}`);
    return use(grid, asked);
  });
}

test("every head has its own letter and leads to its own page, whichever way the layers lie", () => {
  const names = ["1-1", "1-2", "1-3", "2-1", "2-2", "2-3"];
  const given = { shape: [2, 3], addresses: Object.fromEntries(names.map((name) => [name, `?head=${name}`])), roles: { "2-1": { letter: "P" }, "1-3": { letter: "S" } } };
  const shown = (turned) => switches((grid) => [grid.grid.getAttribute("aria-label"), ...grid.cells.map((cell) => `${cell.getAttribute("href")} ${cell.querySelector(".role")?.textContent ?? ""}`)], { ...given, turned });
  assert.deepEqual(shown(false), ["All heads: layers downward, heads across", "?head=1-1 ", "?head=1-2 ", "?head=1-3 S", "?head=2-1 P", "?head=2-2 ", "?head=2-3 "]);
  assert.deepEqual(shown(true), ["All heads: layers across, heads downward", "?head=1-1 ", "?head=2-1 P", "?head=1-2 ", "?head=2-2 ", "?head=1-3 S", "?head=2-3 "]);
});

test("while heads are tried one after the other, those that were not yet are marked, and only then", () => {
  const marked = (effects, turned = false) =>
    switches((grid) => {
      grid.mark(new Set(), { badge: "off", moved: {}, effects });
      return grid.cells.map((cell, i) => cell.classList.contains("unknown") && grid.order[i].map((at) => at + 1).join("-")).filter(Boolean);
    }, { shape: [2, 3], turned });
  assert.deepEqual(marked([1, NaN, 2, 0, NaN, NaN]), ["1-2", "2-2", "2-3"]);
  assert.deepEqual(marked([1, NaN, 2, 0, NaN, NaN], true), ["1-2", "2-2", "2-3"]);
  assert.deepEqual([marked([0, 0, 0, 0, 0, 0]), marked(null)], [[], []]);
});

test("the map marks what is not tried yet, and its legend says how", () => {
  onPage((root) => {
    const view = new Experiment(root);
    Object.assign(view, { paint: { change: {} } });
    Object.assign(view.grid, { draw() {} });
    const legend = (effects) => {
      view.open(null, { mode: "experiment", shape: [1, 3], off: [], heard: 0, effects: Float32Array.from(effects), top: 1, measure: "loss", was: 3, roles: {}, hint: "", badge: "", moved: {}, result: null, strongest: [] });
      view.drawAll();
      return [texts(root.querySelectorAll(".all-heads .caption")).filter((text) => text.startsWith("Hatched")), view.grid.cells.map((cell) => cell.classList.contains("unknown"))];
    };
    assert.deepEqual(legend([0.5, NaN, 0]), [["Hatched: not tried yet."], [false, true, false]]);
    assert.deepEqual(legend([0.5, 1, 0]), [[], [false, false, false]]);
  });
});

test("what is rounded to nothing has no sign", () => {
  assert.equal(effect(0.0049, { measure: "loss", was: 3 }), "loss 3.00 → 3.00 (0.00).");
  assert.equal(effect(-0.0049, { measure: "loss", was: 3 }), "loss 3.00 → 3.00 (0.00).");
  assert.equal(effect(0.0051, { measure: "loss", was: 3 }), "loss 3.00 → 3.01 (+0.01).");
});

test("a switch says whether it is off, by mark, by state and by how much it moved", () => {
  switches((grid) => {
    grid.mark(new Set(["1-2"]), { badge: "off", moved: { "2-1": 0.256 }, effects: null });
    assert.deepEqual(grid.cells.map((cell) => cell.getAttribute("aria-pressed")), ["false", "true", "false", "false"]);
    assert.deepEqual(texts(grid.root.querySelectorAll(".badge")), ["", "off", "", ""]);
    assert.deepEqual(grid.root.querySelectorAll(".moved").map((bar) => bar.style.width), ["0%", "0%", "26%", "0%"]);
    assert.deepEqual(grid.cells.map((cell) => cell.getAttribute("aria-label")), ["Head 1-1", "Head 1-2", "Head 2-1", "Head 2-2"]);
  });
});

test("by the keyboard a switch turns its head off, and on again; a pointer has done it before it clicks", () => {
  switches((grid, asked) => {
    const press = (cell, detail) => grid.clicked({ detail, target: { closest: (css) => (css === "[data-at]" ? cell : null) } });
    grid.off = new Set();
    press(grid.cells[2], 0);
    grid.off = new Set(["1-1", "2-1"]);
    press(grid.cells[2], 0);
    press(grid.cells[2], 1);
    assert.deepEqual(asked, ["2-1", "done", "1-1", "done"]);
  });
});

test("the number of a layer turns all its heads off, and on again when all of them are", () => {
  switches((grid, asked) => {
    assert.deepEqual(grid.root.querySelectorAll("button.axis").map((button) => [button.textContent, button.getAttribute("title")]), [["1", "Layer 1: all its heads"], ["2", "Layer 2: all its heads"]]);
    const press = () => grid.clicked({ detail: 1, target: { closest: (css) => (css === "[data-layer]" ? { dataset: { layer: "1" } } : null) } });
    grid.off = new Set(["1-1", "2-2"]);
    press();
    grid.off = new Set(["1-1", "2-1", "2-2"]);
    press();
    assert.deepEqual(asked, ["1-1,2-1,2-2", "done", "1-1", "done"]);
  });
});

test("a stroke over heads does to all of them what it did to the first, and scrolling takes it back", () => {
  switches((grid, asked) => {
    const over = (cell) => ({ button: 0, clientX: 0, clientY: 0, preventDefault: () => {}, target: { closest: () => cell } });
    grid.actions.change = (next) => {
      grid.off = next;
      asked.push([...next].sort().join());
    };
    grid.off = new Set(["1-2"]);
    grid.down(over(grid.cells[0]));
    grid.over(over(grid.cells[1]));
    grid.over(over(grid.cells[3]));
    grid.cancel();
    grid.up();
    assert.deepEqual(asked, ["1-1,1-2", "1-1,1-2,2-2", "1-2"]);
    grid.down(over(grid.cells[1]));
    grid.up();
    grid.over(over(grid.cells[3]));
    assert.deepEqual(asked.slice(3), ["", "done"]);
  });
});

test("a stroke ends where the button is let go, also outside of the heads", () => {
  const [heard, before] = [[], globalThis.addEventListener];
  globalThis.addEventListener = (kind, act, { once }) => heard.push([kind, once, act]);
  try {
    switches((grid, asked) => {
      const over = (cell) => ({ button: 0, clientX: 0, clientY: 0, preventDefault: () => {}, target: { closest: () => cell } });
      grid.off = new Set();
      grid.down(over(grid.cells[0]));
      const [[kind, once, letGo]] = heard;
      assert.deepEqual([kind, once], ["pointerup", true]);
      letGo();
      grid.over(over(grid.cells[3]));
      assert.deepEqual(asked, ["1-1", "done"]);
    });
  } finally {
    globalThis.addEventListener = before;
  }
});

test("arrow keys go from head to head and to the layers' numbers, and stop at the edges", () => {
  const walk = (turned) =>
    switches((grid) => {
      grid.mark(new Set(), { badge: "", moved: {}, effects: null });
      let at = null;
      const name = (node) => node.getAttribute("aria-label") ?? `layer ${node.textContent}`;
      for (const line of grid.lines) for (const node of line) node.focus = () => (at = name(node));
      return (from, key) => {
        at = null;
        grid.key({ key: `Arrow${key}`, target: grid.lines.flat().find((node) => name(node) === from), preventDefault: () => {} });
        return at;
      };
    }, { turned });
  const down = walk(false); // layers downward, their numbers on the left
  assert.deepEqual([down("Head 1-1", "Right"), down("Head 1-1", "Down"), down("Head 2-2", "Up"), down("Head 2-2", "Left")], ["Head 1-2", "Head 2-1", "Head 1-2", "Head 2-1"]);
  assert.deepEqual([down("Head 2-1", "Left"), down("layer 2", "Right"), down("layer 2", "Up")], ["layer 2", "Head 2-1", "layer 1"]);
  assert.deepEqual([down("Head 2-2", "Right"), down("Head 2-2", "Down"), down("Head 1-1", "Up"), down("Head 1-1", "Enter")], [null, null, null, null]);
  const across = walk(true); // layers to the right, their numbers above
  assert.deepEqual([across("Head 1-1", "Right"), across("Head 1-1", "Down"), across("Head 2-1", "Left"), across("Head 1-2", "Up")], ["Head 2-1", "Head 1-2", "Head 1-1", "Head 1-1"]);
  assert.deepEqual([across("Head 2-1", "Up"), across("layer 2", "Down"), across("layer 1", "Right")], ["layer 2", "Head 2-1", "layer 2"]);
});

test("what Python says of the switches counts unless it has yet to hear of one, or a finger is on them", () => {
  onPage((root) => {
    const asked = [];
    const view = new Experiment(root, () => {}, (what) => asked.push(what));
    Object.assign(view.toolbar, { fill() {}, mark() {} });
    Object.assign(view.grid, { mark() {} });
    view.preview = () => {};
    const data = (more) => ({ shape: [2, 2], off: [], heard: 0, result: null, strongest: [], ...more });
    const open = (more) => view.open({}, data(more)) ?? [...view.off].sort();
    assert.deepEqual(open({ off: ["1-1"] }), ["1-1"]);
    view.change(new Set(["2-2", "1-2"]));
    view.tell();
    assert.deepEqual(asked, [{ do: "set", off: ["1-2", "2-2"], n: 1 }]);
    assert.deepEqual(open({ off: ["1-1"], heard: 0 }), ["1-2", "2-2"], "the answer is on its way");
    assert.deepEqual(open({ off: ["1-2", "2-2", "2-1"], heard: 1 }), ["1-2", "2-1", "2-2"]);
    view.grid.dragging = true;
    assert.deepEqual(open({ off: [], heard: 1 }), ["1-2", "2-1", "2-2"]);
    view.grid.dragging = false;
    assert.deepEqual(open({ off: ["1-1"], heard: 7 }), ["1-1"], "a page that was opened elsewhere");
    view.tell();
    assert.equal(asked.at(-1).n, 8);
    const classes = (more) => open({ heard: 8, ...more }) && ["mapped", "alone"].map((name) => root.classList.contains(name));
    assert.deepEqual([classes({}), classes({ result: { title: "", before: "", after: "", unit: "percent", rows: [], note: "" } }), classes({ effects: Float32Array.of(1, 2, 3, 4) })], [[false, true], [false, false], [true, true]]);
    assert.equal(view.bars.root.textContent.includes("as it was"), false);
    open({ heard: 8, result: { title: "What it says next", before: "as it was", after: "as it is", unit: "percent", rows: [], note: "" } });
    assert.equal(view.bars.root.textContent.includes("as it was"), true);
    open({ heard: 8, effects: Float32Array.of(1, 2, 3, 4) });
    assert.deepEqual([...view.effects], [1, 2, 3, 4]);
    view.off = new Set(["2-2"]);
    assert.deepEqual(open({ heard: 8, off: ["1-1"], effects: Float32Array.of(1, 2, 3, 4) }), ["2-2"], "while all heads are tried nothing is switched");
  });
});

test("above the switches: what they give, whole roles, undo, and how many at random", () => {
  onPage(() => {
    const asked = [];
    const bar = new Toolbar({ ask: (what) => asked.push(what), set: (heads) => asked.push([...heads]) });
    const data = { shape: [2, 2], factor: 0, factors: [{ value: 0, label: "nothing", title: "off" }, { value: 2, label: "twice", title: "double" }], groups: [{ letter: "P", label: "previous", heads: ["1-1", "2-2"] }], undo: true };
    bar.fill(data);
    assert.deepEqual([bar.root.hidden, bar.factors.children.map((one) => [one.textContent, one.getAttribute("title"), one.getAttribute("aria-pressed")]), texts(bar.roles.children), bar.roles.hidden, bar.undo.disabled], [false, [["nothing", "off", "true"], ["twice", "double", "false"]], ["A role …", "P · previous (2)"], false, false]);
    bar.factors.children[1].onclick();
    bar.undo.onclick();
    bar.clear.onclick();
    bar.roles.value = "0";
    bar.roles.onchange();
    assert.equal(bar.roles.value, "");
    bar.roles.onchange();
    assert.deepEqual(asked.splice(0), [{ do: "factor", value: 2 }, { do: "undo" }, [], ["1-1", "2-2"]]);
    const said = (off) => bar.mark(new Set(off)) ?? [bar.random.textContent, bar.random.title, bar.clear.disabled];
    assert.deepEqual(said(["1-1", "1-2"]).slice(0, 2), ["2 at random", "As many others, drawn at random"]);
    assert.deepEqual([said([]), said(["1-1", "1-2", "2-1"])], [["4 at random", "Heads drawn at random", true], ["3 at random", "As many, drawn at random from all: too few others are left", false]]);
    bar.random.onclick();
    assert.equal(asked.pop().length, 3, "more than are left: of all of them");
    bar.fill({ ...data, groups: [], undo: false });
    assert.deepEqual([bar.roles.hidden, bar.undo.disabled], [true, true]);
    bar.fill({ ...data, effects: [1] });
    assert.equal(bar.root.hidden, true, "while all heads are tried nothing is switched");
  });
});

test("a press on a word tells the word as the model has it, with its space and its line end", () => {
  const told = [];
  const rows = [" mat", "\n"].map((id) => ({ id, mark: "␣", text: "mat", before: 0.5, after: 0.25, target: false }));
  onPage(() => {
    const bars = new BeforeAfter((id) => told.push(id));
    bars.fill({ title: "", before: "as it is", after: "", unit: "percent", rows, note: "" });
    for (const button of bars.root.querySelectorAll("button")) button.onclick();
  });
  assert.deepEqual(told, [" mat", "\n"]);
});
