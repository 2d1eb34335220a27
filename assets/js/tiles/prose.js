// Words on a board: paragraphs with terms that explain themselves, and signs. Text goes in as text.
import { make } from "../dom.js";

// W_q is written with a lowered q; only our own words go through here, never a reader's token.
export function lowered(parent, text) {
  for (const [i, part] of String(text).split(/(?<=\b[A-Za-zd])_([a-z]+)\b/).entries()) {
    if (i % 2) parent.append(make("sub", { text: part }));
    else whole(parent, part);
  }
  return parent;
}

// No line ends between a number and its percent sign.
function whole(parent, text) {
  for (const [i, part] of text.split(/([+−]?\d[\d.,]* %)/).entries()) {
    if (part) parent.append(i % 2 ? make("span", { class: "whole", text: part }) : document.createTextNode(part));
  }
  return parent;
}

export function op(board, block) {
  return make("div", { class: "op", text: block.text });
}

export function paragraph(board, block) {
  const element = make("p", { class: block.style || "" });
  for (const span of block.spans) element.append(spanOf(board, span));
  return element;
}

function spanOf(board, span) {
  if (typeof span === "string") return lowered(document.createDocumentFragment(), span);
  const [kind, text, more] = span;
  if (kind === "term") return term(board, text, more);
  if (kind === "link") return make("a", { href: more, target: "_blank", rel: "noopener", text });
  if (kind === "code") return broken(text);
  if (kind === "token") return make("span", { class: kind, text });
  return whole(make(kind === "b" ? "b" : "span", { class: kind }), text);
}

// A long name of code may go on in the next line after a point or a low line.
function broken(text) {
  return make("code", {}, ...text.split(/(?<=[._])/).flatMap((part, i) => (i ? [make("wbr"), part] : [part])));
}

function term(board, text, meaning) {
  const button = lowered(make("button", { class: "term" }), text);
  button.type = "button";
  button.onclick = () => {
    const note = make("div", { class: "definition" });
    note.popover = "auto";
    note.append(lowered(make("strong"), meaning.term), lowered(make("span"), meaning.short), allTerms());
    board.root.append(note);
    note.addEventListener("toggle", (event) => event.newState === "closed" && note.remove());
    note.showPopover();
    const place = button.getBoundingClientRect();
    const left = Math.max(12, Math.min(place.left, innerWidth - note.offsetWidth - 12));
    const below = place.bottom + 6 + note.offsetHeight < innerHeight;
    const zoom = note.currentCSSZoom || 1; // a projector's page is enlarged, and with it what its places count in
    note.style.left = `${left / zoom}px`;
    note.style.top = `${(below ? place.bottom + 6 : place.top - 6 - note.offsetHeight) / zoom}px`;
  };
  return button;
}

function allTerms() {
  const link = make("a", { class: "all", text: "All terms" });
  link.href = "learn?show=Glossary";
  link.target = "_blank";
  link.rel = "noopener";
  return link;
}
