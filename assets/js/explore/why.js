// Why does a head look there? A button at the finding and at every row of the ranking; the answer, which Python gives:
// the largest parts of each side of the link's score, an arc for each head among them, and the way back from head to head.
import { make, write } from "../dom.js";
import { meanRow, strongest } from "../numbers.js";
import { announceOnce } from "../parts.js";
import { hasChoice, noneSees } from "../visibility.js";
import { headName } from "../words.js";
import { isAbout } from "./look.js";

const LEAVES_OUT =
  "Each side is the whole score above the mean of all keys, split another way. A part is no cause: “Without it” removes it. LayerNorm is held fixed, and an MLP is one part.";

export function whyButton(view) {
  view.whyButton = make("button", { type: "button", class: "ask", text: "Why?", "aria-expanded": "false", onclick: () => (answered(view) ? close(view) : ask(view)) });
  return view.whyButton;
}

export function whyPanel(view) {
  view.way = make("ol", { class: "way", "aria-label": "The way back" });
  view.whySaid = make("p", { class: "reason" });
  view.whyTokens = make("p", { class: "caption" });
  view.whySides = make("div", { class: "sides" });
  const leavesOut = make("details", { class: "info" }, make("summary", { "aria-label": "What this leaves out", text: "i" }), make("p", { class: "caption", text: LEAVES_OUT }));
  const shut = make("button", { type: "button", class: "plain", text: "Close", onclick: () => close(view) });
  view.whyPanel = make("section", { class: "why", "aria-label": "Why?", tabindex: -1, hidden: true }, view.way, view.whySaid, view.whyTokens, view.whySides, make("div", { class: "last" }, leavesOut, shut));
  return view.whyPanel;
}

// The answer is shown for as long as its link is chosen.
export const answered = (view) => Boolean(view.why?.of && isAbout(view.why, view.state));

// The link that the sentence draws first: from one word to the one that is chosen, or else where it looks most.
function linkNow(view) {
  const { record, state, matrixNow } = view;
  if (!view.why || view.present || state.pins.length !== 1 || !matrixNow) return null;
  const [from] = state.pins;
  const to = state.to ?? strongest(meanRow(matrixNow, record.n, [from]), 1)[0]?.to ?? null;
  return to === null || !hasChoice(record, from) || noneSees(record, [from], to) ? null : { from, to };
}

// Ask about the chosen link, or about that of a row of the ranking.
export function ask(view, head = view.state.head, to = linkNow(view)?.to) {
  const [from] = view.state.pins;
  go(view, { head: headName(head), pin: String(from), to: String(to), why: `${headName(head)}.${from}.${to}`, without: "" });
}

// A step of the history, for which the page is run; the picture shows its link at once.
function go(view, params) {
  view.asking = true;
  const head = params.head.split("-").map((part) => Number(part) - 1);
  view.select({ head, pins: [Number(params.pin)], to: Number(params.to) }, true);
  view.go(params);
}

function close(view) {
  view.why = { of: null };
  view.go({ why: "", without: "" });
  view.update(false);
  view.whyButton.focus();
}

export function drawWhy(view) {
  const [open, link] = [answered(view), linkNow(view)];
  const waits = Boolean(view.asking);
  view.whyButton.hidden = !link;
  view.whyButton.setAttribute("aria-expanded", String(open));
  view.whyPanel.hidden = !open && !waits;
  view.whyPanel.setAttribute("aria-busy", String(waits));
  if (!open) {
    view.whyShown = null;
    for (const part of [view.way, view.whySides]) part.replaceChildren();
    announceOnce(view.whySaid, waits ? "Splitting the score …" : "");
    return write(view.whyTokens, "");
  }
  const { way, said, tokens, sides, asked } = view.why;
  const form = JSON.stringify([asked, sides]);
  if (view.whyShown === form) return;
  const came = view.whyAsked !== asked;
  Object.assign(view, { whyShown: form, whyAsked: asked });
  view.way.hidden = way.length < 2;
  view.way.replaceChildren(...way.map((step, i) => make("li", {}, i < way.length - 1 ? press(view, step.name, step.go, `Back to ${step.name}`) : make("b", { text: step.name, "aria-current": "step" }))));
  announceOnce(view.whySaid, said);
  write(view.whyTokens, tokens);
  view.whyTokens.hidden = !tokens;
  const parts = partsOf(view);
  const most = Math.max(...parts.map((part) => Math.abs(part.score)));
  view.whySides.replaceChildren(...sides.map((side) => sideColumn(view, side, most)));
  const news = came ? said : (parts.find((part) => part.without?.said)?.without.said ?? said);
  view.live.textContent = news.replace(/[“”]/g, "");
  view.whyArrives = view.asked;
}

const press = (view, text, params, label) => make("button", { type: "button", text, "aria-label": label && `${text}. ${label}`, title: label, onclick: () => go(view, params) });

const partsOf = (view) => view.why.sides.flatMap((side) => side.parts);

// One side of the score; all bars of the answer share one scale.
function sideColumn(view, { title, note, parts }, most) {
  const list = make("ol", { class: "reasons", "aria-label": title }, ...parts.map((part) => partRow(view, part, Math.abs(part.score) / most)));
  return make("div", {}, make("p", { class: "title", text: title }), list, note ? make("p", { class: "caption", text: note }) : null);
}

function partRow(view, { name, score, number, looks, go: to, does, without }, share) {
  const bar = make("span", { class: score < 0 ? "bar less" : "bar" });
  bar.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  const who = to ? press(view, name, to, does) : make("span", { text: name });
  const measure = () => {
    view.asking = true;
    view.go({ without: without.asks });
  };
  const asks = without?.asks ? make("button", { type: "button", class: "plain", text: "Without it", "aria-label": `Without ${name}`, onclick: measure }) : null;
  const cause = without?.said ? make("p", { class: "cause", text: without.said }) : null;
  const line = make("div", { class: "line" }, make("span", { class: "who" }, who), bar, make("span", { class: "number", text: number }), looks ? make("span", { class: "looks", text: looks }) : null, asks);
  return make("li", {}, line, cause);
}

// After a press what came is read from its beginning; where it was pressed far below, it comes into sight.
export function reachWhy(view) {
  if (!view.whyArrives) return;
  view.whyArrives = false;
  const [arc] = reasonArcs(view);
  if (arc) view.sentence.reveal(arc.from, arc.to);
  if (view.root.getRootNode().activeElement === view.whyButton) return;
  view.whyPanel.focus({ preventScroll: true });
  view.whyPanel.scrollIntoView({ block: "nearest" });
}

// What each head among the parts looked at: an arc with its name; heads that look from the same word to the same are one.
export function reasonArcs(view) {
  if (!answered(view)) return [];
  const arcs = new Map();
  for (const { name, link } of partsOf(view)) {
    if (!link) continue;
    const [from, to, weight] = link;
    const key = `${from} ${to}`;
    const there = arcs.get(key);
    arcs.set(key, { from, to, weight: Math.max(weight, there?.weight ?? 0), names: [...(there?.names ?? []), name] });
  }
  return [...arcs.values()].map(({ names, ...arc }) => ({ ...arc, label: names.join(", ") }));
}
