// The door of the pictures: which records it keeps, what is told to Python and when, and what a new view begins with.
import assert from "node:assert/strict";
import test from "node:test";
import { Compare } from "../../assets/js/compare.js";
import { Explore } from "../../assets/js/explore.js";
import { Headscope } from "../../assets/js/view.js";
import { WEIGHTS, column, numbers } from "./drawing.mjs";
import { onPage, withGlobals } from "./page.mjs";

const HERE = "http://h/?text=a&head=1-1";
const CHOSEN = { head: [1, 0], pins: [2], to: 1, look: { tab: "lines" } };
const data = (id, more = {}) => ({
  id, title: "cat it", model: "m", n: 3, words: true, names: ["[CLS]", "cat", "it"], specials: [true, false, false], segments: [0, 0, 0], before: ["", "", " "], after: [""],
  layers: 2, heads: 2, packing: "full", weights: column(numbers.quantise(WEIGHTS.flat(2))), ...more,
});

// A page with one door and no picture: `wait` lets that many milliseconds pass, `at` says what the address says by now.
function atTheDoor(use, { live, below = null } = {}) {
  return onPage((root) => {
    const timers = new Map();
    const heard = {};
    const drawn = [];
    let now = 0;
    let number = 0;
    const given = {
      location: { href: HERE }, headscope: { live },
      history: { state: null, replaceState: (_, __, to) => (given.location.href = to) },
      setTimeout: (act, after, ...values) => timers.set((number += 1), [now + after, act, values]) && number,
      clearTimeout: (id) => timers.delete(id),
      addEventListener: (kind, act) => (heard[`page ${kind}`] = [act]),
      IntersectionObserver: class { constructor(act) { below.seen = (yes) => act([{ isIntersecting: yes }]); } observe() {} disconnect() { below.left = true; } },
    };
    Object.assign(document, { addEventListener: (kind, act) => (heard[kind] = [...(heard[kind] ?? []), act]), querySelector: () => below });
    const told = [];
    const component = (more, parentElement = root) => ({ key: "k", parentElement, setStateValue: (name, value) => told.push([name, value]), setTriggerValue: (name, value) => told.push([name, value]), data: { records: ["a"], n: 1, selection: { head: [0, 1], pins: [1], to: null, look: {} }, ...more } });
    const wait = (milliseconds) => {
      now += milliseconds;
      for (const [id, [when, act, values]] of [...timers]) if (when <= now && timers.delete(id)) act(...values);
    };
    return withGlobals(given, () => {
      const door = new Headscope("css");
      door.live = live;
      door.draw = (entry, anew) => drawn.push(anew) && (entry.view.paint = {});
      return use({ door, root, told, drawn, component, wait, heard, at: () => given.location.href, entry: () => door.mounted.get(root), here: (href) => (given.location.href = href) });
    });
  });
}

const complete = (view, value) => Object.defineProperty(view, "complete", { value });
const said = (selection, n = 1) => ["selection", { ...selection, n }];

test("what is chosen stands in the address after 40 milliseconds and is told to Python once what is below is on the screen", () => {
  const below = {};
  atTheDoor(({ door, told, component, wait, at, entry }) => {
    door.keep(data("a"));
    door.mount(component());
    complete(entry().view, true);
    door.emit(entry(), CHOSEN);
    wait(39);
    assert.deepEqual([at(), told], [HERE, []]);
    wait(1);
    assert.equal(at(), "http://h/?text=a&head=2-1&pin=2&to=1&tab=lines");
    wait(1000);
    assert.equal(told.length, 0, "nobody sees what Python would write");
    assert.equal(door.untold, true);
    below.seen(false);
    below.seen(true);
    wait(39);
    assert.equal(told.length, 0);
    wait(1);
    assert.deepEqual([told, door.untold, below.left], [[said(CHOSEN)], false, true]);
  }, { below });
});

test("what is below and was on the screen already is written after 300 milliseconds, and only for the last choice", () => {
  const below = {};
  atTheDoor(({ door, told, component, wait, at, entry }) => {
    door.keep(data("a"));
    door.mount(component());
    complete(entry().view, true);
    for (const head of [[0, 0], [0, 1], [1, 1]]) {
      door.emit(entry(), { ...CHOSEN, head });
      below.seen(true);
      wait(30);
    }
    assert.deepEqual([at(), told], [HERE, []], "keys that are held down write no address");
    wait(10);
    assert.ok(at().includes("head=2-2"));
    wait(259);
    assert.deepEqual(told, []);
    wait(1);
    assert.deepEqual(told, [said({ ...CHOSEN, head: [1, 1] })]);
  }, { below });
});

test("a picture that needs Python tells it after 40 milliseconds, a page of its own changes no address", () => {
  atTheDoor(({ door, told, component, wait, at, entry }) => {
    door.keep(data("a"));
    door.mount(component());
    complete(entry().view, false);
    door.emit(entry(), CHOSEN);
    wait(39);
    assert.deepEqual(told, []);
    wait(1);
    assert.deepEqual([told, at()], [[said(CHOSEN)], HERE]);
  }, { live: false });
});

test("a picture that mixes heads writes no address as long as that names no head", () => {
  atTheDoor(({ door, told, component, wait, at, entry, here }) => {
    door.keep(data("a", { per: "model" }));
    door.mount(component());
    here("http://h/?text=a");
    complete(entry().view, true);
    door.emit(entry(), CHOSEN);
    wait(40);
    assert.deepEqual([at(), told], ["http://h/?text=a", [said(CHOSEN)]]);
  }, { below: {} });
});

test("what is asked of Python goes after what was chosen", () => {
  for (const [act, name] of [["ask", "ask"], ["retype", "retype"], ["measure", "measure"]]) atTheDoor(({ door, told, component, entry }) => {
    door.keep(data("a"));
    door.mount(component());
    entry()[act]("x");
    assert.deepEqual(told.splice(0), [[name, "x"]]);
    door.emit(entry(), CHOSEN);
    entry()[act]("y");
    assert.deepEqual(told, [said(CHOSEN), [name, "y"]]);
  });
});

test("a view waits for its record, and one that is there already is not made again", () => {
  atTheDoor(({ door, root, drawn, component, entry }) => {
    door.mount(component());
    assert.deepEqual([entry().view, drawn, root.children.map((node) => node.tag)], [undefined, [], ["style", "div"]]);
    door.keep(data("a"));
    const { view } = entry();
    assert.ok(view instanceof Explore);
    assert.deepEqual([entry().waiting, drawn, entry().root.dataset.mode, entry().root.dataset.record], [null, [true], "explore", "a"]);
    door.keep(data("b"));
    assert.deepEqual(drawn, [true], "what it waited for is there");
    door.mount(component({ n: 2 }));
    assert.deepEqual([entry().view === view, root.children.length, drawn], [true, 2, [true, false]]);
    door.mount(component({ records: ["b"], n: 3 }));
    assert.deepEqual([entry().view === view, drawn, entry().root.dataset.record], [true, [true, false, true], "b"]);
    door.mount(component({ mode: "compare", records: ["a", "b"], n: 4, pairs: [[0, 0], [1, 1], [2, 2]], titles: ["a", "b"] }));
    assert.ok(entry().view instanceof Compare);
    assert.deepEqual([entry().root.dataset.mode, entry().root.dataset.record], ["compare", "a,b"]);
  });
});

test("eight records are kept, those used last", () => {
  atTheDoor(({ door }) => {
    for (const id of "abcdefgh") door.keep(data(id));
    const kept = door.keep(data("a", { n: 4 }));
    assert.equal(kept.n, 3, "the one that is here already");
    door.keep(data("i"));
    assert.deepEqual([...door.records.keys()].join(""), "cdefghai");
    const change = door.keep({ id: "j", kind: "change", weights: column([0.25, -0.5]) });
    assert.deepEqual([...change.cells], [0.25, -0.5]);
  });
});

test("Python's choice is taken with its number, and what was not told yet stays, for the same text", () => {
  atTheDoor(({ door, component, entry, wait, told }) => {
    door.keep(data("a"));
    door.keep(data("b", { title: "another" }));
    door.keep(data("c"));
    door.mount(component());
    const { state } = entry().view;
    assert.deepEqual([state.head, state.pins], [[0, 1], [1]]);
    door.mount(component({ selection: { head: [1, 1], pins: [], to: null, look: {} } }));
    assert.deepEqual(state.head, [0, 1], "the same number is the same choice");
    door.mount(component({ n: 2, selection: { head: [1, 1], pins: [], to: null, look: {} } }));
    assert.deepEqual(state.head, [1, 1]);
    door.emit(entry(), CHOSEN);
    door.mount(component({ n: 3, records: ["c"] }));
    assert.deepEqual([state.head, state.pins, state.to, door.untold], [[1, 0], [2], 1, true], "as when the heads' roles are known");
    door.mount(component({ n: 4, records: ["b"] }));
    assert.equal(door.untold, false, "another text is another question");
    wait(1000);
    assert.deepEqual(told, []);
  });
  for (const [more, stays] of [[{}, true], [{ title: "another" }, false], [{ model: "another" }, false], [{ words: false }, false]]) {
    atTheDoor(({ door, component, entry }) => {
      door.keep(data("a"));
      door.keep(data("b", more));
      door.mount(component());
      door.emit(entry(), CHOSEN);
      door.mount(component({ n: 2, records: ["b"] }));
      assert.equal(door.untold, stays, JSON.stringify(more));
    });
  }
});

test("a picture that comes back as it went shows what was chosen in it last", () => {
  atTheDoor(({ door, root, component, entry, wait, told }) => {
    door.keep(data("a"));
    door.mount(component());
    door.emit(entry(), CHOSEN);
    door.unmount(root);
    wait(1000);
    assert.deepEqual([told, door.untold], [[], false], "who has gone tells nothing");
    door.mount(component());
    assert.deepEqual(entry().view.state.head, [1, 0]);
    door.unmount(root);
    door.mount(component({ n: 2 }));
    assert.deepEqual(entry().view.state.head, [0, 1], "Python has said something since");
    door.unmount(root);
    door.keep(data("b"));
    door.mount(component({ records: ["b"] }));
    assert.deepEqual(entry().view.state.head, [0, 1], "of another record nothing was chosen");
  });
});

test("the numbers of a long text come with the view: opened heads, links of the chosen row, what moved", () => {
  atTheDoor(({ door, component, entry }) => {
    door.keep(data("a"));
    door.keep(data("b"));
    const weights = column([1, 0, 0, 0, 1, 0, 0, 0, 1]);
    door.mount(component({
      opened: [{ record: 0, head: [1, 1], column: "opened_0" }, { record: 0, head: [0, 0], column: "none" }], opened_0: weights, files: { exact: 7 },
      ghost: { of: "b" }, moves: {}, move_cells: column([3]), links: { pins: [1], to: 2, k: 4 }, link_index: column([5]), link_weight: column([6]), link_toward: column([8]),
    }));
    const { record } = entry().view;
    assert.deepEqual([record.exact, record.links.pins, record.links.to, record.links.k], [7, [1], 2, 4]);
    assert.deepEqual([record.links.index, record.links.weight, record.links.toward].map((numbers) => [...numbers]), [[5], [6], [8]]);
    assert.deepEqual([...record.kept].map(([at, numbers]) => [at, numbers[4]]), [[3, 1]], "a head whose numbers did not come is not kept");
    const asked = component({ n: 2, links: { pins: [1], to: null, k: 4 }, link_index: column([5]), link_weight: column([6]), ghost: { of: "b" }, moves: {}, move_cells: column([3]) });
    door.mount(asked);
    assert.equal(record.links.toward, null);
    assert.equal(asked.data.ghost.record, door.records.get("b"));
    assert.deepEqual([...asked.data.moves.cells], [3]);
  });
});

test("in a comparison each text keeps the numbers of its own heads", () => {
  atTheDoor(({ door, component }) => {
    door.keep(data("a"));
    door.keep(data("b", { title: "another" }));
    const [first, second] = [column([1, 0, 0, 0, 1, 0, 0, 0, 1]), column([0, 1, 0, 0, 0, 1, 1, 0, 0])];
    door.mount(component({
      mode: "compare", records: ["a", "b"], pairs: [[0, 0], [1, 1], [2, 2]], titles: ["a", "b"],
      opened: [{ record: 0, head: [0, 1], column: "opened_0" }, { record: 1, head: [1, 1], column: "opened_1" }], opened_0: first, opened_1: second,
    }));
    assert.deepEqual(["a", "b"].map((id) => [...door.records.get(id).kept].map(([at, numbers]) => [at, numbers.indexOf(1)])), [[[1, 0]], [[3, 1]]]);
  });
});

test("a picture is drawn again when its width changes, and where it fills the screen when its height does", () => {
  atTheDoor(({ door, drawn, component, entry, heard }) => {
    door.keep(data("a"));
    door.mount(component());
    const again = () => heard["page resize"][0]() ?? drawn.splice(0).length;
    globalThis.innerHeight = 700;
    entry().root.clientWidth = 0;
    drawn.splice(0);
    assert.equal(again(), 0, "nothing to draw on");
    entry().root.clientWidth = 500;
    assert.deepEqual([again(), again()], [1, 0]);
    globalThis.innerHeight = 600;
    assert.equal(again(), 0);
    entry().view.present = true;
    assert.deepEqual([again(), again()], [1, 0]);
    globalThis.innerHeight = 500;
    assert.equal(again(), 1);
    delete globalThis.innerHeight;
  });
});

test("S saves the picture under the pointer, and no other, and is a letter where one types", () => {
  atTheDoor(({ door, root, component, entry, heard }) => {
    const saved = [];
    door.keep(data("a"));
    const other = document.createElement("div");
    door.mount(component());
    door.mount(component({}, other));
    for (const [at, name] of [[root, "first"], [other, "second"]]) {
      Object.assign(door.mounted.get(at).view, { menu: { run: (act) => act() }, saveSvg: () => saved.push(name) });
      door.mounted.get(at).root.matches = (css) => css === ":hover" && name === "first";
    }
    const press = (more = {}) => heard.keydown[0]({ key: "s", composedPath: () => [document.createElement("div")], ...more }) ?? saved.splice(0);
    assert.deepEqual(press(), ["first"]);
    for (const more of [{ key: "a" }, { ctrlKey: true }, { metaKey: true }, { altKey: true }]) assert.deepEqual(press(more), []);
    for (const tag of ["input", "textarea", "select"]) assert.deepEqual(press({ composedPath: () => [document.createElement("span"), document.createElement(tag)] }), []);
  });
});

test("who goes on outside of a picture leaves it told, and its files are asked for once a head, on a live page", () => {
  atTheDoor(({ door, told, component, entry, heard, wait }) => {
    door.keep(data("a"));
    door.mount(component());
    const { root, view } = entry();
    const event = (type, ...path) => ({ type, composedPath: () => path });
    door.emit(entry(), CHOSEN);
    heard.pointerdown[0](event("pointerdown", document.createElement("p"), root));
    assert.deepEqual(told, []);
    heard.pointerdown[0](event("pointerdown", document.createElement("p")));
    heard.pointerdown[0](event("pointerdown", document.createElement("p")));
    assert.deepEqual(told.splice(0), [said(CHOSEN)]);
    wait(1000);
    assert.deepEqual(told, [], "and not once more");
    const menu = Object.assign(document.createElement("details"), { className: "save" });
    const open = () => heard.pointerdown[0](event("pointerdown", menu, root)) ?? told.splice(0);
    Object.defineProperty(view, "filesMissing", { value: false, writable: true });
    assert.deepEqual(open(), []);
    view.filesMissing = true;
    const chosen = { ...view.chosen };
    assert.deepEqual(open(), [["selection", { ...chosen, n: 1, files: true }]]);
    assert.deepEqual(open(), [], "they are on their way");
    view.state.head = [1, 1];
    assert.equal(open().length, 1);
    door.keep(data("b"));
    door.mount(component({ records: ["b"], n: 2, selection: { head: [1, 1], pins: [1], to: null, look: {} } }));
    assert.deepEqual(open().map(([, { head, n, files }]) => [head, n, files]), [[[1, 1], 2, true]], "of another text they are asked for anew");
    door.live = false;
    view.state.head = [0, 0];
    assert.deepEqual(open(), []);
  });
});

test("a link of the menu waits for the choice it is to take along", () => {
  atTheDoor(({ door, told, component, entry, heard, wait }) => {
    door.keep(data("a"));
    door.mount(component());
    const link = { href: "http://h/inside?head=1-1", matches: (css) => css.includes("st-key-top"), click: () => told.push("followed") };
    const press = (more = {}) => {
      const stopped = [];
      heard.click[0]({ button: 0, composedPath: () => [link], preventDefault: () => stopped.push("stays"), stopImmediatePropagation: () => stopped.push("alone"), ...more });
      return stopped;
    };
    assert.deepEqual(press(), [], "nothing was chosen");
    door.emit(entry(), CHOSEN);
    assert.deepEqual(press({ isTrusted: false }), [], "a click of our own");
    assert.deepEqual(press(), ["stays", "alone"]);
    assert.deepEqual(told.splice(0), [said(CHOSEN)]);
    link.href = "http://h/inside?head=2-1&pin=2&to=1";
    wait(30);
    assert.deepEqual(told.splice(0), ["followed"]);
    assert.deepEqual(press(), [], "it takes the choice along already");
  });
});

test("the fonts of a saved picture are those of the page, each for its own letters", () => {
  const style = Headscope.prototype.fontStyle.call({ fonts: [{ bytes: new Uint8Array([1, 2, 255]).buffer, range: "U+41" }, { bytes: new Uint8Array([0]).buffer, range: "U+42" }] });
  assert.equal(style, "<style>@font-face{font-family:HeadScope;font-weight:400 650;unicode-range:U+41;src:url(data:font/woff2;base64,AQL/)}@font-face{font-family:HeadScope;font-weight:400 650;unicode-range:U+42;src:url(data:font/woff2;base64,AA==)}</style>");
  assert.equal(Headscope.prototype.fontStyle.call({ fonts: [] }), "");
});
