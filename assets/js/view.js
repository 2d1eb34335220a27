// The door: records arrive once, views mount and update, fonts are handed to the page. One per browser tab.
import { column } from "./column.js";
import { Compare } from "./compare.js";
import { make } from "./dom.js";
import { chosenIn, headInLink } from "./files.js";
import { linkChosen } from "./history.js";
import { Experiment } from "./experiment.js";
import { Explore } from "./explore.js";
import { keepOpened, openRecord } from "./record.js";
import { unsealed } from "./sealed.js";
import { isBehind, leaves, menuLink, onceSeen, opensFiles, whenCaughtUp } from "./telling.js";
import { applyTheme, readTheme } from "./theme.js";

const KEPT = 8;
const KINDS = { compare: Compare, experiment: Experiment };
// Milliseconds of rest. Keys held down choose many heads a second: the address says the last one, and so does Python.
// Where the picture needs nothing of Python, it hears once what it writes below the picture is on the screen, or once the
// reader goes on outside of the picture: the links of the menu take along what is chosen.
const LINK_AFTER = 40;
const TELL_AFTER = 300;

export class Headscope {
  constructor(css) {
    this.css = css;
    this.records = new Map();
    this.mounted = new Map();
    this.lasting = new Map();
    this.fonts = [];
    document.addEventListener("keydown", (event) => this.pressed(event));
    for (const kind of ["pointerdown", "keydown", "focusin", "pointerover"]) document.addEventListener(kind, (event) => this.elsewhere(event), true);
    document.addEventListener("click", (event) => this.follow(event), true);
    globalThis.addEventListener?.("resize", () => this.mounted.forEach((entry) => this.redraw(entry)));
  }

  // What the mounts of the app get: a record, sealed, and a view, whose numbers are beside all else.
  async open({ data }) {
    this.keep(await unsealed(data));
  }

  take(component) {
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

  mount({ data, key, parentElement, setStateValue, setTriggerValue }) {
    let entry = this.mounted.get(parentElement);
    if (!entry) {
      entry = { key, root: make("div", { class: "headscope" }) };
      parentElement.append(make("style", { text: this.css }), entry.root);
      this.mounted.set(parentElement, entry);
      entry.resize = new ResizeObserver(() => this.redraw(entry));
      entry.resize.observe(entry.root);
    }
    entry.tell = (selection, more = {}) => setStateValue("selection", { ...selection, n: entry.n, ...more });
    const then = (act) => {
      this.tell(entry);
      act();
    };
    entry.ask = (asked) => then(() => setTriggerValue("ask", asked));
    entry.retype = (word) => then(() => setTriggerValue?.("retype", word));
    entry.measure = (key) => then(() => setTriggerValue?.("measure", key));
    this.show(entry, data);
  }

  emit(entry, selection) {
    this.lasting.set(entry.key, { selection, n: entry.n, record: entry.records });
    this.forget(entry);
    entry.untold = selection;
    const head = headInLink(entry.view.record, selection.head, location.href);
    const said = head && chosenIn(selection, head);
    entry.said = said;
    const link = () => linkChosen(history, location.href, { ...said, ...selection.look });
    if (this.live !== false && said) entry.linking = setTimeout(link, LINK_AFTER);
    if (said && entry.view.complete) entry.watching = onceSeen((first) => this.tellAfter(entry, first ? TELL_AFTER : LINK_AFTER));
    else this.tellAfter(entry, LINK_AFTER);
  }

  tellAfter(entry, rest) {
    clearTimeout(entry.telling);
    entry.telling = setTimeout(() => this.tell(entry), rest);
  }

  // Whatever else the reader does goes to Python after it.
  tell(entry) {
    const { untold } = entry;
    this.forget(entry);
    if (untold) entry.tell(untold);
  }

  forget(entry) {
    clearTimeout(entry.linking);
    clearTimeout(entry.telling);
    entry.watching?.disconnect();
    entry.untold = null;
  }

  // A link of the menu takes along what is chosen once Python has drawn it anew. A finger, or a quick hand, is there
  // before: then it is followed as soon as it does.
  follow(event) {
    const link = menuLink(event);
    const entry = link && [...this.mounted.values()].find(({ said }) => said && isBehind(link, said));
    if (!entry || event.isTrusted === false) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.tell(entry);
    whenCaughtUp(link, entry.said, () => link.click());
  }

  // Whether Python has yet to hear of something.
  get untold() {
    return [...this.mounted.values()].some((entry) => entry.untold);
  }

  show(entry, data) {
    const wanted = data.records.map((id) => this.records.get(id));
    if (wanted.some((record) => !record)) {
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
      entry.view = new kind(entry.root, (selection) => this.emit(entry, selection), (asked) => entry.ask(asked), (key) => entry.measure(key), (word) => entry.retype(word));
    }
    const subject = data.mode === "compare" ? wanted : wanted[0];
    this.receive(wanted, data);
    const before = entry.view.record;
    const fresh = before !== wanted[0] || entry.n === undefined;
    entry.view.open(subject, data);
    if (data.n !== entry.n || fresh) {
      const last = this.lasting.get(entry.key);
      const resume = entry.n === undefined && last && last.n === data.n && last.record === entry.records;
      if (!entry.untold) entry.said = null;
      entry.n = data.n;
      // What was chosen while Python drew the same text anew, as it does once the heads' roles are known, is told yet.
      if (!entry.untold || !sameText(before, wanted[0])) this.forget(entry);
      entry.view.move(entry.untold ?? (resume ? last.selection : data.selection));
    }
    this.draw(entry, fresh);
    performance.mark("headscope:draw");
    const drawn = performance.now();
    entry.root.dataset.drawnMs = (drawn - started).toFixed(1);
    if (fresh && wanted.length) entry.root.dataset.arrivedMs = (drawn - Math.max(...wanted.map((record) => record.arrived))).toFixed(1);
    entry.root.dataset.record = entry.records;
  }

  // Long texts: the chosen head in full and the pinned row's links come with the view.
  receive(wanted, data) {
    for (const part of data.opened ?? []) {
      const matrix = data[part.column];
      if (matrix) keepOpened(wanted[part.record], part.head, column(matrix));
    }
    Object.assign(wanted[0] ?? {}, data.files);
    if (data.ghost) data.ghost.record = this.records.get(data.ghost.of);
    if (data.moves) data.moves.cells = column(data.move_cells);
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
    if (entry) this.forget(entry);
    entry?.view?.next?.fill(null);
    this.mounted.delete(parentElement);
  }

  // Who goes on outside of a picture finds it told. Who opens its menu of files is brought the numbers for them.
  elsewhere(event) {
    for (const entry of this.mounted.values()) {
      if (entry.untold && leaves(event, entry.root)) this.tell(entry);
      if (opensFiles(event, entry.root)) this.bringFiles(entry);
    }
  }

  bringFiles(entry) {
    const wanted = `${entry.n} ${entry.view?.state.head}`;
    if (this.live === false || !entry.view?.filesMissing || entry.files === wanted) return;
    this.forget(entry);
    entry.files = wanted;
    entry.tell(entry.view.chosen, { files: true });
  }

  // S saves the picture under the pointer as it stands, with what is pointed at.
  pressed(event) {
    const typing = event.composedPath().some((node) => node.matches?.("input, textarea, select, [contenteditable]"));
    if (event.key !== "s" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    for (const entry of this.mounted.values()) if (entry.root.matches(":hover")) entry.view?.menu?.run(() => entry.view.saveSvg(), false);
  }

  async useFonts(faces) {
    for (const { bytes, range } of faces) {
      const face = new FontFace("HeadScope", bytes, { weight: "400 650", unicodeRange: range });
      this.fonts.push({ bytes, range });
      document.fonts.add(await face.load());
    }
    for (const entry of this.mounted.values()) if (entry.view) this.draw(entry, true);
  }

  // The font inside a picture: an image may not use the page's.
  fontStyle() {
    const rules = this.fonts.map(({ bytes, range }) => {
      let binary = "";
      for (const byte of new Uint8Array(bytes)) binary += String.fromCharCode(byte);
      return `@font-face{font-family:HeadScope;font-weight:400 650;unicode-range:${range};src:url(data:font/woff2;base64,${btoa(binary)})}`;
    });
    return rules.length ? `<style>${rules.join("")}</style>` : "";
  }
}

const sameText = (a, b) => a?.title === b?.title && a?.model === b?.model && a?.n === b?.n && a?.words === b?.words;
