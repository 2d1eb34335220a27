// Changing a word where it stands: it becomes a field of text. Enter, or leaving it, takes the change; Escape does not.

export class WordEdit {
  // changed(word): what was typed in place of the word; moved(): the words around it have another place now.
  constructor({ changed, moved }) {
    this.changed = changed;
    this.moved = moved;
    this.cells = null;
  }

  get open() {
    return this.cells !== null;
  }

  // cells: the elements of one word, in order. typed: what is typed in its place already; without it, all is selected.
  begin(cells, typed = null) {
    this.end(false);
    this.cells = cells;
    this.texts = cells.map((cell) => cell.textContent);
    const [cell, ...rest] = cells;
    const word = this.texts.join("");
    this.kept = Object.fromEntries(["role", "aria-label", "aria-pressed"].map((name) => [name, cell.getAttribute(name)]));
    cell.textContent = typed ?? word;
    for (const other of rest) other.textContent = "";
    cell.setAttribute("contenteditable", "plaintext-only");
    if (!cell.isContentEditable) cell.setAttribute("contenteditable", "true");
    cell.setAttribute("role", "textbox");
    cell.setAttribute("aria-label", `In place of ${word}; Enter takes it, Escape leaves it`);
    cell.removeAttribute("aria-pressed");
    cell.classList.add("editing");
    this.handlers = {
      keydown: (event) => this.key(event),
      input: () => this.moved(),
      blur: () => this.end(true),
    };
    for (const [name, handler] of Object.entries(this.handlers)) cell.addEventListener(name, handler);
    cell.focus({ preventScroll: false });
    getSelection().selectAllChildren(cell);
    if (typed !== null) getSelection().collapseToEnd();
    this.moved();
  }

  key(event) {
    event.stopPropagation();
    if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    const [cell] = this.cells;
    this.end(event.key === "Enter");
    cell.focus();
  }

  end(taken) {
    if (!this.cells) return;
    const [cells, texts, handlers] = [this.cells, this.texts, this.handlers];
    this.cells = null;
    const [cell] = cells;
    for (const [name, handler] of Object.entries(handlers)) cell.removeEventListener(name, handler);
    const word = cell.textContent.replace(/\s+/g, " ").trim();
    cell.removeAttribute("contenteditable");
    cell.classList.remove("editing");
    for (const [name, value] of Object.entries(this.kept)) value === null ? cell.removeAttribute(name) : cell.setAttribute(name, value);
    cells.forEach((each, i) => (each.textContent = texts[i]));
    const changed = taken && word !== texts.join("");
    if (changed) {
      // What was typed stays to be seen until the page has read it.
      cell.textContent = word;
      for (const other of cells.slice(1)) other.textContent = "";
    }
    this.moved();
    if (changed) this.changed(word);
  }
}

// The units of the word that a unit belongs to: from its first piece on, those that go on with it.
export function unitsOfWord(record, unit) {
  let first = unit;
  while (record.joined?.[first]) first--;
  let stop = first + 1;
  while (record.joined?.[stop]) stop++;
  return Array.from({ length: stop - first }, (_, i) => first + i);
}

// A key that types a character.
export const types = (event) => event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
