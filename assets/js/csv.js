// A CSV whose cells no spreadsheet runs.
import { save } from "./save.js";

const FORMULA = /^(?:[\s\u0000-\u001f\u0085]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/u;

// A spreadsheet runs a cell that begins with = + - @: an apostrophe keeps it text. Numbers are written as numbers.
function csvCell(value) {
  if (typeof value === "number") return String(value);
  let text = String(value);
  if (FORMULA.test(text)) text = `'${text}`;
  return /[",\r\n\t;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csv = (rows) => `${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;

// The mark at the beginning tells a spreadsheet that the text is UTF-8.
export function saveCsv(name, rows) {
  return save(name, "text/csv;charset=utf-8", `\ufeff${csv(rows)}`);
}
