"""Which head finds which relation, counted: accuracies, the best fixed offset, and the heads that cannot be told from
the best.

In: hits of every head in every group of sentences (relations.py). Out: scores with their 95 % interval; layers and
heads from 0, in rows from 1.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.intervals import tied_with_best, wilson
from mha_core.heads.verdict import Evidence, beyond_luck, judge, tries
from mha_core.heads.words import FloatArray, IntArray
from mha_core.wording import always

Direction = Literal["dep->head", "head->dep"]
DIRECTIONS: tuple[Direction, Direction] = ("dep->head", "head->dep")
OFFSETS = np.array([*range(-10, 0), *range(1, 11)])
ALL = "all"


@dataclass(frozen=True)
class RelationScore:
    """One head on one relation; layer and head from 0. `offset`: the best fixed distance, from the word that looks."""

    relation: str
    direction: Direction
    layer: int
    head: int
    n: int
    accuracy: float
    ci_low: float
    ci_high: float
    offset: int
    offset_accuracy: float
    tried: int

    @property
    def evidence(self) -> Evidence:
        """What there is to judge the head by."""
        rule = always(self.offset)
        return Evidence("syntactic", self.accuracy, self.n, self.offset_accuracy, rule, self.tried)

    @property
    def beats_offset(self) -> bool:
        """Is the interval above the best fixed offset, with room for the luck of being the best of `tried`?"""
        return beyond_luck(self.accuracy, self.n, self.offset_accuracy, self.tried)

    @property
    def said(self) -> str:
        """What is said of it beside its offset; nothing where it beats it."""
        found = judge(self.evidence)
        if self.beats_offset:
            return ""
        return "no better than its offset" if found.word == "none" else found.because

    def as_row(self) -> dict[str, object]:
        """For files and tables: layer and head from 1, and the verdict."""
        said = {"beats_offset": self.beats_offset, "verdict": judge(self.evidence).word}
        return {**self.__dict__, "layer": self.layer + 1, "head": self.head + 1, **said}


@dataclass(frozen=True)
class RelationTable:
    """What was counted: hits (relation, group, direction, head), n (relation, group), offsets (relation,
    offset). `n_later`: what a decoder is not asked for, for the head comes after its dependent. `cut` (relation,):
    dependents beyond what the model reads of their sentence.
    """

    shape: tuple[int, int]
    names: tuple[str, ...]
    hits: IntArray
    group_n: IntArray
    offset_hits: IntArray
    n_sentences: int
    directions: tuple[Direction, ...] = DIRECTIONS
    n_later: int = 0
    cut: tuple[int, ...] = ()

    @property
    def tried(self) -> int:
        """The attempts behind a best score: every head in both directions at every relation that has cases."""
        there = sum(int(n.sum()) > 0 for name, n in zip(self.names, self.group_n, strict=True) if name != ALL)
        return tries(self.shape[0] * self.shape[1], len(self.directions) * there)

    def n(self, relation: str) -> int:
        """How many cases the relation has."""
        return int(self.group_n[self._row(relation)].sum())

    @property
    def n_dependents_cut(self) -> int:
        """How many dependents in all are beyond what the model reads, roots and punctuation counted."""
        return sum(self.cut[1:])

    def n_cut(self, relation: str) -> int:
        """How many more cases it has beyond what the model reads."""
        return self.cut[self._row(relation)] if self.cut else 0

    def accuracy(self, relation: str, direction: Direction = "dep->head") -> FloatArray:
        """(layer, head): the share of the relation's cases that each head gets right; nan where there is
        none.
        """
        row = self._row(relation)
        hits = self.hits[row, :, DIRECTIONS.index(direction)].sum(0)
        n = self.n(relation)
        found: FloatArray = (hits / n if n else np.full(hits.shape, np.nan)).reshape(self.shape)
        return found

    def best_offset(self, relation: str) -> tuple[int, float]:
        """The fixed distance from a dependent that finds most heads of the relation, and the share it finds."""
        hits, n = self.offset_hits[self._row(relation)], self.n(relation)
        best = int(hits.argmax())
        return int(OFFSETS[best]), float(hits[best] / n) if n else 0.0

    def score(self, relation: str, direction: Direction, layer: int, head: int) -> RelationScore:
        """One head on one relation; layer and head from 0."""
        n = self.n(relation)
        flat = layer * self.shape[1] + head
        hits = float(self.hits[self._row(relation), :, DIRECTIONS.index(direction), flat].sum())
        low, high = wilson(hits, n)
        offset, share = self.best_offset(relation)
        if direction == DIRECTIONS[1]:
            offset = -offset
        accuracy = hits / n if n else 0.0
        return RelationScore(
            relation, direction, layer, head, n, accuracy, float(low), float(high), offset, share, self.tried
        )

    def best(self, relation: str, direction: Direction) -> RelationScore:
        """The head that gets most of the relation's cases right."""
        return self.score(relation, direction, *self._place(self._best(relation, direction)))

    def equals(self, relation: str, direction: Direction) -> tuple[tuple[int, int], ...]:
        """The heads that the sentences cannot tell from the best, the best first: (layer, head) from 0."""
        hits = self.hits[self._row(relation), :, DIRECTIONS.index(direction)]
        used = self.group_n[self._row(relation)] > 0
        return tuple(self._place(int(i)) for i in tied_with_best(hits[used])) if used.any() else ()

    def held_out(self, relation: str, direction: Direction) -> float | None:
        """Accuracy of the best head, chosen on one half of the sentences and counted on the other; None where one half
        has no case to choose by."""
        n = self.group_n[self._row(relation)]
        if not (n[0::2].any() and n[1::2].any()):
            return None
        hits = self.hits[self._row(relation), :, DIRECTIONS.index(direction)]
        halves = hits[0::2].sum(0), hits[1::2].sum(0)
        found = halves[1][halves[0].argmax()] + halves[0][halves[1].argmax()]
        return float(found / n.sum())

    def scores(self, every_head: bool = False) -> list[RelationScore]:
        """The best head of each relation, in its better direction; or every head in both directions."""
        found: list[RelationScore] = []
        for name in self.names:
            if every_head:
                heads = [(la, h) for la in range(self.shape[0]) for h in range(self.shape[1])]
                found += [self.score(name, d, *place) for d in self.directions for place in heads]
            else:
                both = [self.best(name, direction) for direction in self.directions]
                found.append(max(both, key=lambda score: score.accuracy))
        return [score for score in found if score.n]

    def _best(self, relation: str, direction: Direction) -> int:
        return int(self.hits[self._row(relation), :, DIRECTIONS.index(direction)].sum(0).argmax())

    def _place(self, flat: int) -> tuple[int, int]:
        return flat // self.shape[1], flat % self.shape[1]

    def _row(self, relation: str) -> int:
        if relation not in self.names:
            raise InputError(f"The sentences have no relation {relation[:40]!r}.")
        return self.names.index(relation)
