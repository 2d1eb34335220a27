// Small pieces of the page that Explore and Compare share: legends, sentences, lines of words.
import { make, spoken } from "./dom.js";
import { placeName } from "./record.js";

// What the shades mean.
export function legend(low, high, kind) {
  return make("p", { class: "legend", "aria-hidden": "true" }, make("span", { text: low }), make("i", { class: kind }), make("span", { text: high }));
}

// A line of words is written again only when it changes.
export function announceOnce(node, sentence) {
  if (node.dataset.said === sentence) return;
  node.dataset.said = sentence;
  spoken(node, sentence);
}

// What a file of its own says of its numbers, and where the app draws them.
export function fillFacts(node, records, head, link) {
  node.hidden = globalThis.headscope?.live !== false;
  if (node.hidden) return;
  const said = records.map((record, side) => {
    const model = record.digest ? `${record.model} (${record.digest})` : record.model;
    const facts = [model, placeName(record, head), record.measureSaid ?? "Raw attention", record.words ? "words" : "pieces", record.normalised];
    return `${records.length > 1 ? `${"AB"[side]}: ` : ""}${facts.filter(Boolean).join(" · ")}`;
  });
  const open = link ? [" ", make("a", { href: link, target: "_blank", rel: "noopener", text: "Open in HeadScope" })] : [];
  node.replaceChildren(said.join("; "), ...open);
}
