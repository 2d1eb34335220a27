// A text as the model's tokens with their words and places: mha_core/tokens.py in JavaScript.
import { piecesOf } from "./wordpiece.js";
import { findWords, reach } from "./words.js";

// about: what mha_core/static_site/vocabulary.py wrote. Returns (text) => { text, pieces, spans, cut }: `spans` are the
// places of the one or two texts that are read, in the text; `cut` is how many tokens the model's limit leaves out.
export function tokenizerOf(about) {
  const { ids, is, rows } = piecesOf(about);
  const put = (text, segment) => ({ text, id: ids.get(text), start: 0, end: 0, word: null, mark: "", segment });
  const end = about.separator ? [about.separator] : [];

  return (typed) => {
    const text = typed.replace(/\p{Surrogate}/gu, "\ufffd"), characters = [...text];
    const spans = textsIn(characters, is, about);
    const parts = spans.map(([start, stop], segment) => {
      const own = characters.slice(start, stop), found = rows(own);
      if (!found.length || own.every(is.blank)) {
        throw new Error(`The ${segment ? "second sentence" : "sentence"} is empty. Type a word.`);
      }
      reach(own, found, is);
      return found;
    });
    const around = about.begin.length + end.length * parts.length;
    const cut = Math.max(0, around + parts.flat().length - about.limit);
    shorten(parts, cut);
    parts.forEach((part, segment) => findWords(characters.slice(...spans[segment]), part, is, about));
    const place = offsets(characters);
    const inText = (row, segment) => ({
      ...row, segment, start: place[row.start + spans[segment][0]], end: place[row.end + spans[segment][0]],
    });
    const whole = parts.flatMap((part, segment) => [
      ...(segment ? [] : about.begin.map((name) => put(name, 0))),
      ...part.map((row) => inText(row, segment)),
      ...end.map((name) => put(name, segment)),
    ]);
    return { text, pieces: numbered(whole), spans: spans.map((span) => span.map((at) => place[at])), cut };
  };
}

// Where the one or two texts stand, without what was typed of the frame; one typed separator is the border of a pair.
function textsIn(characters, is, { begin, separator }) {
  const strip = (start, end) => {
    while (start < end && is.blank(characters[start])) start++;
    while (start < end && is.blank(characters[end - 1])) end--;
    return [start, end];
  };
  const holds = (name, at) => at >= 0 && characters.slice(at, at + name.length).join("") === name;
  const unframed = ([start, end]) => {
    for (const name of begin) {
      const [first] = strip(start, end);
      if (first + name.length <= end && holds(name, first)) [start] = strip(first + name.length, end);
    }
    const [, last] = strip(start, end);
    const at = last - separator.length;
    return separator && at >= start && holds(separator, at) ? [start, endBefore(start, at)] : [start, end];
  };
  const endBefore = (start, end) => {
    while (end > start && is.blank(characters[end - 1])) end--;
    return end;
  };
  const [start, end] = unframed([0, characters.length]);
  const borders = [];
  for (let at = start; separator && at + separator.length <= end; at++) {
    if (holds(separator, at)) borders.push(at);
  }
  if (borders.length === 1) {
    const [border] = borders, after = strip(border + separator.length, end)[0];
    const first = endBefore(start, border);
    if (strip(start, first)[0] < first && after < end) return [[start, first], unframed([after, end])];
  }
  return [[start, end]];
}

// The longer text loses its end first, one token at a time.
function shorten(parts, cut) {
  for (; cut > 0; cut--) parts.reduce((long, part) => (part.length > long.length ? part : long)).pop();
}

// The place of each character, and of the end, in units of a JavaScript string.
function offsets(characters) {
  const places = [0];
  for (const character of characters) places.push(places.at(-1) + character.length);
  return places;
}

// Words numbered through all segments, -1 for none.
function numbered(rows) {
  let word = -1;
  return rows.map(({ text, id, start, end, segment, word: own, mark }, i) => {
    const before = rows[i - 1];
    if (own !== null && !(before && before.segment === segment && before.word === own)) word++;
    return { text, id, start, end, segment, word: own === null ? -1 : word, special: Number(own === null), mark };
  });
}
