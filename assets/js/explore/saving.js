// What is on the screen in Explore as files: the picture, and the exact numbers of the chosen head.
import { hatchPath, maskNote, unseen } from "../causal.js";
import { css } from "../colour.js";
import { saveCsv, WEIGHT_COLUMNS } from "../csv.js";
import { percent } from "../format.js";
import { STEPS } from "../numbers.js";
import { wrapped } from "../parts.js";
import { fileName, saveJson, savePng, saveSvg } from "../save.js";
import { matrixPicture, say, svgPage, tag } from "../svg.js";
import { headName } from "../words.js";
import { sentenceShown } from "./said.js";
import { matrixSpec } from "./shown.js";

function fileOf(view, ending) {
  return fileName(headName(view.headNow), view.record.title, ending);
}

function pageOf(view, style = "") {
  const width = Math.max(720, view.sentence.width);
  const paint = view.paint;
  const heading = sentenceSvg(view.sentence, paint);
  const body = [...heading.body];
  let y = heading.height + 40;
  for (const line of wrapped(sentenceShown(view), 90)) {
    body.push(say(line, { x: 0, y, "font-size": 18, fill: css(paint.ink) }));
    y += 26;
  }
  y += 6;
  if (view.state.panel === "lines") {
    const { height, font } = view.lines.size;
    const inside = [
      ...view.lines.strokes.map((s) => tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width })),
      ...view.lines.texts.map((t) => say(t.text, { x: t.x, y: t.y, "text-anchor": t.anchor, "dominant-baseline": "central", "font-size": font, fill: css(t.on ? paint.accentText : paint.ink) })),
    ];
    body.push(tag("g", { transform: `translate(0 ${y})` }, ...inside));
    y += height;
  } else {
    const size = Math.min(width - 120, Math.max(420, Math.min(760, view.record.n * 28)));
    const picture = matrixPicture(matrixSpec(view), paint, { x: 0, y, size });
    body.push(...picture.body);
    y += picture.height;
  }
  body.push(say(`${view.record.model} · head ${headName(view.headNow)} · row = query, looks at column = key${maskNote(view.record)} · HeadScope`, { x: 0, y: y + 30, "font-size": 13, fill: css(paint.soft) }));
  const inner = tag("g", { transform: "translate(40 40)" }, ...body);
  return svgPage({ width: width + 80, height: y + 110, paper: paint.paper, title: sentenceShown(view), body: [inner], style });
}

export function svgFile(view) {
  return saveSvg(fileOf(view, "svg"), pageOf(view));
}

export function pngFile(view) {
  return savePng(fileOf(view, "png"), pageOf(view, globalThis.headscope?.fontStyle?.() ?? ""));
}

export function csvFile(view) {
  const { names, n } = view.record;
  const [layer, head] = view.headNow;
  const rows = [[...WEIGHT_COLUMNS, "pinned"]];
  const matrix = view.matrixNow;
  for (let q = 0; q < n; q++) {
    for (let k = 0; k < n; k++) if (!unseen(view.record, q, k)) rows.push([layer + 1, head + 1, q, k, names[q], names[k], Number((matrix[q * n + k] / STEPS).toFixed(6)), view.state.pins.includes(q) ? 1 : 0]);
  }
  return saveCsv(fileOf(view, "csv"), rows);
}

export function jsonFile(view) {
  const { names, n, model, words, specialsShown } = view.record;
  const matrix = Array.from({ length: n }, (_, q) => Array.from(view.matrixNow.subarray(q * n, (q + 1) * n), (step) => Number((step / STEPS).toFixed(6))));
  const content = { model, head: headName(view.headNow), text: view.record.title, unit: words ? "words" : "pieces", specials: specialsShown, causal: Boolean(view.record.causal), labels: names, pinned: view.state.pins, to: view.state.to, said: view.said, weights: matrix };
  return saveJson(fileOf(view, "json"), content);
}

// The sentence with its arcs as SVG, where the browser has set it.
function sentenceSvg(sentence, paint) {
  const body = (sentence.shapes ?? []).map((s) => tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width, "stroke-linecap": "butt" }));
  sentence.units.forEach((unit, i) => {
    const box = sentence.boxes[i];
    const from = unit.classList.contains("from");
    const size = Number.parseFloat(getComputedStyle(unit).fontSize);
    if (from) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: css(paint.accent) }));
    if (unit.classList.contains("to")) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: "none", stroke: css(paint.accent), "stroke-width": 2 }));
    if (unit.classList.contains("blind")) body.push(tag("path", { class: "absent", d: hatchPath(() => true, [1, 1], { x: box.x - box.width / 2, y: box.bottom - 6, size: box.width, high: 6 }), fill: "none", stroke: css(paint.line), "stroke-width": 1 }));
    const colour = from ? paint.onAccent : unit.classList.contains("quiet") || unit.classList.contains("special") ? paint.soft : paint.ink;
    body.push(say(unit.textContent, { x: box.x, y: (box.top + box.bottom) / 2, "text-anchor": "middle", "dominant-baseline": "central", "font-size": size, fill: css(colour) }));
  });
  for (const label of sentence.placed ?? []) {
    const y = sentence.boxes[label.unit].bottom + sentence.size * 0.14 + label.row * sentence.size * 0.62 + 10;
    body.push(say(percent(label.weight), { x: label.x, y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": label.strong ? 18 : 14, "font-weight": label.strong ? 650 : 400, fill: css(label.strong ? paint.ink : paint.soft) }));
  }
  return { body, height: sentence.root.scrollHeight };
}
