"""What a head loses without each earlier one: sums over texts, and the table with its intervals.

Source: Efron 1979 for the bootstrap, here over texts: the cases of one text are not independent.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from mha_core.heads.depends.questions import Question
from mha_core.heads.intervals import N_DRAWS, Z_95, z_for_best_of
from mha_core.heads.words import BoolArray, FloatArray
from mha_core.wording import Head

Way = Literal["zero", "mean"]
WAYS: tuple[Way, ...] = ("zero", "mean")
# Of fewer, all may lose the same by chance, and drawing them again would find no error at all.
LEAST_TEXTS = 10


@dataclass(frozen=True)
class Upstream:
    """One earlier head: how far the score falls without it (0 to 1), the 95 % interval, and whether the fall is
    beyond luck, though the largest of so many is looked at (Bonferroni)."""

    head: Head
    fall: float
    low: float
    high: float
    beyond_luck: bool


@dataclass(frozen=True)
class Depends:
    """A head's score over `n` cases of `n_texts` texts, and what it loses without each earlier head: `fall` and its
    standard `error`, (way, layer, head), 0 to 1; nan of fewer texts than LEAST_TEXTS, twins counted once. Layers and
    heads from 0."""

    head: Head
    question: Question
    n: int
    n_texts: int
    score: float
    ways: tuple[Way, ...]
    fall: FloatArray
    error: FloatArray

    @property
    def low(self) -> FloatArray:
        """The lower ends of the 95 % intervals."""
        return self.fall - Z_95 * self.error

    @property
    def high(self) -> FloatArray:
        """The upper ends."""
        return self.fall + Z_95 * self.error

    @cached_property
    def beyond_luck(self) -> BoolArray:
        """Where the head's score changes by more than the best of so many draws would, (way, layer, head)."""
        tried = self.fall[0].size
        found: BoolArray = np.abs(self.fall) > z_for_best_of(tried) * self.error
        return found

    def strongest(self, way: Way = "zero", k: int = 3) -> tuple[Upstream, ...]:
        """The earlier heads without which the score falls most."""
        at = self.ways.index(way)
        order = np.argsort(-self.fall[at], axis=None, kind="stable")[:k]
        return tuple(self.of(divmod(int(i), self.fall.shape[-1]), way) for i in order)

    def of(self, head: Head, way: Way = "zero") -> Upstream:
        """One earlier head."""
        at = (self.ways.index(way), *head)
        fall, low, high = (float(each[at]) for each in (self.fall, self.low, self.high))
        return Upstream(head, fall, low, high, bool(self.beyond_luck[at]))


class Sums:
    """What every text gave, so that texts can be drawn again."""

    def __init__(self, head: Head, question: Question, ways: tuple[Way, ...], n_heads: int) -> None:
        self.head, self.question, self.ways = head, question, ways
        self.shape = (len(ways), head[0], n_heads)
        self.n_texts, self.right = 0, 0.0
        self.clusters: dict[str, int] = {}
        self.cases: list[int] = []
        self.lost: list[FloatArray] = []

    def add(self, cluster: str | None, n: int, right: float, without: FloatArray) -> None:
        """One text: its cases, how many are right, and how many without each earlier head, (way, layer, head).

        Twins have the same `cluster`, and are drawn together.
        """
        self.n_texts += 1
        self.right += right
        at = self.clusters.setdefault(cluster or f" {self.n_texts}", len(self.cases))
        if at == len(self.cases):
            self.cases.append(0)
            self.lost.append(np.zeros(int(np.prod(self.shape))))
        self.cases[at] += n
        self.lost[at] += (right - without).ravel()

    def result(self) -> Depends:
        """What is known so far."""
        n = sum(self.cases)
        if not n:
            nothing = np.full(self.shape, np.nan)
            return Depends(self.head, self.question, 0, 0, np.nan, self.ways, nothing, nothing)
        lost, cases = np.array(self.lost), np.array(self.cases, dtype=float)
        draws = np.random.default_rng(0).multinomial(
            len(cases), np.full(len(cases), 1 / len(cases)), size=N_DRAWS
        )
        error = ((draws @ lost) / (draws @ cases)[:, None]).std(0)
        if len(cases) < LEAST_TEXTS:
            error[:] = np.nan
        return Depends(
            self.head,
            self.question,
            n,
            self.n_texts,
            self.right / n,
            self.ways,
            (lost.sum(0) / n).reshape(self.shape),
            error.reshape(self.shape),
        )
