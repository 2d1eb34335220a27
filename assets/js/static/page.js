// The page that needs no server: what the address asks for is computed in a worker and drawn by the app's own picture.
import { Address, changed } from "../address.js";
import { alone } from "../alone.js";
import { make } from "../dom.js";
import { bytesOf, decodeArrays } from "../portable.js";
import { placeName } from "../record.js";
import { Headscope } from "../view.js";
import { align, changeBetween, wordsBetween } from "./align.js";
import { Engine } from "./engine.js";
import { changedMost, chosen, moved, strongest } from "./opening.js";
import { offerNext } from "./next.js";
import { idOf, recordOf, spotsOf } from "./payload.js";
import { offerFiles } from "./save.js";

const READY = "Change one word: click the marked word of B and type another.";
const HEADINGS = { explore: "Where does each attention head look?", compare: "What changes when you change one word?" };
const LONG = 150; // tokens: of longer texts only the last one is kept
const at = (id) => document.getElementById(id);
const button = (text, onclick) => make("button", { type: "button", text, onclick });
const alike = (a, b) => { // but for one word
  const { old, new: now } = changeBetween(a.split(" "), b.split(" ")) ?? {};
  return old === 1 && now === 1;
};

class Page {
  // data: what mha_core/draw/static_site/page.py wrote into the page.
  constructor(data) {
    this.data = data;
    this.first = { model: data.first, unit: "pieces", specials: "shown", text: data.texts[0] };
    this.address = new Address();
    this.headscope = globalThis.headscope = new Headscope(data.css, this.address);
    this.picture = at("picture").appendChild(make("div")).attachShadow({ mode: "open" }).appendChild(make("div"));
    this.turn = 0;
    this.stop = button("Stop", () => this.engine.stop());
    const source = at("worker")?.textContent;
    const start = () => new Worker(source ? URL.createObjectURL(new Blob([source], { type: "text/javascript" })) : "worker.js");
    const runs = data.runs.map((run) => ({ ...run, weights: Float32Array.from(decodeArrays(run).weights.getChildAt(0).toArray(), (step) => step / 65535) }));
    const files = data.files && Object.fromEntries(Object.entries(data.files).map(([name, content]) => [name, bytesOf(content)]));
    this.engine = new Engine(start, { runs, files }, (share, key) => key === this.awaited?.key && this.loading(share));
    this.listen();
    this.show().then(() => this.prepare());
    if (!source) navigator.serviceWorker?.register("sw.js").catch(() => {});
  }

  listen() {
    const several = this.data.texts.filter((text, i, all) => !all.slice(0, i).some((other) => alike(text, other)));
    const example = (text) => make("a", { href: `?${new URLSearchParams({ text, text2: "", pin: "", to: "", head: "" })}`, "data-carries": "*", text: `${text.split(" ").slice(0, 3).join(" ")} …` });
    at("examples").append("Try: ", ...several.map(example));
    at("examples").hidden = several.length < 2;
    for (const key of ["text", "text2"]) at(key).onchange = ({ target: { value } }) => (value.trim() ? this.address.go({ [key]: value, pair: "" }) : this.say("The sentence is empty. Type a word."));
    for (const key of ["model", "unit", "specials"]) at(key).onchange = ({ target: { value } }) => this.address.go({ [key]: value === this.first[key] ? "" : value });
    at("temperature").oninput = ({ target: { value } }) => {
      this.address.write({ temperature: Number(value) === 1 ? "" : value });
      this.predict();
    };
    const menu = at("options");
    addEventListener("pointerdown", ({ target }) => menu.contains(target) || (menu.open = false));
    menu.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !menu.contains(relatedTarget) && (menu.open = false));
    menu.onkeydown = ({ key }) => {
      if (key !== "Escape") return;
      menu.open = false;
      menu.firstElementChild.focus();
    };
    at("form").onsubmit = (event) => event.preventDefault();
    addEventListener("popstate", () => this.show());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
  }

  // What this browser can have without being asked comes now, so that the next sentence needs no network. A decoder takes
  // more memory than it may never be asked for.
  async prepare() {
    const unasked = Object.values(this.data.models).filter((model) => !model.megabytes || (this.isKept(model) && !model.causal));
    await Promise.all(unasked.map(({ key }) => this.engine.load(key))).catch(() => {});
    if (!this.awaited) this.show();
  }

  // ---- what is said above the picture, with the buttons to go on
  say(text, ...buttons) {
    at("status").replaceChildren(text, ...buttons);
  }

  loading(share) {
    const { title } = this.awaited;
    this.say(share < 1 ? `Loading ${title}: ${Math.floor(100 * share)}%` : `Starting ${title} …`, this.stop);
  }

  // Whether this browser has loaded a model before; `now`: it has. One that keeps nothing has not.
  isKept({ key }, now = false) {
    try {
      if (now) localStorage.setItem(`headscope-${key}`, "1");
      return localStorage.getItem(`headscope-${key}`) === "1";
    } catch {
      return false;
    }
  }

  // A large model comes when it is asked for, at the next visit without being asked.
  offer(model) {
    if (!model.megabytes || this.engine.ready.has(model.key)) return [];
    const others = Object.values(this.data.models).filter((other) => !other.megabytes);
    return [button(`Load ${model.title}, ${model.megabytes} MB`, () => this.load(model)), ...others.map((other) => button("Use the toy model", () => this.address.go({ model: other.name })))];
  }

  async load(model) {
    this.awaited = model;
    this.loading(0);
    try {
      await this.engine.load(model.key);
      this.isKept(model, true);
      this.show();
    } catch (error) {
      this.say(error.message, ...this.offer(model));
    }
  }

  // ---- what the address asks for
  get asked() {
    const params = Object.fromEntries([...new URL(location.href).searchParams].map(([key, value]) => [key, value.replaceAll("↵", "\n")]));
    const value = (key, options) => (options.includes(params[key]) ? params[key] : this.first[key]);
    const text = (params.text ?? this.first.text) + (params.pair ? ` [SEP] ${params.pair}` : "");
    const twin = this.data.texts.find((other) => other !== text && alike(text, other));
    const compare = Boolean(params.against || params.text2);
    const text2 = params.text2 ?? twin ?? text;
    const model = this.data.models[value("model", Object.keys(this.data.models))];
    const said = params.model && params.model !== model.name ? [`This page has no model “${params.model.slice(0, 40)}”. Showing ${model.title}.`] : [];
    if (params.weights === "untrained" || (params.measure ?? "raw") !== "raw" || params.model2) said.push("This page draws raw attention of one trained model only.");
    return { params, compare, twin, text, text2, texts: compare ? [text, text2] : [text], model, said, unit: value("unit", ["pieces", "words"]), specials: value("specials", ["shown", "hidden", "renormalised"]) };
  }

  fill({ compare, text, text2, model, unit, specials }) {
    const name = compare ? "compare" : "explore";
    at("heading").textContent = HEADINGS[name];
    for (const link of at("pages").querySelectorAll("a")) link.dataset.page === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    const filled = { text, text2, model: model.name, unit, specials };
    for (const [key, value] of Object.entries(filled)) if (value !== this.filled?.[key]) at(key).value = value.replaceAll("\n", "↵"); // not over what is being typed
    this.filled = filled;
    at("first").textContent = compare ? "Sentence A" : "Your sentence";
    at("second").hidden = !compare;
    at("chosen").textContent = model.title;
    at("vocabulary").hidden = !model.words;
    at("known").textContent = model.words;
  }

  async show() {
    const turn = ++this.turn;
    const asked = this.asked;
    const { model, texts } = asked;
    this.fill(asked);
    const missing = texts.some((text) => !this.engine.known(model.key, text));
    const absent = missing && model.megabytes && !this.engine.ready.has(model.key);
    this.awaited = missing ? model : null;
    if (absent && !this.isKept(model)) return this.say(`${this.data.runs.some((run) => run.model === model.key) ? "Your own sentences need" : "This needs"} ${model.title} in this browser.`, ...this.offer(model));
    if (absent) this.loading(0);
    else if (missing) this.say("Computing …", this.stop);
    await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
    try {
      const runs = await Promise.all(texts.map((text) => this.engine.run(model.key, text)));
      if (turn === this.turn) this.draw(asked, runs);
    } catch (error) {
      if (turn === this.turn) this.say(error.message, ...this.offer(model));
    }
  }

  // ---- the picture
  draw(asked, runs) {
    const { model, unit, specials, compare } = asked;
    this.awaited = null;
    for (const [id, { n }] of this.headscope.records) if (n > LONG && id !== this.shown?.id) this.headscope.records.delete(id);
    const records = runs.map((run) => this.headscope.records.get(idOf(run, model, unit, specials)) ?? this.headscope.keep(recordOf(run, model, unit, specials)));
    if (records.some(({ n }) => !n)) return this.say("Nothing is left without special tokens. Type a word.");
    const [a, b] = records;
    const change = this.follow(a, asked.params);
    const pairs = compare && align(a.labels, b.labels);
    const params = Object.fromEntries(new URL(location.href).searchParams);
    const { selection, said, found } = chosen(a, params, model.head, this.data.pronouns, compare ? changedMost(a, b, pairs) : strongest(a));
    const own = { records: records.map(({ id }) => id), typed: { texts: runs.map(({ text }) => [text, ""]), spots: records.map(spotsOf) }, asked: params, selection };
    const opening = found && !said.length ? { said: `Strongest link between two different words in ${placeName(a, selection.head)}, ignoring ${a.causal ? "the first token" : "special tokens"} and punctuation.`, of: selection } : null;
    const view = compare
      ? { ...own, mode: "compare", titles: [model.title, model.title], pairs, opened: [], ready: asked.text === asked.text2 ? READY : "" }
      : { ...own, mode: "explore", opening, ghost: this.ghost(a, change), twin: this.twin(asked) };
    this.headscope.mount({ data: view, key: "page", parentElement: this.picture, setTriggerValue() {} });
    const sides = compare ? ["A: ", "B: "] : [""];
    const notes = runs.flatMap((run, i) => unread(run, model).map((note) => sides[i] + note));
    const offered = this.offer(model);
    this.say([...asked.said, ...said, ...notes, ...(offered.length ? ["For your own sentences:"] : [])].join(" "), ...offered);
    this.predict(compare ? {} : runs[0], model);
    offerFiles(at("files"), { ...asked, records, runs, pairs, view: this.headscope.mounted.get(this.picture).view, data: this.data });
  }

  // The next token after a decoder's text, which grows by a press; the new token is then chosen in the picture.
  predict(run = this.run, model = this.model) {
    Object.assign(this, { run, model });
    const asked = Number(new URL(location.href).searchParams.get("temperature") ?? 1), warm = asked >= 0 && asked <= 1.5 ? asked : 1;
    const append = (spelling) => {
      if (this.awaited) return;
      this.appended = run.text + spelling;
      this.address.go({ text: this.appended, pair: "" });
    };
    offerNext(run, this.engine.ready.get(model.key), warm, run.pieces?.length >= model.most, append, (sign) => this.say(`The text ends here, with ${sign}.`));
  }

  // Another text or another cut: what is chosen moves along. Returns what changed since the text before; null if too much.
  follow(record, params) {
    const { shown } = this;
    if (shown && shown.title !== record.title) this.before = shown;
    const { before } = this;
    const same = before && before.model === record.model && before.words === record.words && before.specialsShown === record.specialsShown;
    const change = same && before.title !== record.title ? changeBetween(before.labels, record.labels) : null;
    if (record.text === this.appended) this.address.write({ pin: String(record.n - 1), to: "" });
    else if (shown && shown !== record && /\d/.test(params.pin)) this.address.write(moved(shown, record, change, params));
    this.appended = null;
    this.shown = record;
    return change;
  }

  ghost({ title }, change) {
    const compared = () => new URL(changed(location.href, { against: "sentence", text: this.before.title, text2: title, pin: "", to: "", head: "" })).search;
    return change && { of: this.before.id, change, words: wordsBetween(this.before.title, title), compare: compared() };
  }

  twin({ text, twin }) {
    return twin ? { said: `Change “${wordsBetween(text, twin).join("” to “")}”`, href: `?${new URLSearchParams({ text: twin })}` } : null;
  }
}

// Where the model did not read what was written (mha_core/heads/notices.py).
function unread({ cut, pieces }, { most, causal }) {
  const many = (n) => `${n} ${n === 1 ? "token is" : "tokens are"}`;
  const unknown = pieces.filter(({ text }) => text === "[UNK]").length;
  return [
    ...(cut ? [`The text was cut: ${causal ? "this page" : "the model"} reads ${most} tokens at most, so ${many(cut)} left out.`] : []),
    ...(unknown ? [`${many(unknown)} not in the model's vocabulary: the model sees only [UNK] there.`] : []),
  ];
}

const data = JSON.parse(at("data").textContent);
if (data.records) alone(data); // a page that was saved from this one (save.js)
else new Page(data);
