"""What a reader typed, read as people write: 94.4 5.6, 0.944,0.056, 1024/16=64, the same, 4–8. No Streamlit.

In: a line of text. Out: lists of numbers it may mean (`readings`, `sizes`), or a head (`head_of`).
"""

import re
from collections.abc import Iterator

from mha_core.wording import Head

_NUMBER = r"[-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:e[-+]?\d+)?"
_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_WORDS = {word: i for i, word in enumerate(_COUNTED.split(" "), 1)} | {
    "half": 0.5, "twice": 2, "double": 2, "doubled": 2, "quadruple": 4, "quadrupled": 4, "zero": 0,
}  # fmt: skip
_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "÷": "/", "⁄": "/", "％": "%"})


def readings(typed: str, *, shares: bool = False) -> list[list[float]]:
    """What the reader may have meant: 1,024 can be a thousand and twenty-four, one and a bit, or two numbers.

    A sum that is written out counts as its result, alone or after an equals sign. With `shares` numbers that add up
    to a hundred are percentages.
    """
    found: list[list[float]] = []
    for side in _sides(plain(typed)):
        thousands = re.sub(r"(?<=\d)[,. ](?=\d{3}(?!\d))", "", side)
        for text in (side, thousands, re.sub(r",", " ", side)):
            found.append(numbers(text))
            found += [[value] for value in [_worked_out(text)] if value is not None]
    if shares:
        found += [[x / 100 for x in one] for one in found if len(one) > 1 and abs(sum(one) - 100) <= 1.5]
    return [reading for i, reading in enumerate(found) if reading and reading not in found[:i]]


def plain(typed: str) -> str:
    """The signs of the keyboard for those of the typesetter, and digits for small numbers in words."""
    text = typed.translate(_SIGNS).lower()
    text = re.sub(r"\b([a-z]+)(?:fold)\b", r"\1", text)
    return re.sub(
        r"(?<![-\w])[a-z]+(?![-\w])",
        lambda word: f"{_WORDS[word[0]]:g}" if word[0] in _WORDS else word[0],
        text,
    )


def _sides(text: str) -> Iterator[str]:
    """What stands between equals signs, the last first; a name such as d_k is no number."""
    for side in reversed(re.split(r"=|≈|->|→", text)):
        yield re.sub(r"\b[a-z]+_?[a-z]*\d*\b(?![.,]?\d)", lambda m: " " if "_" in m[0] else m[0], side)


def _worked_out(text: str) -> float | None:
    """The result of a product or quotient such as 1024 / 16, if that is all there is."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([*/x:])\s*(\d+(?:\.\d+)?)\s*", text)
    if match is None:
        return None
    a, b = float(match[1]), float(match[3])
    if match[2] in "*x":
        return a * b
    return a / b if b else None


def numbers(text: str) -> list[float]:
    """All numbers of a text; a comma or a point before digits is decimal, a per cent sign divides by 100."""
    found = re.findall(rf"({_NUMBER})\s*(%?)", text, flags=re.IGNORECASE)
    return [float(number.replace(",", ".")) / (100 if percent else 1) for number, percent in found]


def sizes(typed: str) -> list[float]:
    """The whole numbers of a shape; a minus sign counts where it stands before a number, not between two."""
    return [float(part) for part in re.findall(r"(?<!\d)-?\d+|\d+", plain(typed))]


def head_of(typed: str) -> Head | None:
    """(layer, head) from 0 of 4-2, 4–2, 4.2, 4 2, (4, 2), L4H2 or layer 4, head 2; None of anything else."""
    match = re.fullmatch(
        r"\W*(?:l|layer)?\s*([1-9][0-9]{0,2})(?:\s*[-.,:;/]\s*|\s+|\s*,?\s*(?=h))(?:h|head)?\s*([1-9][0-9]{0,2})\W*",
        typed.translate(_SIGNS).casefold(),
    )
    return (int(match[1]) - 1, int(match[2]) - 1) if match else None
