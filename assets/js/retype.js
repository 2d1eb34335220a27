// A word was changed where it stands: the texts of the address with another word there.
const MARKS = [".", ",", ";", ":", "!", "?", '"', "'", "(", ")"];

// typed: {texts: [[text, pair], …], spots: [[[start, end, segment] | null, …], …]} of one or two sides, in characters.
// Returns what the address says then; null where there is nothing to change.
export function retyped(typed, { unit, word, side = 0 }, { against = "sentence", text2 } = {}) {
  const spot = typed?.spots[side]?.[unit];
  if (!spot) return null;
  const [start, end, segment] = spot;
  const text = withWord(typed.texts[side][segment], start, end, word);
  if (segment) return { pair: text };
  const twoSentences = typed.texts.length === 2 && against === "sentence";
  if (!twoSentences) return { text };
  return side ? { text2: text } : { text, text2: text2 ?? typed.texts[1][0] };
}

// Places are counted in characters, of which some are two units of a JavaScript string.
export function withWord(text, start, end, word) {
  const letters = [...text];
  const after = letters.slice(end).join("");
  let before = letters.slice(0, start).join("");
  const put = word.trim();
  if (put) return before + put + after;
  if (!after || after[0] === " " || MARKS.includes(after[0])) before = before.replace(/ +$/, "");
  return (before + after).trimStart();
}
