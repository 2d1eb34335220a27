// A stack of matrices, one a head, as small pictures side by side; each may be a choice.
import { make } from "../dom.js";
import { focusOn } from "./choosing.js";
import { painted, reach } from "./painted.js";

export function sheets(board, block) {
  const made = make("div", { class: block.small ? "sheets small" : "sheets" });
  const [h, n, d] = block.shape;
  if (block.small) made.style.gridTemplateColumns = `repeat(${block.line || h}, minmax(0, ${block.square ? 46 : 96}px))`;
  const all = board.numbers.subarray(block.at, block.at + h * n * d);
  const top = block.top || (block.ramp === "weight" ? undefined : reach(all));
  for (let i = 0; i < h; i += 1) {
    const values = all.subarray(i * n * d, (i + 1) * n * d);
    if (block.line && i % block.line === 0 && i) made.append(make("hr", { role: block.pick ? "none" : null }));
    const name = block.labels ? block.labels[i] : `head ${i + 1}`;
    const { canvas } = painted(board, { name, shape: [n, d], ramp: block.ramp || "signed", top }, values);
    canvas.style.height = `${block.square ? 56 : Math.max(32, Math.min(88, n * 4))}px`;
    if (block.square) canvas.style.width = "56px";
    if (block.square && block.small) Object.assign(canvas.style, { width: "100%", height: "38px" });
    if (!block.square && block.small) canvas.style.height = `${Math.max(20, Math.min(44, n * 2))}px`;
    if (block.side) Object.assign(canvas.style, { width: `${block.side}px`, height: `${block.side}px` });
    if (block.slim) canvas.style.width = "52px";
    canvas.classList.add("crisp");
    const parts = [canvas, make("span", { text: name })];
    const shown = block.pick ? [pickButton(board, block, i, parts)] : parts;
    made.append(make("figure", { class: i === block.chosen ? "chosen" : "", role: block.pick ? "none" : null }, ...shown));
  }
  if (block.pick) {
    moving(made, block.line || 1);
    made.setAttribute("aria-label", block.about || block.name);
  }
  return made;
}

function pickButton(board, block, i, parts) {
  const name = block.labels ? block.labels[i] : `head ${i + 1}`;
  const made = make("button", { class: "pick", type: "button", role: "radio", "data-focus": `pick-${i}`, "aria-label": `${block.pick} ${name}` }, ...parts);
  made.setAttribute("aria-checked", String(i === block.chosen));
  made.tabIndex = i === (block.chosen ?? 0) ? 0 : -1;
  made.onclick = () => {
    if (block.tells) board.component.setTriggerValue(block.tells, name);
    else board.component.setStateValue("picked", i);
  };
  return made;
}

// Arrow keys move over the heads as they stand, a line of them a layer; Enter chooses.
function moving(made, line) {
  made.setAttribute("role", "radiogroup");
  made.addEventListener("keydown", (event) => {
    const targets = [...made.querySelectorAll(".pick")];
    const at = targets.indexOf(event.target.closest(".pick"));
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: line, ArrowUp: -line }[event.key];
    if (at < 0 || !step) return;
    event.preventDefault();
    event.stopPropagation();
    if (at + step >= 0 && at + step < targets.length) focusOn(targets, at + step);
  });
}
