"""What a reader typed, read as people write: 94.4 5.6, 0.944,0.056, 1024/16=64, sixty-four, 2^20, 4–8. No Streamlit.

In: a line of text. Out: lists of numbers it may mean (`readings`, `sizes`), or a head (`head_of`).
"""

import re
import unicodedata
from collections.abc import Iterator

from mha_core.wording import Head
from pages.parts.learn.sums import value_of

_NUMBER = r"[-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:e[-+]?\d+)?"
_ONES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS: dict[str, float] = (
    {word: i for i, word in enumerate(_ONES.split(), 1)}
    | {word: 10 * i for i, word in enumerate(_TENS.split(), 2)}
    | {"half": 0.5, "twice": 2, "double": 2, "doubled": 2, "doubles": 2, "doubling": 2, "triple": 3, "triples": 3,
       "quadruple": 4, "quadrupled": 4, "quadruples": 4, "quadrupling": 4, "zero": 0}
)  # fmt: skip
_NTH = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINALS = {word: f"{i}" for i, word in enumerate(_NTH.split(), 1)}
_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "‑": "-", "‐": "-", "×": "*", "·": "*", "⋅": "*", "∙": "*",
                        "÷": "/", "⁄": "/", "％": "%", "’": "'"})  # fmt: skip
# What stands for a sign of arithmetic where it is between two numbers.
_SPOKEN = {r"divided by|over": "/", r"times|multiplied by|of": "*", "plus": "+", "minus": "-"}
# What is said beside an answer: what is in brackets, for which score, how many heads.
_ASIDE = r"\([^()]*\)|\bfor\s+[-+]?[\d.,]*\d|\b\d+ heads?\b"
_CONCLUDED = r"=|≈|->|→|\b(?:is|so|equals|gives|makes|thus|hence)\b"


def readings(typed: str, *, shares: bool = False) -> list[list[float]]:
    """What the reader may have meant: 1,024 can be a thousand and twenty-four, one and a bit, or two numbers.

    A sum that is written out counts as its result, alone or after an equals sign. With `shares` numbers that add up
    to a hundred are percentages.
    """
    text = plain(typed)
    found: list[list[float]] = []
    for side in _sides(text):
        thousands = re.sub(r"(?<=\d)[,. '_](?=\d{3}(?!\d))", "", side)
        mixed = re.sub(r"^\s*(\d+)\s+(\d+/\d+)\W*$", r"\1+\2", side)
        for one in (side, thousands, side.replace(",", " "), mixed):
            found += [numbers(one), *([result] for result in [value_of(one)] if result is not None)]
    found += _listed(text)
    if shares:
        found += [[x / 100 for x in one] for one in found if len(one) > 1 and abs(sum(one) - 100) <= 1.5]
    return [reading for i, reading in enumerate(found) if reading and reading not in found[:i]]


def plain(typed: str) -> str:
    """The signs of the keyboard for those of the typesetter, and digits for numbers in words; what is said not to be
    the answer is left out."""
    raised = re.sub("[⁰¹²³⁴-⁹]+", r"^\g<0>", re.sub(r"(\d+)([¼-¾⅐-⅞])", r"(\1+\2)", typed))
    text = unicodedata.normalize("NFKC", raised.translate(_SIGNS)).translate(_SIGNS).lower()
    text = re.sub(r"\b([a-z]+)-?fold\b", r"\1", text)
    text = re.sub(rf"\b({_TENS.replace(' ', '|')})[- ]([a-z]+)\b", _two_words, text)
    text = re.sub(r"(?<![-\w])[a-z]+(?![-\w])", lambda word: _digits(word[0]), text)
    text = re.sub(r"\ba million\b", "1 million", text)
    text = re.sub(
        rf"({_NUMBER})\s*(?:millions?|mio|m)\b", lambda m: f"{1e6 * float(m[1].replace(',', '.')):.0f}", text
    )
    for words, sign in _SPOKEN.items():
        text = re.sub(rf"(?<=[\d%])\s*\b(?:{words})\b\s*(?=\d)", sign, text)
    text = re.sub(r"(?<=\d)\s*\bsquared\b", "^2", text)
    return re.sub(r"\bnot\s+(?:[-\d.,]+|[(\[][^()\[\]]*[)\]])", " ", text)


def _digits(word: str) -> str:
    return f"{_WORDS[word]:g}" if word in _WORDS else word


def _two_words(found: re.Match[str]) -> str:
    """Sixty-four; what is no such number stays."""
    ones = _WORDS.get(found[2], 0)
    return f"{_WORDS[found[1]] + ones:g}" if 1 <= ones <= 9 else found[0]


def _sides(text: str) -> Iterator[str]:
    """What stands between equals signs, the last first, also without what is said beside it; a name such as d_k is no
    number."""
    for side in reversed(re.split(_CONCLUDED, text)):
        named = re.sub(r"\b[a-z]+_?[a-z]*\d*\b(?![.,]?\d)", lambda m: " " if "_" in m[0] else m[0], side)
        yield named
        if (bare := re.sub(_ASIDE, " ", named)) != named:
            yield bare


def _listed(text: str) -> Iterator[list[float]]:
    """Several results, each perhaps after its name or its sum: w1 = 0.944, 16.9/17.9 = 0.944 1/17.9 = 0.056."""
    yield numbers(re.sub(r"[^\s=]+\s*=\s*", " ", text))
    parts = [
        re.split("=|≈", part)[-1]
        for part in re.split(r"[;|\n]|,\s|\band\b", _unwrapped(text.strip()))
        if part.strip()
    ]
    if len(parts) > 1:
        yield _worked_out(parts)


def _worked_out(parts: list[str]) -> list[float]:
    """The results of all these sums, or none if one of them is no sum."""
    results = [result for result in map(value_of, parts) if result is not None]
    return results if len(results) == len(parts) else []


def _unwrapped(text: str) -> str:
    """Without the brackets around all of it."""
    return text[1:-1] if text[:1] in "([" and text[-1:] in ")]" else text


def numbers(text: str) -> list[float]:
    """All numbers of a text; a comma or a point before digits is decimal, a per cent sign divides by 100."""
    found = re.findall(rf"({_NUMBER})\s*(%?)", text, flags=re.IGNORECASE)
    return [float(number.replace(",", ".")) / (100 if percent else 1) for number, percent in found]


def sizes(typed: str) -> list[list[float]]:
    """The whole numbers of a shape, as they stand and with products worked out: (2, 100, 8*64). A minus sign counts
    where it stands before a number, not between two."""
    text = plain(typed)
    inside = re.fullmatch(r"\D*[(\[]([^()\[\]]*)[)\]]\D*", text)
    stand = [float(part) for part in re.findall(r"(?<!\d)-?\d+|\d+", text)]
    worked = _worked_out(re.split("[,;]", inside[1] if inside else text))
    return [reading for reading in (stand, worked) if reading]


def _counted_out(typed: str) -> str:
    """First, second, third and so on as digits: which head, or which layer."""
    return re.sub(r"[A-Za-z]+", lambda word: _ORDINALS.get(word[0].lower(), word[0]), typed)


def head_of(typed: str) -> Head | None:
    """(layer, head) from 0 of 4-2, 4–2, 4.2, 4 2, (4, 2), L4H2, head 4-2, head 2 of layer 4, the second head of the
    4th layer; None of anything else."""
    text = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", plain(_counted_out(typed)))
    text = re.sub(
        r"^\W*(?:(?:i think|i guess|perhaps|the answer is|answer:|it is|it's) )?(?:the )?", "", text
    )
    text = re.sub(r"(?<=\S)\s*(?:\([^()]*\)|,?\s*\b(?:because|since|with|has|is)\b.*)\s*$", "", text)
    text = re.sub(r"\b(layer|head)\s*(?:number\b|no\b\.?|[#:=])\s*", r"\1 ", text)
    number = r"0*([1-9][0-9]{0,2})"
    a_head, a_layer = (
        rf"(?:{name}\s*{number}|{number}\s*{word})"
        for name, word in (("(?:head|h)", "head"), ("layer", "layer"))
    )
    if match := re.fullmatch(rf"{a_head}\s*,?\s*(?:of|in)\s*(?:the )?{a_layer}\W*", text):
        head, layer = match[1] or match[2], match[3] or match[4]
        return int(layer) - 1, int(head) - 1
    between = r"(?:\s*[-.,:;/_|x]\s*|\s+and\s+|\W*\]\[|\s+|\W*(?=h)|\s+(?=layer))"
    match = re.fullmatch(
        rf"(?:l|layer|head(?=\s*\d+\s*\W\s*\d)|h(?=\d+\W\d))?\s*{number}\s*(?:layer)?{between}(?:head\s*|h\s*)?{number}"
        r"(?:\s*head)?\W*",
        text,
    )
    return (int(match[1]) - 1, int(match[2]) - 1) if match else None
