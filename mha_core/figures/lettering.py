"""The bundled typeface: how wide its letters are, and the files that a drawing takes along.

In: texts and sizes in points. Out: widths in points, and a style sheet with the faces that the texts need.
"""

import json
import unicodedata
from base64 import b64encode
from collections.abc import Iterable
from functools import cache

from mha_core.resources import asset

FOLDER = asset("fonts")
# A name with a digit in it must be quoted, or the whole list is dropped.
FAMILY = "HeadScope, 'Source Serif 4', Georgia, 'Times New Roman', serif"
FACES = {
    "headscope-latin.woff2": "U+0-FF, U+131, U+152-153, U+2000-206F, U+20AC, U+2122, U+2212",
    "headscope-latin-ext.woff2": "U+100-130, U+132-151, U+154-17F, U+218-21B, U+1E9E",
}
LATIN, EXTENDED = FACES
UNKNOWN, WIDE = 560, 1000  # thousandths of the size, for letters of other faces
SAFE = 1.03  # small type is set a little wider than at the size that was measured


def runs_leftward(names: Iterable[str]) -> bool:
    """Whether a line of these words runs from right to left: the first letter with a direction of its own decides."""
    strong = (unicodedata.bidirectional(sign) for name in names for sign in name)
    return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def width(text: str, size: float) -> float:
    """How wide a text is, in the unit of its size."""
    return sum(_advance(letter) for letter in text) * size / 1000 * SAFE


def faces_for(texts: str) -> list[str]:
    """The files of the typeface that these letters need."""
    return [LATIN] + ([EXTENDED] if any("\u0100" <= letter <= "\u1e9e" for letter in texts) else [])


def style(texts: str) -> str:
    """The faces that these letters need, as a style sheet with the files inside."""
    return "".join(
        f"@font-face{{font-family:HeadScope;font-weight:400 650;unicode-range:{FACES[name]};"
        f"src:url(data:font/woff2;base64,{_file(name)}) format('woff2')}}"
        for name in faces_for(texts)
    )


def _advance(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    known = _advances().get(letter)
    if known is not None:
        return known
    return WIDE if unicodedata.east_asian_width(letter) in "WF" else UNKNOWN


@cache
def _advances() -> dict[str, int]:
    """Thousandths of the size by letter, as Chromium sets them at 12 px."""
    rows = json.loads((FOLDER / "advances.json").read_text(encoding="utf-8"))
    return {letter: int(advance) for advance, letters in rows.items() for letter in letters}


@cache
def _file(name: str) -> str:
    return b64encode((FOLDER / name).read_bytes()).decode("ascii")
