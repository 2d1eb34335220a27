// Elements that only remember what was put into them: what a module builds can be read without a browser.

class Element {
  constructor(tag) {
    Object.assign(this, { tag, childNodes: [], attributes: {}, dataset: {}, className: "", tabIndex: 0, hidden: false, parentElement: null });
    this.style = { setProperty: (name, value) => (this.style[name] = value) };
    const classes = () => this.className.split(" ").filter(Boolean);
    const set = (names) => (this.className = [...new Set(names)].join(" "));
    this.classList = {
      add: (...names) => set([...classes(), ...names]),
      contains: (name) => classes().includes(name),
      remove: (name) => set(classes().filter((one) => one !== name)),
      toggle: (name, on) => set(on ? [...classes(), name] : classes().filter((one) => one !== name)),
    };
  }

  setAttribute(name, value) {
    this.attributes[name] = String(value);
    if (name === "class") this.className = String(value);
    if (name === "style") for (const [, key, set] of String(value).matchAll(/([\w-]+):([^;]+)/g)) this.style[key] = set;
    if (name.startsWith("data-")) this.dataset[name.slice(5).replace(/-(.)/g, (_, letter) => letter.toUpperCase())] = String(value);
    if (name === "hidden") this.hidden = true;
    if (name === "aria-pressed") this.ariaPressed = String(value);
  }

  getAttribute(name) {
    return this.attributes[name] ?? null;
  }

  append(...nodes) {
    for (const node of nodes) {
      const child = typeof node === "object" ? node : Object.assign(new Element("#text"), { text: String(node) });
      child.parentElement = this;
      this.childNodes.push(child);
    }
  }

  prepend(...nodes) {
    this.replaceChildren(...nodes, ...this.childNodes);
  }

  replaceChildren(...nodes) {
    this.childNodes = [];
    this.append(...nodes.filter((node) => node !== ""));
  }

  get textContent() {
    return this.text ?? this.childNodes.map((child) => child.textContent).join("");
  }

  set textContent(text) {
    this.replaceChildren(String(text));
  }

  get children() {
    return this.childNodes.filter((child) => child.tag !== "#text");
  }

  get childElementCount() {
    return this.children.length;
  }

  get options() {
    return this.children;
  }

  get firstChild() {
    return this.childNodes[0];
  }

  removeAttribute(name) {
    delete this.attributes[name];
  }

  addEventListener(kind, act) {
    (this.heard ??= {})[kind] = act;
  }

  removeEventListener(kind) {
    delete this.heard?.[kind];
  }

  closest(selector) {
    let node = this;
    while (node && !node.matches(selector)) node = node.parentElement;
    return node;
  }

  click() {}

  focus() {}

  getRootNode() {
    return { activeElement: null };
  }

  getContext() {
    return { createImageData: (width, height) => ({ data: new Uint8ClampedArray(4 * width * height) }), putImageData: (image) => (this.image = image) };
  }

  contains(node) {
    return node === this || this.childNodes.some((child) => child.contains(node));
  }

  matches(selector) {
    return selector.split(",").some((one) => {
      const [part, disabled] = one.trim().split(":");
      return fits(this, part) && (!disabled || (disabled === "disabled" && Boolean(this.disabled)));
    });
  }

  // Only `tag`, `.class`, `tag.class` and `[name]`, one inside another.
  querySelectorAll(selector) {
    return selector.split(" ").reduce((inside, part) => inside.flatMap((one) => within(one).filter((node) => fits(node, part))), [this]);
  }

  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }
}

for (const [method, tag] of Object.entries({ insertRow: "tr", insertCell: "td", createTHead: "thead", createTBody: "tbody" }))
  Element.prototype[method] = function () {
    this.append(new Element(tag));
    return this.childNodes.at(-1);
  };

const within = (node) => node.children.flatMap((child) => [child, ...within(child)]);

function fits(node, part) {
  const [, tag, rest] = /^([\w-]*)(.*)$/.exec(part);
  if (tag && node.tag !== tag) return false;
  const classes = [...rest.matchAll(/\.([\w-]+)/g)].every(([, name]) => node.classList.contains(name));
  return classes && [...rest.matchAll(/\[([\w-]+)\]/g)].every(([, name]) => name in node.attributes);
}

/** Give `use` these globals, until it has ended, and what stood there before back again. */
export function withGlobals(given, use) {
  const before = Object.keys(given).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  const putBack = () => {
    for (const [name, old] of before) if (old) Object.defineProperty(globalThis, name, old); else delete globalThis[name];
  };
  for (const [name, value] of Object.entries(given)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  let done;
  try {
    done = use();
  } finally {
    if (!(done instanceof Promise)) putBack();
  }
  return done instanceof Promise ? done.finally(putBack) : done;
}

/** The class URL whose object URLs put what they are of into `files`. */
export const urlsInto = (files) => Object.assign(class extends URL {}, { createObjectURL: (file) => `blob:${files.push(file)}`, revokeObjectURL() {} });

/** Give `use` a page to put things into and a list of the files that are saved there, and take it away again. */
export function onPage(use) {
  const saved = [];
  const given = { URL: urlsInto(saved), document: { addEventListener() {}, removeEventListener() {}, createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag), createDocumentFragment: () => new Element("span"), createTextNode: (text) => Object.assign(new Element("#text"), { text }) }, ResizeObserver: class { observe() {} disconnect() {} }, requestAnimationFrame: () => 0, setTimeout: () => 0 };
  return withGlobals(given, () => use(new Element("div"), saved));
}

export const texts = (nodes) => nodes.map((node) => node.textContent);
