// Tables on a board: what each head adds, bars beside names, a grid of texts.
import { make } from "../dom.js";
import { fixed, percent } from "../format.js";
import { largest } from "../numbers.js";
import { lowered } from "./prose.js";

export function cell(row, className, content) {
  const made = row.insertCell();
  made.className = className;
  if (typeof content === "string") made.textContent = content;
  else made.append(content);
  return made;
}

export function barline(share, text, widest = 1) {
  const made = make("div", { class: "barline" });
  const bar = make("i");
  bar.style.width = `${(62 * Math.max(0, share)) / (widest || 1)}%`;
  made.append(bar, make("b", { text }));
  return made;
}

export function heads(board, block) {
  const made = make("table", { class: "heads" });
  made.dataset.matrix = "heads";
  const head = made.createTHead().insertRow();
  for (const [name, text] of [["", "head"], ["bar", "length"], ["number", "share"], ["number cosine", "cosine"]]) {
    head.append(make("th", { class: name, text }));
  }
  const body = made.createTBody();
  const widest = largest([...block.rows.map((row) => row.norm), 1e-9]);
  for (const line of block.rows) {
    const row = body.insertRow();
    if (line.chosen) row.className = "chosen";
    lowered(cell(row, "", ""), line.label);
    cell(row, "bar", barline(line.norm, fixed(line.norm, 3), widest));
    cell(row, "number", percent(line.share));
    cell(row, "number cosine", line.cosine === null ? "" : fixed(line.cosine, 2));
  }
  const sum = body.insertRow();
  sum.className = "sum";
  cell(sum, "", "sum");
  cell(sum, "bar", `${fixed(block.total, 3)} = length of the output`);
  cell(sum, "number", percent(block.rows.reduce((all, row) => all + row.share, 0)));
  cell(sum, "number cosine", "");
  return made;
}

export function bars(board, block) {
  const made = make("table", { class: "heads" });
  made.dataset.matrix = block.id || block.name;
  const head = made.createTHead().insertRow();
  head.append(...["", ...block.series].map((name) => make("th", { text: name })));
  const body = made.createTBody();
  const widest = largest([...block.rows.flatMap((row) => row.values).filter(Number.isFinite), 1e-9]);
  for (const line of block.rows) {
    const row = body.insertRow();
    if (line.chosen) row.className = "chosen";
    cell(row, "", line.label);
    line.values.forEach((value, i) =>
      cell(row, "bar", barline(value, line.texts ? line.texts[i] : percent(value), widest)),
    );
  }
  return made;
}

export function gridTable(board, block) {
  const scroll = make("div", { class: ["wide", block.tall && "tall", block.close && "close"].filter(Boolean).join(" ") });
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", block.label);
  const made = make("table", { class: "grid" });
  made.dataset.matrix = block.id;
  const head = made.createTHead().insertRow();
  head.append(...block.head.map((name) => lowered(make("th"), name)));
  const body = made.createTBody();
  block.rows.forEach((line, i) => {
    const row = body.insertRow();
    if (i === block.chosen) row.className = "chosen";
    line.forEach((text, j) => (j === block.tokens ? cell(row, "word", text) : lowered(cell(row, "", ""), text)));
  });
  scroll.append(made);
  const hint = make("p", { class: "quiet hint", text: "More columns to the right: scroll sideways.", hidden: true });
  new ResizeObserver(() => (hint.hidden = scroll.scrollWidth <= scroll.clientWidth + 1)).observe(scroll);
  scroll.prepend(hint);
  return scroll;
}
