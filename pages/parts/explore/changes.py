"""Compare's tables of one word: what each candidate gets under both runs, and which heads changed their mind.

In: two grids, and the word and its candidates as positions in both. Out: tables and sentences; all numbers are
mha_core.compare's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from mha_core import Grid, HeadScopeError
from mha_core.compare import FLOOR, MARGIN, HeadChange, candidates, head_changes
from mha_core.picture.text import indexed
from mha_core.wording import Head, Per, counted, percent, short_name
from pages.parts.explore.tables import POINTS, table
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import heading, say

HEAD = st.column_config.LinkColumn(display_text="head=([0-9]+-[0-9]+)")
MIND = (
    f" if in each run one candidate has {FLOOR:.0%} at least and leads by {MARGIN * 100:.0f} points at least, and it "
    "is not the same one.".replace("%", " %")
)
Places = tuple[int, int]  # of one word in A and in B


def masses(
    a: Grid, b: Grid, query: Places, keys: Sequence[Places], per: Per, link: Mapping[str, str]
) -> None:
    """Draw what each candidate gets: the mean of all heads, and the head that gives most."""
    if not keys:
        return
    title = (
        "All layers together"
        if per == "model"
        else f"Mean of all {per}s, and the {per} that looks there most"
    )
    frame = masses_of(a, b, query, keys, per, link)
    table(
        frame,
        title,
        "candidates",
        {name: HEAD for name in frame if per == "head" and name.startswith("Head")},
    )


def masses_of(
    a: Grid, b: Grid, query: Places, keys: Sequence[Places], per: Per, link: Mapping[str, str]
) -> pd.DataFrame:
    """Return a row a candidate. `link`: the view's parameters but for the head."""
    found = candidates(a, b, query, keys)
    columns: dict[str, list[Any]] = {
        "Candidate": [_both(each.label_a, each.label_b) for each in found],
        "Mean, A": [each.mean_a for each in found],
        "Mean, B": [each.mean_b for each in found],
    }
    if per != "model":
        name = per.capitalize()
        columns |= {
            "Most, A": [each.top_a for each in found],
            f"{name}, A": [_linked(each.head_a, per, link) for each in found],
            "Most, B": [each.top_b for each in found],
            f"{name}, B": [_linked(each.head_b, per, link) for each in found],
        }
    return pd.DataFrame(columns)


def heads(a: Grid, b: Grid, query: Places, keys: Sequence[Places], per: Per, link: Mapping[str, str]) -> None:
    """Draw every head by how far it changed, and say how many changed their mind; or why they cannot be compared."""
    if per == "layer" and len(a.weights) != len(b.weights):
        sizes = f"A has {len(a.weights)} and B has {len(b.weights)}"
        say(f"Layers cannot be compared one by one: {sizes}.", "notice")
        return
    try:
        found = head_changes(a, b, query, keys)
    except HeadScopeError as error:
        say(str(error), "notice")
        return
    together, word = per == "model", a.labels[query[0]]
    about = f"change{'' if together else 'd'} their mind about “{word}”"
    heading(f"Did all layers together {about}?" if together else f"Which {per}s {about}")
    say(f"{'They change their mind' if together else f'A {per} changes its mind'}{MIND}", "note")
    if len(keys) > 1:
        say(flips_in_words([change for change in found if change.flips], len(found), a, keys, per))
    frame = changes_of(found, [_both(a.labels[i], b.labels[j]) for i, j in keys], per, link)
    by = "between the first two candidates the difference" if len(keys) > 1 else "attention"
    columns = {SWING: POINTS, **({"Head": HEAD} if per == "head" else {})}
    table(
        frame,
        f"How far {by} moved, most first",
        "changes",
        {name: columns[name] for name in frame if name in columns},
    )


SWING, MOVED = "Difference moved, points", "Moved"


def changes_of(
    found: Sequence[HeadChange], labels: Sequence[str], per: Per, link: Mapping[str, str]
) -> pd.DataFrame:
    """Return a row a head, in the order of `found`; `labels` are the candidates'."""
    columns: dict[str, list[Any]] = {
        per.capitalize() if per != "model" else "Layers": [
            _linked(change.head, per, link) for change in found
        ],
        MOVED: [change.moved for change in found],
    }
    for at, label in enumerate(indexed(labels)):
        columns[f"{label}, A"] = [change.masses_a[at] for change in found]
        columns[f"{label}, B"] = [change.masses_b[at] for change in found]
    if len(labels) > 1:
        columns[SWING] = [100 * change.swing for change in found]
        columns["Changes its mind"] = [change.flips for change in found]
    return pd.DataFrame(columns)


def _linked(head: Head, per: Per, link: Mapping[str, str]) -> str:
    """A head's address on this page; a layer's name."""
    name = short_name(head, per)
    return link_to("Compare", {**link, "head": name}) if per == "head" else name


def flips_in_words(flips: list[HeadChange], total: int, a: Grid, keys: Sequence[Places], per: Per) -> str:
    """Return how many changed their mind, in which direction, and which of them most."""
    if per == "model":
        return f"All layers together {'' if flips else 'do not '}change their mind."
    if not flips:
        return f"None of {counted(total, per)} changes its mind."
    first, second = a.labels[keys[0][0]], a.labels[keys[1][0]]
    there = [f for f in flips if f.masses_a[0] == max(f.masses_a) and f.masses_b[1] == max(f.masses_b)]
    back = [f for f in flips if f.masses_a[1] == max(f.masses_a) and f.masses_b[0] == max(f.masses_b)]
    verb = "changes its mind" if len(flips) == 1 else "change their mind"
    return (
        f"{len(flips)} of {counted(total, per)} {verb}: {len(there)} "
        f"from `{first}` to `{second}`, {len(back)} the other way. First in the difference between the two: "
        + ", ".join(f"{short_name(f.head, per)} ({points(f.swing)})" for f in flips[:4])
        + "."
    )


def points(difference: float) -> str:
    """A difference of shares in points, with its sign."""
    text = percent(difference).removesuffix(" %")
    return f"+{text} points" if difference > 0 and text != "0.0" else f"{text} points"


def _both(a: str, b: str) -> str:
    return a if a == b else f"{a} / {b}"
