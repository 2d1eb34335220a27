"""The result of trying every head, or every place, in turn."""

from dataclasses import dataclass

import numpy as np

from mha_core.heads.words import FloatArray

Place = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Effects:
    """The numbers of an outcome after one change at a time: `numbers` (row, column, measure), NaN where a place has
    not been tried yet. Rows and columns are layers and heads, or states and positions; measures are `names`.

    `before`: without a change. `source`: of patching, in the text that is taken from.
    """

    names: tuple[str, ...]
    before: tuple[float, ...]
    numbers: FloatArray
    source: tuple[float, ...] | None = None

    @property
    def after(self) -> FloatArray:
        """The outcome after each change, (row, column)."""
        return self.numbers[..., 0]

    @property
    def effect(self) -> FloatArray:
        """After less before, (row, column)."""
        found: FloatArray = self.after - self.before[0]
        return found

    @property
    def restored(self) -> FloatArray:
        """Of patching: the share of the way from this text's outcome to the source's, (row, column): 1 is all."""
        if self.source is None:
            return np.full(self.after.shape, np.nan)
        way = self.source[0] - self.before[0]
        share: FloatArray = self.effect / way if way else np.full(self.after.shape, np.nan)
        return share

    def strongest(self, k: int = 8) -> tuple[tuple[Place, float], ...]:
        """The k places with the largest effect in either direction, of those tried."""
        flat = np.abs(self.effect).ravel()
        order = np.argsort(-np.nan_to_num(flat, nan=-1.0), kind="stable")[:k]
        columns = self.after.shape[1]
        return tuple(
            ((int(i) // columns, int(i) % columns), float(self.effect.flat[i]))
            for i in order
            if not np.isnan(flat[i])
        )
