// The same numbers as a table: what the pinned words look at, or where every word looks most.
import { make } from "./dom.js";
import { percent } from "./format.js";

// {caption, head: [..], rows: [[text or number, ..]]}; `say` writes a number by its value and its column.
// A weight of null is one that does not exist: the word comes later, and a decoder cannot see it.
export function pinnedTable(names, pins, matrix, n, unseen = () => false) {
  const rows = names.map((name, k) => {
    const each = pins.map((q) => (unseen(q, k) ? null : matrix[q * n + k] / 65535));
    const mean = each.every((weight) => weight === null) ? null : each.reduce((total, weight) => total + weight, 0) / pins.length;
    return pins.length > 1 ? [name, ...each, mean] : [name, ...each];
  });
  const who = pins.map((pin) => `from “${names[pin]}”`);
  return { head: ["looked at", ...who, ...(pins.length > 1 ? ["mean"] : [])], rows };
}

export function strongestTable(names, matrix, n, chose = () => true) {
  const rows = names.map((name, q) => {
    let best = 0;
    if (!chose(q)) return [name, "nothing stands before it", null];
    for (let k = 1; k < n; k++) if (matrix[q * n + k] > matrix[q * n + best]) best = k;
    return [name, names[best], matrix[q * n + best] / 65535];
  });
  return { head: ["word", "looks most at", "weight"], rows };
}

export function drawTable(root, { caption, head, rows }, say = percent) {
  const cell = (value, i) => {
    if (value === null) return make("td", { class: "number absent", text: "cannot see" });
    return typeof value === "number" ? make("td", { class: "number", text: say(value, i + 1) }) : make("td", { text: value });
  };
  root.replaceChildren(
    make(
      "table",
      {},
      make("caption", { text: caption }),
      make("thead", {}, make("tr", {}, ...head.map((text, i) => make("th", { scope: "col", text, class: typeof rows[0]?.[i] === "number" ? "number" : null })))),
      make("tbody", {}, ...rows.map(([first, ...rest]) => make("tr", {}, make("th", { scope: "row", text: first }), ...rest.map(cell)))),
    ),
  );
}
