// A picture of all heads, one button each: as a grid (layers down, heads across) or as a map where near means alike.
//
// data: {layout: "grid" | "map", n_heads, chosen: "4-2" | "", legend: [{letter, name, colour}],
//        heads: [{id: "4-2", layer: 0, head: 0, letter, colour, fill: 0..1 | null, text, label, x, y, cluster}],
//        hue: colour | ""}
// A head with a fill is shaded by it: in the page's ink, or in `hue` where there is one; a letter beside the number
// marks it. A press sends the trigger "head" with the id; hover and focus send nothing.
import { make, vector } from "./dom.js";

const views = new WeakMap();
// With more heads the map is taller, so that their names still fit (mha_core/heads/findings.py counts on it).
const SQUARE = 110;
// Of the hue, in percent, where a head has the largest value.
const STRONGEST = 62;

export default function headMap({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = { root: make("div"), focus: "" };
    parentElement.append(view.root);
    views.set(parentElement, view);
  }
  draw(view, data, (id) => setTriggerValue("head", id));
  return () => views.delete(parentElement);
}

function draw(view, data, choose) {
  const { root } = view;
  const hadFocus = root.contains(root.getRootNode().activeElement);
  root.className = `heads ${data.layout}`;
  root.replaceChildren(data.layout === "map" ? map(data) : grid(data), status(data));
  const buttons = [...root.querySelectorAll("button")];
  const at = (id) => buttons.find((b) => b.dataset.id === id);
  const home = at(view.focus) ?? at(data.chosen) ?? buttons[0];
  if (!home) return;
  home.tabIndex = 0;
  if (hadFocus) home.focus();
  const note = root.querySelector(".note");
  for (const button of buttons) {
    button.onclick = () => choose(button.dataset.id);
    button.onmouseenter = () => (note.textContent = button.ariaLabel);
    button.onfocus = () => {
      for (const other of buttons) other.tabIndex = -1;
      button.tabIndex = 0;
      view.focus = button.dataset.id;
      note.textContent = button.ariaLabel;
    };
  }
  root.onkeydown = (event) => {
    const from = buttons.findIndex((b) => b.tabIndex === 0);
    const to = neighbour(data.heads, from, event.key, data.layout, data.n_heads);
    if (to === null) return;
    event.preventDefault();
    buttons[to].focus();
  };
}

/** Index of the head that an arrow key leads to, or null for another key or the edge. */
export function neighbour(heads, from, key, layout, nHeads) {
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  if (key === "Home") return 0;
  if (key === "End") return heads.length - 1;
  if (!step || from < 0) return null;
  if (layout === "grid") {
    const { layer, head } = heads[from];
    if (head + step[0] < 0 || head + step[0] >= nHeads) return null;
    const to = from + step[0] + step[1] * nHeads;
    return heads[to] && heads[to].layer === layer + step[1] ? to : null;
  }
  // On the map: the nearest head within the quarter that the arrow points to.
  let best = null;
  let least = Infinity;
  heads.forEach((head, i) => {
    const along = (head.x - heads[from].x) * step[0] + (head.y - heads[from].y) * step[1];
    const across = Math.abs((head.x - heads[from].x) * step[1]) + Math.abs((head.y - heads[from].y) * step[0]);
    if (i !== from && along > 0 && across <= along && along + across < least) [best, least] = [i, along + across];
  });
  return best;
}

function button(head, data) {
  const b = make("button", { class: "head" });
  b.type = "button";
  b.dataset.id = head.id;
  b.tabIndex = -1;
  b.ariaLabel = head.label;
  b.ariaPressed = String(head.id === data.chosen);
  if (head.fill === null) {
    b.style.setProperty("--role", head.colour || "transparent");
    if (head.letter) b.classList.add("marked");
  } else {
    shade(b, head, data.hue ?? "");
  }
  const mark = head.fill === null ? head.letter : head.text;
  b.append(make("span", { class: "id", text: head.id }), make("span", { class: "mark", text: mark }));
  if (head.fill !== null && head.letter) b.append(make("span", { class: "does", text: head.letter }));
  return b;
}

function shade(b, head, hue) {
  if (hue) {
    // A hue is never so strong that the page's own ink could not be read on it.
    b.style.setProperty("--role", hue);
    b.style.setProperty("--fill", `${Math.round(STRONGEST * head.fill)}%`);
    b.classList.add("hued");
    return;
  }
  // The middle of the ramp is left out: neither dark nor light letters can be read on it.
  const dark = head.fill > 0.5;
  b.style.setProperty("--fill", `${Math.round(88 * head.fill + (dark ? 12 : 0))}%`);
  b.classList.add(dark ? "dark" : "light");
}

function grid(data) {
  const table = make("div", { class: "grid-rows" });
  table.style.setProperty("--n", data.n_heads);
  table.role = "group";
  table.ariaLabel = "All heads: layers downwards, heads across";
  table.append(make("span", { class: "corner" }));
  for (let h = 1; h <= data.n_heads; h++) table.append(make("span", { class: "axis", text: h }));
  for (const head of data.heads) {
    if (head.head === 0) table.append(make("span", { class: "axis", text: head.layer + 1 }));
    table.append(button(head, data));
  }
  return table;
}

function map(data) {
  const plane = make("div", { class: "plane" });
  plane.style.aspectRatio = String(Math.min(1, SQUARE / data.heads.length));
  plane.role = "group";
  plane.ariaLabel = "Map of all heads: heads that look at the same places stand near each other";
  plane.append(outline(data));
  for (const head of data.heads) {
    const b = button(head, data);
    b.style.left = `${100 * head.x}%`;
    b.style.top = `${100 * head.y}%`;
    plane.append(b);
  }
  return plane;
}

// Only the cluster of the chosen head: several outlines would cross, since a plane cannot show all distances.
function outline(data) {
  const svg = vector("svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" });
  const cluster = data.heads.find((head) => head.id === data.chosen)?.cluster ?? -1;
  const points = data.heads.filter((head) => head.cluster === cluster).map((head) => [head.x, head.y]);
  if (cluster < 0 || points.length < 3) return svg;
  svg.append(vector("polygon", { points: hull(points).map((p) => p.join(",")).join(" ") }));
  return svg;
}

/** The corners of the smallest convex shape around the points (Andrew's monotone chain). */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), p) <= 0) chain.pop();
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

function status(data) {
  const box = make("div", { class: "status" });
  const legend = make("div", { class: "legend" });
  for (const { letter, name, colour } of data.legend) {
    const item = make("span", { class: "key" });
    const mark = make("span", { class: "swatch", text: letter });
    mark.style.setProperty("--role", colour);
    item.append(mark, document.createTextNode(name));
    legend.append(item);
  }
  const note = make("p", { class: "note" });
  note.setAttribute("aria-live", "polite");
  note.textContent = data.heads.find((h) => h.id === data.chosen)?.label ?? "";
  box.append(legend, note);
  return box;
}
