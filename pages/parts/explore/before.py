"""A word was changed where it stands: the changed text, and what the picture was before.

In: what a browser says was typed, and the grids before and after. Out: a changed text, and what the picture needs to
draw its old arcs as a trace.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from mha_core import Grid
from mha_core.tokens import Tokens
from pages.parts.explore import export
from pages.parts.frame import state
from pages.parts.frame.links import link_to
from pages.parts.frame.moving import Change, change_between, shown_before
from pages.parts.frame.request import Request
from pages.parts.picture.attention_view import retyped
from pages.parts.serve import cache

MARKS = ".,;:!?\"'()"


def ghost(request: Request, grid: Grid) -> dict[str, Any] | None:
    """What the picture needs to draw what was before as a trace; None where nothing was, or too much is new."""
    was = shown_before(request)
    change = was and change_between(was.labels, grid.labels)
    if not was or not was.record or not change:
        return None
    link = export.query_of(was.request, request, "sentence")
    one_pair = was.request.pair == request.pair  # Compare has one second sentence for both
    return {
        "of": was.record,
        "change": {"start": change.start, "old": change.old, "new": change.new},
        "words": list(words_between(was.request, request)),
        "compare": link_to("Compare", link) if one_pair else "",
    }


def words_between(before: Request, after: Request) -> tuple[str, str]:
    """The words that were changed, before and after; empty where there are none."""
    a, b = (f"{one.text} {one.pair or ''}".split() for one in (before, after))
    found = change_between(a, b) or Change(0, len(a), len(b))
    rows = (a[found.start : found.start + found.old], b[found.start : found.start + found.new])
    first, second = (" ".join(row).strip(MARKS) for row in rows)
    return first, second


def retype(key: str, request: Request) -> None:
    """Callback of the picture of that key: put the word that was typed in it into the text.

    It asks for the record again, for a callback lives as long as its reader.
    """
    said = retyped(key)
    if isinstance(said, Mapping):
        record = cache.record(request)
        grid = cache.grid(request, record)
        changed = with_word(record.tokens, grid, said.get("unit"), said.get("word"))
        if changed is not None:
            state.retype(changed[0], changed[1] or "")


def retype_side(key: str, sides: Sequence[Request]) -> None:
    """The same for two sentences: the word stands in A (`side` 0) or B (1). Where B is A in another model, in both; so
    is a word of the second sentence that both are followed by."""
    said = retyped(key)
    if not isinstance(said, Mapping) or said.get("side") not in (0, 1):
        return
    side = said["side"]
    record = cache.record(sides[side])
    changed = with_word(record.tokens, cache.grid(sides[side], record), said.get("unit"), said.get("word"))
    if changed is None:
        return
    if side and st.session_state["against"] == "sentence":
        st.session_state.update(text2=changed[0], pair=changed[1] or "")
    else:
        state.retype(changed[0], changed[1] or "", twin=st.session_state.get("text2"))


def with_word(tokens: Tokens, grid: Grid, unit: object, word: object) -> tuple[str, str | None] | None:
    """The text and its pair with another word where a unit stands; None if a browser sent no such thing.

    Without a word, the word and the space before it go.
    """
    if not isinstance(unit, int) or isinstance(unit, bool) or not isinstance(word, str):
        return None
    if not 0 <= unit < len(grid) or grid.units[unit].special:
        return None
    here = grid.units[unit]
    piece = tokens.pieces[here.pieces[0]]
    start, end = here.start, here.end
    if piece.word is not None:
        start, end = tokens.words[piece.word].start, tokens.words[piece.word].end
    text = tokens.text_of(here.segment)
    before, after = text[:start], text[end:]
    if not word.strip():
        before = before.rstrip(" ") if after[:1] in ("", " ", *MARKS) else before
    changed = (before + word.strip() + after).lstrip() if not word.strip() else before + word.strip() + after
    return (tokens.text, changed) if here.segment else (changed, tokens.pair)
