// What is on the screen as SVG with true vectors; a text in it is never markup.
import { hatchPath } from "./causal.js";
import { LEVELS, css } from "./colour.js";

// A name with a digit in it must be quoted, or the whole list is dropped.
export const FAMILY = "HeadScope, 'Source Serif 4', Georgia, 'Times New Roman', serif";

export const escapeXml = (text) =>
  String(text)
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

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
  if (Math.abs(value) < spec.least || spec.hidden?.(q, k) || spec.absent?.(q, k)) return 0;
  return Math.round(Math.max(-1, Math.min(1, value / ((spec.signed ? spec.span : spec.top) ?? 1))) * levels);
}

// A whole matrix with its axes; returns {body, height}.
export function matrixPicture(spec, paint, { x, y, size, room = 110, font = 13 }) {
  const [nq, nk] = [spec.rows.length, spec.columns.length];
  const [cw, ch] = [size / nk, size / nk];
  const [x0, y0] = [x + room, y + room];
  const body = [tag("rect", { x: x0, y: y0, width: size, height: ch * nq, fill: "none", stroke: css(paint.line) }), ...matrixPaths(spec, paint.ramp, { x: x0, y: y0, size })];
  if (spec.absent) body.push(tag("path", { class: "absent", d: hatchPath(spec.absent, [nq, nk], { x: x0, y: y0, size }), fill: "none", stroke: css(paint.line), "stroke-width": 1 }));
  const every = Math.max(1, Math.ceil((font * 1.15) / cw));
  for (let q = 0; q < nq; q += every) {
    body.push(say(spec.rows[q], { x: x0 - 8, y: y0 + (q + 0.5) * ch, "text-anchor": "end", "dominant-baseline": "central", fill: css(paint.soft), "font-size": font }));
  }
  for (let k = 0; k < nk; k += every) {
    const at = `translate(${r(x0 + (k + 0.5) * cw)} ${r(y0 - 8)}) rotate(-90)`;
    body.push(say(spec.columns[k], { transform: at, "dominant-baseline": "central", fill: css(paint.soft), "font-size": font }));
  }
  for (const q of spec.from) body.push(tag("rect", { x: x0, y: y0 + q * ch, width: size, height: ch, fill: "none", stroke: css(paint.accent), "stroke-width": 2 }));
  if (spec.hovered && spec.hovered[0] !== null && spec.hovered[1] !== null) {
    body.push(tag("rect", { x: x0 + spec.hovered[1] * cw, y: y0 + spec.hovered[0] * ch, width: cw, height: ch, fill: "none", stroke: css(paint.accent), "stroke-width": 3 }));
  }
  return { body, height: room + ch * nq, width: room + size };
}

// blocks: ready pieces of SVG; the sentence in words is the picture's title for those who cannot see it.
export function svgPage({ width, height, paper, title, told = "", body, style = "" }) {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="${FAMILY}" role="img">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${open}<title>${escapeXml(title)}</title>${told && `<desc>${escapeXml(told)}</desc>`}${style}<rect width="100%" height="100%" fill="${css(paper)}"/>${body.join("")}</svg>\n`;
}
