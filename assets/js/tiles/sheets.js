// A stack of matrices, one a head, as small pictures side by side; each may be a choice.
import { make } from "../dom.js";
import { painted, reach } from "./painted.js";

export function sheets(board, block) {
  const made = make("div", { class: "sheets" });
  const [h, n, d] = block.shape;
  const all = board.numbers.subarray(block.at, block.at + h * n * d);
  const top = block.top || (block.ramp === "weight" ? undefined : reach(all));
  for (let i = 0; i < h; i += 1) {
    const values = all.subarray(i * n * d, (i + 1) * n * d);
    if (block.line && i % block.line === 0 && i) made.append(make("hr"));
    const name = block.labels ? block.labels[i] : `head ${i + 1}`;
    const { canvas } = painted(board, { name, shape: [n, d], ramp: block.ramp || "signed", top }, values);
    canvas.style.height = `${block.square ? 56 : Math.max(32, Math.min(88, n * 4))}px`;
    if (block.square) canvas.style.width = "56px";
    if (block.side) Object.assign(canvas.style, { width: `${block.side}px`, height: `${block.side}px` });
    canvas.classList.add("crisp");
    const parts = [canvas, make("span", { text: name })];
    const shown = block.pick ? [pickButton(board, `${block.pick} ${name}`, i, parts)] : parts;
    made.append(make("figure", { class: i === block.chosen ? "chosen" : "" }, ...shown));
  }
  return made;
}

function pickButton(board, label, i, parts) {
  const onclick = () => board.component.setStateValue("picked", i);
  return make("button", { class: "pick", type: "button", "data-focus": `pick-${i}`, "aria-label": label, onclick }, ...parts);
}
