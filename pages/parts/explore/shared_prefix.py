"""The prefix that two texts share, of which a decoder's rows are the same: it cannot see the first word that differs.

In: two runs of one decoder. Out: a sentence on the page, and a button for each later word that carries the difference.
"""

from functools import partial

import streamlit as st

from mha_core import Grid
from mha_core.display_names import percent
from mha_core.record.first_difference import FirstDivergence, ShiftedWord, first_change
from pages.parts.frame import url_params
from pages.parts.frame.context import Context
from pages.parts.frame.page_text import say, visible

# Runs of different lengths round differently: SmolLM2's rows by some millionths.
ROUNDING = 1e-4
MAX_OFFERED = 6


def first_difference(a: Context, b: Context) -> FirstDivergence | None:
    """Return the first word that differs, if one decoder read both texts and no row before it differs."""
    if a.record.model.digest != b.record.model.digest:
        return None
    change = first_change(a.grid, a.record.tokens, b.grid, b.record.tokens)
    return change if change and change.largest < ROUNDING else None


def draw(change: FirstDivergence, a: Grid, b: Grid) -> None:
    """Say that both runs are the same up to the change, and offer the later words whose rows moved most."""
    say(in_words(change, a), "finding")
    if not change.movers:
        return
    with st.container(horizontal=True, key="movers"):
        for mover in change.movers[:MAX_OFFERED]:
            st.button(
                _plain(offer_text(mover, a, b)),
                key=f"look-from-{mover.places[0]}",
                on_click=partial(url_params.change, {"pin": str(mover.places[0]), "to": None}),
            )


def in_words(change: FirstDivergence, a: Grid) -> str:
    """Return up to where both runs are the same, and why."""
    last = visible(a.units[change.place - 1].bare)
    later = "Look from a later word:" if change.movers else "Change an earlier word."
    return f"Up to `{last}` both runs are identical: a decoder cannot see ahead. {later}"


def offer_text(mover: ShiftedWord, a: Grid, b: Grid) -> str:
    """Return the word of both runs and the share of its attention that moved."""
    word_a, word_b = (visible(grid.units[q].bare) for grid, q in zip((a, b), mover.places, strict=True))
    word = word_a if word_a == word_b else f"{word_a} / {word_b}"
    return f"{word} · {percent(mover.moved)} moved"


def _plain(text: str) -> str:
    """Escape Markdown: a button would read it."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~$:" else c for c in text)
