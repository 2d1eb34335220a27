// What a session with one sentence needs: files that say what they are, links that bring a view back, nothing misnamed.
import assert from "node:assert/strict";
import { test } from "node:test";
import address from "../../assets/js/address.js";
import { complete, linkChosen, oneStepASentence, sameSentence, stayHere } from "../../assets/js/history.js";
import { LONG_COLUMNS, weightRows } from "../../assets/js/csv.js";
import { chosenIn, exact, factsOf, headInLink, linkOf, placeCells, placeName, smallPrint } from "../../assets/js/files.js";
import { arrowTip, lanePath, placeLabels } from "../../assets/js/geometry.js";
import { lookFrom, lookOf } from "../../assets/js/explore/look.js";
import { dashOf, tintOf } from "../../assets/js/lines.js";
import { digits, quantise } from "../../assets/js/numbers.js";
import { keepOpened, openRecord, rankHeads, titleOf } from "../../assets/js/record.js";
import { FAMILY, svgPage } from "../../assets/js/svg.js";
import { isBehind, leaves, menuLink, onceSeen, opensFiles, whenCaughtUp } from "../../assets/js/telling.js";
import { pairInWords } from "../../assets/js/words.js";
import { withGlobals } from "./page.mjs";

test("what is chosen stands in the address at once, in the words that Python would use, and is no step", () => {
  const steps = [];
  const history = { state: 7, replaceState: (...given) => steps.push(given), pushState: () => assert.fail("a step") };
  const here = "http://h/?text=a+b&head=1-1&pin=2&to=3&tab=lines&measure=value";
  linkChosen(history, here, { ...chosenIn({ pins: [], to: null }, [3, 1]), least: "5" });
  assert.deepEqual(steps.pop(), [7, "", "http://h/?text=a+b&head=4-2&pin=none&measure=value&least=5"]);
  linkChosen(history, "http://h/?text=a&head=1-1&tab=lines&also=1-2&least=5&sort=weight&between=AB&brings=1&scale=largest", chosenIn({ pins: [2], to: null }, [0, 0]));
  assert.deepEqual(steps.pop()[2], "http://h/?text=a&head=1-1&pin=2", "of the look before nothing is left");
  linkChosen(history, "http://h/", chosenIn({ pins: [2, 4], to: 0 }, [0, 0]));
  assert.deepEqual(Object.fromEntries(new URL(steps.pop()[2]).searchParams), { head: "1-1", pin: "2,4", to: "0" });
  linkChosen(history, "http://h/?head=1-1&pin=2", chosenIn({ pins: [2], to: null }, [0, 0]));
  assert.equal(steps.length, 0, "it says that already");
});

// A page with a menu, as the browser sees it: what is pressed there, and what came of it.
function menuAt(here) {
  const heard = {};
  const tops = [];
  const page = { addEventListener: (kind, act, first) => (heard[kind] = [...(heard[kind] ?? []), [act, first]]), querySelector: (what) => ({ scrollTo: (...to) => tops.push([what, ...to]) }) };
  stayHere(page, () => here);
  stayHere(page, () => here);
  assert.deepEqual(Object.values(heard).map((all) => all.map(([, first]) => first)), [[true], [true], [true]], "once, and before Streamlit");
  const linkTo = (href) => ({ at: href, get href() { return new URL(this.at, here).href; }, getAttribute() { return this.at; }, setAttribute(_, to) { this.at = to; }, matches: (css) => css.includes("st-key-top") });
  const press = (href, more = {}) => {
    const said = [];
    heard.click[0][0]({ button: 0, composedPath: () => [linkTo(href)], preventDefault: () => said.push("stays"), stopImmediatePropagation: () => said.push("alone"), ...more });
    return said;
  };
  const pointAt = (href) => {
    const link = linkTo(href);
    heard.pointerover[0][0]({ composedPath: () => [{}, link] });
    return link.at;
  };
  return { press, pointAt, tops };
}

test("the menu's link to the page that is open leads to its top, all others where they lead", () => {
  const { press, tops } = menuAt("http://h/inside?text=a&at=3");
  assert.deepEqual(press("inside?text=a"), ["stays", "alone"]);
  assert.deepEqual(tops, [["[data-testid='stMain']", 0, 0]]);
  for (const other of ["?text=a", "", "compare?text=a", "insider"]) assert.deepEqual(press(other), [], other);
  for (const key of ["ctrlKey", "metaKey", "shiftKey", "altKey"]) assert.deepEqual(press("compare?text=a", { [key]: true }), ["alone"], "the browser opens a tab of its own, and Streamlit hears nothing");
  assert.deepEqual(press("inside?text=a", { button: 1 }), []);
  assert.deepEqual(press("inside?text=a", { composedPath: () => [] }), []);
  assert.equal(tops.length, 1);
  for (const first of ["http://h/?text=a", "http://h/lab/"]) {
    assert.deepEqual(menuAt(first).press("?text=b"), ["stays", "alone"], "the first page has no name");
    assert.deepEqual(menuAt(first).press("inside?text=b"), []);
  }
  assert.deepEqual(menuAt("http://h/lab/inside").press("?text=b"), [], "below an address, too");
});

test("a link to the first page says so, so that a tab of its own opens it and not the page that is open", () => {
  const { pointAt } = menuAt("http://h/inside?text=a");
  assert.deepEqual(["?text=a", "", "#x", "inside?text=a", "./?text=a"].map(pointAt), ["./?text=a", "./", "./#x", "inside?text=a", "./?text=a"]);
});

test("every name in the font list that is no identifier is quoted, so that the list counts", () => {
  for (const name of FAMILY.split(",").map((part) => part.trim())) assert.match(name, /^('[^']+'|[A-Za-z-]+)$/);
  assert.match(svgPage({ width: 9, height: 9, paper: [1, 2, 3], title: "t", body: [] }), /font-family="HeadScope, 'Source Serif 4'/);
});

test("numbers are written with the digits that the engine's 32 bits have, no more and no fewer", () => {
  assert.deepEqual([Math.fround(0.1), 0.25, Math.fround(0.6770058), Math.fround(1.2345e-7), 0].map(digits), [0.1, 0.25, 0.6770058, 1.2345e-7, 0]);
  for (let i = 1; i < 300; i++) assert.equal(Math.fround(digits(Math.fround(1 / i))), Math.fround(1 / i));
});

test("a CSV of weights says what its numbers are, the long of it once, and writes no cell that is not there", () => {
  const rows = weightRows({ labels: ["a", "##b"], matrix: Float32Array.of(1, 0, 0.3, 0.7), place: [4, ""], absent: (q, k) => k > q, said: { measure: "rollout", text: "ab", link: "x" } });
  assert.deepEqual(rows[0], ["layer", "head", "query", "key", "query_text", "key_text", "weight", "measure", "text", "link"]);
  assert.deepEqual(rows.slice(1), [[4, "", 0, 0, "a", "a", 1, "rollout", "ab", "x"], [4, "", 1, 0, "##b", "a", 0.3, "rollout", "", ""], [4, "", 1, 1, "##b", "##b", 0.7, "rollout", "", ""]]);
  assert.ok(["text", "pair", "link"].every((name) => LONG_COLUMNS.includes(name)));
});

test("what mixes the heads is a layer, and what mixes the layers is neither", () => {
  const of = (per) => [titleOf({ per }, [3, 0]), placeName({ per }, [3, 0]), placeCells({ per }, [3, 0])];
  assert.deepEqual(of("head"), ["Head 4-1", "head 4-1", [4, 1]]);
  assert.deepEqual(of("layer"), ["Layer 4", "layer 4", [4, ""]]);
  assert.deepEqual(of("model"), ["All layers together", "all layers", ["", ""]]);
  assert.deepEqual(of(undefined), of("head"));
});

test("where heads are mixed the address keeps the head that it names, in the layer that is chosen", () => {
  const of = (per, here = "http://h/?text=a&head=5-7") => headInLink({ per }, [2, 0], here);
  assert.deepEqual(["head", undefined, "layer", "model"].map((per) => of(per)), [[2, 0], [2, 0], [2, 6], [4, 6]]);
  for (const head of ["", "?head=5", "?head=0-3", "?head=5-7-1"]) assert.equal(of("layer", `http://h/${head}`), null, head);
});

test("a file that has a head in steps of 1/65535 gives five digits of it, and none of a head that it has only as a picture", async () => {
  const column = (numbers) => ({ getChildAt: () => ({ toArray: () => numbers }) });
  const record = openRecord({ names: ["a", "b"], layers: 1, heads: 1, packing: "full", weights: column(quantise([0.123456, 0.876544, 1, 0])) });
  const small = openRecord({ names: ["a", "b"], layers: 1, heads: 1, packing: "small", side: 1, weights: column(new Uint8Array(1)) });
  globalThis.headscope = { live: false };
  try {
    assert.deepEqual([...(await exact(record, [0, 0]))].map(digits), [0.12346, 0.87654, 1, 0]);
    await assert.rejects(exact(small, [0, 0]), /only as a picture/);
  } finally {
    delete globalThis.headscope;
  }
});

test("a picture names model, digest, measure, unit and how rows are normalised", () => {
  const record = { model: "M", digest: "53aa", measureSaid: "Value-weighted attention", words: true, normalised: "rows sum to 1" };
  assert.equal(factsOf(record, "head 4-2"), "M (53aa) · head 4-2 · Value-weighted attention · words · rows sum to 1");
  globalThis.location = { origin: "http://h", pathname: "/compare" };
  assert.equal(linkOf({}, { text: "a b", pair: "" }, chosenIn({ pins: [1, 2], to: null }, [3, 1])), "http://h/compare?text=a+b&head=4-2&pin=1%2C2");
});

test("under a picture its link stands in pieces, and one too long to be typed is left out", () => {
  const lines = (link) => smallPrint(["M · head 4-2", "Text: one two three"], link, { soft: [1, 2, 3] }, { y: 30, letters: 12 });
  assert.equal(lines("").height, 18 * 3);
  assert.equal(lines("http://h/?text=one+two").height, 18 * (3 + 2));
  assert.equal(lines("x".repeat(901)).height, 18 * 3);
  const written = lines("http://h/?text=one+two").body.map((line) => /y="(\d+)"[^>]*>([^<]*)</.exec(line).slice(1));
  assert.deepEqual(written, [["30", "M · head 4-2"], ["48", "Text: one"], ["66", "two three"], ["84", "http://h/?te"], ["102", "xt=one+two"]]);
});

test("tab, heads, threshold, order and pair filter go into the link and come back", () => {
  const state = { panel: "lines", least: 0.05, sort: "weight", also: [[3, 4], [3, 6]], pair: "AB", brings: true, scaled: true };
  const look = lookOf(state);
  assert.deepEqual(look, { tab: "lines", also: "4-5,4-7", least: "5", sort: "weight", between: "AB", brings: "1", scale: "largest" });
  assert.deepEqual(lookFrom(look, [3, 1], { heads: 12 }), state);
  assert.deepEqual(lookOf(lookFrom({}, [0, 0])), {});
  const forged = lookFrom({ tab: "<b>", also: "9-9,4-99,4-2", least: "999", sort: "x", between: "AC", brings: "yes", scale: "x" }, [3, 1], { heads: 12 });
  assert.deepEqual(lookOf(forged), {}, "what is no such value is left out");
  assert.equal(lookFrom({ least: "99" }).least, 0.5, "nobody's link hides everything");
  const between = (segments) => lookFrom({ between: "BA" }, [0, 0], { heads: 1, segments }).pair;
  assert.deepEqual([between([0, 0, 1]), between([0, 0, 0])], ["BA", "all"], "one sentence has no other to look at");
});

test("asking from one word to another is answered: weight, rank, and who links them best", () => {
  const entries = [{ layer: 5, head: 5, weight: 0.222 }, { layer: 3, head: 1, weight: 0.05 }];
  assert.equal(pairInWords([3, 1], ["it", "street"], [0], 1, 0.05, entries), "Head 4-2: “it” → “street” 5.0 %, rank 2 of 2 heads; strongest is 6-6 (22.2 %).");
  assert.equal(pairInWords([5, 5], ["it", "street"], [0], 1, 0.222, entries), "Head 6-6: “it” → “street” 22.2 %, the strongest of 2 heads; next is 4-2 (5.0 %).");
  assert.equal(pairInWords("All layers together", ["it", "street"], [0], 1, 0.05, entries), "All layers together: “it” → “street” 5.0 %.");
});

test("the numbers of a chosen head are kept as the engine has them", () => {
  const record = openRecord({ names: ["a", "b"], indexed: ["a₁", "b"], layers: 1, heads: 1, packing: "full", weights: { getChildAt: () => ({ toArray: () => quantise([0.1, 0.9, 1, 0]) }) } });
  keepOpened(record, [0, 0], Float32Array.of(0.1, 0.9, 1, 0));
  assert.equal(digits(record.kept.get(0)[0]), 0.1);
  assert.deepEqual([record.named, record.opened.size], [["a₁", "b"], 0]);
  assert.equal(rankHeads(record, [0, 1], 1)[0].weight.toFixed(3), "0.450");
});

test("of percentages that find no place the heaviest is never the one left out", () => {
  const at = (x, weight) => ({ unit: x, weight, x, line: 0, width: 50 });
  const placed = placeLabels([at(100, 0.5), at(104, 0.146), at(108, 0.14), at(112, 0.13), at(116, 0.12), at(400, 0.012)], 500);
  const least = Math.min(...placed.map((p) => p.weight));
  assert.equal(placed.length, [0.5, 0.146, 0.14, 0.13, 0.12, 0.012].filter((weight) => weight >= least).length);
});

test("a percentage moved aside still stands nearest to its own word", () => {
  const words = [60, 90, 120].map((x) => ({ x, line: 0 }));
  const labels = words.map(({ x }, i) => ({ unit: i, weight: 0.5 - 0.1 * i, x, line: 0, width: 50 }));
  for (const { x, unit } of placeLabels(labels, 300, 2, words)) {
    const nearest = words.reduce((best, word, i) => (Math.abs(word.x - x) < Math.abs(words[best].x - x) ? i : best), 0);
    assert.equal(nearest, unit);
  }
});

// Every point of a path of lines and quadratic corners.
function along(d) {
  const points = [];
  let [x, y] = [0, 0];
  for (const [, letter, rest] of d.matchAll(/([MHVQL])([^MHVQL]*)/g)) {
    const n = rest.trim().split(/\s+/).map(Number);
    const [tx, ty] = { M: n, L: n, H: [n[0], y], V: [x, n[0]], Q: n.slice(2) }[letter];
    if (letter !== "M") for (let t = 0; t <= 1; t += 0.02) points.push([x + (tx - x) * t, y + (ty - y) * t]);
    [x, y] = [tx, ty];
  }
  return points;
}

test("where lines wrap an arc runs in the gaps and the margin, through no word", () => {
  const boxes = [];
  for (let line = 0; line < 3; line++) for (let i = 0; i < 5; i++) boxes.push({ x: 60 + 80 * i, width: 60, top: 100 + 120 * line, bottom: 130 + 120 * line, line });
  for (const side of [1, -1]) {
    for (const from of boxes) {
      for (const to of boxes.filter((box) => box.line !== from.line)) {
        const inside = along(lanePath(from, to, side, side > 0 ? 8 : 480, 16)).filter(([x, y]) => boxes.some((b) => Math.abs(x - b.x) < b.width / 2 && y > b.top + 0.1 && y < b.bottom - 0.1));
        assert.deepEqual(inside, []);
      }
    }
  }
});

test("an arc has its point where it arrives, along the way it comes and as wide as it is thick", () => {
  const corners = (d, size) => arrowTip(d, size).split(" ").map((pair) => pair.split(",").map(Number));
  // Down to (20, 0): 1.3 of 10 ahead, and 8 to either side. Then along (3, 4) to (30, 40).
  assert.deepEqual(corners("M0 0C0 -10 20 -10 20 0", 10), [[20, 13], [12, -0.2], [28, -0.2]]);
  assert.deepEqual(corners("M0 0C0 0 0 0 30 40", 10), [[37.8, 50.4], [23.5, 44.6], [36.3, 35]]);
});

test("twelve heads of a layer can be told apart: colour or dash differ", () => {
  const looks = Array.from({ length: 12 }, (_, head) => `${tintOf([0, head])} ${dashOf([0, head])}`);
  assert.equal(new Set(looks).size, 12);
});

test("another head is no step of the history, another sentence is one", () => {
  const at = (query) => `http://h/?${query}`;
  assert.equal(sameSentence(at("text=a&head=4-2&pin=1"), at("text=a&head=5-7&pin=2&to=3&tab=lines")), true);
  assert.equal(sameSentence(at(""), at("text=a&head=4-2")), true, "the first address is completed");
  assert.equal(sameSentence(at("text=a&head=4-2"), at("text=b&head=4-2")), false);
  assert.equal(sameSentence(at("text=a&model=m"), at("text=b&model=m")), false, "of the same model");
  assert.equal(sameSentence(at("text=a"), at("text=a&measure=value&figure=x")), true, "nor is another measure");
  for (const look of ["tab=lines", "also=1-2", "least=5", "sort=weight", "between=AB", "brings=1", "scale=largest"]) assert.equal(sameSentence(at("text=a"), at(`text=a&${look}`)), true, look);
  assert.equal(sameSentence(at("text=a"), "http://h/compare?text=a"), false);
  assert.equal(sameSentence("http://h/inside?text=a&pin=1", "http://h/inside?text=a&pin=2"), false, "a token is followed");
  assert.equal(sameSentence("http://h/learn?lesson=1&head=1-1", "http://h/learn?lesson=1&head=1-2"), false, "and in the lesson a head");
  assert.equal(sameSentence("http://h/inside?text=a&text2=b&head=1-1&tab=table", "http://h/inside?text=a&head=1-1"), true, "from Compare");
  assert.equal(sameSentence("http://h/inside?text=a&against=model&model2=m&head=1-1", "http://h/inside?text=a&head=1-1"), true, "also of two models");
  assert.equal(sameSentence("http://h/inside?text=a&text2=b&head=1-1", "http://h/inside?text=a&head=1-2"), false);
  assert.equal(sameSentence("http://h/compare?text=a&against=model", "http://h/compare?text=a"), false, "but on Compare itself");
  for (const own of ["rival", "guess", "which"]) {
    assert.equal(sameSentence(at(`try=Selective%3F&${own}=a`), at("try=Selective%3F")), true, `${own} goes with its control`);
    assert.equal(sameSentence(at("train=x"), at(`train=x&${own}=a`)), true, `${own} comes with its control`);
    assert.equal(sameSentence(at(`try=Selective%3F&${own}=a&text=a`), at("try=Selective%3F&text=b")), false, "another sentence");
  }
  const done = [];
  const history = { pushState: (...given) => done.push(["push", given[2]]), replaceState: (...given) => done.push(["replace", given[2]]) };
  for (let i = 0; i < 2; i++) oneStepASentence(history, () => at("text=a"));
  history.pushState({}, "", "?text=a&head=1-1");
  history.pushState({}, "", "?text=b");
  assert.deepEqual(done, [["replace", "?text=a&head=1-1"], ["push", "?text=b"]]);
});

test("the address of a first visit is completed in place, and one that says something else by now is left alone", () => {
  const done = [];
  const history = { state: { key: 1 }, replaceState: (state, _, address) => done.push([state, address]) };
  const [before, after] = [{ text: "a", head: "9-9" }, { text: "a", pin: "4" }];
  for (const here of ["text=a&head=9-9&at=2", "text=a&head=5-7", "text=b&head=9-9"]) complete(history, `http://h/?${here}`, before, after);
  complete(history, "http://h/", {}, after);
  assert.deepEqual(done, [[{ key: 1 }, "http://h/?text=a&at=2&pin=4"], [{ key: 1 }, "http://h/?text=a&pin=4"]]);
});

test("a page that is opened completes the address that a reader came by", () => {
  const done = [];
  const history = { state: 3, pushState: () => assert.fail("a step"), replaceState: (state, _, to) => done.push([state, to]) };
  withGlobals({ history, location: { href: "http://h/?head=9-9" }, document: { addEventListener() {} } }, () => address({ data: { before: { head: "9-9" }, after: { text: "a", head: "1-1" } } }));
  assert.deepEqual(done, [[3, "http://h/?head=1-1&text=a"]]);
});

const event = (type, ...path) => ({ type, composedPath: () => path });
const node = (...names) => ({ matches: () => names.includes("pressed"), classList: { contains: (name) => names.includes(name) } });

test("who goes on outside of a picture leaves it, and a pointer only where something can be pressed", () => {
  const [root, text, link] = [node(), node(), node("pressed")];
  assert.deepEqual(["pointerdown", "keydown", "focusin", "pointerover"].map((type) => leaves(event(type, text), root)), [true, true, true, false]);
  assert.equal(leaves(event("pointerover", text, link), root), true);
  assert.equal(leaves(event("pointerdown", link, root), root), false, "inside");
});

test("the numbers of files are asked for when their menu is opened, by pointer and by keys", () => {
  const [root, menu] = [node(), node("save")];
  assert.deepEqual(["pointerdown", "keydown", "focusin", "pointerover"].map((type) => opensFiles(event(type, menu, root), root)), [true, true, true, false]);
  assert.equal(opensFiles(event("pointerdown", node(), root), root), false);
  assert.equal(opensFiles(event("pointerdown", menu), root), false, "another picture's menu");
});

test("a choice waits until what is below the picture is on the screen, and for nothing where there is nothing below", () => {
  const told = [];
  let say;
  globalThis.IntersectionObserver = class {
    constructor(heard) {
      say = (...seen) => heard(seen.map((isIntersecting) => ({ isIntersecting })));
    }
    observe() {}
  };
  onceSeen((first) => told.push(first), { querySelector: () => "below" });
  say(false);
  assert.deepEqual(told, []);
  say(false, true);
  assert.deepEqual(told.splice(0), [false], "scrolled to");
  onceSeen((first) => told.push(first), { querySelector: () => "below" });
  say(true);
  assert.deepEqual(told.splice(0), [true], "there at once");
  onceSeen((first) => told.push(first), { querySelector: () => null });
  assert.deepEqual(told, [true]);
});

test("a link of the menu is followed once it takes along what was chosen", async () => {
  const said = { head: "2-1", pin: "3", to: "" };
  const link = { href: "http://h/inside?text=a&head=1-1&pin=3" };
  assert.equal(isBehind(link, said), true);
  assert.equal(isBehind({ href: "http://h/inside?text=a&head=2-1&pin=3" }, said), false);
  assert.equal(isBehind({ href: "http://h/inside?text=a&head=2-1&pin=3&to=0" }, said), true);
  const followed = [];
  whenCaughtUp(link, said, () => followed.push(link.href));
  assert.equal(followed.length, 0, "not yet");
  link.href = "http://h/inside?text=a&head=2-1&pin=3";
  await new Promise((done) => setTimeout(done, 60));
  assert.deepEqual(followed, [link.href]);
  whenCaughtUp({ href: "http://h/" }, said, () => followed.push("late"), 2001);
  assert.equal(followed.pop(), "late", "a server that is away holds nobody");
});

test("what opens another tab, and what is no link of the menu, is left alone", () => {
  const link = { matches: (asked) => asked.includes(".st-key-top a") };
  const press = (more = {}) => ({ composedPath: () => [{}, link], button: 0, ...more });
  assert.equal(menuLink(press()), link);
  for (const key of ["ctrlKey", "metaKey", "shiftKey", "altKey"]) assert.equal(menuLink(press({ [key]: true })), undefined);
  assert.equal(menuLink({ composedPath: () => [{ matches: () => false }], button: 0 }), undefined);
});
