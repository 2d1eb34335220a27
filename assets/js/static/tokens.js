// A text as the model's tokens with their words and places: mha_core/text/tokens.py in JavaScript.
import { piecesOf } from "./wordpiece.js";
import { findWords, reach } from "./words.js";

// about: what mha_core/draw/static_site/vocabulary.py wrote. Returns read(text), { text, pieces, spans, cut }: `spans` are the
// places of the one or two texts that are read, in the text; `cut` is how many tokens the limit leaves out.
export function tokenizerOf(about) {
  const { ids, is, rows, spell } = piecesOf(about);
  const put = (text, segment) => ({ text, id: ids.get(text), start: 0, end: 0, word: null, mark: "", segment });
  const end = about.separator ? [about.separator] : [];

  const read = (typed) => {
    const text = typed.replace(/\p{Surrogate}/gu, "\ufffd"), spans = textsIn(text, about);
    const parts = spans.map(([start, stop], segment) => {
      const characters = [...text.slice(start, stop)], found = rows(characters);
      if (!found.length || characters.every(is.blank)) {
        throw new Error(`The ${segment ? "second sentence" : "sentence"} is empty. Type a word.`);
      }
      reach(characters, found, is);
      return { characters, start, rows: found };
    });
    const count = parts.reduce((sum, part) => sum + part.rows.length + end.length, about.begin.length);
    const cut = Math.max(0, count - about.limit);
    shorten(parts.map((part) => part.rows), cut);
    const pieces = parts.flatMap((part, segment) => {
      findWords(part.characters, part.rows, is, about);
      const places = offsets(part.characters, part.start);
      const own = part.rows.map((row) => ({ ...row, segment, start: places[row.start], end: places[row.end] }));
      const begin = segment ? [] : about.begin;
      return [...begin.map((name) => put(name, 0)), ...own, ...end.map((name) => put(name, segment))];
    });
    return { text, pieces: numbered(pieces), spans, cut };
  };
  return { read, spellings: spell && about.pieces.map((_, id) => spell(id)) };
}

// Where the one or two texts stand, without what was typed of the frame; one typed separator is the border of a pair.
function textsIn(text, { begin, separator, classes }) {
  const escaped = (name) => name.replace(/[[\]\\^$.|?*+(){}]/g, "\\$&");
  const blank = `[${classes.blank}]*`, other = `[^${classes.blank}]`, [cls, sep] = [begin.join(""), separator].map(escaped);
  if (!separator) return [[cls ? new RegExp(`^(?:${blank}${cls})?`, "u").exec(text)[0].length : 0, text.length]];
  const framed = new RegExp(`^(?:${blank}${cls}${blank})?([^]*?)(?:${blank}${sep}${blank})?$`, "du");
  const unframed = ([start, end]) => framed.exec(text.slice(start, end)).indices[1].map((at) => at + start);
  const [start, end] = unframed([0, text.length]), inside = text.slice(start, end);
  const pair = new RegExp(`^([^]*${other})${blank}${sep}${blank}(${other}[^]*)$`, "du").exec(inside);
  if (inside.split(separator).length !== 2 || !pair) return [[start, end]];
  const [first, second] = pair.indices.slice(1).map((span) => span.map((at) => at + start));
  return [first, unframed(second)];
}

// The longer text loses its end first, one token at a time.
function shorten(parts, cut) {
  for (; cut > 0; cut--) parts.reduce((long, part) => (part.length > long.length ? part : long)).pop();
}

// The place of each character, and of the end, in units of a JavaScript string.
function offsets(characters, start) {
  const places = [start];
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
