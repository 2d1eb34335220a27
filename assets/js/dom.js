// Elements without markup strings: a reader's text only ever arrives as textContent.

const SVG = "http://www.w3.org/2000/svg";

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function vector(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// What is said already is not said again: even the same text makes a browser lay it out anew.
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// As many children as are wanted, the ones that stand there kept: to fill them anew costs a browser less than new ones.
export function repeated(parent, count, one) {
  while (parent.childElementCount > count) parent.lastElementChild.remove();
  while (parent.childElementCount < count) parent.append(one());
  return [...parent.children];
}

// Words between “ ” stand out in a line of words, everything else stays plain.
export function spoken(node, sentence) {
  node.replaceChildren(
    ...sentence.split(/(“.[^”]*”)/s).map((part) => (part.startsWith("“") ? make("b", { text: part.slice(1, -1), class: "word" }) : part)),
  );
}

// Arrow keys inside a group of things of which one is reachable by Tab.
export function arrowStep(key, across) {
  return { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[key] ?? 0;
}
