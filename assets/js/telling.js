// When Python hears what was chosen in a picture that needs nothing of it: as soon as what it writes below the picture is
// on the screen, or when the reader goes on outside of the picture, whose links take along what is chosen.

const BELOW = ".st-key-below";
const PRESSED = "a, button, input, textarea, select, summary, label";

// Calls `act` when what is below the picture is on the screen, with true if it was there at first. An observer speaks
// once at the beginning, and then at every change.
export function onceSeen(act, page = document) {
  const below = page.querySelector(BELOW);
  if (!below) return act(true);
  let first = true;
  const observer = new IntersectionObserver((seen) => {
    if (seen.at(-1).isIntersecting) act(first);
    first = false;
  });
  observer.observe(below);
  return observer;
}

// Does the reader go on outside of a picture? A pointer that passes over a text there does not.
export function leaves(event, root) {
  const path = event.composedPath();
  return !path.includes(root) && (event.type !== "pointerover" || path.some((node) => node.matches?.(PRESSED)));
}

// Does the reader open the picture's menu of files?
export function opensFiles(event, root) {
  const path = event.type === "pointerover" ? [] : event.composedPath();
  return path.includes(root) && path.some((node) => node.classList?.contains("save"));
}

// The link of the menu that an event is about.
export const linkUnder = (event) => event.composedPath().find((node) => node.matches?.(".st-key-top a, .st-key-tabs a"));

// Is it the press of a link that a browser would follow in this tab?
export const plainly = (event) => !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);

// The link of the menu that is pressed, to be followed in this tab.
export const menuLink = (event) => (plainly(event) ? linkUnder(event) : undefined);

// Does a link lead to another choice than the one that was made?
export function isBehind(link, said) {
  const carried = new URL(link.href).searchParams;
  return ["head", "pin", "to"].some((key) => (carried.get(key) ?? "") !== (said[key] ?? ""));
}

// Calls `act` once the link takes along what was said, or after two seconds, for a server may be away.
export function whenCaughtUp(link, said, act, waited = 0) {
  if (waited > 2000 || !isBehind(link, said)) act();
  else setTimeout(whenCaughtUp, 30, link, said, act, waited + 30);
}
