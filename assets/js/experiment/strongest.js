// The heads whose effect is largest, a line each: name, what it is known for, the change as a bar to the left or right.
//
// strongest: [{head: "24-4", label, effect, address}]
import { make } from "../dom.js";
import { fixed } from "../format.js";

export class Strongest {
  constructor() {
    this.list = make("ol", { class: "pairs" });
    this.root = make("section", { class: "part strongest", "aria-label": "The strongest heads", hidden: true }, make("header", {}, make("h2", { text: "The strongest heads" })), this.list);
  }

  fill({ strongest, top, measure }) {
    this.root.hidden = !strongest?.length;
    this.list.replaceChildren(...(strongest ?? []).map((one) => line(one, top, measure)));
  }
}

// What is rounded to nothing has no sign.
export const signed = (value) => `${value > 0 && fixed(value, 2) !== "0.00" ? "+" : ""}${fixed(value, 2)}`;

function line({ head, label, effect, address }, top, measure) {
  const share = (50 * Math.min(1, Math.abs(effect) / (top || 1))).toFixed(2);
  const bar = make("i", { class: effect < 0 ? "less" : "more", style: `width:${share}%;${effect < 0 ? "right" : "left"}:50%` });
  const name = make("span", { class: "token" }, make("b", { text: head }), label ? make("small", { text: ` ${label}` }) : null);
  const said = `Head ${head}${label ? `, ${label}` : ""}: ${measure} ${signed(effect)}`;
  return make("li", {}, make("a", { class: "pair-row", href: address, "aria-label": said }, name, make("span", { class: "both-ways" }, bar), make("span", { class: "numbers", text: signed(effect) })));
}
