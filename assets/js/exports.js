// What is on the screen as a file: SVG with true vectors, PNG from that SVG, CSV and JSON with the exact numbers.
import { LEVELS, css } from "./colour.js";
import { slug } from "./words.js";

export const FAMILY = "HeadScope, Source Serif 4, Georgia, Times New Roman, serif";

export const escapeXml = (text) =>
  String(text)
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

// A spreadsheet runs a cell that begins with = + - @: an apostrophe keeps it text. Numbers are written as numbers.
export function csvCell(value) {
  if (typeof value === "number") return String(value);
  let text = String(value);
  if (/^[\s\u0000-\u001f]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u.test(text) || /^[\t\r\n]/.test(text)) text = `'${text}`;
  return /[",\r\n\t;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows) => `${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;

export const fileName = (head, text, ending) => `headscope-${head}-${slug(text)}.${ending}`;

export const tag = (name, attributes, ...inside) =>
  `<${name}${Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(typeof value === "number" ? Math.round(value * 100) / 100 : value)}"`)
    .join("")}>${inside.join("")}</${name}>`;

export const say = (text, attributes) => tag("text", attributes, escapeXml(text));

// Cells of one shade as one path: a matrix of 512 x 512 stays a file that opens.
export function matrixPaths(spec, ramp, { x, y, size }, levels = 48) {
  const [nq, nk] = [spec.rows.length, spec.columns.length];
  const [cw, ch] = [size / nk, (size * nq) / nk / nq];
  const shades = new Map();
  for (let q = 0; q < nq; q++) {
    for (let k = 0; k < nk; ) {
      const shade = shadeOf(spec, q, k, levels);
      let stop = k + 1;
      while (stop < nk && shadeOf(spec, q, stop, levels) === shade) stop++;
      if (shade !== 0) {
        const run = `M${r(x + k * cw)} ${r(y + q * ch)}h${r((stop - k) * cw)}v${r(ch)}h${r(-(stop - k) * cw)}z`;
        shades.set(shade, (shades.get(shade) ?? "") + run);
      }
      k = stop;
    }
  }
  return [...shades].map(([shade, d]) => {
    const share = shade / levels;
    const colour = ramp[Math.round((spec.signed ? (share + 1) / 2 : share) * (LEVELS - 1))];
    return tag("path", { fill: css(colour), d });
  });
}

const r = (v) => Math.round(v * 100) / 100;

function shadeOf(spec, q, k, levels) {
  const value = spec.values[q * spec.columns.length + k];
  if (Math.abs(value) < spec.least || spec.hidden?.(q, k)) return 0;
  return Math.round(Math.max(-1, Math.min(1, spec.signed ? value / (spec.span ?? 1) : value)) * levels);
}

// A whole matrix with its axes; returns {body, height}.
export function matrixPicture(spec, paint, { x, y, size, room = 110, font = 13 }) {
  const [nq, nk] = [spec.rows.length, spec.columns.length];
  const [cw, ch] = [size / nk, size / nk];
  const [x0, y0] = [x + room, y + room];
  const body = [tag("rect", { x: x0, y: y0, width: size, height: ch * nq, fill: "none", stroke: css(paint.line) }), ...matrixPaths(spec, paint.ramp, { x: x0, y: y0, size })];
  const every = Math.max(1, Math.ceil((font * 1.15) / cw));
  for (let q = 0; q < nq; q += every) {
    body.push(say(spec.rows[q], { x: x0 - 8, y: y0 + (q + 0.5) * ch, "text-anchor": "end", "dominant-baseline": "central", fill: css(paint.soft), "font-size": font }));
  }
  for (let k = 0; k < nk; k += every) {
    const at = `translate(${r(x0 + (k + 0.5) * cw)} ${r(y0 - 8)}) rotate(-90)`;
    body.push(say(spec.columns[k], { transform: at, "dominant-baseline": "central", fill: css(paint.soft), "font-size": font }));
  }
  for (const q of spec.from) body.push(tag("rect", { x: x0, y: y0 + q * ch, width: size, height: ch, fill: "none", stroke: css(paint.accent), "stroke-width": 2 }));
  if (spec.over && spec.over[0] !== null && spec.over[1] !== null) {
    body.push(tag("rect", { x: x0 + spec.over[1] * cw, y: y0 + spec.over[0] * ch, width: cw, height: ch, fill: "none", stroke: css(paint.accent), "stroke-width": 3 }));
  }
  return { body, height: room + ch * nq, width: room + size };
}

// blocks: ready pieces of SVG; the sentence in words is the picture's title for those who cannot see it.
export function svgPage({ width, height, paper, title, body, style = "" }) {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="${FAMILY}" role="img">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${open}<title>${escapeXml(title)}</title>${style}<rect width="100%" height="100%" fill="${css(paper)}"/>${body.join("")}</svg>\n`;
}

export function save(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export async function savePng(name, page, scale = 2) {
  const image = new Image();
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(page).map(Number);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(page)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  save(name, "image/png", blob);
}
