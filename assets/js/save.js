// Handing the reader a file: its name, its bytes, and a PNG made from an SVG.
import { slug } from "./words.js";

export const fileName = (head, text, ending) => `headscope-${head}-${slug(text)}.${ending}`;

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
  return save(name, "image/png", blob);
}
