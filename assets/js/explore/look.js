// How Explore shows what is chosen: tab, heads drawn together, threshold, order and pair filter, as a link holds them.
import { headName } from "../words.js";

const LOOK = { panel: "matrix", least: 0, sort: "layer", also: [], pair: "all", brings: false, scaled: false };
const PANELS = ["matrix", "lines", "sheet"];
const SORTS = ["layer", "weight", "role"];
const PAIRS = ["all", "AA", "AB", "BA", "BB"];

// Are there two sentences, so that one can look at the other?
export const hasTwo = (record) => !record?.segments || record.segments.some((segment) => segment > 0);

// Whether a chosen word is one that the page chose: `mine` is what the reader did.
export function notMine({ state, mine }, unit) {
  const given = (key) => String(state[key]) !== String(mine[key]);
  return (state.pins.includes(unit) && given("pins")) || (state.to === unit && given("to"));
}

// The part of a state that is not what it is at first, in the words of the link.
export function lookOf({ panel, least, sort, also, pair, brings, scaled }) {
  const said = {
    tab: panel === LOOK.panel || panel === "sheet" ? "" : panel,
    also: also.map(headName).join(),
    least: least ? String(Math.round(least * 100)) : "",
    sort: sort === LOOK.sort ? "" : sort,
    between: pair === LOOK.pair ? "" : pair,
    brings: brings ? "1" : "",
    scale: scaled ? "largest" : "",
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value));
}

// The state that a link asks for; what is no such value is left out.
export function lookFrom({ tab, also = "", least, sort, between, brings, scale } = {}, head = [0, 0], record = null) {
  const heads = also.split(",").filter(Boolean).map((name) => name.split("-").map((part) => Number(part) - 1));
  const inside = (other) => other[0] === head[0] && other[1] !== head[1] && other[1] >= 0 && (!record || other[1] < record.heads);
  return {
    panel: PANELS.includes(tab) ? tab : LOOK.panel,
    also: heads.filter(inside),
    least: /^[0-9]{1,2}$/.test(least ?? "") ? Math.min(50, Number(least)) / 100 : LOOK.least,
    sort: SORTS.includes(sort) ? sort : LOOK.sort,
    pair: PAIRS.includes(between) && hasTwo(record) ? between : LOOK.pair,
    brings: brings === "1",
    scaled: scale === "largest",
  };
}
