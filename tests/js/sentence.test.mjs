// Where the words of the sentence stand, what is drawn above and written below them, and how a word is changed.
import assert from "node:assert/strict";
import test from "node:test";
import { Sentence } from "../../assets/js/sentence.js";
import { WordEdit } from "../../assets/js/word_edit.js";
import { onPage, texts, withGlobals } from "./page.mjs";

const RAMP = Array.from({ length: 1024 }, (_, i) => [i, 0, 0]);
const PAINT = { ramp: RAMP, trace: [9, 9, 9] };
const record = (more = {}) => ({ n: 5, names: ["[CLS]", "the", "cat", "##s", "[SEP]"], specials: [true, false, false, false, true], joined: [false, false, false, true, false], segments: [0, 0, 0, 0, 0], before: ["", "", " ", "", ""], after: ["."], ...more });

// A sentence on a page of 400 × 900 pixels whose words stand where `rects` says: [left, middle of the line, width].
function laid(rects, { present = false, tall = 80, width = 400, high = 900, actions = {}, more = {} } = {}) {
  const words = new Sentence(actions);
  words.fill(record({ n: rects.length, names: rects.map((_, i) => `w${i}`), specials: rects.map(() => false), joined: [], segments: rects.map(() => 0), before: rects.map((_, i) => (i ? " " : "")), ...more }));
  Object.assign(words.root, { clientWidth: width, offsetWidth: width, scrollHeight: tall, scrollTop: 0, getBoundingClientRect: () => ({ left: 20, top: 100 }) });
  words.units.forEach((unit, i) => (unit.getClientRects = () => [{ left: 20 + rects[i][0], top: 100 + rects[i][1] - 10, width: rects[i][2], height: 20 }]));
  withGlobals({ innerHeight: high }, () => words.measure(present));
  return words;
}

test("the words stand in their lines with what is between them, and each says what it is", () => {
  onPage(() => {
    const words = new Sentence({});
    words.fill(record({ unknown: [false, false, true], unknownName: "[UNK]", cut: "12 more" }));
    assert.deepEqual(texts(words.words.children), ["[CLS]the cat##s[SEP]. ✂ cut here: 12 more"]);
    assert.deepEqual(words.units.map((unit) => [unit.className, unit.tabIndex ?? null, unit.getAttribute("tabindex"), unit.getAttribute("dir"), unit.dataset.unit]), [
      ["unit special", 0, "0", "ltr", "0"], ["unit", 0, "-1", null, "1"], ["unit unknown", 0, "-1", null, "2"], ["unit joined", 0, "-1", null, "3"], ["unit special", 0, "-1", "ltr", "4"],
    ]);
    assert.deepEqual(words.units.map((unit) => unit.getAttribute("title")), [null, null, "[UNK]: not in the model's vocabulary; the model sees only [UNK] here", null, null]);
    assert.equal(words.characters, 3.5 + 3 + 4 + 3 + 3.5, "special tokens count as three and a half, spaces as one");
    assert.equal(words.root.classList.contains("across"), false);
    words.fill(record({ segments: [0, 0, 1, 1, 1], after: ["!", "?"], cut: "3 more" }));
    assert.deepEqual(texts(words.words.children), ["[CLS]the!", " cat##s[SEP]? ✂ cut here: 3 more"], "the cut is at the end of the last line");
    words.fill(record({ segments: [0, 0, 1, 1, 1], keys: 2, after: ["!", "?"], cut: null }));
    assert.deepEqual(texts(words.words.children), ["source[CLS]the!", "target cat##s[SEP]?"]);
    assert.deepEqual(words.words.querySelectorAll("span.whose").map((node) => node.textContent), ["source", "target"]);
    assert.equal(words.root.classList.contains("across"), true);
    assert.deepEqual(words.states, ["", "", "", "", ""]);
  });
});

test("a word is pointed at, chosen, added and changed by a hand; a finger points at nothing", () => {
  onPage(() => {
    const said = [];
    const words = laid([[0, 40, 40], [100, 40, 40]], { actions: { point: (unit) => said.push(["point", unit]), choose: (...given) => said.push(["choose", ...given]) } });
    const on = (unit) => ({ target: { closest: (css) => (css === "[data-unit]" ? (unit === null ? null : words.units[unit]) : null) } });
    const after = () => said.splice(0);
    words.words.onpointerover({ ...on(1), pointerType: "mouse" });
    words.words.onpointerover({ ...on(null), pointerType: "mouse" });
    words.words.onpointerover({ ...on(1), pointerType: "touch" });
    words.words.onpointerleave();
    assert.deepEqual(after(), [["point", 1], ["point", null], ["point", null]]);
    words.words.onclick(on(null));
    words.words.onclick({ ...on(0), shiftKey: false, ctrlKey: false, metaKey: false });
    for (const key of ["shiftKey", "ctrlKey", "metaKey"]) words.words.onclick({ ...on(1), shiftKey: false, ctrlKey: false, metaKey: false, [key]: true });
    assert.deepEqual(after(), [["choose", 0, false], ["choose", 1, true], ["choose", 1, true], ["choose", 1, true]]);
    words.units[1].matches = (css) => css === ":focus-visible";
    words.units[1].onfocus();
    words.units[0].matches = () => false;
    words.units[0].onfocus();
    words.units[0].onblur();
    assert.deepEqual([after(), words.focus], [[["point", 1], ["point", null]], 0]);
    const pressed = [];
    words.words.onkeydown({ key: "ArrowRight", preventDefault: () => pressed.push("default"), stopPropagation: () => pressed.push("further") });
    assert.deepEqual([words.focus, pressed, words.units.map((unit) => unit.tabIndex)], [1, ["default", "further"], [-1, 0]]);
    const four = laid([[0, 40, 40], [100, 40, 40], [200, 40, 40], [300, 40, 40]]);
    const pressedOn = (key) => four.words.onkeydown({ key, preventDefault() {}, stopPropagation() {} }) ?? four.focus;
    assert.deepEqual(["ArrowDown", "ArrowDown", "ArrowUp"].map(pressedOn), [1, 2, 1], "down is on, up is back, by one word");
  });
});

test("a double click changes the whole word, where the page can change it", () => {
  onPage(() => {
    const changed = [];
    const ready = (more = {}, actions = { retype: () => {} }) => {
      const words = laid([[0, 40, 40], [100, 40, 40], [200, 40, 40]], { actions, more: { specials: [true, false, false], joined: [false, false, true] } });
      words.edit.begin = (cells, typed) => changed.push([words.edited, texts(cells), typed]);
      Object.assign(words, more);
      return words;
    };
    const at = (words, unit) => words.words.ondblclick({ target: { closest: () => (unit === null ? null : words.units[unit]) } }) ?? changed.splice(0);
    assert.deepEqual([at(ready(), 2), at(ready(), 1)], [[[2, ["w1", "w2"], null]], [[1, ["w1", "w2"], null]]]);
    assert.deepEqual([at(ready(), 0), at(ready(), null), at(ready({}, {}), 1)], [[], [], []], "no special token, beside the words, and where nothing reads the word");
    const where = (live) => withGlobals({ headscope: { live } }, () => at(ready(), 1).length);
    assert.deepEqual([where(false), where(true)], [0, 1], "nor in a saved file");
    const open = ready();
    open.edit.cells = [];
    assert.deepEqual(at(open, 1), [], "nor while one is changed already");
    open.actions.choose = () => assert.fail("chosen");
    open.words.onclick({ target: { closest: () => open.units[1] } });
  });
});

test("the word that is a field of text is left alone while the others are drawn", () => {
  onPage(() => {
    const words = laid([[0, 40, 40], [100, 40, 40]]);
    words.units[1].setAttribute("contenteditable", "true");
    words.units[1].className = "unit editing";
    words.draw({ links: [], from: [0, 1], to: null }, PAINT);
    assert.deepEqual(words.units.map((unit) => [unit.className.trim(), unit.getAttribute("aria-pressed")]), [["unit from", "true"], ["unit editing", "false"]]);
  });
});

test("on one line the words stand around its middle, with room above for the longest way", () => {
  onPage(() => {
    const words = laid([[0, 40, 40], [100, 44, 60], [300, 40, 50]]);
    assert.equal(words.size, 36, "a short sentence in a wide page");
    assert.equal(words.root.style["--size"], "36.0px");
    // From the first word to the last lie 305 pixels: 0.8 of them rise to 26 + 0.3 * 244 = 99.2.
    assert.deepEqual([words.most, words.rise, words.root.style["--rise"]], [180, Math.round(99.2 * 0.75 + 14), "88px"]);
    assert.deepEqual(words.boxes.map((box) => [box.x, box.width, box.line]), [[20, 40, 0], [130, 60, 0], [325, 50, 0]]);
    // All on the line of its first word: its middle at 40.
    for (const box of words.boxes) assert.deepEqual([box.top, box.bottom].map((v) => v.toFixed(2)), ["17.68", "60.88"]);
    assert.deepEqual([words.arcs.getAttribute("viewBox"), words.arcs.getAttribute("width"), words.arcs.getAttribute("height")], ["0 0 400 80", "400", "80"]);
    assert.deepEqual(["many", "scrolls"].map((name) => words.root.classList.contains(name)), [false, false]);
    words.root.scrollTop = 25;
    words.readBoxes({ left: 20, top: 75 });
    assert.deepEqual(words.boxes.map((box) => (box.top + 0.62 * 36).toFixed(1)), ["90.0", "90.0", "90.0"], "scrolled by 25, and the page by 25 more");
  });
});

test("on a low screen the arcs stay flat, but not before a class", () => {
  onPage(() => {
    assert.equal(laid([[0, 40, 40], [300, 40, 40]], { high: 800 }).most, 180);
    assert.equal(laid([[0, 40, 40], [300, 40, 40]], { high: 799 }).most, 110);
    assert.equal(laid([[0, 40, 40], [300, 40, 40]], { high: 700, present: true }).most, laid([[0, 40, 40], [300, 40, 40]], { high: 900, present: true }).most);
  });
});

test("words on several lines leave room between them, less on more than five, and scroll from ten on", () => {
  onPage(() => {
    const lines = (count, more) => laid(Array.from({ length: count }, (_, i) => [0, 40 + 60 * i, 40]), more);
    const form = (words) => [words.boxes.at(-1).line, words.root.style["--leading"], words.roomy, ...["many", "scrolls"].map((name) => words.root.classList.contains(name))];
    assert.deepEqual(form(lines(2)), [1, "3.6", true, true, false]);
    assert.deepEqual(form(lines(5)), [4, "3.6", true, true, false]);
    assert.deepEqual(form(lines(6)), [5, "2.75", false, true, false]);
    assert.deepEqual(form(lines(9)), [8, "2.75", false, true, false]);
    assert.deepEqual(form(lines(10)), [9, "2.75", false, true, true]);
    assert.deepEqual(form(lines(10, { present: true })), [9, "2.75", false, true, false]);
    assert.deepEqual(form(lines(2, { present: true })).slice(1, 3), ["2.9", true]);
    const two = lines(2);
    assert.deepEqual([two.most, two.rise], [36 * 1.25, Math.round(36 * 0.7)]);
    assert.deepEqual(two.boxes.map((box) => Math.round(box.top + 0.62 * 36)), [40, 100]);
  });
});

test("a sentence of the same form is moved by the room above it, and not laid out again", () => {
  onPage(() => {
    const words = laid([[0, 40, 40], [100, 40, 40]], { high: 900 });
    const { rise } = words;
    const asked = [];
    words.units.forEach((unit, i) => (unit.getClientRects = () => asked.push(i) && [{ left: 20 + 300 * i, top: 130, width: 40, height: 20 }]));
    withGlobals({ innerHeight: 900 }, () => words.place(400));
    // Now 300 apart instead of 100: 0.3 * 0.8 * 200 * 0.75 = 36 pixels more.
    assert.deepEqual([words.rise - rise, asked], [36, [0, 1]]);
    assert.deepEqual(words.boxes.map((box) => Math.round(box.top + 0.62 * 36)), [40 + 36, 40 + 36]);
    assert.deepEqual(words.boxes.map((box) => Math.round(box.bottom - 0.58 * 36)), [40 + 36, 40 + 36]);
    assert.equal(words.height, 80 + 36);
  });
});

test("before a class the sentence gets smaller until it takes no more than two fifths of the screen", () => {
  onPage(() => {
    assert.equal(laid([[0, 40, 40], [100, 40, 40]], { present: true, tall: 280, width: 1200, high: 700 }).size, 72);
    const full = laid([[0, 40, 40], [100, 40, 40]], { present: true, tall: 281, width: 1200, high: 700 });
    assert.ok(full.size <= 22 && full.size > 22 * 0.9, "down to the smallest, for this page never gets lower");
    assert.equal(laid([[0, 40, 40], [100, 40, 40]], { tall: 600, high: 700 }).size, 36);
  });
});

test("in a text that scrolls the chosen word comes to the middle, unless it is in sight", () => {
  onPage(() => {
    const words = laid(Array.from({ length: 12 }, (_, i) => [0, 40 + 60 * i, 40]));
    const after = (unit, from) => {
      Object.assign(words.root, { clientHeight: 200, scrollTop: from });
      words.reveal(unit);
      return Math.round(words.root.scrollTop);
    };
    const top = (unit) => Math.round(words.boxes[unit].top);
    assert.deepEqual([after(1, 0), after(8, 0), after(0, 300), after(99, 7)], [0, top(8) - 100, top(0) - 100, 7]);
    const above = Math.round(words.boxes[2].top - words.size);
    assert.deepEqual([after(2, above - 1), after(2, above + 1)], [above - 1, top(2) - 100], "a line's room above it is enough");
    const below = Math.round(words.boxes[2].bottom + words.size - 200);
    assert.deepEqual([after(2, below + 1), after(2, below - 1)], [below + 1, top(2) - 100]);
    words.root.classList.toggle("scrolls", false);
    assert.equal(after(8, 0), 0);
  });
});

test("an arc is as thick and as dark as its weight, the heaviest last, and fourteen are drawn", () => {
  onPage(() => {
    const words = laid([[0, 40, 40], [100, 40, 40], [300, 40, 40]]);
    words.size = 34;
    words.most = 150;
    words.boxes.forEach((box) => Object.assign(box, { top: 20, bottom: 60 }));
    words.draw({ links: [{ from: 0, to: 2, weight: 0.5 }, { from: 0, to: 1, weight: 0.25 }], from: [], to: null }, PAINT);
    const arcs = words.arcs.querySelectorAll("path");
    // 1 + 21 * weight; from 20 to 120 and to 320: 26 + 0.3 * 100 and 26 + 0.3 * 300 up. Each stops before the word for its point.
    const tip = (width) => Math.round((20 - 1.3 * Math.max(4, width * 0.85)) * 10) / 10;
    const near = tip(6.25);
    const far = tip(11.5);
    assert.deepEqual(arcs.map((path) => [path.getAttribute("d"), path.getAttribute("stroke-width"), path.getAttribute("stroke")]), [
      [`M20 20C20 -36 120 ${Math.round((near - 56) * 10) / 10} 120 ${near}`, "6.25", `rgb(${Math.round(0.475 * 1023)}, 0, 0)`],
      [`M20 20C20 -96 320 ${Math.round((far - 116) * 10) / 10} 320 ${far}`, "11.50", `rgb(${Math.round(0.65 * 1023)}, 0, 0)`],
    ]);
    words.draw({ links: Array.from({ length: 20 }, (_, i) => ({ from: 0, to: 1, weight: 0.9 - i / 100 })), from: [], to: null }, PAINT);
    assert.deepEqual([words.arcs.querySelectorAll("path").length, words.shapes.at(-1).weight, words.shapes[0].weight.toFixed(2)], [14, 0.9, "0.77"]);
    words.root.classList.toggle("many", true);
    words.draw({ links: [{ from: 0, to: 2, weight: 0.5 }], from: [], to: null }, PAINT);
    assert.equal(words.shapes[0].width, 11.5 * 0.75);
  });
});

test("an arc from line to line keeps free of the percentage below its word", () => {
  onPage(() => {
    const words = laid([[0, 40, 40], [100, 100, 40]]);
    words.boxes.forEach((box, i) => Object.assign(box, { top: 20 + 100 * i, bottom: 60 + 100 * i }));
    Object.assign(words, { size: 50 });
    const end = (link) => {
      words.draw({ links: [link], from: [], to: null }, PAINT);
      return words.shapes[0].d.match(/-?[\d.]+/g).map(Number).slice(-2);
    };
    // Up: below the word that is looked at stand 0.14 of the size and 25 pixels, 20 for a small share; and the arc's point.
    const point = (weight) => 1.3 * Math.max(4, (1 + 21 * weight) * (50 / 34) * 0.75 * 0.85);
    for (const [weight, room] of [[0.2, 25], [0.19, 20]]) assert.deepEqual(end({ from: 1, to: 0, weight }), [20, Math.round((60 + point(weight) + 7 + room) * 10) / 10]);
    assert.equal(end({ from: 0, to: 1, weight: 0.5 })[0], 120);
  });
});

test("what is brought ends the arc as thick as it is, and the arcs of before lie flat and dashed below", () => {
  onPage(() => {
    const words = laid([[0, 40, 40], [100, 40, 40], [300, 40, 40]]);
    words.size = 34;
    words.draw({ links: [{ from: 0, to: 2, weight: 0.5, brings: 0.1 }], from: [0], to: null, ghost: { links: [{ from: 0, to: 2, weight: 0.5 }, { from: 0, to: 9, weight: 0.4 }], shares: new Map() } }, PAINT);
    const [trace, band] = words.arcs.querySelectorAll("path");
    assert.deepEqual([trace.getAttribute("class"), trace.getAttribute("stroke"), trace.getAttribute("stroke-dasharray"), trace.getAttribute("stroke-width")], ["trace", "rgb(9, 9, 9)", "5 5", (11.5 * 0.4).toFixed(2)]);
    const [x1, y1, , y2, , , x2] = trace.getAttribute("d").match(/-?[\d.]+/g).map(Number);
    assert.deepEqual([x1, x2], [20, 320], "from the word that looks to the one looked at");
    assert.ok(Math.abs(y1 - y2 - 0.7 * 116) < 0.11, "0.7 as high as 26 + 0.3 * 300");
    assert.deepEqual([band.getAttribute("class"), words.shapes[0].ends, words.shapes[0].width], ["band", 3.1, 11.5]);
    const numbers = band.getAttribute("d").match(/-?[\d.]+/g).map(Number);
    const wide = (i, j) => Math.hypot(numbers[2 * i] - numbers[2 * j], numbers[2 * i + 1] - numbers[2 * j + 1]);
    assert.ok(Math.abs(wide(0, 121) - 3.1) < 0.11 && Math.abs(wide(60, 61) - 11.5) < 0.11);
    assert.equal(words.arcs.querySelectorAll("path").length, 2, "no stroke where there is a band");
  });
});

test("below a word stands its share: of what was asked for, of the pinned words' mean, of the largest else", () => {
  onPage(() => {
    const words = laid([[0, 40, 40], [150, 40, 40], [320, 40, 40]]);
    const shares = (more) => {
      words.draw({ links: [], from: [], to: null, ...more }, PAINT);
      return words.labels.children.map((node) => [node.textContent, node.className, node.style.left, node.style.top]);
    };
    const top = `${40 + 0.58 * 36 + 0.14 * 36}px`;
    const links = [{ from: 0, to: 1, weight: 0.6 }, { from: 2, to: 1, weight: 0.2 }, { from: 0, to: 2, weight: 0.1 }];
    assert.deepEqual(shares({ links }), [["60.0 %", "share strong", "170px", top], ["10.0 %", "share", "340px", top]]);
    assert.deepEqual(shares({ links, from: [0, 2] }).map(([text]) => text), ["40.0 %", "5.0 %"]);
    assert.deepEqual(shares({ links, from: [0, 2], exact: new Map([[1, 0.33], [0, 0.001]]) }).map(([text]) => text), ["33.0 %", "5.0 %", "0.1 %"]);
    assert.deepEqual(shares({ links: [{ from: 0, to: 1, weight: 0.019 }, { from: 0, to: 2, weight: 0.02 }] }).map(([text]) => text), ["2.0 %"]);
    assert.deepEqual(shares({ links, to: 2 }).map(([text, name]) => [text, name]), [["10.0 %", "share strong"], ["60.0 %", "share strong"]]);
    assert.deepEqual(shares({ links: [{ from: 0, to: 1, weight: 0.1 }, { from: 0, to: 2, weight: 0.09 }] }).map(([, name]) => name), ["share strong", "share"], "half of 20 % is strong");
  });
});

test("beside a share stands what it was, or what it brings, where there is room for it", () => {
  onPage(() => {
    const words = laid([[0, 40, 40], [150, 40, 40], [320, 40, 40]]);
    const shares = (more) => {
      words.draw({ links: [{ from: 0, to: 1, weight: 0.6 }], from: [0], to: null, ...more }, PAINT);
      return words.labels.children.map((node) => node.textContent);
    };
    const ghost = { links: [], shares: new Map([[1, 0.25]]) };
    assert.deepEqual(shares({ ghost }), ["60.0 %25.0 %"]);
    assert.deepEqual(words.labels.querySelectorAll("s.was").length, 1);
    assert.deepEqual(shares({ ghost: { links: [], shares: new Map() } }), ["60.0 %0.0 %"]);
    assert.deepEqual(shares({ brought: new Map([[1, 0.5]]), ghost }), ["60.0 %brings 50.0 %"]);
    assert.deepEqual(shares({ brought: new Map() }), ["60.0 %brings 0.0 %"]);
    words.roomy = false;
    assert.deepEqual(shares({ ghost }), ["60.0 %"]);
  });
});

test("a word becomes a field, is taken by Enter and by leaving it, and left as it was by Escape", () => {
  onPage(() => {
    const said = [];
    const selection = [];
    globalThis.getSelection = () => ({ selectAllChildren: () => selection.push("all"), collapseToEnd: () => selection.push("end") });
    const edit = new WordEdit({ changed: (word) => said.push(word), moved: () => said.push("moved") });
    const cells = ["cat", "##s"].map((text) => Object.assign(document.createElement("span"), { textContent: text }));
    cells[0].setAttribute("role", "button");
    cells[0].setAttribute("aria-pressed", "true");
    const begin = (typed) => {
      edit.begin(cells, typed);
      return [texts(cells), cells[0].getAttribute("role"), cells[0].getAttribute("aria-pressed"), cells[0].getAttribute("contenteditable"), cells[0].classList.contains("editing"), edit.open, said.splice(0), selection.splice(0)];
    };
    const press = (key, more = {}) => {
      const kept = [];
      cells[0].heard.keydown({ key, stopPropagation: () => kept.push("further"), preventDefault: () => kept.push("default"), ...more });
      return [kept, edit.open, said.splice(0), texts(cells)];
    };
    assert.deepEqual(begin(), [["cat##s", ""], "textbox", null, "true", true, true, ["moved"], ["all"]]);
    assert.equal(cells[0].getAttribute("aria-label"), "In place of cat##s; Enter takes it, Escape leaves it");
    cells[0].textContent = "dog";
    cells[0].heard.input();
    assert.deepEqual(said.splice(0), ["moved"]);
    assert.deepEqual(press("d"), [["further"], true, [], ["dog", ""]]);
    assert.deepEqual(press("Enter", { isComposing: true }), [["further"], true, [], ["dog", ""]]);
    assert.deepEqual(press("Escape"), [["further", "default"], false, ["moved"], ["cat", "##s"]]);
    assert.deepEqual([cells[0].getAttribute("role"), cells[0].getAttribute("aria-pressed"), cells[0].getAttribute("aria-label"), cells[0].getAttribute("contenteditable"), cells[0].classList.contains("editing")], ["button", "true", null, null, false]);
    assert.deepEqual(begin("x"), [["x", ""], "textbox", null, "true", true, true, ["moved"], ["all", "end"]]);
    cells[0].textContent = "  a   dog ";
    assert.deepEqual(press("Enter"), [["further", "default"], false, ["moved", "a dog"], ["a dog", ""]]);
    cells[0].textContent = "cat";
    cells[1].textContent = "##s";
    begin();
    cells[0].heard.blur();
    assert.deepEqual([edit.open, said.splice(0), texts(cells)], [false, ["moved"], ["cat", "##s"]], "nothing was changed");
    begin();
    cells[0].textContent = "cow";
    cells[0].heard.blur();
    assert.deepEqual([said.splice(0), texts(cells)], [["moved", "cow"], ["cow", ""]]);
    delete globalThis.getSelection;
  });
});
