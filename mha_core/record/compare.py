"""Two runs side by side: the attention of one word in both, and the heads that changed most.

In: two grids (weights: layer, head, query, key) and a position in each. Out: aligned positions, the difference of both,
and heads by change. Grids of different sizes (two models) have no change by head.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt

from mha_core.display_names import Head
from mha_core.errors import InputError, SizeError
from mha_core.record.grid import Grid

# Limits of a preference: below these a change of favourite is noise (an untrained model "flips" half its heads).
FLOOR = 0.05
MARGIN = 0.05
Pairs = tuple[tuple[int | None, int | None], ...]


@dataclass(frozen=True)
class HeadDifference:
    """Change of a head: `moved`, the share of its attention from the chosen word that moved (0 to 1); `masses_a`,
    `masses_b`, one share a candidate, in their order."""

    head: Head
    moved: float
    masses_a: tuple[float, ...]
    masses_b: tuple[float, ...]

    @property
    def flips(self) -> bool:
        """True if it prefers another candidate in B: in both runs one has FLOOR at least and leads by MARGIN."""
        a, b = _favourite(self.masses_a), _favourite(self.masses_b)
        return a is not None and b is not None and a != b

    @property
    def preference_shift(self) -> float:
        """Shift of the difference between the first two candidates, -2 to 2: A's minus B's."""
        if len(self.masses_a) < 2:
            return 0.0
        return (self.masses_a[0] - self.masses_a[1]) - (self.masses_b[0] - self.masses_b[1])


def align(a: Sequence[str], b: Sequence[str]) -> Pairs:
    """Pair the positions of two sequences of labels, in order; None where one has no counterpart.

    Equal labels (case aside) meet; runs of the same length that differ are taken one by one.
    """
    folded = [label.casefold() for label in a], [label.casefold() for label in b]
    pairs: list[tuple[int | None, int | None]] = []
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, *folded, autojunk=False).get_opcodes():
        if kind == "equal" or a2 - a1 == b2 - b1:
            pairs.extend(zip(range(a1, a2), range(b1, b2), strict=True))
        else:
            pairs.extend((i, None) for i in range(a1, a2))
            pairs.extend((None, j) for j in range(b1, b2))
    return tuple(pairs)


def counterpart(pairs: Pairs, position: int) -> int | None:
    """Return the position in B of a position of A, or None."""
    return next((b for a, b in pairs if a == position), None)


def difference(a: Grid, b: Grid) -> Grid:
    """Return A minus B: heads that both have over units that both have, in A's order.

    A unit that is not the same in both is named by both, "it / She". A key that one of the two cannot see is not
    visible.
    """
    both = [(i, j) for i, j in align(a.labels, b.labels) if i is not None and j is not None]
    rows = [np.array([pair[side] for pair in both], dtype=int) for side in (0, 1)]
    layers, heads = (min(sizes) for sizes in zip(a.weights.shape[:2], b.weights.shape[:2], strict=True))
    sides = tuple(zip((a, b), rows, strict=True))
    of_a, of_b = (grid.weights[:layers, :heads, row[:, None], row] for grid, row in sides)
    seen = [grid.visible[:layers, row[:, None], row] for grid, row in sides if grid.visible is not None]
    known = [grid.heads[:layers, :heads] for grid in (a, b) if grid.heads is not None]
    labels = [(a.units[i].label, b.units[j].label) for i, j in both]
    return Grid(
        units=tuple(
            replace(a.units[i], label=x if x == y else f"{x} / {y}")
            for (i, _), (x, y) in zip(both, labels, strict=True)
        ),
        weights=of_a - of_b,
        words=a.words,
        specials=a.specials,
        visible=np.logical_and.reduce(seen) if seen else None,
        heads=np.logical_and.reduce(known) if known else None,
    )


def most_changed(a: Grid, b: Grid, head: Head) -> tuple[int, int] | None:
    """Return the link between two different words that changes most in a head, as positions in A, of words that both
    have; None where nothing changes or only one of the runs has the head. Special tokens and marks are no words."""
    if any(place >= size for grid in (a, b) for place, size in zip(head, grid.weights.shape, strict=False)):
        return None
    both = [
        (i, j)
        for i, j in align(a.labels, b.labels)
        if i is not None and j is not None and a.units[i].is_word and b.units[j].is_word
    ]
    if not both:
        return None
    in_a, in_b = (np.array(side) for side in zip(*both, strict=True))
    change = abs(a.weights[head][np.ix_(in_a, in_a)] - b.weights[head][np.ix_(in_b, in_b)])
    np.fill_diagonal(change, 0)
    if not change.any():
        return None
    query, key = divmod(int(change.argmax()), len(both))
    return both[query][0], both[key][0]


def head_changes(
    a: Grid, b: Grid, query: tuple[int, int], keys: Sequence[tuple[int, int]] = ()
) -> list[HeadDifference]:
    """Return all heads by `preference_shift`, then by `moved`, most first.

    Moved is half of the summed absolute differences of the two rows (total variation): 0 is the same, 1 is
    nothing in common. A word without a counterpart counts in full. Raises SizeError for grids of two sizes.
    """
    if a.weights.shape[:2] != b.weights.shape[:2]:
        raise SizeError(
            f"Heads cannot be compared one by one: A has {_size(a)} and B has {_size(b)}, layers times heads."
        )
    row_a, row_b = _row(a, query[0]), _row(b, query[1])
    moved = np.zeros(row_a.shape[:2])
    for i, j in align(a.labels, b.labels):
        moved += np.abs((0 if i is None else row_a[..., i]) - (0 if j is None else row_b[..., j])) / 2
    changes = [
        HeadDifference(
            (int(layer), int(head)),
            float(moved[layer, head]),
            tuple(float(row_a[layer, head, i]) for i, _ in keys),
            tuple(float(row_b[layer, head, j]) for _, j in keys),
        )
        for layer, head in np.ndindex(moved.shape)
    ]
    return sorted(changes, key=lambda change: (-abs(change.preference_shift), -change.moved))


def _row(grid: Grid, query: int) -> npt.NDArray[np.float64]:
    """Return the attention from one position: (layer, head, key)."""
    if not 0 <= query < len(grid.units):
        raise InputError(f"Unknown position {query}. The sentence has positions 0 to {len(grid.units) - 1}.")
    return np.asarray(grid.weights[:, :, query], dtype=np.float64)


def _favourite(masses: Sequence[float]) -> int | None:
    if len(masses) < 2:
        return None
    first, second = sorted(range(len(masses)), key=lambda index: -masses[index])[:2]
    clear = masses[first] >= FLOOR and masses[first] - masses[second] >= MARGIN
    return first if clear else None


def _size(grid: Grid) -> str:
    return f"{grid.weights.shape[0]} × {grid.weights.shape[1]}"
