// A board draws matrices, token rows and one followed query, out of blocks that Python describes.
// In: data.blocks (a tree) and data.numbers (one flat column that blocks point into by `at`). Out: state
// `query` (a chosen token) and `cells` (edited numbers). Text goes in as text, never as markup.
import { css } from "./colour.js";
import { column } from "./column.js";
import { make } from "./dom.js";
import { readTheme } from "./theme.js";
import { arcs } from "./tiles/arcs.js";
import { bars } from "./tiles/bars.js";
import { budget } from "./tiles/budget.js";
import { choosing } from "./tiles/choosing.js";
import { choose, whenChosen } from "./tiles/chosen.js";
import { keyboard, pager, tokens } from "./tiles/controls.js";
import { follow } from "./tiles/follow.js";
import { groups } from "./tiles/groups.js";
import { matrix } from "./tiles/matrix.js";
import { numberTiles } from "./tiles/number_tiles.js";
import { change, softmaxRow, sum } from "./tiles/origin.js";
import { op, paragraph } from "./tiles/prose.js";
import { route } from "./tiles/route.js";
import { sheets } from "./tiles/sheets.js";

const KINDS = {
  row: group, column: group, op, paragraph, tokens, matrix, tiles: numberTiles, follow, sheets, groups, arcs,
  bars, budget, choosing: choosing(draw), route, pager, sum, softmax: softmaxRow, change,
};
const boards = new WeakMap();

export default function tiles(component) {
  const { data, parentElement } = component;
  const board = boardIn(parentElement);
  board.component = component;
  board.numbers = column(data.numbers);
  board.cells = structuredClone(data.cells || {});
  board.cell = data.cell || null;
  board.paint = readTheme(board.root);
  board.root.classList.toggle("large", Boolean(data.large));
  board.root.classList.toggle("beside", Boolean(data.beside));
  board.root.style.setProperty("--ink", css(board.paint.ramp.at(-1)));
  if (board.stop) board.stop();
  redraw(board, parentElement, data.blocks);
  const [hearNow, stopHearing] = whenChosen((chosen) => board.listeners.forEach((listener) => listener(chosen)));
  const unkey = data.keys ? keyboard(component) : () => {};
  board.stop = () => {
    stopHearing();
    unkey();
  };
  if (Number.isInteger(data.query)) choose(data.query);
  else hearNow();
  return () => board.stop && board.stop();
}

function boardIn(parentElement) {
  let board = boards.get(parentElement);
  if (!board) {
    board = { root: make("div", { class: "board" }), stop: null };
    board.onChosen = (listener) => board.listeners.push(listener);
    parentElement.appendChild(board.root);
    boards.set(parentElement, board);
  }
  return board;
}

// Everything anew; what had the focus has it again.
function redraw(board, parentElement, blocks) {
  board.listeners = [];
  const focused = parentElement.activeElement ? parentElement.activeElement.dataset.focus : null;
  board.root.replaceChildren(...blocks.map((block) => draw(board, block)));
  const again = focused && [...board.root.querySelectorAll("[data-focus]")].find((e) => e.dataset.focus === focused);
  if (again) again.focus();
}

function draw(board, block) {
  const made = KINDS[block.type](board, block);
  if (block.size) made.classList.add(block.size);
  return made;
}

function group(board, block) {
  const made = make("div", { class: block.type });
  made.append(...block.items.map((item) => draw(board, item)));
  return made;
}
