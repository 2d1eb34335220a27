// The figure studio: the drawing as it will be, and its files. Python drew it; here it is shown and saved as it is.
import { make } from "./dom.js";
import { printPdf, savePng, saveSvg, sizeOf } from "./save.js";

const DOTS = 300; // an inch
const PIXELS = 96; // of a browser's inch

const mounted = new WeakMap();

export default function draw({ data, parentElement }) {
  let view = mounted.get(parentElement);
  if (!view) {
    view = { picture: make("img"), size: make("p", { class: "size" }), said: make("p", { class: "status", role: "status" }) };
    const saved = (save) => async () => {
      view.said.textContent = "Saving.";
      try {
        view.said.textContent = `Saved ${await save(view.data)}.`;
      } catch (problem) {
        view.said.textContent = `Could not save: ${problem.message}.`;
      }
    };
    const button = (text, save) => make("button", { type: "button", text, onclick: saved(save) });
    const files = make(
      "div",
      { class: "files" },
      button("SVG", ({ name, svg }) => saveSvg(`${name}.svg`, svg)),
      button("PDF, through the print dialog", ({ name, svg }) => printPdf(`${name}.pdf`, svg)),
      button("PNG, 300 dpi", ({ name, svg }) => savePng(`${name}.png`, svg, DOTS / PIXELS, DOTS)),
    );
    parentElement.append(make("div", { class: "figure" }, make("div", { class: "paper" }, view.picture), view.size, files, view.said));
    mounted.set(parentElement, view);
  }
  view.data = data;
  const [width, height] = sizeOf(data.svg);
  view.picture.alt = data.alt;
  view.picture.style.width = `${width}px`;
  view.picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(data.svg)}`;
  view.picture.parentElement.classList.toggle("clear", data.clear);
  view.size.textContent = `${cm(width)} × ${cm(height)} cm, as it will be printed`;
}

const cm = (pixels) => (Math.round((pixels / PIXELS) * 25.4) / 10).toFixed(1);
