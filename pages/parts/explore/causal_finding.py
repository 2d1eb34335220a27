"""What a decoder cannot see in Compare: up to the first word that differs, every row is the same.

In: two grids of one decoder. Out: a sentence on the page, and a button for each later word that carries the difference.
"""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from mha_core import AttentionRecord, Grid
from mha_core.display_names import percent
from mha_core.record.first_difference import FirstDivergence, ShiftedWord, first_change
from pages.parts.frame import state
from pages.parts.frame.page_text import say, visible

# Runs of different lengths round differently: SmolLM2's rows by some millionths.
ROUNDING = 1e-4
OFFERED = 6


def found_in(records: Sequence[AttentionRecord], a: Grid, b: Grid) -> FirstDivergence | None:
    """Where the two texts part, if one decoder read both and what is drawn looks back only."""
    if records[0].model.digest != records[1].model.digest:
        return None
    found = first_change(a, records[0].tokens, b, records[1].tokens)
    return found if found and found.largest < ROUNDING else None


def no_difference(found: FirstDivergence, a: Grid, b: Grid) -> None:
    """Say that this word's row is the same in both runs, and offer the later words whose rows moved most."""
    say(in_words(found, a), "finding")
    if not found.movers:
        return
    with st.container(horizontal=True, key="movers"):
        for place, words in offers(found, a, b):
            st.button(
                _plain(words),
                key=f"look-from-{place}",
                on_click=partial(state.change, {"pin": str(place), "to": None}),
            )


def in_words(found: FirstDivergence, a: Grid) -> str:
    """Return up to where both runs are the same, and why."""
    last = visible(a.units[found.place - 1].bare)
    later = "Look from a later word:" if found.movers else "Change an earlier word."
    return f"Up to `{last}` both runs are identical: a decoder cannot see ahead. {later}"


def offers(found: FirstDivergence, a: Grid, b: Grid) -> tuple[tuple[int, str], ...]:
    """The words whose rows moved most: their positions in A, and what a button says of them."""
    return tuple((mover.places[0], _offer(mover, a, b)) for mover in found.movers[:OFFERED])


def _offer(mover: ShiftedWord, a: Grid, b: Grid) -> str:
    there, here = (visible(g.units[q].bare) for g, q in zip((a, b), mover.places, strict=True))
    word = there if there == here else f"{there} / {here}"
    return f"{word} · {percent(mover.moved)} moved"


def _plain(text: str) -> str:
    """What a reader typed is no Markdown on a button."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~$:" else c for c in text)
