"""How every head spends its attention over the text: means over rows, as sums that can be merged.

In: weights (head, query, key), passage by passage. Out: for every head each measure below. Rows of special tokens
and a decoder's first token do not count: the one sees nothing else, the others are no text.
"""

from collections.abc import Mapping

import numpy as np

from mha_core.heads.words import BoolArray, FloatArray

# key: (what it is, whether it is a share).
HABITS = {
    "rest": ("mass where it rests (a decoder's first token, an encoder's special tokens)", True),
    "rests": ("rows that look most at where it rests", True),
    "entropy": ("entropy in nats", False),
    "distance": ("mean distance in tokens, apart from where it rests", False),
    "previous": ("mass on the previous token", True),
    "self": ("mass on the token itself", True),
    "next": ("mass on the next token", True),
    "same token": ("mass on other copies of the token, where there are any", True),
    "after a copy": ("mass on what came after an earlier copy, where there was one", True),
    "brings": ("mean length of what its strongest key brings", False),
}
LINKED = ("same token", "after a copy")


class HabitSums:
    """Sums over rows of every measure, and how many rows they are over."""

    def __init__(self, n_heads: int) -> None:
        self.sums = np.zeros((len(HABITS), n_heads))
        self.rows = np.zeros((len(HABITS), n_heads))

    def add(
        self, weights: FloatArray, links: Mapping[str, BoolArray], can: BoolArray, brings: FloatArray
    ) -> None:
        """One passage; `can` (query, key) is where an ordinary row may look, `links` (query, key) by name."""
        rows: BoolArray = np.any(can, axis=-1)
        resting: BoolArray = ~np.any(can, axis=0)
        n, n_rows = len(rows), int(rows.sum())
        beside = {
            name: np.eye(n, k=k) * rows[:, None] for name, k in (("previous", -1), ("self", 0), ("next", 1))
        }
        masks = {
            "rest": np.outer(rows, resting),
            **beside,
            **{name: links[name] for name in LINKED},
            "distance": can * np.abs(np.subtract.outer(np.arange(n), np.arange(n))),
            "apart": can,
        }
        table = np.stack([mask.reshape(-1) for mask in masks.values()]).astype(weights.dtype)
        mass = dict(zip(masks, table @ weights.reshape(len(weights), -1).T, strict=True))
        for name in ("rest", *beside):
            self._count(name, mass[name], n_rows)
        for name in LINKED:
            self._count(name, mass[name], int(np.any(links[name], axis=-1).sum()))
        self._count("distance", mass["distance"], mass["apart"])
        of_rows = weights[:, rows]
        self._count("entropy", -(of_rows * np.log(np.maximum(of_rows, 1e-12))).sum((1, 2)), n_rows)
        self._count("rests", resting[of_rows.argmax(-1)].sum(-1), n_rows)
        self._count("brings", np.maximum(brings, 0)[:, rows].sum(-1), n_rows)

    def _count(self, name: str, sums: FloatArray, rows: FloatArray | int) -> None:
        at = list(HABITS).index(name)
        self.sums[at] += sums
        self.rows[at] += rows

    def result(self) -> dict[str, FloatArray]:
        """Every measure (head,); 0 where there was no row for it."""
        means = self.sums / np.where(self.rows > 0, self.rows, 1)
        return dict(zip(HABITS, means, strict=True))
