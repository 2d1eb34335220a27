// What a decoder predicts after the text: its likeliest tokens at a temperature, each to append by a press, or one drawn.
import { make } from "../dom.js";
import { percent } from "../format.js";
import { visible } from "./spelling.js";

const SHOWN = 10;
const BROKEN = "\ufffd"; // bytes of a character that other tokens complete
const chance = (share) => (share > 0 && share < 0.0005 ? "<0.1%" : percent(share)); // not none
const at = (id) => document.getElementById(id);

// Probabilities at a temperature, from those at 1: in proportion to p^(1/T). At 0 the likeliest has all.
export function tempered(next, temperature) {
  const most = next.reduce((a, b) => Math.max(a, b));
  const shares = Float64Array.from(next, (share) => (temperature ? (share / most) ** (1 / temperature) : Number(share === most)));
  const sum = shares.reduce((a, b) => a + b);
  return shares.map((share) => share / sum);
}

// The number of the share on which a number from 0 to 1 falls.
export function fallsOn(shares, part) {
  let left = part;
  const place = shares.findIndex((share) => (left -= share) < 0);
  return place < 0 ? shares.findLastIndex((share) => share > 0) : place; // sums are rounded
}

export const likeliest = (shares, most = SHOWN) =>
  Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a] || a - b).slice(0, most);

// The spaces before a token as marks.
const shown = (spelling) => spelling.replace(/^ +/, (spaces) => "␣".repeat(spaces.length)).replace(/[^␣]+$/, (rest) => visible(rest));

// run: of a decoder, or of another model, which predicts no next token; `about`: spellings of its pieces, and its special
// ones; append(spelling) puts one at the end of the text, end(spelling) says that the text ends.
export function offerNext(run, { spellings, signs } = {}, temperature, isFull, append, end) {
  const tokens = at("tokens"), hadFocus = tokens.contains(document.activeElement);
  at("next").hidden = !run.next;
  if (!run.next) return;
  at("note").textContent = isFull ? `The text is full: this page reads ${run.pieces.length} tokens.` : "Press a token to append it, or draw one at this temperature. Likely, not true.";
  const isBroken = (id) => spellings[id].includes(BROKEN), shares = tempered(run.next, temperature);
  const button = (id) => make("button", { type: "button", text: `${shown(spellings[id])} ${chance(shares[id])}`, disabled: isFull || isBroken(id), onclick: () => append(spellings[id]) });
  tokens.replaceChildren(...likeliest(shares).map(button));
  if (hadFocus) tokens.querySelector("button:enabled")?.focus();
  at("temperature").value = temperature;
  at("warmth").textContent = temperature.toFixed(1);
  at("append").disabled = isFull;
  at("append").onclick = () => {
    const spelling = spellings[fallsOn(tempered(run.next.map((share, id) => (isBroken(id) ? 0 : share)), temperature), Math.random())];
    signs.includes(spelling) ? end(spelling) : append(spelling);
  };
}
