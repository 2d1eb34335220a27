// What is on the screen in Compare as files: the picture, and the exact numbers of the chosen head in both runs.
import { maskNote } from "../causal.js";
import { css } from "../colour.js";
import { LONG_COLUMNS, saveCsv, WEIGHT_COLUMNS } from "../csv.js";
import { chosenIn, exact, factsOf, linkOf, notHere, placeCells, placeName, smallPrint } from "../files.js";
import { percent } from "../format.js";
import { arrowTip } from "../geometry.js";
import { digits } from "../numbers.js";
import { wrapped } from "../parts.js";
import { fileName, printPdf, saveJson, savePng, saveSvg } from "../save.js";
import { tipOf } from "../sentence.js";
import { matrixPicture, say, svgPage, tag } from "../svg.js";
import { sidesDrawn, specOf } from "./drawn.js";
import { isHere, seenIn } from "./rows.js";

function fileOf(view, ending, picture = false) {
  const { pins, to, head } = view.state;
  const marked = picture ? [pins.length ? `from-${pins.join("-")}` : "", to === null ? "" : `to-${to}`] : [];
  const files = view.records.map((record) => record.file);
  return fileName([placeName(view.common, head).replace(/ /g, "-"), "compared", files[0], files[1].slice(-6), ...marked], ending);
}

const linkNow = (view) => linkOf(view, view.query, { ...chosenIn(view.state, view.state.head), ...view.look() });

export function pageOf(view) {
  if (!isHere(view)) throw notHere();
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
  const link = linkNow(view);
  const facts = view.records.map((record, side) => `${"AB"[side]}: ${factsOf(record, placeName(view.common, view.state.head))} · “${record.title}”`);
  facts.push(`row = query, looks at column = key${maskNote(view.common)} · HeadScope`);
  const print = smallPrint(facts, link, paint, { y: y + 10, letters: Math.floor(width / 6.6) });
  const inner = tag("g", { transform: "translate(40 40)" }, ...body, ...print.body);
  return svgPage({ width: width + 80, height: y + 80 + print.height, paper: paint.paper, title: view.line.dataset.said, told: [...facts, link].filter(Boolean).join("\n"), body: [inner], style: globalThis.headscope?.fontStyle?.() ?? "" });
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

// What the columns of A and of B say of themselves: once where both say the same.
function columnsOf(view) {
  const [a, b] = view.records.map((record) => record.columns ?? {});
  const same = Object.keys(a).filter((name) => a[name] === b[name]);
  const apart = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !same.includes(name));
  const said = Object.fromEntries(same.map((name) => [name, a[name]]));
  for (const name of apart) Object.assign(said, { [`${name} A`]: a[name] ?? "", [`${name} B`]: b[name] ?? "" });
  return { ...said, link: linkNow(view) };
}

const bothExact = (view) => Promise.all(view.records.map((record) => exact(record, view.state.head)));

// Positions are A's; a word without a counterpart has no row, and a side that cannot see a word no number of it.
export async function csvFile(view) {
  const name = fileOf(view, "csv"); // the numbers may come a moment later, when something else is chosen
  const place = placeCells(view.common, view.state.head);
  const said = columnsOf(view);
  const rows = [[...WEIGHT_COLUMNS.slice(0, -1), "A", "B", "A minus B", ...Object.keys(said)]];
  const long = (name) => LONG_COLUMNS.includes(name.replace(/ [AB]$/, ""));
  const [a, b] = await bothExact(view);
  const labelOf = (column) => {
    const [here, there] = view.pairs[column].map((unit, side) => view.records[side].labels[unit]);
    return view.differs[column] ? `${here} / ${there}` : here;
  };
  for (const q of view.bothColumns) {
    for (const k of view.bothColumns) {
      const [seesA, seesB] = seenIn(view, [q], k);
      if (!seesA && !seesB) continue;
      const [wa, wb] = [a[view.pairs[q][0] * view.records[0].n + view.pairs[k][0]], b[view.pairs[q][1] * view.records[1].n + view.pairs[k][1]]];
      const about = Object.entries(said).map(([name, text]) => (rows.length > 1 && long(name) ? "" : text));
      rows.push([...place, view.pairs[q][0], view.pairs[k][0], labelOf(q), labelOf(k), seesA ? digits(wa) : "", seesB ? digits(wb) : "", seesA && seesB ? digits(wa - wb) : "", ...about]);
    }
  }
  return saveCsv(name, rows);
}

export async function jsonFile(view) {
  const name = fileOf(view, "json");
  const chosen = { pinned: view.state.pins, to: view.state.to, said: view.line.dataset.said, link: linkNow(view) };
  const head = placeName(view.common, view.state.head).replace("head ", "");
  const numbers = await bothExact(view);
  const matrix = (side) => Array.from({ length: view.records[side].n }, (_, q) => Array.from(numbers[side].subarray(q * view.records[side].n, (q + 1) * view.records[side].n), digits));
  const about = view.records.map((record) => ({ ...record.about, normalisation: record.normalised }));
  const content = { head, titles: view.titlesNow, about: { A: about[0], B: about[1] }, labels: view.records.map((record) => record.labels), causal: view.records.map((record) => Boolean(record.causal)), pairs: view.pairs, ...chosen, A: matrix(0), B: matrix(1) };
  return saveJson(name, content);
}

function duoSvg(duo, paint) {
  const body = (duo.shapes ?? []).map((s) => tag("path", { d: s.d, fill: "none", stroke: s.colour, "stroke-width": s.width }));
  for (const s of duo.shapes ?? []) if (s.tip) body.push(tag("polygon", { points: arrowTip(s.d, tipOf(s.width)), fill: s.colour }));
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
