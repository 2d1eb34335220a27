// GPT-2's byte-level BPE, as the library tokenizers does it: a text is cut, and the bytes of each part are joined in pairs.
const isPrintable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || byte > 173;
const SIGNS = (() => { // a sign for every byte: printable ones stand for themselves, the others follow from 256 on
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
})();
const BYTES = new Map(SIGNS.map((sign, byte) => [sign, byte]));

// about: what mha_core/draw/static_site/vocabulary.py wrote; ids: the number of each piece. Returns cut(characters, place),
// the rows { text, id, start, end } of each part, and spell(id), a piece as a user would type it.
export function bytePairs({ pieces, merges, typed, digits, classes: { letter, number, gap } }, ids) {
  const size = pieces.length, ranks = new Map(merges.map(([left, right], rank) => [left * size + right, rank]));
  const joined = merges.map(([left, right]) => ids.get(pieces[left] + pieces[right]));
  const parts = new RegExp(`'s|'t|'re|'ve|'m|'ll|'d| ?[${letter}]+| ?[${number}]+| ?[^${gap}${letter}${number}]+|[${gap}]+(?![^${gap}])|[${gap}]+`, "gu");
  const digit = digits ? new RegExp(`([${number}])`, "u") : undefined;
  const utf8 = new TextEncoder(), text = new TextDecoder("utf-8", { ignoreBOM: true }), known = new Map();
  const spell = (id) => (typed.includes(pieces[id]) ? pieces[id] : text.decode(Uint8Array.from(pieces[id], (sign) => BYTES.get(sign))));

  // A byte without a piece is left out, and not counted where those after it stand: the library does so. The pair that was
  // learned first is joined first.
  function join(part) {
    const characters = [...part], place = characters.flatMap((character, i) => Array.from(utf8.encode(character), () => i));
    const bytes = Array.from(utf8.encode(part), (byte) => ids.get(SIGNS[byte])).filter((id) => id !== undefined);
    const row = bytes.map((id, i) => ({ id, start: place[i], end: place[i] + 1 }));
    for (;;) {
      let best = Infinity, at = -1;
      for (let i = 0; i + 1 < row.length; i++) {
        const rank = ranks.get(row[i].id * size + row[i + 1].id) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) return row.map((each) => ({ ...each, text: spell(each.id) }));
      row.splice(at, 2, { id: joined[best], start: row[at].start, end: row[at + 1].end });
    }
  }

  function cut(characters, base) {
    let place = base;
    return characters.join("").split(digit).flatMap((stretch) => [...stretch.matchAll(parts)]).map(([part]) => {
      if (!known.has(part)) known.set(part, join(part));
      const from = place;
      place += [...part].length;
      return known.get(part).map((row) => ({ ...row, start: row.start + from, end: row.end + from }));
    });
  }
  return { cut, spell };
}
