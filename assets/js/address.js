// The address is the one owner of what is chosen; this is the one place that writes it in the browser.
//
// A choice in a picture takes the last one's place in the history; a link, or another text, is a step. The page hears of
// it as of Back and Forward: by the browser's own event, with which Streamlit runs the page for the address.
const LOOKS = ["head", "pin", "to", "least", "sort", "between", "rank", "scale", "measure"];
// What a control of the frame writes, in place: a person would call it a step.
const STEPS = ["text", "pair", "text2", "weights", "unit", "specials", "against", "attention"];
// Milliseconds of rest. Keys held down choose many heads a second: the address says the last one, and the page, too.
const WRITE = 60;
const TELL = 250;

export class Address {
  constructor(page = globalThis) {
    this.page = page;
    this.waiting = {};
    this.last = page.location.href;
    page.navigation?.addEventListener("currententrychange", (event) => this.moved(event.navigationType));
    page.document?.addEventListener("click", (event) => this.follow(event), true);
    for (const kind of ["pointerdown", "auxclick", "contextmenu"]) page.document?.addEventListener(kind, (event) => this.linkOf(event), true);
    page.document?.addEventListener("keydown", (event) => this.leave(event));
  }

  // What the address says of the picture, with what is on its way into it.
  get looks() {
    const said = new URL(this.page.location.href).searchParams;
    const all = { ...Object.fromEntries(said), ...this.waiting };
    return Object.fromEntries(LOOKS.filter((key) => all[key]).map((key) => [key, all[key]]));
  }

  // Something else is chosen in the picture; soon: the picture waits for numbers of the server.
  look(changes, soon = false) {
    Object.assign(this.waiting, changes);
    clearTimeout(this.writing);
    clearTimeout(this.telling);
    this.writing = setTimeout(() => this.write(), WRITE);
    this.telling = setTimeout(() => this.tell(), soon ? WRITE + 1 : TELL);
  }

  // Put into the address what was chosen, without a step.
  write(changes = {}) {
    const to = changed(this.page.location.href, { ...this.waiting, ...changes });
    this.waiting = {};
    clearTimeout(this.writing);
    if (to !== this.page.location.href) this.quietly(() => this.page.history.replaceState(null, "", to));
  }

  tell() {
    clearTimeout(this.telling);
    this.write();
    this.told = this.page.location.href;
    this.page.dispatchEvent(new PopStateEvent("popstate", { state: null }));
  }

  // A step: to an address, or to this one with changes.
  go(to) {
    this.write();
    const address = typeof to === "string" ? new URL(to, this.page.document.baseURI).href : changed(this.page.location.href, to);
    if (address === this.page.location.href) return;
    this.quietly(() => this.page.history.pushState(null, "", address));
    this.tell();
  }

  // Where a page was drawn for another address than this one, as a request was on its way: it is told once more.
  settle(asked) {
    const now = this.looks;
    const same = LOOKS.every((key) => (asked[key] ?? "") === (now[key] ?? ""));
    if (!same && !Object.keys(this.waiting).length && this.told !== this.page.location.href) this.tell();
    return same;
  }

  quietly(act) {
    this.still = true;
    act();
    this.still = false;
    this.last = this.page.location.href;
  }

  // A control wrote into the address in its place. The words that were chosen stand elsewhere in another text.
  moved(kind) {
    if (this.still) return;
    const now = this.page.location.href;
    if (kind === "replace" && isStep(this.last, now)) {
      const { last } = this;
      this.quietly(() => {
        this.page.history.replaceState(null, "", last);
        this.page.history.pushState(null, "", now);
      });
    }
    this.last = now;
  }

  // Links inside the app lead on without opening it anew.
  follow(event) {
    const link = this.linkOf(event);
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const href = link.getAttribute("href");
    if (href.startsWith("#")) return this.jump(event, href.slice(1));
    const to = new URL(href, this.page.document.baseURI);
    if (to.origin !== this.page.location.origin || link.hasAttribute("download") || link.target === "_blank") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const { carries } = link.dataset;
    const elsewhere = to.pathname !== this.page.location.pathname;
    // The menu's link to the page that is open leads to its top.
    if (elsewhere || !carries || link.dataset.to.includes("?")) this.go(to.href);
    if (elsewhere || (carries && !link.dataset.to.includes("?"))) this.page.document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  }

  // The link that an event is about. Those of the menu take along what is chosen (`*`: all of the address), also where
  // they are opened in a tab of their own.
  linkOf(event) {
    const link = event.composedPath().find((node) => node.matches?.("a[href]"));
    const { carries } = link?.dataset ?? {};
    if (!carries) return link;
    this.write();
    link.dataset.to ??= link.getAttribute("href");
    const to = new URL(link.dataset.to, this.page.document.baseURI);
    const kept = [...new URL(this.page.location.href).searchParams].filter(([key, value]) => value && (carries === "*" || carries.split(" ").includes(key)));
    const said = Object.fromEntries([...kept, ...to.searchParams].filter(([key]) => to.searchParams.get(key) !== ""));
    to.search = new URLSearchParams(said);
    link.setAttribute("href", to.href);
    return link;
  }

  // Escape leaves presenter mode, unless something that was open closes by it.
  leave(event) {
    const presents = new URL(this.page.location.href).searchParams.get("present");
    if (event.key === "Escape" && presents && !event.defaultPrevented) this.page.document.querySelector(".hs-presenter")?.click();
  }

  jump(event, name) {
    const target = this.page.document.getElementById(name);
    if (!target) return;
    event.preventDefault();
    target.scrollIntoView();
    target.focus();
  }
}

export function changed(here, changes) {
  const to = new URL(here);
  for (const [key, value] of Object.entries(changes)) value ? to.searchParams.set(key, value) : to.searchParams.delete(key);
  return to.href;
}

// The head that a link names where this one is chosen: a picture that mixes heads has none of its own, and keeps what the
// address says of them.
export function headInLink({ per = "head" }, head, here) {
  const asked = /^([1-9]\d{0,2})-([1-9]\d{0,2})$/.exec(new URL(here).searchParams.get("head") ?? "");
  if (per === "head" || !asked) return head;
  const [layer, other] = [asked[1] - 1, asked[2] - 1];
  return per === "model" ? [layer, other] : [head[0], other];
}

export function isStep(before, now) {
  const [a, b] = [new URL(before), new URL(now)];
  return a.pathname === b.pathname && STEPS.some((key) => a.searchParams.get(key) !== b.searchParams.get(key));
}
