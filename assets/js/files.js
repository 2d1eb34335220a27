// What every saved file says of itself: which text and model, which head or layer, what is drawn, and the link to it.
import { wrapped } from "./parts.js";
import { STEPS } from "./numbers.js";
import { exactOf, kindOf, matrixOf } from "./record.js";
import { css } from "./colour.js";
import { say } from "./svg.js";

const LINK_AT_MOST = 900; // characters of a link that is printed in a picture; its description has it whole
const WAIT = 8000;

// "head 4-2", "layer 4", "all layers": as Python names it.
export function placeName(record, head) {
  const short = kindOf(record).short(head);
  return (record.per ?? "head") === "head" ? `head ${short}` : short;
}

// Layer and head as columns of a file: empty where they are mixed.
export const placeCells = (record, [layer, head]) => [record.per === "model" ? "" : layer + 1, (record.per ?? "head") === "head" ? head + 1 : ""];

// The address that opens this very view, also from a file.
export function linkOf(view, query, chosen) {
  const said = new URLSearchParams(Object.entries({ ...query, ...chosen }).filter(([, value]) => value));
  if (globalThis.headscope?.live === false) return view.link ?? "";
  return `${location.origin}${location.pathname}?${said}`;
}

// The head that a link names where this one is chosen: a picture that mixes heads has none of its own, and keeps what the
// address says of them.
export function headInLink({ per = "head" }, head, here) {
  const asked = /^([1-9]\d{0,2})-([1-9]\d{0,2})$/.exec(new URL(here).searchParams.get("head") ?? "");
  if (per === "head" || !asked) return head;
  const [layer, other] = [asked[1] - 1, asked[2] - 1];
  return per === "model" ? [layer, other] : [head[0], other];
}

export const chosenIn = (state, head) => ({ head: head.map((at) => at + 1).join("-"), pin: state.pins.join() || "none", to: state.to === null ? "" : String(state.to) });

// One line a fact.
export function factsOf(record, what) {
  const model = record.digest ? `${record.model} (${record.digest})` : record.model;
  const units = record.words ? "words" : "pieces";
  return [model, what, record.measureSaid ?? "Raw attention", units, record.normalised].filter(Boolean).join(" · ");
}

// The small print under a saved picture: SVG elements and how high they stand.
export function smallPrint(lines, link, paint, { y, letters }) {
  const whole = [...lines, ...(link && link.length <= LINK_AT_MOST ? chunks(link, letters) : [])].flatMap((line) => wrapped(line, letters));
  const body = whole.map((line, i) => say(line, { x: 0, y: y + 18 * i, "font-size": 13, fill: css(paint.soft) }));
  return { body, height: 18 * whole.length };
}

function chunks(text, size) {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}

// A file may hold a head only in steps of 1/65535: five digits of it are right.
function coarse(record, head) {
  const steps = matrixOf(record, head);
  if (!steps) throw notHere();
  return Float32Array.from(steps, (step) => Number((step / STEPS).toFixed(5)));
}

// Why nothing is made of a head whose numbers are not here.
export function notHere() {
  return new Error(globalThis.headscope?.live === false ? "this file holds this head only as a picture" : "the numbers have not come yet, try once more");
}

// The engine's numbers of a head; the server brings them a moment after it is chosen.
export async function exact(record, head) {
  const until = performance.now() + WAIT;
  while (!exactOf(record, head)) {
    if (globalThis.headscope?.live === false) return coarse(record, head);
    if (performance.now() > until) throw notHere();
    await new Promise((done) => setTimeout(done, 50));
  }
  return exactOf(record, head);
}
