"""The table under the picture: the numbers of the chosen head, to sort, to search and to download.

In: grids and what is chosen. Out: pandas DataFrames, nan where a word cannot be seen; and the box that shows them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mha_core import Grid
from mha_core.display_names import Head, visible
from mha_core.draw.text import indexed, spelled
from mha_core.record.grid import SINK
from mha_core.record.links import has_choice
from mha_core.text.tokens import Tokens
from pages.parts.explore.comparison import Comparison
from pages.parts.frame.charts import SHARE
from pages.parts.frame.context import Context
from pages.parts.frame.page_text import say

POINTS = st.column_config.NumberColumn(format="%+.2f")
LOOKED_AT, DIFFERENCE = "Looked at", "A − B, points"
Shares = NDArray[np.float64]


def box(label: str, key: str) -> Any:
    """Return a box to open; None while it is closed. With another label it would be another box, which is closed."""
    expander = st.expander(label, key=key, on_change="rerun")
    return expander if expander.open else None


def table(frame: pd.DataFrame, alt: str, key: str, columns: Mapping[str, Any] | None = None) -> None:
    """Draw a table. Its numbers with a fraction are shares from 0 to 1, unless `columns` says otherwise."""
    shares = {name: SHARE for name in frame.columns if frame[name].dtype.kind == "f"}
    st.dataframe(frame, hide_index=True, key=key, alt=alt, column_config=shares | dict(columns or {}))


def of_one(context: Context) -> None:
    """Draw the box "Table" of one text: what the selected words look at, or where every word looks most."""
    opened = box("Table", "table")
    if opened is None:
        return
    grid, pins, place = context.grid, context.pins, context.place
    names, keys = names_of(grid, context.record.tokens)
    with opened:
        frame = (
            looked_at(grid, context.head, pins, names, keys)
            if pins
            else strongest(grid, context.head, names, keys)
        )
        what = "What the chosen words look at" if pins else "Where every word looks most"
        table(frame, f"{what} in {place}", "numbers")


def of_both(runs: Comparison) -> None:
    """Draw the box "Table" of two runs: what the selected words look at in A and in B, and the difference."""
    opened = box("Table", "table")
    if opened is None:
        return
    with opened:
        if not runs.selection.pins:
            say("Choose a word of sentence A to see its numbers.")
            return
        frame = looked_at_in_both(runs)
        alt = f"What the chosen words look at in {runs.place}, in A and B"
        table(frame, alt, "numbers", {DIFFERENCE: POINTS})


def names_of(grid: Grid, tokens: Tokens) -> tuple[list[str], list[str]]:
    """Return the words that look and those that are looked at, as the picture lists them: a second one has a number."""
    if grid.key_units is None:
        names = indexed(spelled(grid, tokens)["names"])
        return names, names
    rows, columns = (indexed([visible(unit.bare) for unit in side]) for side in (grid.units, grid.key_units))
    return rows, columns


def looked_at(
    grid: Grid, head: Head, pins: Sequence[int], names: Sequence[str], keys: Sequence[str]
) -> pd.DataFrame:
    """Return a row a key and a column a selected word, with their mean where there are several."""
    rows = [*_rows(grid, head, pins), *([_mean(grid, head, pins)] if len(pins) > 1 else [])]
    columns = [*(f"From {names[pin]}" for pin in pins), "Mean"][: len(rows)]
    frame = pd.DataFrame({LOOKED_AT: keys, **dict(zip(columns, rows, strict=True))})
    if grid.sink is None:
        return frame
    taken = grid.sink[head][list(pins)].astype(float)
    last = [SINK, *taken, *([taken.mean()] if len(pins) > 1 else [])]
    return pd.concat([frame, pd.DataFrame([last], columns=frame.columns)], ignore_index=True)


def strongest(grid: Grid, head: Head, names: Sequence[str], keys: Sequence[str]) -> pd.DataFrame:
    """Return a row a word with the key that it looks at most; nothing where it sees one key only."""
    weights = grid.weights[head].astype(float)
    choice = has_choice(grid)
    chose = choice[head[0] % len(choice)]
    most = [keys[key] if free else None for key, free in zip(weights.argmax(axis=1), chose, strict=True)]
    return pd.DataFrame(
        {"Word": names, "Looks most at": most, "Weight": np.where(chose, weights.max(axis=1), np.nan)}
    )


def looked_at_in_both(runs: Comparison) -> pd.DataFrame:
    """Return a row a word of either run with its weight in A and in B: the mean of the selected words that both have,
    or of those of A where B has none of them."""
    pairs, pins, head = runs.pairs, runs.selection.pins, runs.selection.head
    in_b = dict(pairs)
    shared = [pin for pin in pins if in_b[pin] is not None]
    rows = (
        _mean(runs.grids[0], head, shared or pins),
        _mean(runs.grids[1], head, [in_b[pin] for pin in shared]),
    )
    names = [names_of(grid, its.tokens)[0] for grid, its in zip(runs.grids, runs.records, strict=True)]
    columns: dict[str, list[Any]] = {LOOKED_AT: [_name_in_both(names, pair) for pair in pairs]}
    for side, row in enumerate(rows):
        units = [pair[side] for pair in pairs]
        columns["AB"[side]] = [np.nan if unit is None else row[unit] for unit in units]
    frame = pd.DataFrame(columns)
    return frame.assign(**{DIFFERENCE: 100 * (frame["A"] - frame["B"])})


def _rows(grid: Grid, head: Head, pins: Sequence[Any]) -> Shares:
    """Return the rows of these words, nan where they cannot see."""
    rows = grid.weights[head][list(pins)].astype(float)
    return rows if grid.visible is None else np.where(grid.visible[head[0]][list(pins)], rows, np.nan)


def _mean(grid: Grid, head: Head, pins: Sequence[Any]) -> Shares:
    """Return the mean of these rows; nan where none of the words can see."""
    rows = _rows(grid, head, pins)
    return np.where(np.isnan(rows).all(axis=0), np.nan, np.nansum(rows, axis=0) / max(1, len(rows)))


def _name_in_both(names: Sequence[Sequence[str]], pair: tuple[int | None, int | None]) -> str:
    words = [its[unit] for its, unit in zip(names, pair, strict=True) if unit is not None]
    if len(words) == 1:
        return f"{words[0]} (only in {'A' if pair[1] is None else 'B'})"
    return words[0] if words[0].casefold() == words[1].casefold() else " / ".join(words)
