// The atlas of heads: all heads as points, and moments as lines of text with two words marked and an arc between them.
//
// data: {kind: "points", of: "All heads", chosen: "4-2", x: {label, low, high}, y: {...}, legend: [{letter, name, colour}],
//        heads: [{id, x: 0..1, y: 0..1, letter, colour, extreme, label, line: [before, first, between, second, after]}]}
//    or {kind: "moments", groups: [{title, moments: [{line, first: "query" | "key", href, label, note}]}]}
// A press on a point sends the trigger "head" with the id; hover and focus send nothing.
import { make, vector } from "./dom.js";
import { neighbour } from "./head_map.js";

const views = new WeakMap();

export default function atlas({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = { root: make("div"), focus: "" };
    parentElement.append(view.root);
    view.watch = new ResizeObserver(() => arcs(view.root));
    view.watch.observe(view.root);
    views.set(parentElement, view);
  }
  if (data.kind === "points") {
    points(view, data, (id) => setTriggerValue("head", id));
  } else moments(view, data);
  return () => {
    view.watch.disconnect();
    views.delete(parentElement);
  };
}

function points(view, data, choose) {
  const { root } = view;
  const hadFocus = root.contains(root.getRootNode().activeElement);
  const note = make("p", { class: "note", "aria-live": "polite" });
  const plane = make("div", { class: "plane", role: "group", "aria-label": `${data.of}: ${data.x.label} across, ${data.y.label} upwards` });
  const buttons = data.heads.map((head) => dot(head, data.chosen));
  plane.append(...buttons);
  const chart = make(
    "div",
    { class: "chart" },
    make("span", { class: "y-name", text: data.y.label }),
    make("span", { class: "y-ends" }, make("span", { text: data.y.high }), make("span", { text: data.y.low })),
    plane,
    make("span", { class: "x-ends" }, make("span", { text: data.x.low }), make("span", { text: data.x.label }), make("span", { text: data.x.high })),
  );
  root.className = "atlas";
  root.replaceChildren(chart, note, legend(data.legend));
  const tell = (i) => note.replaceChildren(document.createTextNode(`${data.heads[i].label} `), told(data.heads[i]));
  const at = (id) => buttons.findIndex((b) => b.dataset.id === id);
  const home = Math.max(0, at(view.focus) >= 0 ? at(view.focus) : at(data.chosen));
  if (!buttons.length) return;
  buttons[home].tabIndex = 0;
  tell(Math.max(0, at(data.chosen)));
  buttons.forEach((button, i) => {
    button.onclick = () => choose(button.dataset.id);
    button.onmouseenter = () => tell(i);
    button.onfocus = () => {
      for (const other of buttons) other.tabIndex = -1;
      button.tabIndex = 0;
      view.focus = button.dataset.id;
      tell(i);
    };
  });
  plane.onkeydown = (event) => {
    const from = buttons.findIndex((b) => b.tabIndex === 0);
    const to = neighbour(data.heads.map(({ x, y }) => ({ x, y: -y })), from, event.key, "map", 0);
    if (to === null) return;
    event.preventDefault();
    buttons[to].focus();
  };
  if (hadFocus) buttons[home].focus();
}

function dot(head, chosen) {
  const b = make("button", { class: head.extreme || head.id === chosen ? "dot named" : "dot", type: "button" });
  b.dataset.id = head.id;
  b.tabIndex = -1;
  b.ariaLabel = head.label;
  b.ariaPressed = String(head.id === chosen);
  b.style.left = `${100 * head.x}%`;
  b.style.bottom = `${100 * head.y}%`;
  b.style.setProperty("--dot", head.colour || "transparent");
  b.append(make("span", { class: "letter", text: head.letter }), make("span", { class: "id", text: head.id }));
  return b;
}

function legend(entries) {
  const box = make("div", { class: "legend" });
  for (const { letter, name, colour } of entries) {
    const swatch = make("span", { class: "swatch", text: letter });
    swatch.style.setProperty("--dot", colour);
    box.append(make("span", { class: "key" }, swatch, document.createTextNode(name)));
  }
  return box;
}

// A line of text with its two words marked; the word that looks is underlined, the one looked at has a ground.
function told({ line, first }) {
  const [before, one, between, two, after] = line;
  const looks = first === "query";
  return make(
    "span",
    { class: "line" },
    before,
    make("mark", { class: looks ? "looks" : "seen", text: one }),
    between,
    two === "" ? null : make("mark", { class: looks ? "seen" : "looks", text: two }),
    after,
  );
}

function moments(view, data) {
  view.root.className = "atlas";
  view.root.replaceChildren(...data.groups.map(group));
  arcs(view.root);
}

function group({ title, moments: listed }) {
  const list = make("ol", { class: "moments" });
  for (const moment of listed) {
    const link = make("a", { href: moment.href, target: "_self", "aria-label": moment.label }, told(moment));
    list.append(make("li", {}, make("span", { class: "numbers", text: moment.numbers }), link, moment.note ? make("span", { class: "more", text: moment.note }) : null));
  }
  return make("div", {}, title ? make("p", { class: "group", text: title }) : null, list);
}

// From the word that looks to the one looked at, above the line; two marks in different lines have none.
function arcs(root) {
  for (const link of root.querySelectorAll(".moments a")) {
    link.querySelector("svg")?.remove();
    const [looks, seen] = [link.querySelector(".looks"), link.querySelector(".seen")];
    if (!looks || !seen) continue;
    const box = link.getBoundingClientRect();
    const [a, b] = [looks.getBoundingClientRect(), seen.getBoundingClientRect()];
    if (Math.abs(a.top - b.top) > 4 || !box.width) continue;
    link.prepend(vector("svg", { "aria-hidden": "true", width: box.width, height: box.height }, vector("path", { d: arc(a, b, box) })));
  }
}

/** The path of an arc between the middles of two boxes, above them, inside a third. */
export function arc(from, to, box) {
  const [x0, x1] = [from, to].map((r) => r.left + r.width / 2 - box.left);
  const y = Math.min(from.top, to.top) - box.top + 3;
  const rise = Math.min(14, 5 + Math.abs(x1 - x0) / 12);
  return `M${x0.toFixed(1)} ${y.toFixed(1)}Q${((x0 + x1) / 2).toFixed(1)} ${(y - rise).toFixed(1)} ${x1.toFixed(1)} ${y.toFixed(1)}`;
}
