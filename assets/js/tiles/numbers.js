// The numbers of a matrix below its picture: a table that opens, and all of them as CSV.
import { saveCsv } from "../csv.js";
import { make } from "../dom.js";
import { fixed } from "../format.js";
import { svgButton } from "./vectors.js";

const LARGEST_TABLE = 40000;

export function numbersButton(board, block, values, top) {
  const button = make("button", { class: "numbers" });
  button.type = "button";
  const id = block.id || block.name;
  button.dataset.matrix = id;
  button.dataset.focus = `numbers-${id}`;
  const place = make("div", { class: "place" });
  const show = (open) => {
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "hide numbers" : "numbers";
    button.setAttribute("aria-label", `${open ? "Hide numbers" : "Numbers"} of ${block.name}`);
    place.replaceChildren(...(open ? [table(block, values), make("div", { class: "saving" }, csvButton(block, values), svgButton(board, block, values, top))] : []));
    if (open) board.open.add(id);
    else board.open.delete(id);
  };
  button.onclick = () => show(!board.open.has(id));
  show(board.open.has(id));
  return [button, place];
}

function names(block, axis) {
  const given = axis === 0 ? block.rows : block.cols;
  const size = block.shape[axis];
  return given && given.length === size ? given : Array.from({ length: size }, (_, i) => i + 1);
}

function table(block, values) {
  const [n, m] = block.shape;
  const rows = Math.min(n, Math.max(1, Math.floor(LARGEST_TABLE / m)));
  const scroll = make("div", { class: "scroll" });
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", `${block.name}, numbers`);
  const made = make("table");
  made.dataset.matrix = block.id || block.name;
  const head = made.createTHead().insertRow();
  head.append(make("th"), ...names(block, 1).map((name) => make("th", { text: name })));
  const body = made.createTBody();
  const rowNames = names(block, 0);
  for (let i = 0; i < rows; i += 1) {
    const line = body.insertRow();
    line.append(make("th", { text: rowNames[i] }));
    for (let j = 0; j < m; j += 1) line.append(make("td", { text: fixed(values[i * m + j], 5) }));
  }
  scroll.append(made);
  if (rows < n) scroll.append(make("p", { class: "quiet", text: `The first ${rows} of ${n} rows; all of them are in the CSV.` }));
  return scroll;
}

function csvButton(block, values) {
  const [n, m] = block.shape;
  const onclick = () => {
    const rowNames = names(block, 0);
    const rows = [["", ...names(block, 1)]];
    for (let i = 0; i < n; i += 1) rows.push([rowNames[i], ...values.subarray(i * m, (i + 1) * m)]);
    saveCsv(`${block.id || block.name}.csv`, rows);
  };
  return make("button", { class: "numbers", type: "button", text: "CSV", onclick });
}
