"""What a reader takes away of two runs: A, B and their difference as CSV, JSON and lines of Python.

In: a `Comparison`. Out: text. No Streamlit here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mha_core import AttentionRecord, Grid
from mha_core.display_names import place_name, short_name
from mha_core.draw import about
from mha_core.record.compare import align
from mha_core.record.export import LONG_COLUMNS, described, json_of
from mha_core.record.export import csv_of as csv_of_rows
from pages.parts.explore import export
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection

SIDES = ("A", "B", "A minus B")


@dataclass(frozen=True)
class Comparison:
    """Two runs, A and B; what is chosen in them, by positions in A; the link to the view but for that, and in full."""

    records: tuple[AttentionRecord, AttentionRecord]
    grids: tuple[Grid, Grid]
    sides: tuple[Request, Request]
    selection: Selection
    query: dict[str, str]
    link: str

    @property
    def both(self) -> list[tuple[int, int]]:
        """Positions in A and in B of the units that both have."""
        pairs = align(*(grid.labels for grid in self.grids))
        return [(i, j) for i, j in pairs if i is not None and j is not None]

    @property
    def place(self) -> str:
        """The chosen head as a person names it."""
        return place_name(self.selection.head, self.sides[0].per)

    @property
    def stem(self) -> str:
        """Plain letters that say which numbers these are."""
        a, b = map(export.stem, self.sides)
        return f"{self.place.replace(' ', '-')}-compared-{a}-{b[-6:]}"

    def chosen_in(self, side: str) -> tuple[int, ...]:
        """Return where the chosen words stand in one of SIDES; those that are not there are left out."""
        if side == "A":
            return self.selection.pins
        there = dict(self.both) if side == "B" else {i: at for at, (i, _) in enumerate(self.both)}
        return tuple(there[pin] for pin in self.selection.pins if pin in there)


def csv_of(runs: Comparison) -> str:
    """Return a row a weight of the chosen head, of the words that both have: A, B, and A minus B.

    Positions are A's; a side that cannot see a word has no number of it.
    """
    said = _columns(runs)
    once = {name for name in said if name.removesuffix(" A").removesuffix(" B") in LONG_COLUMNS}
    later = {name: text for name, text in said.items() if name not in once}
    return csv_of_rows([row | (later if at else said) for at, row in enumerate(_weights(runs))])


def _weights(runs: Comparison) -> Iterator[dict[str, Any]]:
    """A row a query and a key that both have and one of the two can see."""
    (layer, head), per, grids = runs.selection.head, runs.sides[0].per, runs.grids
    place = {"layer": "" if per == "model" else layer + 1, "head": head + 1 if per == "head" else ""}
    labels = [
        _named(*(grid.units[at].label for grid, at in zip(grids, pair, strict=True))) for pair in runs.both
    ]
    for (query, q), (key, k) in product(enumerate(runs.both), repeat=2):
        weights = [
            grid.weights[layer, head, i, j] if _sees(grid, layer, i, j) else np.float32(np.nan)
            for grid, i, j in zip(grids, q, k, strict=True)
        ]
        if np.isnan(weights).all():
            continue
        numbers = zip(SIDES, (*weights, weights[0] - weights[1]), strict=True)
        named = {"query_text": labels[query], "key_text": labels[key]}
        yield (
            place
            | {"query": q[0], "key": k[0]}
            | named
            | {side: "" if np.isnan(number) else number for side, number in numbers}
        )


def _sees(grid: Grid, layer: int, query: int, key: int) -> bool:
    return grid.visible is None or bool(grid.visible[layer, query, key])


def _named(a: str, b: str) -> str:
    return a if a == b else f"{a} / {b}"


def _columns(runs: Comparison) -> dict[str, str]:
    """The columns that say what the numbers are: one where both runs say the same."""
    a, b = (
        about.columns(record, grid, side.measure)
        for record, grid, side in zip(runs.records, runs.grids, runs.sides, strict=True)
    )
    said = dict[str, str]()
    for name in {**a, **b}:
        here, there = a.get(name, ""), b.get(name, "")
        said |= {name: here} if here == there else {f"{name} A": here, f"{name} B": there}
    return said | {"link": runs.link}


def json_of_both(runs: Comparison) -> str:
    """Return the chosen head of both runs [query][key], with all that is needed to get them again.

    `pairs` are positions in A and in B of what both have.
    """
    a, b = (
        described(record, grid)
        | {
            "measure": side.measure,
            "per": side.per,
            "normalisation": about.normalised(grid, side.measure),
            "weights": grid.weights[runs.selection.head].tolist(),
        }
        for record, grid, side in zip(runs.records, runs.grids, runs.sides, strict=True)
    )
    chosen = {
        "head": short_name(runs.selection.head, runs.sides[0].per),
        "pinned": list(runs.selection.pins),
        "to": runs.selection.to,
        "link": runs.link,
    }
    return json_of(chosen | {"pairs": runs.both, "A": a, "B": b})


def python_of(runs: Comparison, side: str, kind: str, width: float) -> str:
    """Return lines that make both grids and print the largest changes of the chosen head; the last draws the figure."""
    a, b = runs.sides
    in_a, in_b = export.grid_lines(a, "a"), export.grid_lines(b, "b")
    layer, head = runs.selection.head
    grid = {"A": "a", "B": "b"}.get(side, "change")
    signed = ", signed=True" if grid == "change" else ""
    imports = sorted(
        {
            *export.imports(a),
            *export.imports(b),
            "from mha_core.record.compare import difference",
            export.FIGURE,
        }
    )
    return "\n".join(
        [
            export.heading(a, runs.selection, runs.link),
            *imports,
            "",
            *in_a,
            *in_b[in_a[0] == in_b[0] :],  # one model is loaded once
            "change = difference(a, b)",
            "",
            f"weights = change.weights[{layer}, {head}]  # {runs.place}, A minus B: row = query, column = key",
            "for at in abs(weights).ravel().argsort()[::-1][:10]:",
            "    query, key = divmod(int(at), len(change))",
            '    print(f"{change.labels[query]} to {change.labels[key]}: {weights[query, key]:+.1%}")',
            "",
            export.figure_line(grid, kind, [runs.selection.head], runs.chosen_in(side), width, signed),
            "",
        ]
    )
