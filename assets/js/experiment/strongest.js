// The heads whose effect is largest, or those that matter, a line each: name, what it is known for, the change as a bar to the left or right.
//
// listTitle: "Largest effects", strongest: [{head: "24-4", label, effect, half: null | number, address}]
import { make } from "../dom.js";
import { fixed } from "../format.js";

export class Strongest {
  constructor() {
    this.list = make("ol", { class: "pairs" });
    this.title = make("h2", {});
    this.root = make("section", { class: "part strongest", hidden: true }, make("header", {}, this.title), this.list);
  }

  fill({ strongest, listTitle, top, measure }) {
    this.root.hidden = !strongest?.length;
    this.title.textContent = listTitle;
    this.root.setAttribute("aria-label", listTitle);
    this.list.replaceChildren(...(strongest ?? []).map((one) => line(one, top, measure)));
  }
}

// What is rounded to nothing has no sign.
const signed = (value) => `${value > 0 && fixed(value, 2) !== "0.00" ? "+" : ""}${fixed(value, 2)}`;
export const measured = (value, half) => (Number.isFinite(half) ? `${signed(value)} ± ${fixed(half, 2)}` : signed(value));

function line({ head, label, effect, half, address }, top, measure) {
  const share = (50 * Math.min(1, Math.abs(effect) / (top || 1))).toFixed(2);
  const bar = make("i", { class: effect < 0 ? "less" : "more", style: `width:${share}%;${effect < 0 ? "right" : "left"}:50%` });
  const name = make("span", { class: "token" }, make("b", { text: head }), label ? make("small", { text: ` ${label}` }) : null);
  const said = `Head ${head}${label ? `, ${label}` : ""}: ${measure} ${measured(effect, half)}`;
  return make("li", {}, make("a", { class: "pair-row", href: address, "aria-label": said }, name, make("span", { class: "both-ways" }, bar), make("span", { class: "numbers", text: measured(effect, half) })));
}
