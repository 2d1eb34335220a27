"""Two texts through one decoder: the first word at which their rows can differ, and the later words that carry it.

In: two grids of one decoder (weights: layer, head, query, key) and the texts' tokens. Out: the place where the texts
part, the largest difference of any row before it (rounding, if anything), and the words after it, most moved first.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.display_names import Head
from mha_core.record.compare import Pairs, align
from mha_core.record.grid import Grid, Unit
from mha_core.text.tokens import Tokens


@dataclass(frozen=True)
class ShiftedWord:
    """A word that both texts have, or that took another's place: its positions, the share of its attention that went
    elsewhere (0 to 1) as the mean of all heads, and the heads in which most of it did, each with its share.
    """

    places: tuple[int, int]
    moved: float
    heads: tuple[tuple[Head, float], ...]


@dataclass(frozen=True)
class FirstDivergence:
    """`place`: the position of the first unit that is another one, in both; the length of the shorter text if it goes
    on in the longer. `largest`: the largest absolute difference of a weight in any row before it.
    """

    place: int
    largest: float
    movers: tuple[ShiftedWord, ...]

    @property
    def first(self) -> ShiftedWord | None:
        """Word at which the texts part, if both have one there."""
        return next((mover for mover in self.movers if mover.places == (self.place, self.place)), None)


def first_change(a: Grid, a_tokens: Tokens, b: Grid, b_tokens: Tokens) -> FirstDivergence | None:
    """Compare two texts of one decoder. None for models that see ahead, for heads that cannot be compared one by one,
    and for texts that are the same or begin with different words.
    """
    if not a.is_causal or not b.is_causal or a.weights.shape[:2] != b.weights.shape[:2]:
        return None
    ids_a, ids_b = ([_ids(unit, t) for unit in g.units] for g, t in ((a, a_tokens), (b, b_tokens)))
    same = [x == y for x, y in zip(ids_a, ids_b, strict=False)]
    place = same.index(False) if False in same else len(same)
    if place == 0 or place == len(a) == len(b):
        return None
    before = a.weights[:, :, :place, :place] - b.weights[:, :, :place, :place]
    after = align(a.labels[place:], b.labels[place:])
    pairs = (
        *((i, i) for i in range(place)),
        *((None if i is None else place + i, None if j is None else place + j) for i, j in after),
    )
    movers = [_mover(a, b, pairs, i, j) for i, j in pairs if i is not None and j is not None and i >= place]
    movers.sort(key=lambda mover: -mover.moved)
    return FirstDivergence(place, float(np.abs(before).max(initial=0)), tuple(movers))


def _ids(unit: Unit, tokens: Tokens) -> tuple[int, ...]:
    return tuple(tokens.pieces[piece].id for piece in unit.pieces)


def _mover(a: Grid, b: Grid, pairs: Pairs, query_a: int, query_b: int) -> ShiftedWord:
    """Measure half of the summed absolute differences of two rows; a word without a counterpart counts in full."""
    row_a, row_b = (np.asarray(g.weights[:, :, q], np.float64) for g, q in ((a, query_a), (b, query_b)))
    left, right = (list(side) for side in zip(*(p for p in pairs if None not in p), strict=True))
    alone_a = [i for i, j in pairs if i is not None and j is None]
    alone_b = [j for i, j in pairs if j is not None and i is None]
    moved = np.abs(row_a[..., left] - row_b[..., right]).sum(-1)
    moved = (moved + row_a[..., alone_a].sum(-1) + row_b[..., alone_b].sum(-1)) / 2
    order = np.argsort(-moved, axis=None, kind="stable")[:4]
    heads = [np.unravel_index(int(i), moved.shape) for i in order]
    most = tuple(((int(layer), int(head)), float(moved[layer, head])) for layer, head in heads)
    return ShiftedWord((query_a, query_b), float(moved.mean()), most)
