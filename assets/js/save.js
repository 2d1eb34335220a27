// Handing the reader a file: its name, its bytes, and a PNG made from an SVG.
import { slug } from "./words.js";

// parts: what the file is of, in order; a text becomes plain letters.
export const fileName = (parts, ending) => `${["headscope", ...parts.filter(Boolean).map((part) => slug(part, 120))].join("-")}.${ending}`;

// Returns the name, which the menu says.
export function save(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  return name;
}

export function saveSvg(name, page) {
  return save(name, "image/svg+xml", page);
}

export function saveJson(name, content) {
  return save(name, "application/json", `${JSON.stringify(content)}\n`);
}

// Width and height of an SVG, in pixels.
function sizeOf(page) {
  const [, width, height] = /width="([\d.]+)" height="([\d.]+)/.exec(page);
  return [Number(width), Number(height)];
}

export async function savePng(name, page, scale = 2) {
  const image = new Image();
  const [width, height] = sizeOf(page);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(page)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  return save(name, "image/png", blob);
}

// In the frame of a notebook no dialog opens.
export const prints = () => !globalThis.headscope?.framed;

// A page of PDF with real text and the page's typeface, made by the browser: its print dialog offers "Save as PDF".
export async function printPdf(name, page) {
  const [width, height] = sizeOf(page);
  const frame = document.createElement("iframe");
  frame.className = "headscope-print";
  frame.style.cssText = "position:fixed;inset:auto 100% 100% auto;border:0;width:10px;height:10px";
  const svg = page.slice(page.indexOf("<svg"));
  frame.srcdoc = `<!doctype html><meta charset="utf-8"><title>${name.replace(/\.pdf$/, "")}</title><style>@page{size:${width}px ${height}px;margin:0}body{margin:0}svg{display:block}*{print-color-adjust:exact}</style>${svg}`;
  document.body.append(frame);
  await new Promise((done) => (frame.onload = done));
  await frame.contentDocument.fonts.ready;
  frame.contentWindow.onafterprint = () => setTimeout(() => frame.remove(), 100);
  frame.contentWindow.print();
  return `${name}, in the dialog that opened`;
}
