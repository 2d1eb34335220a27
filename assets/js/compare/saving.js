// What is on the screen in Compare as files: the picture, and the exact numbers of the chosen head in both runs.
import { maskNote } from "../causal.js";
import { css } from "../colour.js";
import { saveCsv, WEIGHT_COLUMNS } from "../csv.js";
import { percent } from "../format.js";
import { wrapped } from "../parts.js";
import { fileName, saveJson, savePng, saveSvg } from "../save.js";
import { matrixPicture, say, svgPage, tag } from "../svg.js";
import { headName } from "../words.js";
import { sidesDrawn, specOf } from "./drawn.js";
import { seenIn } from "./rows.js";

function fileOf(view, ending) {
  return fileName(headName(view.state.head), `compared ${view.records[0].title}`, ending);
}

function pageOf(view, style = "") {
  const paint = view.paint;
  const width = Math.max(960, view.duo.width);
  const body = [...duoSvg(view.duo, paint)];
  let y = view.duo.root.scrollHeight + 36;
  for (const line of wrapped(view.line.dataset.said, 100)) {
    body.push(say(line, { x: 0, y, "font-size": 18, fill: css(paint.ink) }));
    y += 26;
  }
  body.push(say(view.titles.textContent, { x: 0, y, "font-size": 13, fill: css(paint.soft) }));
  y += 20;
  const each = (width - 60) / 3;
  let tallest = 0;
  sidesDrawn(view).forEach((side) => {
    const ramp = side === 2 ? { ...paint, ...paint.change } : paint;
    const x = side * (each + 30);
    body.push(say(["A", "B", "A − B"][side], { x, y: y + 16, "font-size": 16, "font-weight": 650, fill: css(paint.ink) }));
    const picture = matrixPicture(specOf(view, side), ramp, { x, y: y + 10, size: each - 100, room: 100 });
    body.push(...picture.body);
    tallest = Math.max(tallest, picture.height);
  });
  y += tallest + 30;
  body.push(say(`Head ${headName(view.state.head)} · row = query, looks at column = key${maskNote(view.common)} · HeadScope`, { x: 0, y: y + 10, "font-size": 13, fill: css(paint.soft) }));
  return svgPage({ width: width + 80, height: y + 90, paper: paint.paper, title: view.line.dataset.said, body: [tag("g", { transform: "translate(40 40)" }, ...body)], style });
}

export function svgFile(view) {
  return saveSvg(fileOf(view, "svg"), pageOf(view));
}

export function pngFile(view) {
  return savePng(fileOf(view, "png"), pageOf(view, globalThis.headscope?.fontStyle?.() ?? ""));
}

// Positions are A's; a word without a counterpart has no row.
export function csvFile(view) {
  const [layer, head] = view.state.head;
  const rows = [[...WEIGHT_COLUMNS.slice(0, -1), "A", "B", "A minus B", "pinned"]];
  const places = view.bothColumns;
  const [a, b] = view.now;
  const six = (value) => Number(value.toFixed(6));
  for (const q of places) {
    for (const k of places) {
      if (seenIn(view, [q], k).every((sees) => !sees)) continue;
      const [wa, wb] = [a[view.pairs[q][0] * view.records[0].n + view.pairs[k][0]], b[view.pairs[q][1] * view.records[1].n + view.pairs[k][1]]];
      rows.push([layer + 1, head + 1, view.pairs[q][0], view.pairs[k][0], view.nameOf(q), view.nameOf(k), six(wa), six(wb), six(wa - wb), view.state.pins.includes(view.pairs[q][0]) ? 1 : 0]);
    }
  }
  return saveCsv(fileOf(view, "csv"), rows);
}

export function jsonFile(view) {
  const matrix = (side) => Array.from({ length: view.records[side].n }, (_, q) => Array.from(view.now[side].subarray(q * view.records[side].n, (q + 1) * view.records[side].n), (w) => Number(w.toFixed(6))));
  const content = { head: headName(view.state.head), titles: view.titlesNow, labels: view.records.map((record) => record.names), causal: view.records.map((record) => Boolean(record.causal)), pairs: view.pairs, pinned: view.state.pins, to: view.state.to, said: view.line.dataset.said, A: matrix(0), B: matrix(1) };
  return saveJson(fileOf(view, "json"), content);
}

function duoSvg(duo, paint) {
  const body = (duo.shapes ?? []).map((s) => tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width }));
  duo.units.forEach((units, side) =>
    units.forEach((unit, i) => {
      if (!unit) return;
      const box = duo.boxes[side][i];
      const column = duo.columns[i].classList;
      const size = Number.parseFloat(getComputedStyle(unit).fontSize);
      if (column.contains("pinned")) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: css(paint.accent) }));
      if (column.contains("aimed")) body.push(tag("rect", { x: box.x - box.width / 2, y: box.top, width: box.width, height: box.bottom - box.top, rx: 4, fill: "none", stroke: css(paint.accent), "stroke-width": 2 }));
      const colour = column.contains("pinned") ? paint.onAccent : column.contains("still") || unit.classList.contains("special") ? paint.soft : paint.ink;
      body.push(say(unit.textContent, { x: box.x, y: (box.top + box.bottom) / 2, "text-anchor": "middle", "dominant-baseline": "central", "font-size": size, fill: css(colour), "text-decoration": column.contains("differs") ? "underline" : null }));
    }),
  );
  for (const label of duo.placed ?? []) {
    label.pair.forEach((weight, side) => {
      if (weight === null) return;
      const box = duo.boxes[side][label.column];
      const y = side ? box.top - 14 : box.bottom + 12;
      body.push(say(percent(weight), { x: label.x, y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": label.strong ? 18 : 14, "font-weight": label.strong ? 650 : 400, fill: css(label.strong ? paint.ink : paint.soft) }));
    });
  }
  return body;
}
