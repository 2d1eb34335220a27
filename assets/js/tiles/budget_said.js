// What a spread budget comes to, in a sentence.
import { arrived, ENOUGH, left } from "./budget_sums.js";

export function said(labels, needs, heads, values) {
  const found = arrived(needs, heads, values).map((one) => ({ ...one, label: labels[one.word] }));
  const met = found.length > 0 && found.every((one) => one.met);
  return { needs: found, met, sentence: sentence(found, heads, met) };
}

function sentence(found, heads, met) {
  if (!found.length) return "Mark the words that are needed.";
  const open = heads.findIndex((head) => left(head) > 0);
  if (open >= 0) return `Head ${open + 1} has ${left(heads[open])}% left. Click a word to add 10%, its number to remove 10%.`;
  const lost = found.filter((one) => one.share === 0).map((one) => one.label);
  const thin = found.filter((one) => one.share > 0 && !one.met).map((one) => one.label);
  if (met) return heads.length === 1 ? "One head is enough for one need. Is there no other?" : `${heads.length} heads, each with 100% of its own: nothing you need is lost.`;
  const parts = [];
  if (thin.length) parts.push(`diluted: ${list(thin)} (under ${ENOUGH}%)`);
  if (lost.length) parts.push(`lost: ${list(lost)}`);
  const why = heads.length === 1 ? " One row adds up to 100%: more for one word is less for the others." : " Each head has 100% of its own.";
  return `${capital(parts.join("; "))}.${why}`;
}

function list(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
