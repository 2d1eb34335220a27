"""A word changed in place (assets/js/retype.js): where the words are in the text, and the picture before the change.

In: contexts, and the view drawn before. Out: JSON for the browser, which draws the old arcs as a trace.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mha_core import Grid
from mha_core.text.tokens import Tokens
from pages.parts.frame import presets
from pages.parts.frame.context import Context
from pages.parts.frame.links import link_to, params_of_both, with_params
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Change, DrawnView, change_between

MARKS = ".,;:!?\"'()"


def previous_overlay(context: Context, before: DrawnView | None) -> dict[str, Any] | None:
    """Return the trace of the picture before; None where there was none, or too much is new."""
    request = context.request
    change = before and change_between(before.labels, context.grid.labels)
    if not before or not before.record or not change:
        return None
    link = params_of_both(before.request, request, "sentence")
    has_one_pair = before.request.pair == request.pair  # Compare has one second sentence for both
    compare = link_to("Compare", link) if has_one_pair else ""
    return _overlay(before.record, change, before.request, request) | {"compare": compare}


def first_change(context: Context, changed: Context, record: str) -> dict[str, Any]:
    """Return what the first visit shows by itself: the `record` of the sentence with one word changed."""
    labels = context.grid.labels, changed.grid.labels
    change = change_between(*labels) or Change(0, len(labels[0]), len(labels[1]))
    return _overlay(record, change, context.request, changed.request)


def _overlay(record: str, change: Change, before: Request, after: Request) -> dict[str, Any]:
    """Return a record's name in the browser, and the units and words that changed."""
    units = {"start": change.start, "old": change.old, "new": change.new}
    return {"of": record, "change": units, "words": list(words_between(before, after))}


def minimal_pair_link(request: Request) -> dict[str, str] | None:
    """Return the one word to change in a sentence that has a minimal pair, and the link that changes it."""
    text = presets.twin_sentence(request.text)
    if text == request.text:
        return None
    old, new = words_between(request, replace(request, text=text))
    return {"said": f"Change “{old}” to “{new}”", "href": with_params("", {"text": text})}


def words_between(before: Request, after: Request) -> tuple[str, str]:
    """Return the words that were changed, before and after; "" for none."""
    a, b = (f"{request.text} {request.pair or ''}".split() for request in (before, after))
    change = change_between(a, b) or Change(0, len(a), len(b))
    rows = (a[change.start : change.start + change.old], b[change.start : change.start + change.new])
    first, second = (" ".join(row).strip(MARKS) for row in rows)
    return first, second


def spots(tokens: Tokens, grid: Grid) -> list[list[int] | None]:
    """Return [start, end, segment] of each unit's word in the text, to replace it there; None for a special token."""
    places: list[list[int] | None] = []
    for unit in grid.units:
        word = None if unit.special else tokens.pieces[unit.pieces[0]].word
        span = unit if word is None else tokens.words[word]
        places.append(None if unit.special else [span.start, span.end, unit.segment])
    return places


def typed(contexts: Sequence[Context]) -> dict[str, Any]:
    """Return the texts of a picture and where their words are, for a word that is changed there."""
    return {
        "texts": [[each.request.text, each.request.pair or ""] for each in contexts],
        "spots": [spots(each.record.tokens, each.grid) for each in contexts],
    }
