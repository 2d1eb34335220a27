// A text's own spelling, cut into units: the port of mha_core/draw/text.py, which says why.
const MARKS = { "\n": "↵", "\r": "↵", "\t": "⇥", "\x7f": "␡", "\u00ad": "‐", "\u200b": "◌", "\ufeff": "◌" };
const EXTENDS = /^[\p{M}\u200c\u200d\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u;
const FLAGS = /[\u{1f1e6}-\u{1f1ff}]+$/u;

// Whether a cut there would fall inside what the eye sees as one character.
export function isInside(text, at) {
  const [before, after] = [text.slice(0, at), text.slice(at)];
  if (!before || !after || /\s$/.test(before)) return false;
  if (EXTENDS.test(after)) return true;
  if (before.endsWith("\u200d")) return /^[\p{L}\p{N}\p{So}]/u.test(after);
  return /^[\u{1f1e6}-\u{1f1ff}]/u.test(after) && (FLAGS.exec(before)?.[0].length ?? 0) % 4 === 2;
}

// Control and zero-width characters as marks that one can see.
export function visible(text, spaces = false) {
  const letters = [...text];
  const seen = letters.map((letter, i) => {
    if (spaces && " \n\t\u00a0".includes(letter)) return letter;
    if (MARKS[letter]) return MARKS[letter];
    if (letter < " ") return String.fromCharCode(0x2400 + letter.charCodeAt(0));
    if ("\u200c\u200d".includes(letter) && i > 0 && i < letters.length - 1) return letter;
    return /\p{C}/u.test(letter) ? "◌" : letter;
  });
  return seen.join("") || (spaces ? "" : "◌");
}

// Every unit as it was written, and the spaces before it. spans: where each segment's text begins and ends.
export function spelled(text, units, spans, cut) {
  const ends = spans.map(([start]) => start);
  const own = [...ends];
  const [names, before] = [[], []];
  for (const { special, bare, start, end, segment } of units) {
    if (special || end <= ends[segment]) {
      names.push(visible(bare));
      before.push("");
      continue;
    }
    const first = start < own[segment] ? start : Math.max(start, ends[segment]);
    let last = end;
    while (last < spans[segment][1] && isInside(text, last)) last += text.codePointAt(last) > 0xffff ? 2 : 1;
    before.push(visible(text.slice(ends[segment], first), true));
    names.push(visible(text.slice(first, last)));
    [ends[segment], own[segment]] = [last, end];
  }
  const rest = (segment) => (units.some((unit) => unit.segment === segment) && !cut ? visible(text.slice(ends[segment], spans[segment][1]), true) : "");
  return { names, before, after: [rest(0), spans[1] ? rest(1) : ""] };
}

// For lists: the same name twice has a number.
export function indexed(names) {
  const seen = {};
  return names.map((name) => {
    seen[name] = (seen[name] ?? 0) + 1;
    return names.indexOf(name) === names.lastIndexOf(name) ? name : name + String(seen[name]).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);
  });
}
