// Whole numbers to type, side by side; what is none, or out of reach, is said beneath and the number before stays in use.
//
// block: {type: "fields", id, items: [{key, label, value, least, most}], flags: [{key, label, on}]}: a number is told as the
// trigger `field`, [key, number]; a flag as [key, true or false].
import { make } from "../dom.js";
import { readNumber } from "../format.js";

export function fields(board, block) {
  const problem = make("p", { class: "wrong-number", role: "alert", id: `problem-${block.id}` });
  const tell = (key, value) => board.component.setTriggerValue("field", [key, value]);
  const line = make("div", { class: "fields" }, ...block.items.map((item) => field(item, problem, tell)), ...(block.flags || []).map((flag) => switchOf(flag, tell)));
  return make("div", { class: "column close" }, line, problem);
}

function field(item, problem, tell) {
  const input = make("input", { inputmode: "numeric", "data-focus": `field-${item.key}`, "aria-label": item.label });
  input.value = item.value;
  input.onchange = () => {
    const [number, said] = readWhole(input.value, item);
    problem.textContent = said;
    input.classList.toggle("wrong", Boolean(said));
    if (said) {
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-describedby", problem.id);
    } else {
      input.removeAttribute("aria-invalid");
      if (number !== item.value) tell(item.key, number);
    }
  };
  return make("label", {}, make("span", { text: item.label }), input);
}

// The number, and the sentence that says why it is not taken.
export function readWhole(text, { label, value, least, most }) {
  const [number, said] = readNumber(text.replaceAll(/(?<=\d),(?=\d{3}\b)/g, ""), value);
  if (said) return [NaN, `${label}: ${said}`];
  if (Number.isInteger(number) && number >= least && number <= most) return [number, ""];
  return [NaN, `${label}: a whole number from ${least} to ${most.toLocaleString("en")} is taken; ${value} is still used.`];
}

function switchOf(flag, tell) {
  const box = make("input", { type: "checkbox", "data-focus": `field-${flag.key}`, checked: flag.on });
  box.onchange = () => tell(flag.key, box.checked);
  return make("label", { class: "flag" }, box, make("span", { text: flag.label }));
}
