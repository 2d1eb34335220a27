// Draws matrices, token rows, one followed query and bars, out of blocks that Python describes.
// In: data.blocks (a tree) and data.numbers (one flat column that blocks point into by `at`). Out: state
// `query` (a chosen token) and `cells` (edited numbers). Text goes in as text, never as markup.

const bus = new EventTarget();
const boards = new WeakMap();
let chosen = null;

export default function tiles(component) {
  const { data, parentElement } = component;
  let board = boards.get(parentElement);
  if (!board) {
    board = { root: element("div", "board"), open: new Set(), stop: null };
    parentElement.appendChild(board.root);
    boards.set(parentElement, board);
  }
  board.component = component;
  board.numbers = column(data.numbers);
  board.cells = structuredClone(data.cells || {});
  board.colours = colours(board.root);
  board.root.classList.toggle("large", Boolean(data.large));
  board.root.style.setProperty("--ink", css(board.colours.ink));
  if (board.stop) board.stop();
  const listeners = [];
  board.onChosen = (listener) => listeners.push(listener);
  const focused = parentElement.activeElement ? parentElement.activeElement.dataset.focus : null;
  board.root.replaceChildren(...data.blocks.map((block) => draw(board, block)));
  const again = focused && [...board.root.querySelectorAll("[data-focus]")].find((e) => e.dataset.focus === focused);
  if (again) again.focus();
  const heard = () => listeners.forEach((listener) => listener(chosen));
  bus.addEventListener("chosen", heard);
  const unkey = data.keys ? keyboard(component) : () => {};
  board.stop = () => {
    bus.removeEventListener("chosen", heard);
    unkey();
  };
  if (Number.isInteger(data.query)) choose(data.query);
  else heard();
  return () => board.stop && board.stop();
}

function choose(query) {
  chosen = query;
  bus.dispatchEvent(new Event("chosen"));
}

// Numbers, colours, words: no page needed, tested with node.

export function column(table) {
  if (!table) return new Float32Array();
  return table.getChildAt ? table.getChildAt(0).toArray() : Float32Array.from(table);
}

export function fixed(value, digits = 4) {
  if (!Number.isFinite(value)) return "hidden";
  const text = value.toFixed(digits).replace("-", "−");
  return Number(value.toFixed(digits)) === 0 ? text.replace("−", "") : text;
}

export function percent(share) {
  return `${fixed(100 * share, 1)} %`;
}

export function parseNumber(text) {
  const plain = String(text).trim().replace("−", "-").replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

// The value that gets the full colour: one outlier in two hundred may be darker than the scale can say.
export function reach(values, share = 0.995) {
  const sizes = Array.from(values, Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
  if (!sizes.length) return 1;
  return sizes[Math.min(sizes.length - 1, Math.floor(share * sizes.length))] || sizes[sizes.length - 1] || 1;
}

function toOklab([r, g, b]) {
  const [R, G, B] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const l = Math.cbrt(0.4122214708 * R + 0.5363325363 * G + 0.0514459929 * B);
  const m = Math.cbrt(0.2119034982 * R + 0.6806995451 * G + 0.1073969566 * B);
  const s = Math.cbrt(0.0883024619 * R + 0.2817188376 * G + 0.6299787005 * B);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function toRgb([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((c) => {
    const v = c <= 0.0031308 ? 12.92 * c : 1.055 * Math.max(c, 0) ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, v)));
  });
}

export function ramp(from, to, steps = 256) {
  const [a, b] = [toOklab(from), toOklab(to)];
  return Array.from({ length: steps }, (_, i) => toRgb(a.map((c, j) => c + ((b[j] - c) * i) / (steps - 1))));
}

export function csvText(rows) {
  const guarded = (cell) => {
    const text = String(cell);
    const safe = typeof cell === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => row.map(guarded).join(",")).join("\r\n");
}

function css(rgb) {
  return `rgb(${rgb.join(" ")})`;
}

function colours(root) {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  probe.fillStyle = getComputedStyle(root).getPropertyValue("--st-background-color").trim() || "#fbfaf7";
  probe.fillRect(0, 0, 1, 1);
  const paper = [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  const dark = toOklab(paper)[0] < 0.5;
  const half = dark ? [148, 116, 66] : [133, 158, 191];
  const ink = dark ? [255, 243, 214] : [17, 28, 54];
  const warm = dark ? [240, 150, 70] : [176, 78, 8];
  const cold = dark ? [110, 178, 250] : [20, 86, 160];
  return { paper, dark, ink, weight: [...ramp(paper, half, 128), ...ramp(half, ink, 128)], plus: ramp(paper, cold), minus: ramp(paper, warm) };
}

function colourOf(colours, kind, value, top) {
  if (!Number.isFinite(value)) return null;
  const place = Math.min(255, Math.round((255 * Math.abs(value)) / (top || 1)));
  if (kind === "weight") return colours.weight[place];
  return (value < 0 ? colours.minus : colours.plus)[place];
}

// Blocks.

function element(tag, className = "", text = null) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== null) made.textContent = text;
  return made;
}

// W_q is written with a lowered q; only our own words go through here, never a reader's token.
function lowered(parent, text) {
  for (const [i, part] of String(text).split(/(?<=\b[A-Za-zd])_([a-z]+)\b/).entries()) {
    parent.append(i % 2 ? element("sub", "", part) : document.createTextNode(part));
  }
  return parent;
}

function draw(board, block) {
  const kinds = {
    row: group, column: group, undo, steps, code, op, say, tokens, matrix, tiles: numberTiles, follow, heads, ruler, sheets, plane, groups, bars, grid: gridTable, curve,
  };
  const made = kinds[block.type](board, block);
  if (block.size) made.classList.add(block.size);
  return made;
}

function group(board, block) {
  const made = element("div", block.type);
  made.append(...block.items.map((item) => draw(board, item)));
  return made;
}

function op(board, block) {
  return element("div", "op", block.text);
}

function steps(board, block) {
  const made = element("div", "steps");
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", block.label);
  block.items.forEach((title, i) => {
    const button = element("button", block.done[i] ? "done" : "", String(i + 1));
    button.type = "button";
    button.title = title;
    button.dataset.focus = `step-${i}`;
    button.setAttribute("aria-label", `Step ${i + 1}: ${title}${block.done[i] ? ", done" : ""}`);
    if (i === block.now) button.setAttribute("aria-current", "step");
    button.onclick = () => board.component.setTriggerValue("step", i + 1);
    made.append(button);
  });
  return made;
}

function code(board, block) {
  const made = element("pre", "code");
  made.tabIndex = 0;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", "The same in torch");
  for (const [line, remark] of block.lines) {
    made.append(line, remark ? element("span", "remark", `  # ${remark}`) : "", "\n");
  }
  return made;
}

function undo(board, block) {
  const made = element("button", "numbers", block.text);
  made.type = "button";
  made.disabled = !Object.keys(board.cells).length;
  made.onclick = () => board.component.setStateValue("cells", {});
  return made;
}

function say(board, block) {
  const made = element("p", block.style || "");
  for (const span of block.spans) made.append(spanOf(board, span));
  return made;
}

function spanOf(board, span) {
  if (typeof span === "string") return lowered(document.createDocumentFragment(), span);
  const [kind, text, more] = span;
  if (kind === "term") return term(board, text, more);
  if (kind === "code") return element("code", "", text);
  return element(kind === "b" ? "b" : "span", kind, text);
}

function term(board, text, meaning) {
  const button = lowered(element("button", "term"), text);
  button.type = "button";
  button.onclick = () => {
    const note = element("div", "definition");
    note.popover = "auto";
    note.append(lowered(element("strong"), meaning.term), lowered(element("span"), meaning.short), allTerms());
    board.root.append(note);
    note.addEventListener("toggle", (event) => event.newState === "closed" && note.remove());
    note.showPopover();
    const place = button.getBoundingClientRect();
    const left = Math.max(12, Math.min(place.left, innerWidth - note.offsetWidth - 12));
    const below = place.bottom + 6 + note.offsetHeight < innerHeight;
    note.style.left = `${left}px`;
    note.style.top = `${below ? place.bottom + 6 : place.top - 6 - note.offsetHeight}px`;
  };
  return button;
}

function allTerms() {
  const link = element("a", "all", "All terms");
  link.href = "learn?show=Glossary";
  link.target = "_blank";
  link.rel = "noopener";
  return link;
}

function tokens(board, block) {
  const made = element("div", "tokens");
  made.setAttribute("role", "radiogroup");
  made.setAttribute("aria-label", block.label || "Token");
  const buttons = block.labels.map((label, i) => {
    const button = element("button", block.special && block.special[i] ? "special" : "", label);
    button.type = "button";
    button.setAttribute("role", "radio");
    button.dataset.focus = `token-${i}`;
    button.onclick = () => {
      if (block.apart) mark(i);
      else choose(i);
      board.component.setStateValue("query", i);
    };
    button.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const next = buttons[(i + step + buttons.length) % buttons.length];
      next.focus();
      next.click();
    };
    return button;
  });
  const mark = (query) =>
    buttons.forEach((button, i) => {
      button.setAttribute("aria-checked", String(i === query));
      button.tabIndex = i === query || (!Number.isInteger(query) && i === 0) ? 0 : -1;
    });
  // A guess is a choice of its own; every other row of tokens follows the token that the page follows.
  if (block.apart) mark(block.chosen ?? null);
  else board.onChosen(mark);
  made.append(...buttons);
  return made;
}

function caption(block, ...more) {
  const made = element("figcaption");
  made.append(lowered(element("span", "name"), block.name));
  if (block.note) made.append(lowered(element("span", "note"), block.note));
  made.append(element("span", "shape", block.shape.join(" × ")), ...more);
  return made;
}

function valuesOf(board, block) {
  return board.numbers.subarray(block.at, block.at + block.shape[0] * block.shape[1]);
}

function paint(board, block, values) {
  const [n, m] = block.shape;
  const canvas = element("canvas");
  canvas.width = m;
  canvas.height = n;
  const context = canvas.getContext("2d");
  const image = context.createImageData(m, n);
  const top = block.top || (block.ramp === "weight" ? Math.max(...values.map((v) => v || 0)) || 1 : reach(values));
  for (let i = 0; i < n * m; i += 1) {
    const rgb = colourOf(board.colours, block.ramp, values[i], top);
    if (rgb) image.data.set([...rgb, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", block.describe || `${block.name}, ${n} by ${m} numbers`);
  return { canvas, top };
}

function matrix(board, block) {
  const [n, m] = block.shape;
  const values = valuesOf(board, block);
  const { canvas, top } = paint(board, block, values);
  const high = block.high || Math.max(2, Math.min(20, 420 / n));
  const wide = block.wide || Math.max(1, Math.min(20, 384 / m));
  canvas.style.height = `${n * high}px`;
  if (wide >= 2 && high >= 2) canvas.classList.add("crisp");
  const made = element("figure");
  made.style.width = `${m * wide + (block.rows && high >= 13 ? 104 : 0)}px`;
  const picture = element("div", "picture");
  if (block.cols) picture.append(columnLabels(block, wide));
  const labels = element("div", "labels");
  if (block.rows && high >= 13) {
    labels.style.lineHeight = `${high}px`;
    labels.append(...block.rows.map((label) => element("span", "", label)));
  }
  picture.append(labels, overlaid(board, block, canvas, labels));
  const readout = element("div", "readout");
  const rest = () => readout.replaceChildren(...(block.legend === false ? [] : legend(board, block, top)));
  rest();
  hover(block, canvas, values, readout, rest);
  const numbers = block.numbers === false ? [] : numbersButton(board, block, values);
  made.append(caption(block, ...numbers.slice(0, 1)), picture, readout, ...numbers.slice(1));
  return made;
}

function legend(board, block, top) {
  const { minus, plus, weight, paper } = board.colours;
  const weighing = block.ramp === "weight";
  const bar = element("i", "scale");
  const ends = weighing ? [css(paper), css(weight[127]), css(weight[255])] : [css(minus[255]), css(paper), css(plus[255])];
  bar.style.background = `linear-gradient(90deg in oklab, ${ends.join(", ")})`;
  const [low, high] = weighing ? ["0 %", percent(top)] : [`−${fixed(top, 2)}`, `+${fixed(top, 2)}`];
  return [element("span", "", low), bar, element("span", "", high)];
}

function columnLabels(block, wide) {
  const made = element("div", block.flat ? "top flat" : "top");
  if (wide < 13 && !block.flat) return made;
  made.append(...block.cols.map((label) => element("span", "", label)));
  return made;
}

function overlaid(board, block, canvas, labels) {
  const [n, m] = block.shape;
  const made = element("div", "canvas");
  made.append(canvas);
  for (const cut of block.cuts || []) {
    const line = element("i", "cut");
    line.style.left = `${(100 * cut) / m}%`;
    made.append(line);
  }
  if (block.slice) {
    const [from, to] = block.slice;
    const box = element("i", "slice");
    box.style.left = `calc(${(100 * from) / m}% - 2px)`;
    box.style.width = `calc(${(100 * (to - from)) / m}% + 4px)`;
    made.append(box);
  }
  if (block.follow) {
    const here = element("i", "here");
    made.append(here);
    board.onChosen((query) => {
      here.hidden = query === null || query >= n;
      here.style.top = `calc(${(100 * query) / n}% - 2px)`;
      here.style.height = `calc(${100 / n}% + 4px)`;
      [...labels.children].forEach((label, i) => label.classList.toggle("chosen", i === query));
    });
  }
  return made;
}

function hover(block, canvas, values, readout, rest) {
  const [n, m] = block.shape;
  canvas.onpointermove = (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.min(n - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * n)));
    const col = Math.min(m - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * m)));
    const value = values[row * m + col];
    const rowName = block.rows ? block.rows[row] : row + 1;
    const colName = block.cols && block.cols.length === m ? block.cols[col] : col + 1;
    const shown = block.ramp === "weight" ? percent(value) : fixed(value);
    readout.textContent = Number.isFinite(value) ? `${rowName}, ${colName}: ${shown}` : `${rowName}, ${colName}: hidden`;
  };
  canvas.onpointerleave = rest;
}

const LARGEST_TABLE = 40000;

function numbersButton(board, block, values) {
  const button = element("button", "numbers", "");
  button.type = "button";
  const id = block.id || block.name;
  button.dataset.matrix = id;
  button.dataset.focus = `numbers-${id}`;
  const place = element("div", "place");
  const show = (open) => {
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "hide numbers" : "numbers";
    button.setAttribute("aria-label", `${open ? "Hide numbers" : "Numbers"} of ${block.name}`);
    place.replaceChildren(...(open ? [table(block, values), csvButton(block, values)] : []));
    if (open) board.open.add(id);
    else board.open.delete(id);
  };
  button.onclick = () => show(!board.open.has(id));
  show(board.open.has(id));
  return [button, place];
}

function names(block, axis) {
  const given = axis === 0 ? block.rows : block.cols;
  const size = block.shape[axis];
  return given && given.length === size ? given : Array.from({ length: size }, (_, i) => i + 1);
}

function table(block, values) {
  const [n, m] = block.shape;
  const rows = Math.min(n, Math.max(1, Math.floor(LARGEST_TABLE / m)));
  const scroll = element("div", "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", `${block.name}, numbers`);
  const made = element("table");
  made.dataset.matrix = block.id || block.name;
  const head = made.createTHead().insertRow();
  head.append(element("th", "", ""), ...names(block, 1).map((name) => element("th", "", name)));
  const body = made.createTBody();
  const rowNames = names(block, 0);
  for (let i = 0; i < rows; i += 1) {
    const line = body.insertRow();
    line.append(element("th", "", rowNames[i]));
    for (let j = 0; j < m; j += 1) line.append(element("td", "", fixed(values[i * m + j], 5)));
  }
  scroll.append(made);
  if (rows < n) scroll.append(element("p", "quiet", `The first ${rows} of ${n} rows; all of them are in the CSV.`));
  return scroll;
}

function csvButton(block, values) {
  const [n, m] = block.shape;
  const button = element("button", "numbers", "CSV");
  button.type = "button";
  button.onclick = () => {
    const rowNames = names(block, 0);
    const rows = [["", ...names(block, 1)]];
    for (let i = 0; i < n; i += 1) rows.push([rowNames[i], ...values.subarray(i * m, (i + 1) * m)]);
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([csvText(rows)], { type: "text/csv" }));
    link.download = `${block.id || block.name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return button;
}

function numberTiles(board, block) {
  const [n, m] = block.shape;
  const values = valuesOf(board, block);
  const top = block.top || Math.max(...values.map(Math.abs).filter(Number.isFinite), 1e-9);
  const made = element("figure");
  const grid = element("div", "tiles");
  grid.dataset.matrix = block.id || block.name;
  grid.style.gridTemplateColumns = `${block.rows ? "auto " : ""}repeat(${m}, auto)`;
  if (block.cols) {
    if (block.rows) grid.append(element("div", "label", ""));
    grid.append(...block.cols.map((label) => element("div", "label", label)));
  }
  for (let i = 0; i < n; i += 1) {
    if (block.rows) grid.append(element("div", "label line", block.rows[i]));
    for (let j = 0; j < m; j += 1) grid.append(tile(board, block, values, i, j, top));
  }
  if (!block.bare) made.append(caption(block));
  made.append(grid);
  return made;
}

function tile(board, block, values, i, j, top) {
  const [, m] = block.shape;
  const value = values[i * m + j];
  const digits = block.digits ?? 4;
  const rounded = fixed(value, digits);
  const text = value !== 0 && Number(value.toFixed(digits)) === 0 ? tiny(value) : trim(rounded);
  const place = (block.first || 0) + i * m + j;
  if (block.editable) {
    const input = element("input");
    input.value = text;
    input.inputMode = "decimal";
    input.dataset.focus = `${block.id}-${place}`;
    input.setAttribute("aria-label", `${block.name}, row ${i + 1}, column ${j + 1}`);
    input.onchange = () => {
      const number = parseNumber(input.value);
      input.classList.toggle("wrong", !Number.isFinite(number));
      if (!Number.isFinite(number)) return;
      if (number === value) return;
      board.cells[block.id] = { ...board.cells[block.id], [place]: number };
      board.component.setStateValue("cells", board.cells);
    };
    const edited = board.cells[block.id] && place in board.cells[block.id];
    if (edited) input.classList.add("edited");
    return input;
  }
  const made = element("div", "", text);
  const rgb = colourOf(board.colours, block.ramp, value, top * (block.ramp === "weight" ? 1 : 1.6));
  if (rgb) {
    made.style.background = css(rgb);
    made.style.color = toOklab(rgb)[0] > 0.62 ? "#1d1c1a" : "#ffffff";
  }
  return made;
}

export function tiny(value) {
  return value.toExponential(1).replaceAll("-", "−");
}

export function trim(text) {
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

function strip(board, at, width, top, kind = "signed", label = "") {
  const values = board.numbers.subarray(at, at + width);
  const { canvas } = paint(board, { name: label, shape: [1, width], ramp: kind, top }, values);
  canvas.classList.add("crisp");
  return canvas;
}

function cell(row, className, content) {
  const made = row.insertCell();
  made.className = className;
  if (typeof content === "string") made.textContent = content;
  else made.append(content);
  return made;
}

function barline(share, text, widest = 1) {
  const made = element("div", "barline");
  const bar = element("i");
  bar.style.width = `${(62 * Math.max(0, share)) / (widest || 1)}%`;
  made.append(bar, element("b", "", text));
  return made;
}

function follow(board, block) {
  const { tokens: labels, d_k: dk, d_v: dv } = block;
  const take = (at, size) => board.numbers.subarray(at, at + size);
  const n = labels.length;
  const raw = take(block.raw, n);
  const scores = take(block.scores, n);
  const weights = take(block.weights, n);
  const tops = {
    qk: reach([...take(block.q, dk), ...take(block.k, n * dk)]),
    product: reach(take(block.products, n * dk)),
    v: reach([...take(block.weighted, n * dv), ...take(block.z, dv)]),
  };
  const made = element("table", "follow");
  made.dataset.matrix = "follow";
  const head = made.createTHead().insertRow();
  head.className = "top-row";
  const headings = [
    ["", "key"], ["k", "k"], ["product", `q × k, number by number`], ["raw", "q · k"],
    ["score", `÷ ${fixed(block.divisor, 2)}`], ["bar", "softmax: weight"], ["value", "weight × v"],
  ];
  head.append(...headings.map(([name, text]) => element("th", name, text)));
  const body = made.createTBody();
  const first = body.insertRow();
  first.className = "top-row";
  cell(first, "word", `q of ${labels[block.query]}`);
  cell(first, "strip k", strip(board, block.q, dk, tops.qk, "signed", "q"));
  for (const name of ["product", "raw", "score", "bar", "value"]) cell(first, name, "");
  const shown = block.shown || labels.map((_, i) => i);
  const strongest = weights.indexOf(Math.max(...weights));
  const widest = Math.max(...weights) || 1;
  for (const i of shown) {
    const open = Number.isFinite(scores[i]);
    const row = body.insertRow();
    row.className = [i === strongest ? "strongest" : "", open ? "" : "blocked"].join(" ").trim();
    cell(row, "word", labels[i]);
    cell(row, "strip k", strip(board, block.k + i * dk, dk, tops.qk, "signed", `k of ${labels[i]}`));
    cell(row, "strip product", strip(board, block.products + i * dk, dk, tops.product, "signed", `q times k of ${labels[i]}`));
    cell(row, "raw", fixed(raw[i], 3));
    cell(row, "score", fixed(scores[i], 3));
    cell(row, "bar", barline(weights[i], percent(weights[i]), widest));
    cell(row, "strip value", strip(board, block.weighted + i * dv, dv, tops.v, "signed", `weight times v of ${labels[i]}`));
  }
  if (shown.length < n) {
    const rest = body.insertRow();
    const kept = shown.reduce((all, i) => all + weights[i], 0);
    cell(rest, "word", `${n - shown.length} more`);
    for (const name of ["k", "product", "raw", "score"]) cell(rest, name, "");
    cell(rest, "bar", barline(Math.max(0, 1 - kept), percent(Math.max(0, 1 - kept)), widest));
    cell(rest, "value", "");
  }
  const last = body.insertRow();
  last.className = "sum";
  cell(last, "word", "sum");
  for (const name of ["k", "product", "raw", "score"]) cell(last, name, "");
  cell(last, "bar", `${percent(weights.reduce((a, b) => a + b, 0))}`).style.textAlign = "left";
  cell(last, "strip value", strip(board, block.z, dv, tops.v, "signed", "z, the sum"));
  return made;
}

function heads(board, block) {
  const made = element("table", "heads");
  made.dataset.matrix = "heads";
  const head = made.createTHead().insertRow();
  for (const [name, text] of [["", "head"], ["bar", "length"], ["number", "share"], ["number cosine", "cosine"]]) {
    head.append(element("th", name, text));
  }
  const body = made.createTBody();
  const widest = Math.max(...block.rows.map((row) => row.norm), 1e-9);
  for (const line of block.rows) {
    const row = body.insertRow();
    if (line.chosen) row.className = "chosen";
    lowered(cell(row, "", ""), line.label);
    cell(row, "bar", barline(line.norm, fixed(line.norm, 3), widest));
    cell(row, "number", percent(line.share));
    cell(row, "number cosine", line.cosine === null ? "" : fixed(line.cosine, 2));
  }
  const sum = body.insertRow();
  sum.className = "sum";
  cell(sum, "", "sum");
  cell(sum, "bar", `${fixed(block.total, 3)} = length of the output`);
  cell(sum, "number", percent(block.rows.reduce((all, row) => all + row.share, 0)));
  cell(sum, "number cosine", "");
  return made;
}

function bars(board, block) {
  const made = element("table", "heads");
  made.dataset.matrix = block.id || block.name;
  const head = made.createTHead().insertRow();
  head.append(...["", ...block.series].map((name) => element("th", "", name)));
  const body = made.createTBody();
  const widest = Math.max(...block.rows.flatMap((row) => row.values).filter(Number.isFinite), 1e-9);
  for (const line of block.rows) {
    const row = body.insertRow();
    if (line.chosen) row.className = "chosen";
    cell(row, "", line.label);
    line.values.forEach((value, i) =>
      cell(row, "bar", barline(value, line.texts ? line.texts[i] : percent(value), widest)),
    );
  }
  return made;
}

function gridTable(board, block) {
  const scroll = element("div", "wide");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", block.label);
  const made = element("table", "grid");
  made.dataset.matrix = block.id;
  const head = made.createTHead().insertRow();
  head.append(...block.head.map((name) => lowered(element("th"), name)));
  const body = made.createTBody();
  block.rows.forEach((line, i) => {
    const row = body.insertRow();
    if (i === block.chosen) row.className = "chosen";
    line.forEach((text) => lowered(cell(row, "", ""), text));
  });
  scroll.append(made);
  return scroll;
}

function curve(board, block) {
  const [width, height, pad] = [440, 190, 26];
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": block.describe });
  const longest = Math.max(...block.lines.map((line) => line.count));
  svg.append(shape("path", { d: `M${pad},8V${height - pad}H${width - 4}`, fill: "none", stroke: "var(--line)" }));
  svg.append(shape("text", { x: width - 4, y: height - 8, "text-anchor": "end", class: "quiet" }, block.axis));
  block.lines.forEach((line, i) => {
    const values = board.numbers.subarray(line.at, line.at + line.count);
    const top = values[0] || 1;
    const x = (j) => pad + ((width - pad - 8) * j) / Math.max(1, longest - 1);
    const y = (v) => 10 + (height - pad - 10) * (1 - v / top);
    const points = Array.from(values, (v, j) => `${x(j)},${y(v)}`).join(" ");
    const colour = i ? "var(--link)" : "var(--accent)";
    svg.append(shape("polyline", { points, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": i ? "5 3" : "" }));
    const end = values.length - 1;
    const [atX, atY] = i ? [x(end) * 0.55, y(values[Math.floor(end * 0.45)]) - 8] : [x(end) + 8, y(values[end]) - 10];
    svg.append(shape("text", { x: atX, y: Math.max(16, atY), style: `fill:${colour}` }, line.label));
  });
  const made = element("figure");
  made.append(svg);
  return made;
}

function ruler(board, block) {
  const made = element("figure");
  const line = element("div", "ruler");
  line.setAttribute("role", "img");
  line.setAttribute("aria-label", block.text);
  line.append(
    ...Array.from({ length: block.count }, (_, i) =>
      element("span", i >= block.from && i < block.to ? "chosen" : ""),
    ),
  );
  made.append(line, lowered(element("span", "quiet"), block.text));
  return made;
}

function sheets(board, block) {
  const made = element("div", "sheets");
  const [h, n, d] = block.shape;
  const all = board.numbers.subarray(block.at, block.at + h * n * d);
  const top = block.top || (block.ramp === "weight" ? undefined : reach(all));
  for (let i = 0; i < h; i += 1) {
    const figure = element("figure", i === block.chosen ? "chosen" : "");
    const values = all.subarray(i * n * d, (i + 1) * n * d);
    if (block.line && i % block.line === 0 && i) made.append(element("hr"));
    const name = block.labels ? block.labels[i] : `head ${i + 1}`;
    const { canvas } = paint(board, { name, shape: [n, d], ramp: block.ramp || "signed", top }, values);
    canvas.style.height = `${block.square ? 56 : Math.max(32, Math.min(88, n * 4))}px`;
    if (block.square) canvas.style.width = "56px";
    canvas.classList.add("crisp");
    if (block.pick) {
      const button = element("button", "pick");
      button.type = "button";
      button.dataset.focus = `pick-${i}`;
      button.setAttribute("aria-label", `${block.pick} ${name}`);
      button.onclick = () => board.component.setStateValue("picked", i);
      button.append(canvas, element("span", "", name));
      figure.append(button);
    } else figure.append(canvas, element("span", "", name));
    made.append(figure);
  }
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

function plane(board, block) {
  const [width, height, pad] = [520, 360, 34];
  const all = [...block.points, ...block.marks, ...block.hull];
  const [lowX, highX] = [Math.min(...all.map((p) => p[0])), Math.max(...all.map((p) => p[0]))];
  const [lowY, highY] = [Math.min(...all.map((p) => p[1])), Math.max(...all.map((p) => p[1]))];
  const scale = Math.min((width - 2 * pad) / (highX - lowX || 1), (height - 2 * pad) / (highY - lowY || 1));
  const [midX, midY] = [(lowX + highX) / 2, (lowY + highY) / 2];
  const at = ([x, y]) => [width / 2 + scale * (x - midX), height / 2 - scale * (y - midY)];
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": block.describe });
  const link = "var(--link)";
  if (block.hull.length > 1) {
    const corners = block.hull.map((p) => at(p).join(",")).join(" ");
    svg.append(shape("polygon", { points: corners, fill: link, "fill-opacity": 0.1, stroke: link, "stroke-width": 1.5 }));
  }
  block.points.forEach((point, i) => {
    const [x, y] = at(point);
    svg.append(shape("circle", { cx: x, cy: y, r: 3 + 9 * Math.sqrt(block.weights ? block.weights[i] : 0), fill: link }));
    if (!block.weights || block.weights[i] > 0.04 || block.points.length < 10) {
      svg.append(shape("text", { x: x + 8, y: y - 8, class: "quiet" }, block.labels[i]));
    }
  });
  block.marks.forEach((point, i) => {
    const [x, y] = at(point);
    svg.append(shape("path", { d: `M${x - 7},${y}h14M${x},${y - 7}v14`, stroke: "var(--accent)", "stroke-width": 3 }));
    svg.append(shape("text", { x: x + 11, y: y + 5, style: "fill:var(--accent);font-weight:600" }, block.markLabels[i]));
  });
  const made = element("figure");
  made.append(svg);
  return made;
}

function groups(board, block) {
  const { owner, keys } = block;
  const [gap, height] = [26, 86];
  const width = Math.max(owner.length, keys) * gap;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": block.describe });
  const queryX = (i) => (i + 0.5) * (width / owner.length);
  const keyX = (i) => (i + 0.5) * (width / keys);
  owner.forEach((key, i) =>
    svg.append(shape("line", { x1: queryX(i), y1: 22, x2: keyX(key), y2: 64, stroke: "var(--quiet)", "stroke-width": 1.2 })),
  );
  owner.forEach((_, i) => {
    const chosenHead = i === block.chosen;
    svg.append(shape("circle", { cx: queryX(i), cy: 14, r: 8, fill: chosenHead ? "var(--accent)" : "var(--link)" }));
  });
  for (let i = 0; i < keys; i += 1) {
    svg.append(shape("rect", { x: keyX(i) - 9, y: 64, width: 18, height: 16, rx: 3, fill: "var(--text)" }));
  }
  const made = element("figure");
  made.append(svg);
  return made;
}

function keyboard(component) {
  const pressed = (event) => {
    const path = event.composedPath();
    if (path.some((node) => node.matches && node.matches("input,textarea,select,[role=radio],[contenteditable=true]"))) return;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const go = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (!go) return;
    event.preventDefault();
    component.setTriggerValue("go", go);
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}
