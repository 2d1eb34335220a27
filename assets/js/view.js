// The door: records arrive once, views mount and update, fonts are handed to the page. One per browser tab.
import { Compare } from "./compare.js";
import { make } from "./dom.js";
import { Explore } from "./explore.js";
import { column, keepOpened, openRecord } from "./record.js";
import { readTheme, wear } from "./theme.js";

const KEPT = 8;
const TOLD_AFTER = 30;

export function createHeadscope(css) {
  const records = new Map();
  const mounted = new Map();
  const lasting = new Map();
  const fonts = [];

  function keep(data) {
    if (!records.has(data.id)) {
      performance.mark("headscope:data");
      const opened = data.kind === "change" ? { ...data, cells: column(data.weights) } : openRecord(data);
      records.set(data.id, { ...opened, arrived: performance.now() });
    }
    const record = records.get(data.id);
    records.delete(data.id);
    records.set(data.id, record);
    while (records.size > KEPT) records.delete(records.keys().next().value);
    for (const entry of mounted.values()) if (entry.waiting) show(entry, entry.waiting);
    return record;
  }

  function mount({ data, key, parentElement, setStateValue }) {
    let entry = mounted.get(parentElement);
    if (!entry) {
      entry = { key, root: make("div", { class: "headscope" }) };
      parentElement.append(make("style", { text: css }), entry.root);
      mounted.set(parentElement, entry);
      entry.resize = new ResizeObserver(() => redraw(entry));
      entry.resize.observe(entry.root);
    }
    // Keys held down choose many heads a second; Python hears of the last one.
    entry.tell = (selection) => {
      lasting.set(entry.key, { selection, n: entry.n, record: entry.records });
      clearTimeout(entry.telling);
      entry.telling = setTimeout(() => setStateValue("selection", { ...selection, n: entry.n }), TOLD_AFTER);
    };
    show(entry, data);
  }

  function show(entry, data) {
    const wanted = data.records.map((id) => records.get(id));
    if (wanted.some((record) => !record)) {
      entry.waiting = data;
      return;
    }
    entry.waiting = null;
    entry.records = data.records.join();
    const started = performance.now();
    const kind = data.mode === "compare" ? Compare : Explore;
    if (!(entry.view instanceof kind)) {
      entry.root.replaceChildren();
      entry.view = new kind(entry.root, (selection) => entry.tell(selection));
    }
    const subject = data.mode === "compare" ? wanted : wanted[0];
    receive(wanted, data);
    const fresh = entry.view.record !== wanted[0] || entry.n === undefined;
    entry.view.open(subject, data);
    if (data.n !== entry.n || fresh) {
      const last = lasting.get(entry.key);
      const resume = entry.n === undefined && last && last.n === data.n && last.record === entry.records;
      entry.n = data.n;
      entry.view.move(resume ? last.selection : data.selection);
    }
    dress(entry);
    entry.view.drawAll();
    performance.mark("headscope:draw");
    const drawn = performance.now();
    entry.root.dataset.drawnMs = (drawn - started).toFixed(1);
    if (fresh) entry.root.dataset.arrivedMs = (drawn - Math.max(...wanted.map((record) => record.arrived))).toFixed(1);
    entry.root.dataset.record = entry.records;
  }

  // Long texts: the chosen head in full and the pinned row's links come with the view.
  function receive(wanted, data) {
    for (const part of data.opened ?? []) {
      const matrix = data[part.column];
      if (matrix) keepOpened(wanted[part.record], part.head, column(matrix));
    }
    if (data.moves) data.moves.cells = column(data.move_cells);
    if (data.links) {
      const { pins, to, k, scale } = data.links;
      wanted[0].links = { pins, to, k, scale, index: column(data.link_index), weight: column(data.link_weight), toward: to === null ? null : column(data.link_toward) };
    }
  }

  function dress(entry) {
    const paint = readTheme(entry.root);
    if (entry.view.paint?.key === paint.key) return;
    entry.view.paint = paint;
    wear(entry.root, paint);
  }

  function redraw(entry) {
    const width = entry.root.clientWidth;
    if (!entry.view || !width || width === entry.width) return;
    entry.width = width;
    dress(entry);
    entry.view.drawAll();
  }

  function unmount(parentElement) {
    const entry = mounted.get(parentElement);
    entry?.resize.disconnect();
    mounted.delete(parentElement);
  }

  // S saves the picture under the pointer as it stands, with what is pointed at.
  document.addEventListener("keydown", (event) => {
    const typing = event.composedPath().some((node) => node.matches?.("input, textarea, select, [contenteditable=true]"));
    if (event.key !== "s" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    for (const entry of mounted.values()) if (entry.root.matches(":hover")) entry.view?.menu.run(() => entry.view.saveSvg(), false);
  });

  async function useFonts(faces) {
    for (const { bytes, range } of faces) {
      const face = new FontFace("HeadScope", bytes, { weight: "400 650", unicodeRange: range });
      fonts.push({ bytes, range });
      document.fonts.add(await face.load());
    }
    for (const entry of mounted.values()) if (entry.view) entry.view.drawAll();
  }

  // The font inside a picture: an image may not use the page's.
  function fontStyle() {
    const rules = fonts.map(({ bytes, range }) => {
      let binary = "";
      for (const byte of new Uint8Array(bytes)) binary += String.fromCharCode(byte);
      return `@font-face{font-family:HeadScope;font-weight:400 650;unicode-range:${range};src:url(data:font/woff2;base64,${btoa(binary)})}`;
    });
    return rules.length ? `<style>${rules.join("")}</style>` : "";
  }

  return { keep, mount, unmount, useFonts, fontStyle, records };
}
