// Text as the pieces of a vocabulary, as the library tokenizers cuts it: BERT's WordPiece, a list of whole words, or BPE.
// In: a list of characters. Out: rows { text, id, start, end, run }; a run is what is not cut apart first.
import { bytePairs } from "./bpe.js";

const LONGEST_WORD = 100;

// about: what mha_core/draw/static_site/vocabulary.py wrote. Returns (characters) => rows; `is.mark(c)` asks for a class.
export function piecesOf(about) {
  const ids = new Map(about.pieces.map((piece, id) => [piece, id]));
  const is = classes(about.classes);
  const pairs = about.merges && bytePairs(about, ids);
  const cut = pairs?.cut ?? (about.list ? wordList(ids, is) : wordPiece(ids, is, about));
  const typed = [...about.typed].sort((a, b) => b.length - a.length);
  return { ids, is, rows, spell: pairs?.spell };

  function rows(characters) {
    const found = [];
    let from = 0, run = 0;
    const read = (to) => {
      for (const word of cut(characters.slice(from, to), from)) {
        for (const row of word) found.push({ id: ids.get(row.text), ...row, run });
        run++;
      }
    };
    for (let at = 0; at < characters.length; at++) {
      const sign = typed.find((name) => name[0] === characters[at] && characters.slice(at, at + name.length).join("") === name);
      if (!sign) continue;
      read(at);
      from = at + sign.length;
      found.push({ text: sign, id: ids.get(sign), start: at, end: from, run: run++ });
      at = from - 1;
    }
    read(characters.length);
    return found;
  }
}

function classes(inside) {
  const made = ([name, characters]) => [name, RegExp.prototype.test.bind(new RegExp(`^[${characters}]`, "u"))];
  return Object.fromEntries(Object.entries(inside).map(made));
}

// Whole words of one pattern: \w+(?:['-]\w+)*|[^\w\s]
const wordList = (ids, is) => (characters, base) => {
  const letters = characters.flatMap((written, at) => [...written.toLowerCase()].map((letter) => [letter.replace("’", "'"), at + base]));
  const isWord = (at) => at < letters.length && is.word(letters[at][0]);
  const found = [];
  for (let at = 0; at < letters.length;) {
    const first = at++;
    if (is.space(letters[first][0])) continue;
    while (isWord(first) && (isWord(at) || ("'-".includes(letters[at]?.[0] ?? " ") && isWord(at + 1)))) at++;
    const text = letters.slice(first, at).map(([letter]) => letter).join("");
    found.push([{ text: ids.has(text) ? text : "[UNK]", start: letters[first][1], end: letters[at - 1][1] + 1 }]);
  }
  return found;
};

// Devlin et al. 2019: clean, set Chinese characters apart, strip accents, lower, cut at punctuation, longest piece first.
const wordPiece = (ids, is, { lowers, strips }) => (characters, base) => {
  const words = [[]];
  const alone = (letter, at) => words.push([[letter, at]], []);
  characters.forEach((written, i) => {
    const at = i + base;
    if (is.drop(written)) return;
    if (is.space(written) || is.cjk(written)) words.push([]);
    if (is.space(written)) return;
    for (const part of strips ? written.normalize("NFD") : written) {
      if (part !== written && is.drop(part)) continue;
      for (const letter of lowers ? part.toLowerCase() : part) {
        if (is.punct(letter)) alone(letter, at);
        else words.at(-1).push([letter, at]);
      }
    }
    if (is.cjk(written)) words.push([]);
  });
  return words.filter((word) => word.length).map((word) => piecesOfWord(word, ids));
};

// word: [[letter, place], …]
function piecesOfWord(word, ids) {
  const row = (text, from, to) => ({ text, start: word[from][1], end: word[to - 1][1] + 1 });
  const unknown = [row("[UNK]", 0, word.length)];
  const found = [];
  for (let from = 0; from < word.length && word.length <= LONGEST_WORD;) {
    let to = word.length;
    const piece = () => (from ? "##" : "") + word.slice(from, to).map(([letter]) => letter).join("");
    while (to > from && !ids.has(piece())) to--;
    if (to === from) return unknown;
    found.push(row(piece(), from, to));
    from = to;
  }
  return found.length ? found : unknown;
}
