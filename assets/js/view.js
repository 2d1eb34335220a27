// The door: records arrive once, views mount and update, fonts are handed to the page. One per browser tab.
import { headInLink } from "./address.js";
import { column } from "./column.js";
import { Compare } from "./compare.js";
import { make } from "./dom.js";
import { Experiment } from "./experiment.js";
import { Explore } from "./explore.js";
import { keepOpened, openRecord } from "./record.js";
import { retyped } from "./retype.js";
import { decodeRecord } from "./sealed.js";
import { applyTheme, readTheme } from "./theme.js";
import { headName } from "./words.js";

const KEPT = 8;
const KINDS = { compare: Compare, experiment: Experiment };
// Another link is another question.
const NOT_ASKED = { why: "", without: "" };
const SHOWN = ["least", "sort", "between", "rank", "scale"];

export class Headscope {
  // address: where what is chosen stands; nothing in a page that stands alone.
  constructor(css, address = null) {
    this.css = css;
    this.address = address;
    this.records = new Map();
    this.mounted = new Map();
    // Words are measured in the typeface, which may come after them.
    document.fonts?.addEventListener("loadingdone", () => this.mounted.forEach((entry) => entry.view && this.draw(entry, true)));
    globalThis.addEventListener?.("resize", () => this.mounted.forEach((entry) => this.redraw(entry)));
  }

  // What the mounts of the app get: a record, sealed, and a view, whose numbers are beside all else.
  async open({ data }) {
    this.keep(await decodeRecord(data));
  }

  mountPacked(component) {
    const { rest, ...columns } = component.data;
    this.mount({ ...component, data: { ...rest, ...columns } });
  }

  keep(data) {
    if (!this.records.has(data.id)) {
      performance.mark("headscope:data");
      const opened = data.kind === "change" ? { ...data, cells: column(data.weights) } : openRecord(data);
      this.records.set(data.id, { ...opened, arrived: performance.now() });
    }
    const record = this.records.get(data.id);
    this.records.delete(data.id);
    this.records.set(data.id, record);
    while (this.records.size > KEPT) this.records.delete(this.records.keys().next().value);
    for (const entry of this.mounted.values()) if (entry.waiting) this.show(entry, entry.waiting);
    return record;
  }

  mount({ data, key, parentElement, setTriggerValue }) {
    let entry = this.mounted.get(parentElement);
    if (!entry) {
      entry = { key, root: make("div", { class: "headscope" }) };
      parentElement.append(make("style", { text: this.css }), entry.root);
      this.mounted.set(parentElement, entry);
      entry.resize = new ResizeObserver(() => this.redraw(entry));
      entry.resize.observe(entry.root);
    }
    entry.ask = (asked) => {
      this.address?.write();
      setTriggerValue("ask", asked);
    };
    this.show(entry, data);
  }

  // What is chosen goes into the address, in the words that the server would use.
  emit(entry, selection) {
    if (!this.address) return;
    const shown = Object.fromEntries(SHOWN.map((key) => [key, selection.look?.[key]]));
    const head = headName(headInLink(entry.view.record, selection.head, location.href));
    const { pins, to } = selection;
    this.address.look({ ...shown, head, pin: pins.join() || "none", to: to === null ? "" : String(to), ...(entry.view.asksWhy ? {} : NOT_ASKED) }, !entry.view.complete);
  }

  retype(entry, change) {
    const now = Object.fromEntries(new URL(location.href).searchParams);
    const to = retyped(entry.typed, change, now);
    if (to) this.address?.go(to);
  }

  show(entry, data) {
    const wanted = data.records.map((id) => this.records.get(id));
    if (wanted.some((record) => !record) || (data.first && !this.records.has(data.first.of))) {
      entry.waiting = data;
      return;
    }
    entry.waiting = null;
    entry.records = data.records.join();
    const started = performance.now();
    const kind = KINDS[data.mode] ?? Explore;
    if (!(entry.view instanceof kind)) {
      entry.root.replaceChildren();
      entry.root.dataset.mode = data.mode ?? "explore";
      const measure = (key) => this.address?.look({ measure: key === "raw" ? "" : key, ...NOT_ASKED }, true);
      entry.view = new kind(entry.root, (selection) => this.emit(entry, selection), (asked) => entry.ask(asked), measure, (change) => this.retype(entry, change), (changes) => this.address?.go(changes));
    }
    const subject = data.mode === "compare" ? wanted : wanted[0];
    this.receive(wanted, data);
    const fresh = entry.view.record !== wanted[0];
    entry.typed = data.typed ?? null;
    entry.view.open(subject, data);
    if (data.selection) this.choose(entry, data, fresh);
    this.draw(entry, fresh);
    performance.mark("headscope:draw");
    const drawn = performance.now();
    entry.root.dataset.drawnMs = (drawn - started).toFixed(1);
    if (fresh && wanted.length) entry.root.dataset.arrivedMs = (drawn - Math.max(...wanted.map((record) => record.arrived))).toFixed(1);
    entry.root.dataset.record = entry.records;
  }

  // What the address asked for, as the server found it in this record. Where the reader has gone on meanwhile, what is
  // chosen is the reader's; a page that stands alone opens with it once.
  choose(entry, data, fresh) {
    const ours = this.address && data.asked ? this.address.settle(data.asked) : fresh;
    if (ours) entry.view.move(data.selection);
    else if (fresh) entry.view.move(entry.view.chosen);
    if (!ours || !Object.keys(data.moved ?? {}).length) return;
    this.address.write(data.moved);
    this.address.tell();
  }

  // Long texts: the chosen head in full and the pinned row's links come with the view.
  receive(wanted, data) {
    for (const part of data.opened ?? []) {
      const matrix = data[part.column];
      if (matrix) keepOpened(wanted[part.record], part.head, column(matrix));
    }
    for (const other of [data.ghost, data.first]) if (other) other.record = this.records.get(other.of);
    if (data.links) {
      const { pins, to, k } = data.links;
      wanted[0].links = { pins, to, k, index: column(data.link_index), weight: column(data.link_weight), toward: to === null ? null : column(data.link_toward) };
    }
  }

  // Where the words stand is read before the theme is: either makes the browser lay the page out, and once is enough.
  // anew: the record, the size or the typeface is another one, so that nothing stands where it stood.
  draw(entry, anew) {
    entry.view.place?.(anew);
    const repainted = this.repaint(entry);
    entry.view.drawAll(anew || repainted);
  }

  repaint(entry) {
    const paint = readTheme(entry.root);
    if (entry.view.paint?.key === paint.key) return false;
    entry.view.paint = paint;
    applyTheme(entry.root, paint);
    return true;
  }

  redraw(entry) {
    const width = entry.root.clientWidth;
    // Where the picture fills the screen, the screen's height counts as well.
    const size = entry.view?.present ? `${width} ${innerHeight}` : String(width);
    if (!entry.view || !width || size === entry.size) return;
    entry.size = size;
    this.draw(entry, true);
  }

  unmount(parentElement) {
    const entry = this.mounted.get(parentElement);
    entry?.resize.disconnect();
    entry?.view?.left?.();
    this.mounted.delete(parentElement);
  }
}
