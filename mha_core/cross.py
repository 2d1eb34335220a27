"""The record of cross-attention: what every head of a decoder took from another text.

Rows are the tokens of the target (the decoder's), columns those of the source. Axes: (layer, head, query, key).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from mha_core.errors import InputError, SizeError
from mha_core.record import (
    Array,
    Grid,
    ModelInfo,
    Specials,
    Unit,
    check_rows,
    freeze,
    piece_units,
    word_units,
)
from mha_core.summary import quoted, summary, summary_html
from mha_core.tokens import Tokens
from mha_core.views import RecordViews


@dataclass(frozen=True, eq=False, repr=False)
class CrossRecord(RecordViews):
    """One text looking at another. Raises SizeError for weights that are not between the two."""

    model: ModelInfo
    queries: Tokens
    keys: Tokens
    weights: Array
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expected = (self.model.n_layers, self.model.n_heads, len(self.queries), len(self.keys))
        if self.weights.shape != expected or self.weights.dtype != np.float32:
            raise SizeError(
                f"{len(self.queries)} queries and {len(self.keys)} keys need float32 weights of shape {expected}; "
                f"given are {self.weights.dtype} of {self.weights.shape}."
            )
        check_rows(self.weights)
        freeze(self.weights)
        object.__setattr__(self, "versions", MappingProxyType(dict(self.versions)))

    @property
    def n_layers(self) -> int:
        """How many layers there are."""
        return self.model.n_layers

    @property
    def n_heads(self) -> int:
        """How many heads a layer has."""
        return self.model.n_heads

    @property
    def tokens(self) -> Tokens:
        """Those of the rows."""
        return self.queries

    @property
    def said(self) -> str:
        """What it is of, in a line."""
        rows, columns = (quoted(part.text, len(part), len(part.words)) for part in (self.queries, self.keys))
        return f"cross-attention, rows {rows}; columns {columns}"

    def grid(self, words: bool = False, specials: Specials = "shown") -> Grid:
        """The weights between pieces or words, as in `Record.grid`; its `key_units` are those of the columns."""
        if specials not in ("shown", "hidden", "renormalised"):
            raise InputError(f"Specials can be shown, hidden or renormalised, not '{specials}'.")
        weights, make = self.weights, word_units if words else piece_units
        rows, columns = make(self.queries), make(self.keys)
        if words:
            starts, counts = zip(*((unit.pieces[0], len(unit.pieces)) for unit in rows), strict=True)
            weights = np.add.reduceat(weights, [unit.pieces[0] for unit in columns], axis=-1)
            sums: Array = np.add.reduceat(weights, starts, axis=-2)
            weights = sums / np.array(counts, dtype=np.float32)[:, None]
        if specials != "shown":
            rows, at_rows = _kept(rows)
            columns, at_columns = _kept(columns)
            weights = weights[:, :, at_rows][:, :, :, at_columns]
            if specials == "renormalised":
                sums = weights.sum(axis=-1, keepdims=True)
                weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        return Grid(rows, freeze(weights), words, specials, key_units=columns)

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return summary_html(self)


def _kept(units: tuple[Unit, ...]) -> tuple[tuple[Unit, ...], list[int]]:
    places = [i for i, unit in enumerate(units) if not unit.special]
    return tuple(units[i] for i in places), places
