// A record whose numbers can be checked by hand.
import { quantise } from "../../assets/js/numbers.js";
import { openRecord } from "../../assets/js/record.js";

// A column as the server sends it.
export const column = (array) => ({ getChildAt: () => ({ toArray: () => array }) });

// Two layers of two heads; every row another, so that no two cells can be exchanged unseen.
export const WEIGHTS = [
  [[0.5, 0.3, 0.2], [0.1, 0.15, 0.75], [0.05, 0.9, 0.05]],
  [[0.2, 0.2, 0.6], [0.33, 0.33, 0.34], [0.7, 0.02, 0.28]],
  [[1, 0, 0], [0, 1, 0], [0.4, 0.25, 0.35]],
  [[0.12, 0.44, 0.44], [0.6, 0.3, 0.1], [0.01, 0.19, 0.8]],
];

// A record of them as it is in the browser: three tokens, the third of a second text.
export function opened(more = {}) {
  return openRecord({
    names: ["[CLS]", "cat", "it"], specials: [true, false, false], segments: [0, 0, 1], before: ["", "", " "], layers: 2, heads: 2,
    packing: "full", weights: column(quantise(WEIGHTS.flat(2))), ...more,
  });
}
