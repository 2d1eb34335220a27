"""One head, all heads and rankings of a grid, one line each: `record["4-2"].to_frame()`, `record.rank("it", "animal")`.

In: a grid of weights. Out: labelled frames of pandas, which is imported when it is asked for, and ranked heads.
"""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from mha_core.errors import InputError, Unavailable
from mha_core.listing import RankedHead, strongest_heads, unit_named
from mha_core.wording import Head, counted, head_name, size_in_words

if TYPE_CHECKING:
    from mha_core.record import Array, Grid, Mask, Specials

NAME = re.compile(r"([0-9]{1,4})-([0-9]{1,4})")


class Frozen:
    """Pickled and copied like any object, and as read-only afterwards as before."""

    def __getstate__(self) -> dict[str, Any]:
        return {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            self.__dict__[name] = MappingProxyType(value) if isinstance(value, dict) else value


@dataclass(frozen=True, eq=False, repr=False)
class HeadWeights(Frozen):
    """One head's weights (query, key) with the labels of both. `name`: as a person reads it, "4-2".

    `visible`: whether the query can see the key; None where every query sees every key.
    """

    name: str
    weights: "Array"
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    visible: "Mask | None" = None

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row for every query and a column for every key; nan where a decoder cannot look.

        Labels can stand twice; `.iloc` counts positions. Raises Unavailable without pandas.
        """
        pandas = _pandas()
        seen = self.weights if self.visible is None else np.where(self.visible, self.weights, np.nan)
        rows, columns = (
            pandas.Index(labels, name=name) for labels, name in ((self.queries, "query"), (self.keys, "key"))
        )
        return pandas.DataFrame(seen, index=rows, columns=columns)

    def __repr__(self) -> str:
        return f"Head {self.name}: {len(self.queries)} queries x {len(self.keys)} keys; .weights, .to_frame()"


class GridViews:
    """What a grid gives in one line."""

    def __getitem__(self, name: str) -> HeadWeights:
        """One head by its name, layer and head from 1: grid["4-2"]. Raises InputError for another name."""
        grid = cast("Grid", self)
        layer, head = head_from(name, *grid.weights.shape[:2])
        weights = grid.weights[layer, head]
        return HeadWeights(head_name((layer, head)), weights, grid.labels, grid.key_labels, grid.visible)

    def rank(self, source: str, target: str | None = None) -> tuple[RankedHead, ...]:
        """All heads by their weight from one unit to another, strongest first; both by how they are spelt ("it#2"
        is the second). Without a target, by the largest weight in the row of `source`.

        Raises InputError for a unit that is not there.
        """
        grid = cast("Grid", self)
        to = None if target is None else unit_named(grid, target, among_keys=True)
        return strongest_heads(grid, unit_named(grid, source), to)

    def to_frame(self) -> Any:
        """All weights as a tidy pandas DataFrame, a row a weight: layer and head from 1, query and key from 0, their
        labels, and the weight. A pair of which the query cannot see the key has no row.

        Raises Unavailable without pandas.
        """
        grid = cast("Grid", self)
        layers, heads, queries, keys = (axis.ravel() for axis in np.indices(grid.weights.shape, sparse=False))
        content = {
            "layer": layers + 1,
            "head": heads + 1,
            "query": queries,
            "key": keys,
            "query_text": np.array(grid.labels, dtype=object)[queries],
            "key_text": np.array(grid.key_labels, dtype=object)[keys],
            "weight": grid.weights.ravel(),
        }
        if grid.visible is not None:
            kept = grid.visible[queries, keys]
            content = {name: column[kept] for name, column in content.items()}
        return _pandas().DataFrame(content)

    def __repr__(self) -> str:
        grid = cast("Grid", self)
        layers, heads, rows, columns = grid.weights.shape
        unit = "words" if grid.words else "pieces"
        size = f"{counted(layers, 'layer')} x {counted(heads, 'head')}"
        return f"Grid of {size}, {rows} x {columns} {unit}, specials {grid.specials}"


class RecordViews(Frozen):
    """The same of a record, whose grid is asked for."""

    @property
    def changed(self) -> tuple[str, ...]:
        """What was done to its heads on the way, as a person reads it; empty where nothing was."""
        return ()

    def grid(self, words: bool = False, specials: "Specials" = "shown") -> "Grid":
        """The weights between pieces or words."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> HeadWeights:
        """One head between pieces, by its name with layer and head from 1: record["4-2"]; between words it is
        record.grid(words=True)["4-2"]. Raises InputError for another name."""
        return self.grid()[name]

    def rank(self, source: str, target: str | None = None, words: bool = True) -> tuple[RankedHead, ...]:
        """All heads by their weight from one word to another, strongest first: record.rank("it", "animal").

        Without a target, by the largest weight in the row of `source`. Raises InputError for a word that is not there.
        """
        return self.grid(words).rank(source, target)

    def to_frame(self, words: bool = False, specials: "Specials" = "shown") -> Any:
        """All heads as a tidy pandas DataFrame; see `Grid.to_frame`. Raises Unavailable without pandas."""
        return self.grid(words, specials).to_frame()

    def __copy__(self) -> Self:
        return self  # it never changes


def head_from(name: object, n_layers: int, n_heads: int) -> Head:
    """A head from 0, by its name from 1. Raises InputError for what is no name, and a head that is not there."""
    found = NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise InputError(f"{str(name)[:40]!r} is no head; write layer and head from 1, as in '4-2'.")
    layer, head = int(found[1]) - 1, int(found[2]) - 1
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        there = "there is" if n_layers == 1 else "there are"
        raise InputError(f"There is no head {name}; {there} {size_in_words(n_layers, n_heads)}.")
    return layer, head


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        raise Unavailable("A frame needs pandas: pip install pandas.") from None
    return pandas
