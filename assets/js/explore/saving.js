// What is on the screen in Explore as files: the picture, and the exact numbers of the chosen head.
import { sinkOf } from "../record.js";
import { hatchPath, maskNote } from "../causal.js";
import { css } from "../colour.js";
import { blockOf, sources } from "../cross.js";
import { saveCsv, weightRows } from "../csv.js";
import { chosenIn, exact, factsOf, linkOf, placeCells, placeName, smallPrint } from "../files.js";
import { percent } from "../format.js";
import { digits } from "../numbers.js";
import { wrapped } from "../parts.js";
import { printPdf, fileName, saveJson, savePng, saveSvg } from "../save.js";
import { arrowTip } from "../geometry.js";
import { unseen } from "../seen.js";
import { DASHES, STEPPED_BACK, tipOf } from "../sentence.js";
import { matrixPicture, say, svgPage, tag } from "../svg.js";
import { lookOf } from "./look.js";
import { sentenceShown, shadeNote } from "./said.js";
import { matrixSpec } from "./shown.js";

// A picture's name also says how it is drawn, and what is marked in it; beside the table it is that of the matrix.
function fileOf(view, ending, picture = false) {
  const { pins, to, panel, summed } = view.state;
  const { also, least, between, brings, scale } = lookOf(view.state);
  const drawn = panel === "lines" ? [panel, also && `with-${also}`, also && summed && "summed"] : [scale];
  const looks = [...drawn, least && `least-${least}`, between, brings && "brings"];
  const marked = picture ? [...looks, pins.length ? `from-${pins.join("-")}` : "", to === null ? "" : `to-${to}`] : [];
  return fileName([placeName(view.record, view.headNow).replace(/ /g, "-"), view.record.file, ...marked], ending);
}

function linkNow(view) {
  return linkOf(view, view.record.query, { ...chosenIn(view.state, view.headNow), ...lookOf(view.state) });
}

// Which heads the picture shows: token lines may show several of one layer.
function shownIn(view) {
  const more = view.state.panel === "lines" ? view.state.also : [];
  const names = [view.headNow, ...more].sort((a, b) => a[1] - b[1]).map((head) => placeName(view.record, head).replace("head ", ""));
  return more.length ? `heads ${names.join(", ")}${view.state.summed ? ", summed" : ""}` : placeName(view.record, view.headNow);
}

export function pageOf(view) {
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
    body.push(tag("g", { transform: `translate(0 ${y})` }, ...linesSvg(view.lines, paint)));
    y += view.lines.size.height;
  } else {
    const size = Math.min(width - 120, Math.max(420, Math.min(760, view.record.n * 28)));
    const picture = matrixPicture(matrixSpec(view, true), paint, { x: 0, y, size });
    body.push(...picture.body);
    y += picture.height;
  }
  const link = linkNow(view);
  const reading = view.state.panel === "lines" ? "left = query, looks at right = key" : `row = query, looks at column = key${maskNote(view.record)}${shadeNote(view)}`;
  const facts = [factsOf(view.record, shownIn(view)), `${reading} · HeadScope`];
  const print = smallPrint([...facts, `Text: ${view.record.title}`], link, paint, { y: y + 30, letters: Math.floor(width / 6.6) });
  const inner = tag("g", { transform: "translate(40 40)" }, ...body, ...print.body);
  const told = [...facts, `Text: ${view.record.title}`, link].filter(Boolean).join("\n");
  return svgPage({ width: width + 80, height: y + 100 + print.height, paper: paint.paper, title: sentenceShown(view), told, body: [inner], style: globalThis.headscope?.fontStyle?.() ?? "" });
}

export function svgFile(view) {
  return saveSvg(fileOf(view, "svg", true), pageOf(view));
}

export function pngFile(view) {
  return savePng(fileOf(view, "png", true), pageOf(view));
}

export function pdfFile(view) {
  return printPdf(fileOf(view, "pdf", true), pageOf(view));
}

// The numbers, and what they are, may come a moment after they were asked for: a file says what was chosen before.
export async function csvFile(view) {
  const record = view.record;
  const head = view.headNow;
  const [name, link] = [fileOf(view, "csv"), linkNow(view)];
  const matrix = await exact(record, head);
  const said = { ...record.columns, link };
  return saveCsv(name, weightRows({ labels: record.labels, matrix, place: placeCells(record, head), absent: (q, k) => unseen(record, q, k, head[0]), keys: sources(record), said, sink: sinkOf(record, head) }));
}

export async function jsonFile(view) {
  const record = view.record;
  const head = view.headNow;
  const name = fileOf(view, "json");
  const [keys, wide] = [sources(record), sources(record) || record.n];
  const [layer, one] = placeCells(record, head);
  const chosen = { head: placeName(record, head).replace("head ", ""), pinned: view.state.pins.map((pin) => pin - keys), to: view.state.to, said: view.said, link: linkNow(view) };
  const matrix = blockOf(record, await exact(record, head));
  const rows = Array.from({ length: record.n - keys }, (_, q) => Array.from(matrix.subarray(q * wide, (q + 1) * wide), digits));
  const sink = sinkOf(record, head);
  const numbers = { ...(sink ? { sink: [[Array.from(sink)]] } : {}), layers: layer === "" ? [] : [layer], heads: one === "" ? [] : [one], weights: [[rows]] };
  return saveJson(name, { ...record.about, causal: Boolean(record.causal), normalisation: record.normalised, units: record.labels.slice(keys), ...chosen, ...numbers });
}

// Token lines with the numbers of their heads.
function linesSvg(lines, paint) {
  const { font } = lines.size;
  return [
    ...lines.strokes.map((s) => tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width, "stroke-dasharray": s.dash })),
    ...(lines.tags ?? []).flatMap((t) => [
      tag("rect", { x: t.x - 17, y: t.y - 10, width: 34, height: 20, rx: 10, fill: css(paint.paper), stroke: t.colour, "stroke-width": 1.5 }),
      say(t.text, { x: t.x, y: t.y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": 13, fill: css(paint.ink) }),
    ]),
    ...lines.texts.map((t) => say(t.text, { x: t.x, y: t.y, "text-anchor": t.anchor, "dominant-baseline": "central", "font-size": font, fill: css(t.on ? paint.accentText : paint.ink) })),
  ];
}

// The sentence with its arcs as SVG, where the browser has set it.
function sentenceSvg(sentence, paint) {
  const traces = (sentence.traces ?? []).map((s) => tag("path", { class: "trace", d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width, "stroke-dasharray": DASHES }));
  const body = (sentence.shapes ?? []).map((s) => s.band ? tag("path", { class: "band", d: s.band, fill: s.colour, opacity: s.faded ? STEPPED_BACK : null }) : tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width, "stroke-linecap": "butt", opacity: s.faded ? STEPPED_BACK : null }));
  for (const s of sentence.shapes ?? []) if (s.tip) body.push(tag("polygon", { points: arrowTip(s.d, tipOf(s.width)), fill: s.colour }));
  sentence.units.forEach((unit, i) => {
    const box = sentence.boxes[i];
    const from = unit.classList.contains("from");
    const size = Number.parseFloat(getComputedStyle(unit).fontSize);
    if (from) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: css(paint.accent) }));
    if (unit.classList.contains("to")) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: "none", stroke: css(paint.accent), "stroke-width": 2 }));
    if (unit.classList.contains("unknown")) body.push(tag("line", { x1: box.x - box.width / 2, x2: box.x + box.width / 2, y1: box.bottom - 2, y2: box.bottom - 2, stroke: css(paint.accent), "stroke-width": 2, "stroke-dasharray": "2 3" }));
    if (unit.classList.contains("joined")) body.push(tag("line", { x1: box.x - box.width / 2 - 5, x2: box.x - box.width / 2 + 5, y1: box.bottom - 4, y2: box.bottom - 4, stroke: css(paint.soft), "stroke-width": 1.5 }));
    if (unit.classList.contains("blind")) body.push(tag("path", { class: "absent", d: hatchPath(() => true, [1, 1], { x: box.x - box.width / 2, y: box.bottom - 6, size: box.width, high: 6 }), fill: "none", stroke: css(paint.line), "stroke-width": 1 }));
    const colour = from ? paint.onAccent : unit.classList.contains("quiet") || unit.classList.contains("special") ? paint.soft : paint.ink;
    body.push(say(unit.textContent, { x: box.x, y: (box.top + box.bottom) / 2, "text-anchor": "middle", "dominant-baseline": "central", "font-size": size, fill: css(colour) }));
  });
  for (const label of sentence.placed ?? []) {
    const y = sentence.boxes[label.unit].bottom + sentence.size * 0.14 + label.row * sentence.size * 0.62 + 10;
    body.push(say(percent(label.weight), { x: label.x, y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": label.strong ? 18 : 14, "font-weight": label.strong ? 650 : 400, fill: css(label.strong ? paint.ink : paint.soft) }));
    if (label.brings) body.push(say(label.brings, { x: label.x, y: y + (label.strong ? 19 : 16), "text-anchor": "middle", "dominant-baseline": "central", "font-size": 13, fill: css(paint.soft) }));
    else if (label.was) body.push(say(label.was, { x: label.x, y: y + (label.strong ? 19 : 16), "text-anchor": "middle", "dominant-baseline": "central", "font-size": 13, "text-decoration": "line-through", fill: css(paint.soft) }));
  }
  return { body: [...traces, ...body], height: sentence.root.scrollHeight };
}
