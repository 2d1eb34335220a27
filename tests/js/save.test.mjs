// The files of the page without a server, read back: what each says is the numbers that were computed.
import assert from "node:assert/strict";
import test from "node:test";
import { openRecord } from "../../assets/js/record.js";
import { recordOf } from "../../assets/js/static/payload.js";
import { offerFiles } from "../../assets/js/static/save.js";
import { onPage, withGlobals } from "./page.mjs";

const model = { name: "toy", title: "Toy", digest: "d", windows: [], roles: [], causal: false, sharing: 1 };

// Words of one piece each, two layers of three heads, no two weights alike.
function runOf(text, cut) {
  const words = text.split(" ");
  const piece = (word, i) => ({ text: word, id: i, start: text.indexOf(word), end: text.indexOf(word) + word.length, special: 0, segment: 0, word: i, mark: "" });
  return { text, spans: [[0, text.length]], pieces: words.map(piece), layers: 2, heads: 3, cut, weights: Float32Array.from({ length: 6 * words.length ** 2 }, (_, i) => (i + words.length) / 64) };
}

const [a, b] = [runOf("the cat", 0), runOf("a large cat", 4)];
const at = ({ weights, pieces: { length: n } }, head, q, k) => weights[(head * n + q) * n + k];
const rowsOf = (csv) => csv.trim().split("\n").slice(1).map((line) => line.split(","));

// What the button of these files saves, with head 2-2 chosen.
function saved(kind, runs, pairs, { data, byId } = {}) {
  const records = runs.map((run) => openRecord(recordOf(run, model, "pieces", "shown")));
  const now = { view: { state: { head: [1, 1], pins: [1], to: 0 } }, compare: runs.length > 1, records, runs, pairs, model, data, unit: "pieces" };
  return withGlobals({ location: { href: "http://h/?x" } }, () => onPage(async (place, files) => {
    document.getElementById = byId;
    offerFiles(place, now);
    await place.querySelectorAll("button").find((button) => button.textContent === kind).onclick();
    return files[0].text();
  }));
}

test("one text: every head's weights, and all that says what they are", async () => {
  const { weights, ...said } = JSON.parse(await saved("JSON", [b]));
  assert.deepEqual(weights.flat(3), [...b.weights]);
  const expected = { model: "toy", text: b.text, units: ["a", "large", "cat"], layers: [1, 2], heads: [1, 2, 3], n_layers: 2, n_heads: 3, n_cut: 4, head: "2-2", pinned: [1], to: 0, causal: false };
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, said[name]])), expected);
  const rows = rowsOf(await saved("CSV", [b]));
  assert.deepEqual([rows.length, rows[41].slice(0, 7)], [54, ["2", "2", "1", "2", "large", "cat", String(at(b, 4, 1, 2))]]);
});

test("two texts: A, B and A minus B of the chosen head, over the words that both have", async () => {
  const rows = rowsOf(await saved("CSV", [a, b], [[0, 0], [null, 1], [1, 2]]));
  const both = [[0, 0], [1, 2]];
  const expected = both.flatMap(([q, r]) => both.map(([k, l]) => [q, k, at(a, 4, q, k), at(b, 4, r, l), at(a, 4, q, k) - at(b, 4, r, l)]));
  assert.deepEqual(rows.map((row) => [2, 3, 6, 7, 8].map((i) => Number(row[i]))), expected);
});

test("a text with markup stands in the saved page as it was typed, and ends none of its scripts", async () => {
  const text = "</script> cat";
  const data = { css: "", alone: "<script id=data>@@DATA@@</script>" };
  const page = await saved("HTML, works offline", [runOf(text, 0)], [], { data, byId: () => ({ textContent: " " }) });
  const [, own] = /<script id=data>(.*?)<\/script>/s.exec(page);
  assert.equal(JSON.parse(own).records[0].title, text);
});
