import assert from "node:assert/strict";
import { test } from "node:test";
import { changesInWords, ghostInWords, ghostLinks } from "../../assets/js/ghost.js";
import { unitsOfWord } from "../../assets/js/word_edit.js";

const change = { start: 1, old: 1, new: 2 };
// Three units, one head: the last one looks at the first with a quarter, at the changed one with three.
const steps = (share) => Math.round(share * 65535);
const record = { n: 3, heads: 1, named: ["it", "tired", "end"], full: Uint16Array.from([65535, 0, 0, 0, 65535, 0, steps(0.25), steps(0.75), 0]) };

test("the old links stand on the new words, with the old shares", () => {
  const found = ghostLinks({ record, change }, [0, 0], [3]);
  assert.deepEqual(found.links.map(({ from, to }) => [from, to]), [[3, 1], [3, 0]]);
  assert.ok(Math.abs(found.shares.get(1) - 0.75) < 1e-4);
  assert.match(ghostInWords({ words: ["tired", "very wide"] }), /tired/);
  assert.equal(ghostLinks({ record, change }, [0, 0], [2]), null, "the new word was not there");
  assert.equal(ghostLinks({ record, change }, [0, 0], []), null);
});

test("several words that look have the mean of what they looked at, and a word whose place is taken away is forgotten", () => {
  const found = ghostLinks({ record, change }, [0, 0], [0, 3]);
  assert.deepEqual(found.links.map(({ from, to }) => [from, to]), [[0, 0], [3, 1], [3, 0]]);
  assert.deepEqual([0, 1, 2].map((unit) => (found.shares.get(unit) ?? 0).toFixed(3)), ["0.625", "0.375", "0.000"]);
  const shorter = { start: 0, old: 2, new: 1 }; // "it tired end" became "wide end"
  const left = ghostLinks({ record, change: shorter }, [0, 0], [1]);
  assert.deepEqual([...left.shares].map(([unit, share]) => [unit, share.toFixed(2)]), [[0, "0.25"], [1, "0.00"]]);
});

test("the two words whose share moved most are named with both shares, special tokens left out", () => {
  const shares = new Map([[0, 0.1], [1, 0.68], [2, 0.05], [3, 0.17]]);
  const after = { named: ["[CLS]", "animal", "street", "cross"], specials: [1, 0, 0, 0] };
  const text = (row, isNew = () => false) => changesInWords({ shares, isNew }, row, after);
  assert.equal(text([0.47, 0.28, 0.12, 0.13]), "“animal” falls from 68% to 28%; “street” rises from 5% to 12%");
  assert.equal(text([0.47, 0.28, 0.12, 0.13], (unit) => unit === 1), "“street” rises from 5% to 12%; “cross” falls from 17% to 13%", "the changed word was not there before");
  assert.equal(text([0.09, 0.69, 0.05, 0.17]), "", "one point is no change");
});

test("a piece stands for its whole word", () => {
  assert.deepEqual(unitsOfWord({ joined: [0, 0, 1, 1, 0] }, 2), [1, 2, 3]);
  assert.deepEqual(unitsOfWord({}, 4), [4]);
});
