"""What a decoder cannot do, said above Compare's tables: up to the first word that differs, every row is the same.

In: two grids of one decoder. Out: sentences on the page, and a button for each later word that carries the difference.
"""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from mha_core import AttentionRecord, Grid
from mha_core.first_difference import FirstChange, Mover, first_change
from mha_core.wording import Per, counted, percent, short_name
from pages.parts.frame import state
from pages.parts.frame.page_text import heading, say, visible

# Runs of different lengths round differently: SmolLM2's rows by some millionths.
ROUNDING = 1e-4
OFFERED = 6


def found_in(records: Sequence[AttentionRecord], a: Grid, b: Grid) -> FirstChange | None:
    """Where the two texts part, if one decoder read both and what is drawn looks back only."""
    if records[0].model.digest != records[1].model.digest:
        return None
    found = first_change(a, records[0].tokens, b, records[1].tokens)
    return found if found and found.largest < ROUNDING else None


def finding(found: FirstChange, a: Grid, b: Grid, per: Per = "head") -> None:
    """The finding, with its numbers."""
    heading("What this model cannot do")
    say(in_words(found, a, b, per), "finding")


def in_words(found: FirstChange, a: Grid, b: Grid, per: Per = "head") -> str:
    """The finding in plain sentences."""
    last = a.units[found.place - 1].bare
    how = ", number for number" if found.largest == 0 else f" but for rounding ({found.largest:.6f} at most)"
    said = [
        "In a decoder a word sees only itself and what stands before it.",
        f"Up to `{last}` every row is the same in A and B{how}: no word there can know what comes after it.",
    ]
    if found.place in (len(a), len(b)):
        longer, shorter = ("B", "A") if found.place == len(a) else ("A", "B")
        said.append(f"{longer} only goes on where {shorter} ends, so nothing that both have differs.")
    elif found.first:
        here = f"`{a.units[found.place].bare}` in A and `{b.units[found.place].bare}` in B"
        most = ", ".join(
            f"{short_name(head, per)} ({percent(share)} moved)" for head, share in found.first.heads
        )
        said.append(f"The first word that can differ is {here}. Its rows differ most in {most}.")
    else:
        said.append(f"The texts part after `{last}`.")
    return " ".join(said)


def no_difference(found: FirstChange, a: Grid, b: Grid, pin: int, per: Per = "head") -> None:
    """In place of tables of zeros: that this row is the same, and the words that do differ, to look from."""
    say(
        f"The row of `{a.units[pin].bare}` is the same in both, in all "
        f"{counted(a.weights.shape[0] * a.weights.shape[1], per)}: it stands before the first difference."
    )
    if not found.movers:
        return
    say(
        "Later words carry the difference. Look from one of them (how much of its attention moved, mean of all "
        f"{per}s):"
    )
    with st.container(horizontal=True, key="movers"):
        for place, words in offers(found, a, b):
            st.button(
                _plain(words),
                key=f"look-from-{place}",
                on_click=partial(state.change, {"pin": str(place), "to": None}),
            )


def offers(found: FirstChange, a: Grid, b: Grid) -> tuple[tuple[int, str], ...]:
    """The words whose rows moved most: their positions in A, and what a button says of them."""
    return tuple((mover.places[0], _offer(mover, a, b)) for mover in found.movers[:OFFERED])


def _offer(mover: Mover, a: Grid, b: Grid) -> str:
    there, here = (visible(g.units[q].bare) for g, q in zip((a, b), mover.places, strict=True))
    word = there if there == here else f"{there} / {here}"
    return f"{word} · {percent(mover.moved)} moved"


def _plain(text: str) -> str:
    """What a reader typed is no Markdown on a button."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~$:" else c for c in text)
