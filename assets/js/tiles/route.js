// The map of the calculation: its stations in a line, a shape under each, the one where the reader is marked.
import { make } from "../dom.js";
import { lowered } from "./prose.js";

export function route(board, block) {
  const line = make("ol", { class: "route" });
  block.items.forEach((item, i) => line.append(station(board, block, item, i)));
  const element = make("nav", { "aria-label": block.label }, line);
  const here = line.children[block.now];
  // On a narrow screen the map scrolls by itself to where the reader is.
  if (here) requestAnimationFrame(() => (line.scrollLeft = here.offsetLeft - (line.clientWidth - here.clientWidth) / 2));
  return element;
}

function station(board, block, item, i) {
  const here = i === block.now;
  const place = make(kindOf(block, item), {
    class: here ? "station here-now" : "station",
    title: item.about,
    "aria-current": here ? "step" : null,
    "data-focus": `station-${item.key}`,
    "data-station": item.key,
  });
  place.append(lowered(make("b"), item.name), make("span", { text: item.shape }));
  if (item.link) Object.assign(place, { href: item.link, target: "_self" });
  if (block.live) Object.assign(place, { type: "button", onclick: () => board.component.setTriggerValue("station", item.key) });
  return make("li", { class: block.now !== null && i < block.now ? "passed" : "" }, place);
}

function kindOf(block, item) {
  if (block.live) return "button";
  return item.link ? "a" : "span";
}
