// What a reader takes away: the chosen head as a figure, the numbers as CSV and JSON, the picture as a page of its own.
import { at, css } from "../colour.js";
import { specOf } from "../compare/drawn.js";
import { make, vector } from "../dom.js";
import { matrixSpec } from "../explore/view_model.js";
import { percent, points } from "../format.js";
import { placeName } from "../record.js";
import { isMasked } from "../visibility.js";
import { headName } from "../words.js";
import { weightOf } from "./opening.js";

const CELLS_AT_MOST = 400_000; // of a file with all heads; of a longer text there is the chosen one
const FIGURE_AT_MOST = 128; // rows
const CELL = 30;

export function offerFiles(place, now) {
  const files = { SVG: ["svg", svgOf], PNG: ["png", pngOf], CSV: ["csv", csvOf], JSON: ["json", jsonOf], "HTML, works offline": ["html", pageOf] };
  if (now.records.some(({ n }) => n > FIGURE_AT_MOST)) for (const figure of ["SVG", "PNG"]) delete files[figure];
  const buttons = Object.entries(files).map(([text, [ending, made]]) => make("button", { type: "button", text, onclick: async () => save(`${nameOf(now)}.${ending}`, await made(now)) }));
  place.replaceChildren(...buttons);
}

function save(name, content) {
  const href = URL.createObjectURL(new Blob([content], { type: content.type ?? "text/plain" }));
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

const plain = (number) => Number(number.toPrecision(9)); // as many digits as a float32 has
const nameOf = ({ view, records: [{ title }] }) => ["headscope", headName(view.state.head), ...(title.toLowerCase().match(/[a-z0-9]+/g) ?? []).slice(0, 6)].join("-");

// ---- the figure: the matrix of the chosen head, with its weights in percent
function figureOf({ view, compare, records, model }) {
  const { rows, columns, values, signed, span, absent } = compare ? specOf(view) : matrixSpec(view);
  const said = [`${placeName(records[0], view.state.head)} of ${model.title}${compare ? ", A minus B" : ""}`, ...records.map(({ title }) => `“${title}”`)];
  const [side, above] = [16 + 8.5 * Math.max(...rows.map((name) => name.length)), 20 * said.length + 12];
  const width = Math.max(side + CELL * columns.length, 8 * Math.max(...said.map((line) => line.length))) + 16;
  const height = above + side + CELL * rows.length + 12;
  const { ink, paper, ramp, change } = view.paint;
  const svg = vector("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "Georgia, serif", "font-size": 14, fill: css(ink) });
  const text = (x, y, words, more = {}) => svg.append(vector("text", { x, y, text: words, ...more }));
  svg.append(vector("rect", { width, height, fill: css(paper) }));
  said.forEach((line, i) => text(10, 22 + 20 * i, line[0].toUpperCase() + line.slice(1)));
  rows.forEach((name, q) => text(side - 8, above + side + CELL * (q + 0.65), name, { "text-anchor": "end" }));
  columns.forEach((name, k) => text(0, 0, name, { transform: `translate(${side + CELL * (k + 0.65)} ${above + side - 8}) rotate(-90)` }));
  rows.forEach((_, q) => columns.forEach((_, k) => {
    if (absent?.(q, k)) return;
    const value = values[q * columns.length + k];
    const share = signed ? (value / span + 1) / 2 : value;
    const [x, y] = [side + CELL * k, above + side + CELL * q];
    svg.append(vector("rect", { x, y, width: CELL - 1, height: CELL - 1, fill: css(at(signed ? change.ramp : ramp, share)) }));
    if (Math.abs(value) >= 0.095) text(x + CELL / 2, y + CELL * 0.63, signed ? points(value) : percent(value).replace("%", ""), { "text-anchor": "middle", "font-size": 11, fill: css(Math.abs(signed ? 2 * share - 1 : share) > 0.5 ? paper : ink) });
  }));
  return svg;
}

const svgOf = (now) => new XMLSerializer().serializeToString(figureOf(now));

async function pngOf(now) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svgOf(now))}`;
  await image.decode();
  const canvas = make("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

// ---- the numbers, under the names that mha_core/record/export.py gives them
const headsOf = ({ layers, heads, n }, chosen) => (layers * heads * n * n > CELLS_AT_MOST ? [chosen] : Array.from({ length: layers * heads }, (_, i) => [Math.floor(i / heads), i % heads]));

// A cell that a spreadsheet would run gets an apostrophe.
function cell(value) {
  const text = typeof value === "string" && /^[\s\0-\x1f]*[=+\-@＝＋－＠]|^[\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvOf({ view: { state }, compare, records, pairs, model, unit }) {
  const [a, b] = records;
  const said = { measure: "raw", unit, specials: a.specialsShown, normalisation: a.normalised, model: model.title, digest: model.digest };
  const once = { ...(compare ? { "text A": a.title, "text B": b.title } : { text: a.title }), link: location.href };
  const rows = [];
  const row = (record, layer, head, q, k, weights) => !isMasked(record, q, k, layer) && rows.push({ layer: layer + 1, head: head + 1, query: q, key: k, query_text: record.labels[q], key_text: record.labels[k], ...weights, ...said, ...(rows.length ? {} : once) });
  const both = (pairs || []).filter(([i, j]) => i !== null && j !== null);
  if (compare) for (const [q, r] of both) for (const [k, l] of both) {
    const [here, there] = [weightOf(a, state.head, q, k), weightOf(b, state.head, r, l)].map(plain);
    row(a, ...state.head, q, k, { A: here, B: there, "A minus B": plain(here - there) });
  }
  else for (const head of headsOf(a, state.head)) for (let q = 0; q < a.n; q++) for (let k = 0; k < a.n; k++) row(a, ...head, q, k, { weight: plain(weightOf(a, head, q, k)) });
  const names = Object.keys(rows[0]);
  return [names, ...rows.map((each) => names.map((name) => each[name] ?? ""))].map((line) => line.map(cell).join()).join("\n") + "\n";
}

function jsonOf({ view: { state }, compare, records, runs, pairs, model, unit }) {
  const chosen = { measure: "raw", per: "head", head: headName(state.head), pinned: state.pins, to: state.to, link: location.href };
  const matrix = (record, head) => record.units.map((_, q) => record.units.map((_, k) => plain(weightOf(record, head, q, k))));
  const described = (record, { pieces, cut }) => ({
    model: model.name, trained: true, model_details: model.details, text: record.title, tokens: pieces.map(({ text }) => text), segments: pieces.map(({ segment }) => segment),
    n_cut: cut, unit, units: record.labels, specials: record.specialsShown, normalisation: record.normalised, causal: record.causal, n_layers: record.layers, n_heads: record.heads,
  });
  const [a, b] = records.map((record, i) => described(record, runs[i]));
  if (compare) return JSON.stringify({ ...chosen, pairs, A: { ...a, weights: matrix(records[0], state.head) }, B: { ...b, weights: matrix(records[1], state.head) } });
  const heads = headsOf(records[0], state.head);
  const [layers, numbers] = [0, 1].map((axis) => [...new Set(heads.map((head) => head[axis]))]);
  return JSON.stringify({ ...a, layers: layers.map((i) => i + 1), heads: numbers.map((i) => i + 1), weights: layers.map((layer) => numbers.map((head) => matrix(records[0], [layer, head]))), ...chosen });
}

// ---- the picture as a page of its own, whose script is this page's (page.js draws the records that it finds)
async function pageOf({ view, compare, records, pairs, model, data }) {
  const bytes = (array) => btoa(Array.from(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), (byte) => String.fromCharCode(byte)).join(""));
  const portable = records.map(({ full, exact, units, opened, missing, ...record }) => ({ ...record, roles: model.roles, weights: { type: "uint16", base64: bytes(full) } }));
  const both = compare ? { mode: "compare", titles: [model.title, model.title], pairs, opened: [] } : { mode: "explore" };
  const chosen = { records: records.map(({ id }) => id), present: false, n: 1, selection: view.chosen, link: location.protocol === "file:" ? "" : location.href };
  const own = document.getElementById("source");
  const parts = {
    TITLE: `HeadScope: ${records[0].title}`.slice(0, 120).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`),
    FACES: document.getElementById("faces").textContent,
    SOURCE: own.textContent || (await (await fetch(own.src)).text()).replaceAll("</script", "<\\/script"),
    DATA: JSON.stringify({ records: portable, css: data.css, view: { ...both, ...chosen } }).replaceAll("<", "\\u003c"),
  };
  return data.alone.replace(/@@(\w+)@@/g, (_, part) => parts[part]);
}
