// A stack of matrices, one a head, as small pictures side by side.
import { make } from "../dom.js";
import { painted, reach } from "./painted.js";

export function sheets(board, block) {
  const [h, n, d] = block.shape;
  const all = board.numbers.subarray(block.at, block.at + h * n * d);
  const top = block.top || (block.ramp === "weight" ? undefined : reach(all));
  const figures = Array.from({ length: h }, (_, i) => {
    const name = block.labels ? block.labels[i] : `head ${i + 1}`;
    const values = all.subarray(i * n * d, (i + 1) * n * d);
    const { canvas } = painted(board, { name, shape: [n, d], ramp: block.ramp || "signed", top }, values);
    canvas.style.height = `${block.high}px`;
    canvas.classList.add("crisp");
    return make("figure", { class: i === block.chosen ? "chosen" : "" }, canvas, make("span", { text: name }));
  });
  const element = make("div", { class: "sheets" }, ...figures);
  element.style.gridTemplateColumns = `repeat(${block.line || "auto-fill"}, minmax(0, ${block.wide}px))`;
  return element;
}
