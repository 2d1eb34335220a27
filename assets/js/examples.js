// A row of things to press that are shown as words: the example sentences, the minimal pairs.
//
// data: {label, offered: [[name, text]]}. A press sends the trigger "chosen" with the name; the text is its tooltip.
import { make } from "./dom.js";

const drawn = new WeakMap();

export default function examples({ data, parentElement, setTriggerValue }) {
  const said = JSON.stringify(data);
  if (drawn.get(parentElement)?.said === said) return;
  drawn.get(parentElement)?.row.remove();
  const buttons = data.offered.map(([name, text]) => make("button", { type: "button", text: name, title: text, onclick: () => setTriggerValue("chosen", name) }));
  const row = make("div", { class: "examples", role: "group", "aria-label": data.label }, make("span", { class: "label", text: data.label }), ...buttons);
  parentElement.append(row);
  drawn.set(parentElement, { said, row });
}
