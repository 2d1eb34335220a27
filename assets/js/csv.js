// The one CSV: what the program's other files call a weight, and cells that no spreadsheet runs.
import { digits } from "./numbers.js";
import { save } from "./save.js";

// Layers and heads count from 1, positions (`query`, `key`) from 0; the columns of mha_core's CSV.
export const WEIGHT_COLUMNS = ["layer", "head", "query", "key", "query_text", "key_text", "weight"];
export const LONG_COLUMNS = ["text", "pair", "source", "link", "text_b", "pair_b"];

const FORMULA = /^(?:[\s\u0000-\u001f\u0085]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/u;

// A spreadsheet runs a cell that begins with = + - @: an apostrophe keeps it text. Numbers are written as numbers.
export function csvCell(value) {
  if (typeof value === "number") return String(value);
  let text = String(value);
  if (FORMULA.test(text)) text = `'${text}`;
  return /[",\r\n\t;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows) => `${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;

// Every weight of one head as mha_core's own CSV has it; `said`: columns that say what the numbers are, long ones once. `keys`: units
// before the first that looks. `sink`: what a learned sink took of every row, rows of key -1.
export function weightRows({ labels, matrix, place, absent, keys = 0, said, sink = null }) {
  const n = labels.length;
  const rows = [[...WEIGHT_COLUMNS, ...Object.keys(said)]];
  for (let q = 0; q < n; q++) {
    for (let k = 0; k < n; k++) {
      if (absent(q, k)) continue;
      const about = Object.entries(said).map(([name, text]) => (rows.length > 1 && LONG_COLUMNS.includes(name) ? "" : text));
      rows.push([...place, q - keys, k, labels[q], labels[k], digits(matrix[q * n + k]), ...about]);
    }
    if (sink) rows.push([...place, q, -1, labels[q], "(sink)", sink[q], ...Object.entries(said).map(([name, text]) => (LONG_COLUMNS.includes(name) ? "" : text))]);
  }
  return rows;
}

// The mark at the beginning tells a spreadsheet that the text is UTF-8.
export function saveCsv(name, rows) {
  return save(name, "text/csv;charset=utf-8", `\ufeff${csv(rows)}`);
}
