"""A word is changed where it stands (assets/js/retype.js): where its words stand, and what the picture was before.

In: the grids before and after. Out: places in the text, and what the picture needs to draw its old arcs as a trace.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mha_core import AttentionRecord, Grid
from mha_core.text.tokens import Tokens
from pages.parts.explore import export
from pages.parts.frame import presets
from pages.parts.frame.carried_selection import Change, change_between, shown_before
from pages.parts.frame.links import link_to, with_params
from pages.parts.frame.request import Request

MARKS = ".,;:!?\"'()"


def ghost(request: Request, grid: Grid) -> dict[str, Any] | None:
    """What the picture needs to draw what was before as a trace; None where nothing was, or too much is new."""
    was = shown_before(request)
    change = was and change_between(was.labels, grid.labels)
    if not was or not was.record or not change:
        return None
    link = export.query_of_both(was.request, request, "sentence")
    one_pair = was.request.pair == request.pair  # Compare has one second sentence for both
    return {
        "of": was.record,
        "change": {"start": change.start, "old": change.old, "new": change.new},
        "words": list(words_between(was.request, request)),
        "compare": link_to("Compare", link) if one_pair else "",
    }


def twin(request: Request) -> dict[str, str] | None:
    """Return the one word to change in a sentence that has a minimal pair, and the link that changes it."""
    text = presets.twin_sentence(request.text)
    if text == request.text:
        return None
    old, new = words_between(request, replace(request, text=text))
    return {"said": f"Change “{old}” to “{new}”", "href": with_params("", {"text": text})}


def first_change(request: Request, grid: Grid, other: Grid, record: str) -> dict[str, Any]:
    """Return what the picture needs to change one word by itself: the `record` of the changed sentence."""
    changed = replace(request, text=presets.WIDE)
    change = change_between(grid.labels, other.labels) or Change(0, len(grid), len(other))
    return {
        "of": record,
        "change": {"start": change.start, "old": change.old, "new": change.new},
        "words": list(words_between(request, changed)),
    }


def words_between(before: Request, after: Request) -> tuple[str, str]:
    """The words that were changed, before and after; empty where there are none."""
    a, b = (f"{one.text} {one.pair or ''}".split() for one in (before, after))
    found = change_between(a, b) or Change(0, len(a), len(b))
    rows = (a[found.start : found.start + found.old], b[found.start : found.start + found.new])
    first, second = (" ".join(row).strip(MARKS) for row in rows)
    return first, second


def spots(tokens: Tokens, grid: Grid) -> list[list[int] | None]:
    """Where the word of each unit stands in the text, [start, end, segment], for the browser to put another one there;
    None for a special token."""
    found: list[list[int] | None] = []
    for unit in grid.units:
        if unit.special:
            found.append(None)
            continue
        word = tokens.pieces[unit.pieces[0]].word
        start, end = (
            (unit.start, unit.end) if word is None else (tokens.words[word].start, tokens.words[word].end)
        )
        found.append([start, end, unit.segment])
    return found


def typed(
    sides: Sequence[Request], records: Sequence[AttentionRecord], grids: Sequence[Grid]
) -> dict[str, Any]:
    """The texts of a picture and where their words stand, for a word that is changed there."""
    return {
        "texts": [[side.text, side.pair or ""] for side in sides],
        "spots": [spots(record.tokens, grid) for record, grid in zip(records, grids, strict=True)],
    }
