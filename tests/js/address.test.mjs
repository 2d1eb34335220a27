import assert from "node:assert/strict";
import test from "node:test";

import { Address, headInLink } from "../../assets/js/address.js";
import { Headscope } from "../../assets/js/view.js";
import { withGlobals } from "./page.mjs";

const HOST = "http://host/";
globalThis.PopStateEvent ??= class extends Event {};

// A browser's tab: its address, its history with what a page hears of it, and links to press.
function tab(address = "") {
  const heard = { told: [] };
  const listeners = {};
  const steps = [HOST + address];
  let at = 0;
  const changed = (navigationType) => listeners.currententrychange?.({ navigationType });
  const page = {
    location: { get href() { return steps[at]; }, get origin() { return new URL(steps[at]).origin; }, get pathname() { return new URL(steps[at]).pathname; } },
    history: {
      replaceState: (state, title, to) => { steps[at] = new URL(to, steps[at]).href; changed("replace"); },
      pushState: (state, title, to) => { steps.splice(at + 1, steps.length, new URL(to, steps[at]).href); at += 1; changed("push"); },
    },
    navigation: { addEventListener: (kind, act) => (listeners[kind] = act) },
    document: {
      get baseURI() { return steps[at]; },
      addEventListener: (kind, act) => (listeners[kind] = act),
      querySelector: () => null,
      getElementById: () => null,
    },
    dispatchEvent: () => heard.told.push(page.location.href),
  };
  // As Streamlit writes the value of a control into the address.
  const typed = (to) => page.history.replaceState({}, "", HOST + to);
  const back = () => { at -= 1; changed("traverse"); };
  const press = (href, more = {}) => {
    let stays = false;
    const link = { matches: () => true, getAttribute: () => href, setAttribute: (name, to) => (href = to), hasAttribute: () => false, target: "", dataset: more.dataset ?? {} };
    listeners.click({ composedPath: () => [link], button: 0, preventDefault: () => (stays = true), stopImmediatePropagation() {}, ...more });
    return stays;
  };
  return { page, heard, steps, typed, back, press, address: new Address(page) };
}

test("ten choices one after the other take one place in the history, and the page hears of the last", async () => {
  const { address, steps, heard } = tab("?text=a");
  for (let head = 1; head <= 10; head++) address.look({ head: `1-${head}`, pin: "3", to: "" });
  await new Promise((done) => setTimeout(done, 400));
  assert.deepEqual([steps, heard.told], [[`${HOST}?text=a&head=1-10&pin=3`], [`${HOST}?text=a&head=1-10&pin=3`]]);
});

test("another text or other units are a step, another slider is none", () => {
  const { steps, typed } = tab("?head=1-1");
  typed("?head=1-1&text=a");
  typed("?head=1-1&text=a&window=4");
  typed("?head=1-1&text=a&window=5&unit=words");
  assert.deepEqual(steps.map((step) => step.slice(HOST.length)), ["?head=1-1", "?head=1-1&text=a&window=4", "?head=1-1&text=a&window=5&unit=words"]);
});

test("after Back, what is typed is a step from there", () => {
  const { steps, typed, back } = tab("?text=a");
  typed("?text=b");
  back();
  typed("?text=c");
  assert.deepEqual(steps, [`${HOST}?text=a`, `${HOST}?text=c`]);
});

test("a page drawn for an address from before is asked for again, once, and not while a choice is on its way", () => {
  const { address, heard, page } = tab("?head=1-1");
  assert.equal(address.settle({ head: "1-1" }), true);
  page.history.replaceState(null, "", `${HOST}?head=2-2`);
  assert.equal(address.settle({ head: "1-1" }), false);
  assert.equal(address.settle({ head: "1-1" }), false);
  assert.deepEqual(heard.told, [`${HOST}?head=2-2`]);
  address.look({ head: "3-3" });
  assert.equal(address.settle({ head: "2-2" }), false);
  assert.equal(heard.told.length, 1);
  assert.equal(address.looks.head, "3-3");
});

test("a link leads on as a step; one of the menu takes along what was chosen a moment before", () => {
  const { address, press, steps, heard } = tab("?text=a&only=1");
  address.look({ head: "4-2" });
  assert.equal(press("./compare", { dataset: { carries: "text head" } }), true);
  assert.deepEqual(steps.at(-1), `${HOST}compare?text=a&head=4-2`);
  assert.equal(press("./roles?head=1-1"), true);
  assert.deepEqual(heard.told, steps.slice(1));
  assert.equal(press("./compare", { ctrlKey: true }), false);
  assert.equal(press("https://elsewhere/"), false);
});

test("into presenter mode and out of it all else stays", () => {
  const { press, steps } = tab("?text=a&window=4");
  press("./?present=1", { dataset: { carries: "*" } });
  press("./?present=", { dataset: { carries: "*" } });
  assert.deepEqual(steps.slice(1).map((step) => step.slice(HOST.length)), ["?text=a&window=4&present=1", "?text=a&window=4"]);
});

test("Escape leaves presenter mode, unless it was for something else", () => {
  const left = (query, event) => {
    const { page, address } = tab(query);
    let pressed = 0;
    page.document.querySelector = () => ({ click: () => (pressed += 1) });
    address.leave({ key: "Escape", defaultPrevented: false, ...event });
    return pressed;
  };
  assert.deepEqual([left("?present=1"), left("?text=a"), left("?present=1", { key: "Enter" }), left("?present=1", { defaultPrevented: true })], [1, 0, 0, 0]);
});

test("the menu's link to the page that is open changes nothing", () => {
  const { press, steps } = tab("compare?text=a&tab=lines");
  assert.equal(press("./compare", { dataset: { carries: "text" } }), true);
  assert.deepEqual(steps, [`${HOST}compare?text=a&tab=lines`]);
});

test("a layer that is chosen keeps the link's head, and the whole model its layer, too", () => {
  const inLink = (per, head) => headInLink({ per }, head, `${HOST}?head=2-7`);
  assert.deepEqual([inLink("head", [3, 0]), inLink("layer", [3, 0]), inLink("model", [0, 0])], [[3, 0], [3, 6], [1, 6]]);
});

test("the word that is looked at stands in the address, the first one of the text, too", () => {
  const written = [];
  const choose = (to) => Headscope.prototype.emit.call({ address: { look: (looks) => written.push(looks.to) } }, { view: { record: {} } }, { head: [3, 1], pins: [2], to });
  withGlobals({ location: { href: HOST } }, () => [0, 2, null].forEach(choose));
  assert.deepEqual(written, ["0", "2", ""]);
});
