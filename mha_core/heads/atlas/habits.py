"""How every head spends its attention over the text: means over rows, as sums that can be merged.

In: weights (head, query, key), passage by passage. Out: for every head each measure below. Rows of special tokens
and a decoder's first token do not count: the one sees nothing else, the others are no text.
"""

import numpy as np

from mha_core.heads.words import BoolArray, FloatArray
from mha_core.tokens import Tokens

# key: (what it is, whether it is a share).
HABITS = {
    "rest": ("mass where it rests (a decoder's first token; [CLS] and [SEP])", True),
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
LINKED = {"same token": "link", "after a copy": "link"}


class HabitSums:
    """Sums over rows of every measure, and how many rows they are over."""

    def __init__(self, n_heads: int) -> None:
        self.sums = np.zeros((len(HABITS), n_heads))
        self.rows = np.zeros((len(HABITS), n_heads))

    def add(
        self, weights: FloatArray, tokens: Tokens, links: dict[str, BoolArray], can: BoolArray, brings: FloatArray
    ) -> None:
        """One passage; `can` (query, key) is where an ordinary row may look, `links` (query, key) by name."""
        heads, n, _ = weights.shape
        counts = can.any(-1)
        back = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
        rest = ~can.any(0)[None, :] & counts[:, None]
        flat = weights.reshape(heads, -1)
        masks = {
            "rest": rest,
            "distance": can * back,
            "previous": np.eye(n, k=-1) * counts[:, None],
            "self": np.eye(n) * counts[:, None],
            "next": np.eye(n, k=1) * counts[:, None],
            "apart": can,
            **{name: links[name] for name in LINKED},
        }
        mass = dict(zip(masks, (flat @ np.stack([m.reshape(-1) for m in masks.values()]).T.astype(flat.dtype)).T, strict=True))
        n_rows = int(counts.sum())
        for i, name in enumerate(HABITS):
            if name in ("rests", "entropy", "brings", "distance"):
                continue
            rows = int(links[name].any(-1).sum()) if name in LINKED else n_rows
            self.sums[i] += mass[name]
            self.rows[i] += rows
        order = list(HABITS)
        rows_of = weights[:, counts]
        entropy = -(rows_of * np.log(np.maximum(rows_of, 1e-12))).sum((1, 2))
        rests = ~can.any(0)[rows_of.argmax(-1)]
        for name, sums, rows in (
            ("entropy", entropy, n_rows),
            ("rests", rests.sum(-1), n_rows),
            ("brings", np.maximum(brings, 0)[:, counts].sum(-1), n_rows),
            ("distance", mass["distance"], mass["apart"]),
        ):
            self.sums[order.index(name)] += sums
            self.rows[order.index(name)] += rows

    def merge(self, other: "HabitSums") -> None:
        """Add those of other passages."""
        self.sums += other.sums
        self.rows += other.rows

    def result(self) -> dict[str, FloatArray]:
        """Every measure (head,); 0 where there was no row for it."""
        means = self.sums / np.where(self.rows > 0, self.rows, 1)
        return dict(zip(HABITS, means, strict=True))
