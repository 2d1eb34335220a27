// How Explore shows what is chosen: threshold, order, pair filter, ranking and shades, as a link holds them.
const LOOK = { least: 0, sort: "layer", pair: "all", ranked: false, scaled: false };
const SORTS = ["layer", "weight"];
const PAIRS = ["all", "AA", "AB", "BA", "BB"];

// Are there two sentences, so that one can look at the other?
export const hasTwo = (record) => !record?.segments || record.segments.some((segment) => segment > 0);

// Whether a chosen word is one that the page chose: `mine` is what the reader did.
export function isPageChoice({ state, mine }, unit) {
  const given = (key) => String(state[key]) !== String(mine[key]);
  return (state.pins.includes(unit) && given("pins")) || (state.to === unit && given("to"));
}

// What Python says of a choice, {said, of}, is said for as long as that is chosen.
export function isAbout(part, state) {
  if (!part) return false;
  const { head, pins, to } = part.of;
  return JSON.stringify([head, pins, to]) === JSON.stringify([state.head, state.pins, state.to]);
}

// The part of a state that is not what it is at first, in the words of the link.
export function lookOf({ least, sort, pair, ranked, scaled }) {
  const values = {
    least: least ? String(Math.round(least * 100)) : "",
    sort: sort === LOOK.sort ? "" : sort,
    between: pair === LOOK.pair ? "" : pair,
    rank: ranked ? "1" : "",
    scale: scaled ? "largest" : "",
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value));
}

// The state that a link asks for; what is no such value is left out.
export function lookFrom({ least, sort, between, rank, scale } = {}, record = null) {
  return {
    least: /^[0-9]{1,2}$/.test(least ?? "") ? Math.min(50, Number(least)) / 100 : LOOK.least,
    sort: SORTS.includes(sort) ? sort : LOOK.sort,
    pair: PAIRS.includes(between) && hasTwo(record) ? between : LOOK.pair,
    ranked: rank === "1",
    scaled: scale === "largest",
  };
}
