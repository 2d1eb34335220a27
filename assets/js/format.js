// How numbers are written and read: shares in percent, plain numbers with a real minus, what a reader types.

// Whole percentages, below one percent with one decimal. Python's rounding and JavaScript's differ, this floor does not.
export function percent(weight) {
  if (!Number.isFinite(weight)) return "hidden";
  const tenths = Math.floor(Math.abs(weight) * 1000 + 0.5);
  const number = tenths > 0 && tenths < 10 ? `0.${tenths}` : Math.floor(Math.abs(weight) * 100 + 0.5);
  return `${weight < 0 && tenths ? "−" : ""}${number}%`;
}

// In tables, where decimals are read: one.
export const tenths = (weight) => (Number.isFinite(weight) ? `${(Math.floor(Math.abs(weight) * 1000 + 0.5) / 10).toFixed(1)}%` : "hidden");

export function points(difference) {
  const text = percent(difference).replace("%", "");
  return difference > 0 && text !== "0" ? `+${text}` : text;
}

export function fixed(value, digits = 4) {
  if (!Number.isFinite(value)) return "hidden";
  const text = value.toFixed(digits).replace("-", "−");
  return Number(value.toFixed(digits)) === 0 ? text.replace("−", "") : text;
}

export function tiny(value) {
  return value.toExponential(1).replaceAll("-", "−");
}

export function trim(text) {
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

export function parseNumber(text) {
  const plain = String(text).trim().replace("−", "-").replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

const MOST = 1e6;

// What a reader typed into a number's box: the number, and the sentence that says why it is none. `kept` stays in use.
export function readNumber(text, kept) {
  const number = parseNumber(text);
  const typed = String(text).trim();
  if (!typed) return [NaN, `The box is empty; ${kept} is still used.`];
  if (Number.isNaN(number)) return [NaN, `“${typed.slice(0, 20)}” is not a number; ${kept} is still used.`];
  if (Math.abs(number) > MOST) return [NaN, `${typed.slice(0, 20)} is too large: numbers up to a million are taken; ${kept} is still used.`];
  return [number, ""];
}
