// Back leads to the sentence before, not to the head before: an address that only chooses something else in the same
// picture takes the last one's place. Streamlit would make a step of the history of each. On Inside and in the lesson a
// token or a head is what the reader follows, and Back leads to the one before.
import { linkUnder, menuLink } from "./telling.js";

const LOOKS = ["tab", "also", "least", "sort", "between", "brings", "scale"];
const CHOSEN = ["head", "pin", "to", ...LOOKS];
const CHOICES = [...CHOSEN, "measure", "figure"];
const FOLLOWED = /\/(inside|learn)\/?$/;
// What only Compare asks for. A page takes out of the address what the page before had alone: that is no step either, or
// Back would lead from it to itself.
const COMPARED = ["against", "text2", "model2"];
// What Streamlit writes into the address in place, as its control says it. With the part of the page in which the control
// stands it goes and comes, and there Streamlit would make a step of it.
const BOUND = [
  ...["word", "rival", "from", "map"],
  ...["left", "right", "shallow", "deep", "each", "window", "limit", "upto", "guess", "expect"],
  ...["x", "y", "colour", "which", "ask", "looks", "seen", "as", "moment"],
];

// Do two addresses differ in nothing but what is chosen? The first one may still lack what is in the box.
export function sameSentence(before, after) {
  const [a, b] = [new URL(before), new URL(after, before)];
  if (a.origin !== b.origin || a.pathname !== b.pathname) return false;
  const followed = FOLLOWED.test(b.pathname);
  const others = [...(b.pathname.endsWith("/compare") ? [] : COMPARED), ...(followed ? LOOKS : [])];
  const left = (key) => others.includes(key) && !b.searchParams.has(key);
  const keys = new Set([...a.searchParams.keys(), ...b.searchParams.keys()].filter((key) => !left(key) && !BOUND.includes(key) && (followed || !CHOICES.includes(key))));
  const completed = (key) => !followed && ["text", "text2"].includes(key) && !a.searchParams.has(key);
  return [...keys].every((key) => completed(key) || a.searchParams.get(key) === b.searchParams.get(key));
}

// The address that a reader came by says what is shown, as long as the reader has not gone on since: no step, or Back
// would lead from the first sentence to itself.
export function complete(history, here, before, after) {
  const address = new URL(here);
  const keys = Object.keys({ ...before, ...after });
  if (keys.some((key) => address.searchParams.get(key) !== (before[key] ?? null))) return;
  for (const key of keys) key in after ? address.searchParams.set(key, after[key]) : address.searchParams.delete(key);
  history.replaceState(history.state, "", address.href);
}

// What is chosen in a picture stands in the address before Python has heard of it, in the words that Python would use.
export function linkChosen(history, here, said) {
  const address = new URL(here);
  for (const key of CHOSEN) said[key] ? address.searchParams.set(key, said[key]) : address.searchParams.delete(key);
  if (address.href !== here) history.replaceState(history.state, "", address.href);
}

export function oneStepASentence(history, here) {
  if (history.headscope) return;
  const push = history.pushState.bind(history);
  history.headscope = true;
  history.pushState = (state, title, address) => (address && sameSentence(here(), String(address)) ? history.replaceState(state, title, address) : push(state, title, address));
}

// The menu's link to the page that is open already leads nowhere, but to its top. Streamlit would run the page as that
// link has it, and leave the address as it was: it would say what is no longer shown.
export function stayHere(page, here) {
  if (page.headscopeStays) return;
  page.headscopeStays = true;
  page.addEventListener("click", (event) => stay(event, page, here), true);
  for (const kind of ["pointerover", "focusin"]) page.addEventListener(kind, straightened, true);
}

// Streamlit writes the link to the first page without a path, and a browser takes that for one to the page that is open:
// in a tab of its own it would open that, and show it as where the link leads.
function straightened(event) {
  const link = linkUnder(event);
  const href = link?.getAttribute("href");
  if (/^($|[?#])/.test(href)) link.setAttribute("href", `./${href}`);
  return link;
}

function stay(event, page, here) {
  const link = straightened(event);
  if (!link || event.button) return;
  if (menuLink(event)) {
    if (new URL(link.href).pathname !== new URL(here()).pathname) return;
    event.preventDefault();
    page.querySelector("[data-testid='stMain']")?.scrollTo(0, 0);
  }
  // With Control, Shift or the command key a browser opens a tab of its own; Streamlit would turn this one's page.
  event.stopImmediatePropagation();
}
