// Choosing one number of a matrix, by click, tap or keys: the chosen one is marked and told with its place.
import { make } from "../dom.js";

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

// place: what is clicked and has the focus; at(event): the place under the pointer; describe([i, j]): a number in words;
// moved([i, j]): what stands under the cursor of the keys; mark([i, j]): show the chosen one.
export function pickable(board, block, place, { at, describe, moved, mark }) {
  const [n, m] = block.shape;
  const given = board.cell && board.cell[0] === block.id ? board.cell.slice(1) : null;
  let cursor = given ?? [0, 0];
  const note = make("span", { class: "aloud", "aria-live": "polite" });
  const choose = (cell) => {
    cursor = cell;
    mark(cell);
    board.component.setTriggerValue("cell", [block.id, ...cell]);
  };
  place.tabIndex = 0;
  place.classList.add("pickable");
  place.setAttribute("role", "application");
  place.setAttribute("aria-label", `${block.name}, ${n} by ${m} numbers. Arrow keys go from number to number, Enter shows where one comes from.`);
  place.dataset.focus = `cells-${block.id}`;
  place.addEventListener("click", (event) => choose(at(event)));
  place.addEventListener("keydown", (event) => {
    const step = event.altKey || event.ctrlKey || event.metaKey ? null : STEPS[event.key];
    if (step) {
      cursor = [Math.min(n - 1, Math.max(0, cursor[0] + step[0])), Math.min(m - 1, Math.max(0, cursor[1] + step[1]))];
      mark(cursor);
      moved(cursor);
      note.textContent = describe(cursor);
    } else if (event.key === "Enter" || event.key === " ") choose(cursor);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  place.append(note);
  if (given) mark(given);
}
