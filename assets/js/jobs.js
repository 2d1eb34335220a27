// What is known of heads and jobs: a table of evidence, heads to go to, and where one head stands among all.
//
// data: {kind: "table", caption, job: key, columns: [{title, note}],
//        groups: [{title, rows: [{key, name, note, marked, cells: [{text, note, head, bar: {low, high, dot, base}}]}]}]}
//    or {kind: "chips", groups: [{title, chips: [{key, letter, colour, name}]}], job: key}
//    or {kind: "heads", groups: [{said, heads: [{id, note}], after}]}
//    or {kind: "strip", said, rows: [{name, heads: [[id, share], ...]}], chosen: "4-2", marks: [{name, value, above}]}
// A press on a job sends the trigger "job" with its key, on a head "head" with its id; shares go from 0 to 1.
import { arrowStep, make } from "./dom.js";
import { percent } from "./format.js";

const views = new WeakMap();
const DRAWN = { chips, table, heads, strip };

export default function jobs({ data, parentElement, setTriggerValue }) {
  let root = views.get(parentElement);
  if (!root) {
    root = make("div", { class: "evidence" });
    parentElement.append(root);
    views.set(parentElement, root);
  }
  const at = place(root);
  root.replaceChildren(DRAWN[data.kind](data, setTriggerValue));
  if (data.kind === "chips") intoSight(root.firstChild);
  if (at !== null) root.querySelectorAll("button")[at]?.focus({ preventScroll: true });
  return () => views.delete(parentElement);
}

/** Push a row that is too long so far that the job that is shown stands in its middle. */
function intoSight(row) {
  const chosen = row.querySelector('[aria-pressed="true"]');
  if (chosen) requestAnimationFrame(() => (row.scrollLeft = chosen.offsetLeft - row.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2));
}

/** The number of the button that has the focus, or null. */
function place(root) {
  const at = [...root.querySelectorAll("button")].indexOf(root.getRootNode().activeElement);
  return at < 0 ? null : at;
}

/** The jobs as buttons, each with the letter and the colour of its kind; arrow keys go from one to the next. */
function chips(data, send) {
  const row = make("div", { class: "chips", role: "group", "aria-label": "Colour the heads by a job" });
  for (const { title, chips: all } of data.groups) {
    const line = make("div", { class: "chip-group" }, make("span", { class: "group-name", text: title }));
    for (const chip of all) line.append(chipButton(chip, data.job, send));
    row.append(line);
  }
  const buttons = [...row.querySelectorAll("button")];
  const home = Math.max(0, buttons.findIndex((button) => button.ariaPressed === "true"));
  buttons.forEach((button, i) => (button.tabIndex = i === home ? 0 : -1));
  row.onkeydown = (event) => {
    const to = buttons.indexOf(event.target) + arrowStep(event.key, 1);
    if (!arrowStep(event.key, 1) || !buttons[to]) return;
    event.preventDefault();
    buttons[to].focus();
  };
  return row;
}

function chipButton({ key, letter, colour, name }, job, send) {
  const button = make("button", { class: "chip", type: "button" }, make("span", { class: "swatch", text: letter }), name);
  button.ariaPressed = String(key === job);
  button.style.setProperty("--role", colour);
  button.onclick = () => send("job", key);
  return button;
}

function table(data, send) {
  const head = make("tr", {}, make("th", { scope: "col", text: data.columns[0].title }));
  for (const { title, note } of data.columns.slice(1)) head.append(make("th", { scope: "col" }, title, small(note)));
  const bodies = data.groups.map((group) => {
    const top = make("th", { scope: "colgroup", colspan: data.columns.length, text: group.title });
    return make("tbody", {}, make("tr", { class: "group" }, top), ...group.rows.map((row) => line(row, data, send)));
  });
  const caption = make("caption", { text: data.caption });
  return make("div", { class: "scroll" }, make("table", {}, caption, make("thead", {}, head), ...bodies));
}

function line(row, data, send) {
  const name = make("button", { class: "go", type: "button", text: row.name, onclick: () => send("job", row.key) });
  name.ariaPressed = String(row.key === data.job);
  const cells = row.cells.map((cell, i) => {
    const parts = [cell.head ? goTo(cell.head, send) : null, cell.text ? make("span", { text: cell.text }) : null];
    const box = make("td", {}, ...parts, cell.bar ? bar(cell.bar) : null, small(cell.note));
    box.dataset.label = data.columns[i + 1].title;
    return box;
  });
  const classes = [row.marked ? "marked" : "", row.key === data.job ? "this" : ""].filter(Boolean).join(" ");
  return make("tr", { class: classes || null }, make("th", { scope: "row" }, name, small(row.note)), ...cells);
}

const small = (text) => (text ? make("small", { text }) : null);

function goTo(id, send) {
  const button = make("button", { class: "go id", type: "button", text: id, onclick: () => send("head", id) });
  button.ariaLabel = `Head ${id}: open its card`;
  return button;
}

/** A score as a dot on its interval, the baseline as a mark across, on a line from 0 to 100 %. */
function bar({ low, high, dot, base }) {
  const parts = [
    ["ci", { left: low, width: high - low }],
    ["base", { left: base }],
    ["dot", { left: dot }],
  ].map(([name, style]) => {
    const part = make("i", { class: name });
    for (const [key, share] of Object.entries(style)) part.style[key] = `${(100 * share).toFixed(1)}%`;
    return part;
  });
  return make("span", { class: "bar", "aria-hidden": "true" }, ...parts);
}

function heads(data, send) {
  const lines = data.groups.map(({ said, heads: all, after }) => {
    const shown = all.flatMap(({ id, note }) => [goTo(id, send), ` ${note ?? ""} `]);
    return make("p", {}, `${said} `, ...shown, after ?? "");
  });
  return make("div", { class: "links" }, ...lines);
}

function strip(data) {
  const plot = make("div", { class: "strip" });
  plot.role = "img";
  plot.ariaLabel = data.said;
  const shares = data.rows.flatMap((row) => row.heads.map(([, share]) => share));
  const full = scale(Math.max(...shares, ...data.marks.map((mark) => mark.value)));
  for (const [i, row] of data.rows.entries()) plot.append(rug(row, i ? "" : data.chosen, full, i ? [] : data.marks));
  const ends = [0, full / 2, full].map((share) => make("span", { text: `${Math.round(100 * share)} %` }));
  plot.append(make("div", { class: "ends", "aria-hidden": "true" }, ...ends));
  return plot;
}

/** Where the line ends: the next of these shares above the largest. */
export function scale(largest) {
  return [0.1, 0.2, 0.5, 1].find((end) => largest <= end) ?? 1;
}

function rug({ name, heads: all }, chosen, full, marks) {
  const left = (share) => `${(100 * share) / full}%`;
  const ticks = make("div", { class: "ticks" });
  for (const [id, share] of all) {
    const tick = make("i", { class: id === chosen ? "chosen" : null, title: `${id}: ${percent(share)}` });
    tick.style.left = left(share);
    ticks.append(tick);
  }
  for (const mark of marks) {
    const line = make("b", { class: "mark" });
    line.style.left = left(mark.value);
    ticks.append(line);
  }
  const mine = all.find(([id]) => id === chosen);
  const flags = mine ? [flag(`${chosen}: ${percent(mine[1])}`, mine[1] / full, "chosen")] : [];
  const below = marks.map((mark) => flag(`${mark.name} ${percent(mark.value)}`, mark.value / full, "mark"));
  const parts = [make("span", { class: "name", text: name }), over(flags), ticks, ...below.map((one) => over([one]))];
  return make("div", { class: "rug", "aria-hidden": "true" }, ...parts);
}

const over = (flags) => (flags.length ? make("div", { class: "over" }, ...flags) : null);

/** A label at its place, turned inwards in the right half so that it stays on the line. */
function flag(text, share, name) {
  const label = make("span", { class: `flag ${name}`, text });
  if (share > 0.5) label.style.right = `${100 * (1 - share)}%`;
  else label.style.left = `${100 * share}%`;
  label.classList.add(share > 0.5 ? "inwards" : "outwards");
  return label;
}
