// What is on the screen as SVG with true vectors; a text in it is never markup.
import { css } from "./colour.js";

// A name with a digit in it must be quoted, or the whole list is dropped.
const FAMILY = "HeadScope, 'Source Serif 4', Georgia, 'Times New Roman', serif";

const escapeXml = (text) =>
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

// blocks: ready pieces of SVG; the sentence in words is the picture's title for those who cannot see it.
export function svgPage({ width, height, paper, title, told = "", body, style = "" }) {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="${FAMILY}" role="img">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${open}<title>${escapeXml(title)}</title>${told && `<desc>${escapeXml(told)}</desc>`}${style}<rect width="100%" height="100%" fill="${css(paper)}"/>${body.join("")}</svg>\n`;
}
