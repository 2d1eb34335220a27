// Small pieces of the page that Explore and Compare share: legends, sentences, lines of words.
import { make, spoken } from "./dom.js";

// What the shades mean.
export function legend(low, high, kind) {
  return make("p", { class: "legend", "aria-hidden": "true" }, make("span", { text: low }), make("i", { class: kind }), make("span", { text: high }));
}

// A line of words is written again only when it changes.
export function spokenOnce(node, sentence) {
  if (node.dataset.said === sentence) return;
  node.dataset.said = sentence;
  spoken(node, sentence);
}

export function wrapped(text, limit) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + word.length + 1 > limit) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}
