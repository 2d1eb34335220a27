// A picture whose words or heads can be chosen: one Tab stop, arrow keys move, Enter chooses.
//
// block: {type: "choosing", item, select, tells, values, labels, line}: what `select` finds in the drawn item, in order, tells
// `values[i]` as the trigger `tells`; `line` of them stand in a row.
export function choosing(draw) {
  return (board, block) => {
    const element = draw(board, block.item);
    const targets = [...element.querySelectorAll(block.select)].slice(0, block.values.length);
    // What can be chosen in a picture must be heard of: the picture is a group then, and no image.
    for (const image of [element, ...element.querySelectorAll("[role=img]")]) {
      if (image.getAttribute("role") === "img" && targets.some((target) => image.contains(target))) image.setAttribute("role", "group");
    }
    targets.forEach((target, i) => choice(board, block, targets, target, i));
    // What can be pressed is no part of a picture for who listens, but one of a group.
    for (const target of targets) target.closest("svg[role=img]")?.setAttribute("role", "group");
    return element;
  };
}

function choice(board, block, targets, target, i) {
  target.setAttribute("role", "button");
  target.setAttribute("aria-label", block.labels[i]);
  target.classList.add("choice");
  target.dataset.focus = `${block.tells}-${block.values[i]}`;
  if (i === block.now) target.setAttribute("aria-current", "true");
  target.setAttribute("tabindex", i === (block.now ?? 0) ? "0" : "-1");
  const tell = () => board.component.setTriggerValue(block.tells, block.values[i]);
  target.addEventListener("click", (event) => {
    event.stopPropagation();
    tell();
  });
  target.addEventListener("keydown", (event) => {
    const step = { ArrowDown: block.line, ArrowRight: 1, ArrowUp: -block.line, ArrowLeft: -1 }[event.key];
    if (event.key === "Enter" || event.key === " ") tell();
    else if (step) focusOn(targets, (i + step + targets.length) % targets.length);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function focusOn(targets, next) {
  targets.forEach((target, j) => target.setAttribute("tabindex", j === next ? "0" : "-1"));
  targets[next].focus();
}
