"""Compare's result for one word: which heads switch from one candidate to another, and every head by how far it moved.

In: two grids, and the word and its candidates as positions in both. Out: a table and a sentence; all numbers are
mha_core.record.compare's.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from mha_core import Grid
from mha_core.display_names import Head, Per, count_noun, percent, short_name, visible
from mha_core.draw.text import indexed
from mha_core.record.compare import FLOOR, MARGIN, HeadDifference
from mha_core.record.first_difference import FirstDivergence, ShiftedWord, first_change
from pages.parts.explore.tables import box, table
from pages.parts.frame import url_params
from pages.parts.frame.charts import HEAD_NAME
from pages.parts.frame.context import Context
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import say, unmarked

HEAD = st.column_config.LinkColumn(display_text=HEAD_NAME)
SWITCHES = (
    f"A head switches if another candidate leads in B. Each must lead by {MARGIN * 100:.0f} points and have "
    f"{FLOOR:.0%} or more."
)
# Runs of different lengths round differently: SmolLM2's rows by some millionths.
ROUNDING = 1e-4
MAX_OFFERED = 6
ENDS = (0, 1), (1, 0)  # from the first candidate to the second, and back
SWING, MOVED, SWITCHED = "Shift, points", "Moved", "Switches"
MOVED_HELP = "Half the sum of the absolute differences of the row: the share of attention that moved."
SWING_HELP = "How far the difference between the first two candidates moved."


def draw_heads(
    heads: Sequence[HeadDifference], labels: Sequence[str], per: Per, link: Mapping[str, str]
) -> None:
    """Draw the box of all heads, the largest change first."""
    opened = box(f"All {count_noun(len(heads), per)}" if per != "model" else "All layers", "changes-box")
    if opened is None:
        return
    columns: dict[str, Any] = {
        MOVED: st.column_config.NumberColumn(format="percent", help=MOVED_HELP),
        SWING: st.column_config.NumberColumn(format="%+.2f", help=SWING_HELP),
        SWITCHED: st.column_config.CheckboxColumn(help=SWITCHES),
        **({"Head": HEAD} if per == "head" else {}),
    }
    frame = changes_of(heads, labels, per, link)
    with opened:
        alt = "All heads by how far they moved between A and B, most first"
        table(frame, alt, "changes", {name: columns[name] for name in frame if name in columns})


def changes_of(
    heads: Sequence[HeadDifference], labels: Sequence[str], per: Per, link: Mapping[str, str]
) -> pd.DataFrame:
    """Return a row a head, in the order of `heads`; `labels` are the candidates', `link` the view's parameters."""
    columns: dict[str, list[Any]] = {
        per.capitalize() if per != "model" else "Layers": [
            _linked(change.head, per, link) for change in heads
        ]
    }
    if any(change.flips for change in heads):
        columns[SWITCHED] = [change.flips for change in heads]
    columns[MOVED] = [change.moved for change in heads]
    for i, label in enumerate(indexed(labels)):
        columns[f"{label}, A"] = [change.masses_a[i] for change in heads]
        columns[f"{label}, B"] = [change.masses_b[i] for change in heads]
    if len(labels) > 1:
        columns[SWING] = [100 * change.preference_shift for change in heads]
    return pd.DataFrame(columns)


def _linked(head: Head, per: Per, link: Mapping[str, str]) -> str:
    """A head's address on this page; a layer's name."""
    name = short_name(head, per)
    return link_to("Compare", {**link, "head": name}) if per == "head" else name


def title(labels: Sequence[str], word: str, per: Per) -> str:
    """Return the heading over the result."""
    who = f"{per.capitalize()}s" if per != "model" else "Layers"
    if len(labels) < 2:
        return f"{who} that change most for “{word}”"
    return f"{who} that switch from “{labels[0]}” to “{labels[1]}”"


def result(heads: Sequence[HeadDifference], labels: Sequence[str], per: Per) -> str:
    """Return which heads switch between the first two candidates, or which comes closest, in one sentence."""
    first = heads[0]
    name, total = short_name(first.head, per), count_noun(len(heads), per)
    named = name[:1].upper() + name[1:]
    if len(labels) < 2:
        return f"{named} changes most: {percent(first.moved)} of its attention moves (n = {total})."
    switches = [[change for change in heads if _switches(change, *ends)] for ends in ENDS]
    n_switches = sum(map(len, switches))
    if not n_switches:
        return f"No {per} switches (n = {total}). {named} shifts most: {_shift(first, labels)}."
    if per == "model":
        return f"All layers together switch: {_shift(first, labels)}."
    parts = [
        f"{len(changes)} from `{labels[start]}` to `{labels[end]}`"
        for changes, (start, end) in zip(switches, ENDS, strict=True)
        if changes
    ]
    most = next(change for change in heads if any(change in changes for changes in switches))
    switch = f"{n_switches} of {total} switch{'es' * (n_switches == 1)}"
    return f"{switch}: {', '.join(parts)}. Most: {short_name(most.head, per)}, {_shift(most, labels)}."


def _switches(change: HeadDifference, start: int, end: int) -> bool:
    """Return whether a head clearly leads with one candidate in A and with the other in B."""
    before, after = change.masses_a, change.masses_b
    return change.flips and before[start] == max(before) and after[end] == max(after)


def _shift(change: HeadDifference, labels: Sequence[str]) -> str:
    sides = zip(labels[:2], change.masses_a, change.masses_b, strict=False)
    return ", ".join(f"`{label}` {percent(a)} → {percent(b)}" for label, a, b in sides)


# ---- a prefix that both share: of a decoder its rows are the same, for it cannot see the first word that differs
def first_difference(a: Context, b: Context) -> FirstDivergence | None:
    """Return the first word that differs, if one decoder read both texts and no row before it differs."""
    if a.record.model.digest != b.record.model.digest:
        return None
    change = first_change(a.grid, a.record.tokens, b.grid, b.record.tokens)
    return change if change and change.largest < ROUNDING else None


def draw_shared_prefix(change: FirstDivergence, a: Grid, b: Grid) -> None:
    """Say that both runs are the same up to the change, and offer the later words whose rows moved most."""
    say(in_words(change, a), "finding")
    if not change.movers:
        return
    with st.container(horizontal=True, key="movers"):
        for mover in change.movers[:MAX_OFFERED]:
            st.button(
                unmarked(offer_text(mover, a, b)),
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
