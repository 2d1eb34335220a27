// The picture in a notebook that talks back (anywidget.dev): what is pressed is told to Python, what Python sets is shown.
import { sources } from "./cross_attention.js";
import { decodeArrays } from "./portable.js";
import { Headscope } from "./view.js";
import { headName } from "./words.js";

const TOLD = ["head", "query", "key"];

// A notebook writes on dark paper in a light colour, whatever notation its style has.
function isDarkPage(el) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.fillStyle = getComputedStyle(el).color;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b] = pen.getImageData(0, 0, 1, 1).data;
  return 0.299 * r + 0.587 * g + 0.114 * b > 128;
}

function render({ model, el }) {
  const { records, view, css, themes } = model.get("_content");
  const headscope = new Headscope(css);
  headscope.live = false;
  records.forEach((record) => headscope.keep(decodeArrays(record)));
  const parentElement = el.attachShadow({ mode: "open" }).appendChild(document.createElement("div"));
  el.dataset.lmSuppressShortcuts = "true"; // JupyterLab's keys
  const data = decodeArrays(view);
  const draw = () => {
    if (!el.isConnected) return requestAnimationFrame(draw);
    el.style.cssText = themes[isDarkPage(el) ? "dark" : "light"];
    headscope.mount({ data, key: "widget", parentElement });
  };

  let telling = false;
  headscope.emit = ({ view }, { head, pins, to }) => {
    telling = true;
    const [query = null] = pins;
    const told = [headName(head), query === null ? null : query - sources(view.record), to];
    TOLD.forEach((name, i) => model.set(name, told[i]));
    telling = false;
    model.save_changes();
  };
  const follow = () => {
    const shown = headscope.mounted.get(parentElement)?.view;
    if (telling || !shown) return;
    const query = model.get("query");
    const pins = query === null ? [] : [query + sources(shown.record)];
    shown.select({ head: model.get("head").split("-").map((n) => n - 1), pins, to: model.get("key") }, true);
  };
  TOLD.forEach((name) => model.on(`change:${name}`, follow));
  const watch = new MutationObserver(() => setTimeout(draw, 50));
  for (const node of [document.documentElement, document.body]) watch.observe(node, { attributes: true });
  draw();
  return () => {
    TOLD.forEach((name) => model.off(`change:${name}`, follow));
    watch.disconnect();
    headscope.unmount(parentElement);
  };
}

export default function widget() {
  return { render };
}
