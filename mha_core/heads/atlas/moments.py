"""The moments kept of every head, out of any amount of text: the strongest ones, and a fair sample of all rows.

In: passage by passage, for every head and row the strongest key, its weight and what it brings. Out: what is kept,
which never grows beyond a number per head, and merges with what was kept of other passages. Which half a passage is
of and which rows are sampled follow from its own text, so that neither order nor division of the work matters.
"""

import hashlib
from dataclasses import dataclass
from heapq import nlargest

import numpy as np

from mha_core.heads.words import FloatArray, IntArray
from mha_core.tokens import Tokens

A_PASSAGE = 2  # moments of one passage at most, of one head
KEPT = 40  # strongest moments of each half, of one head
SAMPLED = 200  # rows of one head
LOOKED_THROUGH = 12  # of a passage's rows, to find A_PASSAGE with different tokens


@dataclass(frozen=True, slots=True)
class Moment:
    """A head in the act: at `query` of a passage its strongest key is `key` (apart from where heads rest), with
    `weight`; `brings` is the weight times the length of what the head writes for that key. All indices from 0."""

    passage: int
    query: int
    key: int
    weight: float
    brings: float

    @property
    def order(self) -> tuple[float, int, int, int]:
        """Sorted by this the strongest comes last, the same for any order of reading within a passage list."""
        return (self.brings, -self.query, -self.key, -self.passage)


Pair = tuple[int, int]  # the vocabulary numbers of the two tokens


def half_of(tokens: Tokens) -> int:
    """Which half of the passages this one is of: 0 for finding a description, 1 for its numbers."""
    return _digest(tokens)[0] & 1


def priorities(tokens: Tokens, n_heads: int) -> FloatArray:
    """(head, query): random numbers that belong to this passage's text; rows with the smallest are the sample."""
    seed = np.frombuffer(_digest(tokens)[1:17], np.uint64)
    found: FloatArray = np.random.default_rng(seed).random((n_heads, len(tokens)))
    return found


def _digest(tokens: Tokens) -> bytes:
    return hashlib.sha256(repr(tokens.ids).encode()).digest()


class Strongest:
    """The strongest moments of every head, one for each pair of tokens, at most two a passage."""

    def __init__(self, n_heads: int) -> None:
        self.of: list[dict[Pair, Moment]] = [{} for _ in range(n_heads)]
        self.floor = np.zeros(n_heads)

    def add(self, passage: int, ids: IntArray, key: IntArray, weight: FloatArray, brings: FloatArray) -> None:
        """One passage's rows, (head, query) each; `brings` is below zero where a row does not count."""
        n = brings.shape[1]
        order = np.argsort(-brings, axis=1, kind="stable")[:, : min(n, LOOKED_THROUGH)]
        top = np.take_along_axis(brings, order[:, :1], axis=1)[:, 0]
        for head in np.flatnonzero(top > self.floor):
            taken: set[Pair] = set()
            for query in order[head]:
                much = float(brings[head, query])
                if len(taken) == A_PASSAGE or much <= self.floor[head]:
                    break
                at = int(key[head, query])
                pair = (int(ids[query]), int(ids[at]))
                if pair not in taken:
                    taken.add(pair)
                    self._keep(
                        int(head), pair, Moment(passage, int(query), at, float(weight[head, query]), much)
                    )

    def _keep(self, head: int, pair: Pair, moment: Moment) -> None:
        kept = self.of[head]
        if pair in kept and kept[pair].order >= moment.order:
            return
        kept[pair] = moment
        if len(kept) > KEPT:
            del kept[min(kept, key=lambda one: kept[one].order)]
        if len(kept) == KEPT:
            self.floor[head] = min(one.brings for one in kept.values())

    def sorted(self, head: int) -> list[Moment]:
        """One head's, the strongest first."""
        return nlargest(KEPT, self.of[head].values(), key=lambda one: one.order)


class Sample:
    """Rows of every head drawn at random, as many as SAMPLED; columns: priority, passage, query, key, weight,
    brings."""

    COLUMNS = 6

    def __init__(self, n_heads: int) -> None:
        self.rows: FloatArray = np.zeros((n_heads, 0, self.COLUMNS))

    def add(
        self,
        passage: int,
        priority: FloatArray,
        key: IntArray,
        weight: FloatArray,
        brings: FloatArray,
    ) -> None:
        """One passage's rows, (head, query) each; those with `brings` below zero do not count."""
        heads, n = brings.shape
        new = np.empty((heads, n, self.COLUMNS))
        new[..., 0] = np.where(brings >= 0, priority, np.inf)
        new[..., 1], new[..., 2] = passage, np.arange(n)
        new[..., 3], new[..., 4], new[..., 5] = key, weight, brings
        self._take(new)

    def _take(self, new: FloatArray) -> None:
        rows = np.concatenate([self.rows, new], axis=1)
        if rows.shape[1] > SAMPLED:
            best = np.argpartition(rows[..., 0], SAMPLED - 1, axis=1)[:, :SAMPLED]
            rows = np.take_along_axis(rows, best[..., None], axis=1)
        self.rows = rows

    def drawn(self, head: int) -> list[Moment]:
        """One head's, in the order of the draw."""
        rows = self.rows[head]
        rows = rows[np.isfinite(rows[:, 0])]
        return [_moment(row) for row in rows[np.argsort(rows[:, 0], kind="stable")]]

    def passages(self) -> set[int]:
        """The passages that are in it."""
        return set(np.unique(self.rows[..., 1][np.isfinite(self.rows[..., 0])]).astype(int).tolist())


def _moment(row: FloatArray) -> Moment:
    return Moment(int(row[1]), int(row[2]), int(row[3]), float(row[4]), float(row[5]))
