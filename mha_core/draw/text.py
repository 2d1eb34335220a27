"""The spelling as typed, cut into units for the picture.

In: a grid and the text as typed. Out: names and the spaces between them, never cut inside a grapheme.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mha_core.display_names import count_noun, visible
from mha_core.record.grid import Grid
from mha_core.text.tokens import Tokens
from mha_core.text.word_spans import is_inside

Spelling = dict[str, list[str]]
_BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def spelled(grid: Grid, tokens: Tokens) -> Spelling:
    """Return every unit as typed, and the spaces before it. Cuts never fall inside a grapheme, and a unit that
    shares characters with the one before it keeps them."""
    texts = (tokens.text, tokens.pair or "")
    ends, own_ends = [0, 0], [0, 0]
    names: list[str] = []
    before: list[str] = []
    for unit in grid.units:
        text = texts[unit.segment]
        if unit.special or unit.end <= ends[unit.segment]:
            names.append(visible(unit.bare))
            before.append("")
            continue
        shares = unit.start < own_ends[unit.segment]
        start = unit.start if shares else max(unit.start, ends[unit.segment])
        end = grapheme_end(text, unit.end)
        before.append(visible(text[ends[unit.segment] : start], spaces=True))
        names.append(visible(text[start:end]))
        ends[unit.segment], own_ends[unit.segment] = end, unit.end
    shown = {unit.segment for unit in grid.units}
    after = [
        visible(texts[segment][ends[segment] :], spaces=True) if segment in shown and not tokens.n_cut else ""
        for segment in (0, 1)
    ]
    return {"names": names, "before": before, "after": after}


def grapheme_end(text: str, end: int) -> int:
    """Return the end moved past marks that belong to the character before it."""
    while is_inside(text, end):
        end += 1
    return end


def indexed(names: Sequence[str]) -> list[str]:
    """Return names for lists, where the same one twice has a number: the₁, the₂."""
    count, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(name if count[name] == 1 else name + str(seen[name]).translate(_BELOW))
    return numbered


def marks(grid: Grid, tokens: Tokens) -> dict[str, Any]:
    """Mark what the model did not read as typed: pieces of one word, pieces it does not know, and a cut."""
    pieces = tokens.pieces
    if not pieces:
        return {}
    first, last = ([pieces[unit.pieces[end]] for unit in grid.units] for end in (0, -1))
    joined = [
        int(
            i > 0
            and here.word is not None
            and (here.word, here.segment) == (last[i - 1].word, last[i - 1].segment)
        )
        for i, here in enumerate(first)
    ]
    unknown = [int(any(pieces[i].role == "unknown" for i in unit.pieces)) for unit in grid.units]
    marked: dict[str, Any] = {"joined": joined, "unknown": unknown}
    if any(unknown):
        marked["unknownName"] = next(piece.text for piece in pieces if piece.role == "unknown")
    if tokens.n_cut:
        marked["cut"] = f"{count_noun(tokens.n_cut, 'piece')} left out"
    return marked


def listed(parts: Sequence[str]) -> str:
    """Join parts as "a, b and c"."""
    return "".join(parts) if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"
