"""The reader's own spelling, cut into units for the picture, and what a head does said in one sentence.

In: a grid and the reader's text. Out: names and the spaces between them, never cut inside a grapheme; sentences
that are letter for letter the browser's (assets/js/words.js).
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mha_core.record import Grid
from mha_core.thumbnails import STEPS, quantise
from mha_core.tokens import Tokens
from mha_core.wording import Head, counted, head_name, percent

Spelling = dict[str, list[str]]
_BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def spelled(grid: Grid, tokens: Tokens) -> Spelling:
    """Every unit as the reader wrote it, and the spaces before it. Cuts never fall inside a grapheme."""
    texts = (tokens.text, tokens.pair or "")
    ends = [0, 0]
    names: list[str] = []
    before: list[str] = []
    for unit in grid.units:
        text = texts[unit.segment]
        if unit.special or unit.end <= ends[unit.segment]:
            names.append(visible(unit.bare))
            before.append("")
            continue
        start = max(unit.start, ends[unit.segment])
        end = grapheme_end(text, unit.end)
        before.append(visible(text[ends[unit.segment] : start], spaces=True))
        names.append(visible(text[start:end]))
        ends[unit.segment] = end
    shown = {unit.segment for unit in grid.units}
    after = [
        visible(texts[segment][ends[segment] :], spaces=True) if segment in shown and not tokens.n_cut else ""
        for segment in (0, 1)
    ]
    return {"names": names, "before": before, "after": after}


def grapheme_end(text: str, end: int) -> int:
    """The end moved past marks that belong to the character before it."""
    while end < len(text) and (
        unicodedata.category(text[end]) in ("Mn", "Mc", "Me")
        or text[end] in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= text[end] <= "\U0001f3ff"
        or text[end - 1] == "\u200d"
    ):
        end += 1
    return end


def indexed(names: Sequence[str]) -> list[str]:
    """Names for lists, where the same one twice has a number: the₁, the₂."""
    count, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if count[name] == 1 else name + str(seen[name]).translate(_BELOW))
    return found


def marks(grid: Grid, tokens: Tokens) -> dict[str, Any]:
    """Where the model did not read what was written: pieces of one word, pieces it does not know, and a cut."""
    pieces = tokens.pieces
    if not pieces:
        return {}
    first, last = ([pieces[unit.pieces[at]] for unit in grid.units] for at in (0, -1))
    joined = [
        int(
            i > 0
            and here.word is not None
            and (here.word, here.segment) == (last[i - 1].word, last[i - 1].segment)
        )
        for i, here in enumerate(first)
    ]
    unknown = [int(any(pieces[i].role == "unknown" for i in unit.pieces)) for unit in grid.units]
    said: dict[str, Any] = {"joined": joined, "unknown": unknown}
    if any(unknown):
        said["unknownName"] = next(piece.text for piece in pieces if piece.role == "unknown")
    if tokens.n_cut:
        said["cut"] = f"{counted(tokens.n_cut, 'piece')} left out"
    return said


def visible(text: str, spaces: bool = False) -> str:
    """Control and zero-width characters as marks one can see; joiners inside a grapheme stay what they are."""
    out = []
    for i, character in enumerate(text):
        if spaces and character in " \n\t\u00a0":
            out.append(character)
        elif character in _MARKS:
            out.append(_MARKS[character])
        elif ord(character) < 0x20:
            out.append(chr(0x2400 + ord(character)))
        elif character in "\u200c\u200d" and 0 < i < len(text) - 1:
            out.append(character)
        elif unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn", "Cs") and character != "\u00ad":
            out.append("\u25cc")
        else:
            out.append(character)
    return "".join(out) or "\u25cc"[: not spaces]


_MARKS = {"\n": "↵", "\r": "↵", "\t": "⇥", "\x7f": "␡", "\u00ad": "‐", "\u200b": "\u25cc", "\ufeff": "\u25cc"}


def sentence_in_words(grid: Grid, head: Head, pins: Sequence[int], tokens: Tokens | None = None) -> str:
    """What one head does, in one sentence; letter for letter what the browser writes (assets/js/words.js)."""
    names = indexed(spelled(grid, tokens)["names"] if tokens else [visible(label) for label in grid.labels])
    weights = quantise(grid.weights[head]).astype(np.float64)
    number = head_name(head)
    if pins:
        return _row_in_words(number, names, pins, weights)
    special = np.array([unit.special for unit in grid.units], dtype=bool)
    weights[special] = weights[:, special] = 0
    if grid.visible is not None:
        weights[grid.visible.sum(axis=-1) == 1] = 0  # what sees only itself has no choice
    links = [(row.max() / STEPS, q, int(row.argmax())) for q, row in enumerate(weights) if row.max() > 0]
    links.sort(key=lambda link: (-link[0], link[1]))
    what = [f"“{names[q]}” looks at “{names[k]}” ({percent(w)})" for w, q, k in links[:3]]
    if not what:
        return f"Head {number}: no link between two words of this text."
    left = dict.fromkeys(names[i].rstrip("₀₁₂₃₄₅₆₇₈₉") for i in np.flatnonzero(special))
    but = f" ({listed(list(left))} left out)" if left else ""
    return f"Head {number}, its strongest links between words{but}: {listed(what)}."


def _row_in_words(number: str, names: list[str], pins: Sequence[int], weights: NDArray[np.float64]) -> str:
    # Pin by pin: the browser adds in the same order, so that roundings agree.
    row = np.zeros(len(names), dtype=np.float64)
    for pin in pins:
        row += weights[pin] / STEPS / len(pins)
    best = sorted((k for k in range(len(row)) if row[k] > 0 and row[k] >= 0.01), key=lambda k: (-row[k], k))[
        :3
    ]
    who = listed([f"“{names[pin]}”" for pin in pins])
    looks = "look on average" if len(pins) > 1 else "looks"
    what = listed([f"“{names[k]}” ({percent(float(row[k]))})" for k in best]) or "nothing with 1 % or more"
    return f"Head {number}: {who} {looks} at {what}."


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    return "".join(parts) if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def in_a_list(tokens: Tokens, place: int) -> str:
    """A token as lists of tokens and links name it: where it stands from 0, and its label."""
    return f"{place}: {visible(tokens.label(tokens.pieces[place]))}"
