"""Edits of one layer before it is run again: of the scaling, the mask, single weights and scores."""

import math
from dataclasses import dataclass

from mha_core.errors import InputError


@dataclass(frozen=True)
class CellEdit:
    """One number of one projection of one head, replaced: (matrix, head, row, column, value)."""

    matrix: str
    head: int
    row: int
    column: int
    value: float


@dataclass(frozen=True)
class ScoreEdit:
    """One score of one head, replaced after scaling and before the softmax."""

    head: int
    query: int
    key: int
    value: float


@dataclass(frozen=True)
class Edits:
    """A user's edits of one layer. The defaults change nothing.

    scaled, temperature, causal and hidden_keys act on all heads of the layer; `causal` adds a mask to a model that
    has none, and none can be taken from a model that has one.
    """

    scaled: bool = True
    temperature: float = 1.0
    causal: bool = False
    hidden_keys: tuple[int, ...] = ()
    cells: tuple[CellEdit, ...] = ()
    scores: tuple[ScoreEdit, ...] = ()

    def __post_init__(self) -> None:
        numbers = [self.temperature, *(c.value for c in self.cells), *(s.value for s in self.scores)]
        if not all(map(math.isfinite, numbers)):
            raise InputError("Every changed value must be a finite number.")
        if self.temperature <= 0:
            raise InputError(f"The temperature must be above 0, not {self.temperature:g}.")

    @property
    def any(self) -> bool:
        return self != Edits()
