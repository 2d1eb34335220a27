// What the model would say next: the likeliest tokens with their probabilities, a click that takes one, going on by itself.
//
// data: {title, caption, note, rows: [{id, mark, text, p, stands, does}], places: [{value, label}], place,
//        pins: the words that it was asked for, talk: null | {running, turn, temperature, seed}}
// ask({do: "append", id} | {do: "place", value} | {do: "go", temperature, seed} | {do: "on", turn} | {do: "stop"})
import { make } from "./dom.js";
import { percent } from "./format.js";

export const PACE = 220; // ms that a reader sees a word before the next is asked for
const TENTH = 0.0005;

// A chance that is too small for its decimal is not called none.
export const chance = (p) => (p > 0 && p < TENTH ? "< 0.1 %" : percent(p));

export class NextWords {
  constructor(ask) {
    this.ask = ask;
    this.turn = null;
    this.stopping = false;
    this.title = make("h2", {});
    this.places = make("div", { class: "tabs", role: "group", "aria-label": "After which word" });
    this.start = make("button", { type: "button", class: "go", onclick: () => this.toggle() });
    this.temperature = make("input", { type: "range", min: 0, max: 1.5, step: 0.1, value: 0, oninput: () => this.drawChoice() });
    this.warmth = make("output", {});
    this.seed = make("input", { type: "number", min: 0, max: 9999, step: 1, value: 0, inputmode: "numeric" });
    this.seeded = make("label", {}, make("span", { text: "seed" }), this.seed);
    this.going = make("div", { class: "going" }, this.start, make("label", {}, make("span", { text: "temperature" }), this.temperature, this.warmth), this.seeded);
    this.list = make("ol", { class: "likeliest" });
    this.caption = make("p", { class: "caption" });
    this.note = make("p", { class: "said-on", role: "status" });
    this.root = make("section", { class: "next", hidden: true }, make("header", {}, this.title, this.places, this.going), this.list, this.note, this.caption);
    this.rows = [];
  }

  fill(data) {
    clearTimeout(this.timer);
    this.root.hidden = !data;
    this.pins = data?.pins.join();
    if (!data) return;
    this.root.setAttribute("aria-label", data.title);
    this.title.textContent = data.title;
    this.caption.textContent = data.caption;
    if (this.note.textContent !== data.note) this.note.textContent = data.note;
    this.fillPlaces(data);
    this.fillRows(data.rows);
    this.fillTalk(data.talk);
  }

  // Whether what it says is also that of these words.
  holds(pins) {
    return this.root.hidden || this.pins === pins.join();
  }

  fillPlaces({ places, place }) {
    this.places.hidden = places.length < 2;
    this.places.replaceChildren(
      ...places.map(({ value, label }) => make("button", { type: "button", text: label, "aria-pressed": String(value === place), onclick: () => this.ask({ do: "place", value }) })),
    );
  }

  // Rows stay where they are, so that the focus does: Enter again takes the likeliest again.
  fillRows(rows) {
    while (this.rows.length < rows.length) this.rows.push(this.row());
    if (this.list.children.length !== rows.length) this.list.replaceChildren(...this.rows.slice(0, rows.length).map((row) => row.item));
    rows.forEach((row, i) => drawRow(this.rows[i], row, () => this.ask({ do: "append", id: row.id })));
    this.list.style.setProperty("--half", Math.ceil(rows.length / 2));
  }

  row() {
    const [mark, text, stands, bar, share] = ["mark", "text", "stands", "bar", "share"].map((name) => make("span", { class: name }));
    const button = make("button", { type: "button" }, make("span", { class: "token" }, mark, text, stands), make("span", { class: "track" }, bar), share);
    return { item: make("li", {}, button), button, mark, text, stands, bar, share };
  }

  fillTalk(talk) {
    this.going.hidden = !talk;
    if (!talk) return;
    if (!talk.running) this.stopping = false;
    this.running = talk.running;
    if (this.turn === null) [this.temperature.value, this.seed.value] = [talk.temperature, talk.seed];
    this.drawChoice();
    if (this.running && !this.stopping) this.timer = setTimeout(() => this.ask({ do: "on", turn: talk.turn }), PACE);
    this.turn = talk.turn;
  }

  drawChoice() {
    const t = Number(this.temperature.value);
    this.start.textContent = this.running ? "Stop" : "Go on";
    this.start.setAttribute("aria-label", this.running ? "Stop going on" : "Go on word by word");
    this.warmth.textContent = t === 0 ? "0, the likeliest" : t.toFixed(1);
    this.temperature.disabled = this.seed.disabled = Boolean(this.running);
    this.seeded.hidden = t === 0;
  }

  toggle() {
    clearTimeout(this.timer);
    this.stopping = Boolean(this.running);
    const seed = Math.max(0, Math.trunc(Number(this.seed.value)) || 0);
    this.ask(this.running ? { do: "stop" } : { do: "go", temperature: Number(this.temperature.value), seed });
  }
}

function drawRow(nodes, row, take) {
  nodes.mark.textContent = row.mark;
  nodes.text.textContent = row.text;
  nodes.stands.textContent = row.stands ? "in the text" : "";
  nodes.share.textContent = chance(row.p);
  nodes.bar.style.width = `${(row.p * 100).toFixed(2)}%`;
  nodes.button.setAttribute("aria-label", `${row.does}, ${chance(row.p)}`);
  nodes.button.onclick = take;
}
