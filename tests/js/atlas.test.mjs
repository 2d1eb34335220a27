import assert from "node:assert/strict";
import test from "node:test";

import { arc } from "../../assets/js/atlas.js";

test("an arc goes from the middle of one word to the middle of the other, above both", () => {
  const box = { left: 100 };
  const path = arc({ left: 110, width: 20, top: 50 }, { left: 210, width: 40, top: 50 }, { ...box, top: 40 });
  const [x0, y0, , top, x1, y1] = path.match(/-?[\d.]+/g).map(Number);
  assert.deepEqual([x0, x1], [20, 130]);
  assert.equal(y0, y1);
  assert.ok(top < y0);
});

test("a longer arc rises higher, up to a bound", () => {
  const rise = (far) => {
    const [, y0, , top] = arc({ left: 0, width: 2, top: 9 }, { left: far, width: 2, top: 9 }, { left: 0, top: 0 }).match(/-?[\d.]+/g).map(Number);
    return y0 - top;
  };
  assert.ok(rise(60) > rise(10));
  assert.equal(rise(2000), 14);
});
