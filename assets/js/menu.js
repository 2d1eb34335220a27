// The one small menu of the picture: save what is shown.
import { make } from "./dom.js";

export class Menu {
  constructor(items) {
    this.button = make("button", { type: "button", class: "plain", "aria-haspopup": "menu", "aria-expanded": "false", text: "Save" });
    this.list = make(
      "div",
      { role: "menu", class: "menu", hidden: true },
      ...items.map(([label, note, act]) =>
        make("button", { type: "button", role: "menuitem", onclick: () => this.run(act) }, make("span", { text: label }), make("small", { text: note })),
      ),
    );
    this.status = make("span", { class: "status", role: "status" });
    this.root = make("div", { class: "save" }, this.status, this.button, this.list);
    this.button.onclick = () => this.toggle(this.list.hidden);
    this.root.onkeydown = (event) => this.key(event);
    this.root.onfocusout = (event) => {
      if (!this.root.contains(event.relatedTarget)) this.toggle(false);
    };
  }

  toggle(open) {
    this.list.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    if (open) this.list.firstElementChild.focus();
  }

  key(event) {
    if (this.list.hidden) return;
    const items = [...this.list.children];
    const here = items.indexOf(event.target);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      this.toggle(false);
      this.button.focus();
      event.stopPropagation();
    } else if (step) items[(here + step + items.length) % items.length].focus();
    else return;
    event.preventDefault();
  }

  async run(act, focus = true) {
    this.toggle(false);
    if (focus) this.button.focus();
    try {
      this.status.textContent = `Saved ${await act()}`;
    } catch (error) {
      this.status.textContent = `Not saved: ${error.message}`;
    }
  }
}
