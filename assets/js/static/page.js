// The page that needs no server: what the address asks for is computed in a worker and drawn by the app's own picture.
import { Address, changed } from "../address.js";
import { make } from "../dom.js";
import { revived } from "../portable.js";
import { Headscope } from "../view.js";
import { placeName } from "../record.js";
import { align, changeBetween, wordsBetween } from "./align.js";
import { Engine } from "./engine.js";
import { changedMost, chosen, moved, strongest } from "./opening.js";
import { idOf, recordOf, spotsOf } from "./payload.js";
import { offerFiles } from "./save.js";

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const READY = "Change one word: click the marked word of B and type another.";
const HEADINGS = { explore: "Where does each attention head look?", compare: "What changes when you change one word?" };
const FIRST = { model: data.first, unit: "pieces", specials: "shown", text: data.texts[0] };
const address = new Address();
const headscope = new Headscope(data.css, address);
globalThis.headscope = headscope;
const source = at("worker");
const worker = () => new Worker(source ? URL.createObjectURL(new Blob([source.textContent], { type: "text/javascript" })) : "worker.js", { type: "module" });
const runs = data.runs.map((run) => ({ ...run, weights: Float32Array.from(revived(run).weights.getChildAt(0).toArray(), (step) => step / 65535) }));
const engine = new Engine(worker, runs, (share, model) => say(`Loading ${modelOf(model).title}: ${Math.round(100 * share)}%`, STOP));
const modelOf = (name) => data.models[name] ?? data.models[data.first];
let [turn, shown, before] = [0, null, null];

// ---- what is said above the picture, with the buttons to go on
const button = (text, onclick) => make("button", { type: "button", text, onclick });
const STOP = button("Stop", () => engine.stop());
const say = (text, ...buttons) => at("status").replaceChildren(text, ...buttons.flatMap((each) => [" ", each]));
const kept = (model) => localStorage.getItem(`headscope-${model}`);

// A large model comes when it is asked for, at the next visit from this browser.
function offer(model) {
  if (!model.megabytes || engine.ready.has(model.key)) return [];
  const load = async () => {
    say(`Loading ${model.title}: 0%`, STOP);
    await engine.load(model.key).then(() => localStorage.setItem(`headscope-${model.key}`, "1"), (error) => (offer.failed = error.message));
    show();
  };
  const others = Object.values(data.models).filter((other) => !other.megabytes);
  return [button(`Load ${model.title}, ${model.megabytes} MB`, load), ...others.map((other) => button(`Use ${other.title}`, () => address.go({ model: other.name })))];
}

// ---- what the address asks for
function asked() {
  const params = Object.fromEntries([...new URL(location.href).searchParams].map(([key, value]) => [key, value.replaceAll("↵", "\n")]));
  const value = (key, options) => (options.includes(params[key]) ? params[key] : FIRST[key]);
  const text = (params.text ?? FIRST.text) + (params.pair ? ` [SEP] ${params.pair}` : "");
  const twin = data.texts.find((other) => other !== text && changeBetween(text.split(" "), other.split(" "))?.new === 1);
  const compare = Boolean(params.against || params.text2);
  return {
    ...{ params, compare, twin, text, text2: params.text2 ?? twin ?? text },
    model: modelOf(value("model", Object.keys(data.models))),
    unit: value("unit", ["pieces", "words"]),
    specials: value("specials", ["shown", "hidden", "renormalised"]),
  };
}

function fill({ compare, text, text2, model, unit, specials }) {
  at("heading").textContent = HEADINGS[compare ? "compare" : "explore"];
  for (const link of at("pages").children) link.toggleAttribute("aria-current", link.dataset.page === (compare ? "compare" : "explore"));
  Object.entries({ text, text2, model: model.name, unit, specials }).forEach(([key, value]) => (at(key).value = value));
  at("second").hidden = !compare;
  at("chosen").textContent = model.title;
  at("vocabulary").hidden = !model.words;
  at("known").textContent = model.words;
}

async function show() {
  const mine = ++turn;
  const wanted = asked();
  const { model, text, text2, compare } = wanted;
  const texts = compare ? [text, text2] : [text];
  fill(wanted);
  const failed = offer.failed ?? "";
  offer.failed = "";
  const missing = texts.some((each) => !engine.known(model.key, each));
  if (missing && model.megabytes && !engine.ready.has(model.key) && (failed || !kept(model.key))) return say(`${failed} Your own sentences need ${model.title} in this browser.`.trim(), ...offer(model));
  say(missing ? "Computing …" : at("status").textContent && "Drawing …", ...(missing ? [STOP] : []));
  await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
  try {
    const found = await Promise.all(texts.map((each) => engine.run(model.key, each)));
    if (mine === turn) draw(wanted, found);
  } catch (error) {
    if (mine === turn) say(error.message);
  }
}

function draw(wanted, runs) {
  const { model, unit, specials, compare } = wanted;
  const records = runs.map((run) => headscope.records.get(idOf(run, model, unit, specials)) ?? headscope.keep(recordOf(run, model, unit, specials)));
  if (records.some((record) => !record.n)) return say("Nothing is left without special tokens. Type a word.");
  const [a, b] = records;
  const pairs = compare && align(a.labels, b.labels);
  if (shown?.title !== a.title) before = shown;
  const change = before && before.model === a.model && before.words === a.words && before.specialsShown === specials ? changeBetween(before.labels, a.labels) : null;
  if (shown && shown !== a && /\d/.test(wanted.params.pin)) address.write(moved(shown, a, shown === before ? change : null, wanted.params));
  shown = a;
  const params = Object.fromEntries(new URL(location.href).searchParams);
  const { selection, said, found } = chosen(a, params, model.head, compare ? changedMost(a, b, pairs) : strongest(a));
  const own = { typed: { texts: runs.map((run) => [run.text, ""]), spots: records.map(spotsOf) }, asked: address.looks, selection, present: false, records: records.map(({ id }) => id) };
  const link = (to) => new URL(changed(location.href, to)).search;
  const view = compare
    ? { ...own, mode: "compare", titles: [model.title, model.title], pairs, opened: [], ready: wanted.text === wanted.text2 ? READY : "" }
    : {
        ...own,
        mode: "explore",
        opening: found && !said.length ? { said: `Strongest link in ${placeName(a, selection.head)}.`, of: selection } : null,
        ghost: change && { of: before.id, change, words: wordsBetween(before.title, a.title), compare: link({ against: "sentence", text: before.title, text2: a.title, pin: "", to: "", head: "" }) },
        twin: wanted.twin && { said: "Change “" + wordsBetween(a.title, wanted.twin).join("” to “") + "”", href: `?${new URLSearchParams({ text: wanted.twin })}` },
      };
  headscope.mount({ data: view, key: "page", parentElement: at("picture"), setTriggerValue() {} });
  const sides = records.length > 1 ? ["A: ", "B: "] : [""];
  const notes = runs.flatMap((run, i) => unread(run, model).map((note) => sides[i] + note));
  say([...said, ...notes].join(" "), ...offer(model));
  offerFiles(at("files"), { ...wanted, records, runs, pairs, view: headscope.mounted.get(at("picture")).view, data });
}

// Where the model did not read what was written (mha_core/heads/notices.py).
function unread({ cut, pieces }, { most }) {
  const [many, unknown] = [(n) => `${n} ${n === 1 ? "token is" : "tokens are"}`, pieces.filter(({ text }) => text === "[UNK]").length];
  return [
    ...(cut ? [`The text was cut: the model reads ${most} tokens at most, so ${many(cut)} left out.`] : []),
    ...(unknown ? [`${many(unknown)} not in the model's vocabulary: the model sees only [UNK] there.`] : []),
  ];
}

// ---- what the reader types and chooses
for (const key of ["text", "text2"]) {
  at(key).onchange = ({ target: { value } }) => (value.trim() ? address.go({ [key]: value, pair: "" }) : say("The sentence is empty. Type a word."));
}
for (const key of ["model", "unit", "specials"]) at(key).onchange = ({ target: { value } }) => address.go({ [key]: value === FIRST[key] ? "" : value });
at("form").onsubmit = (event) => event.preventDefault();
addEventListener("popstate", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
show().then(() => kept(data.first) && engine.load(modelOf(data.first).key).then(show, () => {}));
if (!source) navigator.serviceWorker?.register("sw.js").catch(() => {});
