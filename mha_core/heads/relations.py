"""Which head finds which syntactic relation, in both directions, and does it beat a fixed distance?

In: weights of one sentence and its dependency tree, one sentence at a time. Out: for every relation,
direction and head the share of cases it gets right, its 95 % interval, the best fixed offset, and the heads
that cannot be told from the best.

dep->head: the word that a dependent looks at most is its head. head->dep: the word that looks most at the
dependent (the largest entry of its column) is its head. The dependent itself, [CLS] and [SEP] are no
candidates. `root` has no head word; punctuation is a relation of its own; "all" is every relation but these
two.

Source: Clark et al. 2019, section 4.2; Voita et al. 2019 for the offset a syntactic head must beat.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mha_core.corpus import Sentence
from mha_core.errors import InputError, SizeError
from mha_core.heads.intervals import N_GROUPS, equals_of_the_best, group_of, wilson
from mha_core.heads.words import FloatArray, IntArray, merge_words, word_bounds
from mha_core.tokens import Tokenizer, Tokens

Direction = Literal["dep->head", "head->dep"]
DIRECTIONS: tuple[Direction, Direction] = ("dep->head", "head->dep")
OFFSETS = np.array([*range(-10, 0), *range(1, 11)])
ALL = "all"
NOT_IN_ALL = ("root", "punct")
MAX_RELATIONS = 200


@dataclass(frozen=True)
class RelationCases:
    """The dependents of one sentence, each with its head and relation: positions in `tokens.words`."""

    tokens: Tokens
    dependents: IntArray
    heads: IntArray
    relations: tuple[str, ...]

    def __post_init__(self) -> None:
        if not len(self.dependents) == len(self.heads) == len(self.relations):
            raise SizeError("Every dependent has one head and one relation.")


def relation_cases(sentence: Sentence, tokenizer: Tokenizer) -> RelationCases:
    """A treebank sentence, tokenised from its list of words; dependents beyond the model's limit are left
    out.
    """
    tokens = tokenizer.encode_words(sentence.words)
    whole = len(tokens.words) - bool(tokens.n_cut)
    kept = [i for i, head in enumerate(sentence.heads) if 0 <= head < whole and i < whole]
    return RelationCases(
        tokens,
        np.array(kept, dtype=np.intp),
        np.array([sentence.heads[i] for i in kept], dtype=np.intp),
        tuple(sentence.relations[i] for i in kept),
    )


@dataclass(frozen=True)
class RelationScore:
    """One head on one relation; layer and head from 0."""

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

    @property
    def beats_offset(self) -> bool:
        """Is the whole interval above the best fixed offset?"""
        return self.n > 0 and self.ci_low > self.offset_accuracy

    def as_row(self) -> dict[str, object]:
        """For files and tables: layer and head from 1."""
        return {**self.__dict__, "layer": self.layer + 1, "head": self.head + 1}


class RelationCounts:
    """Sums over sentences, which can be merged: (relation, group, direction, head) hits."""

    def __init__(self, n_layers: int, n_heads: int) -> None:
        self.shape = (n_layers, n_heads)
        self.names: dict[str, int] = {}
        self.n_sentences = 0
        self.hits = np.zeros((8, N_GROUPS, 2, n_layers * n_heads), dtype=np.int32)
        self.offsets = np.zeros((8, len(OFFSETS)), dtype=np.int64)
        self.n = np.zeros((8, N_GROUPS), dtype=np.int64)

    def add(self, weights: FloatArray, item: RelationCases) -> None:
        """Count one sentence; weights (layer, head, query, key) over its pieces."""
        group = group_of(item.tokens.text)
        self.n_sentences += 1
        if not len(item.dependents):
            return
        right = _right(weights, item)
        kinds = np.array([self._index(name) for name in item.relations])
        here = np.unique(kinds)
        of_kind = (kinds[:, None] == here).astype(np.float32)
        self.hits[here, group] += np.rint(right @ of_kind).astype(np.int32).transpose(2, 0, 1)
        self.n[here, group] += of_kind.sum(0).astype(np.int64)
        at_offset = ((item.heads - item.dependents)[:, None] == OFFSETS).astype(np.float32)
        self.offsets[here] += np.rint(of_kind.T @ at_offset).astype(np.int64)

    def _index(self, name: str) -> int:
        if name not in self.names:
            if len(self.names) == MAX_RELATIONS:
                raise InputError(
                    f"The file has more than {MAX_RELATIONS} relations, the most that are counted."
                )
            self.names[name] = len(self.names)
            if len(self.names) > len(self.n):
                self.hits, self.offsets, self.n = (_doubled(a) for a in (self.hits, self.offsets, self.n))
        return self.names[name]

    def merge(self, other: "RelationCounts") -> None:
        """Add the counts of another part of the corpus."""
        if self.shape != other.shape:
            raise SizeError(f"Counts of {self.shape} heads and of {other.shape} heads cannot be merged.")
        for name, there in other.names.items():
            here = self._index(name)
            self.hits[here] += other.hits[there]
            self.offsets[here] += other.offsets[there]
            self.n[here] += other.n[there]
        self.n_sentences += other.n_sentences

    def result(self) -> "RelationTable":
        """The table of what was counted so far, the most frequent relation first, "all" before it."""
        rows: dict[str, list[int]] = {ALL: [i for name, i in self.names.items() if name not in NOT_IN_ALL]}
        for name in sorted(self.names, key=lambda name: -int(self.n[self.names[name]].sum())):
            rows[name] = [self.names[name]]
        return RelationTable(
            self.shape,
            tuple(rows),
            np.array([self.hits[i].sum(0) for i in rows.values()]),
            np.array([self.n[i].sum(0) for i in rows.values()]),
            np.array([self.offsets[i].sum(0) for i in rows.values()]),
            self.n_sentences,
        )


def _doubled(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([counts, np.zeros_like(counts)])


def _right(weights: FloatArray, item: RelationCases) -> FloatArray:
    """(direction, head, dependent): 1 where the head finds the dependent's head word."""
    words = merge_words(weights, word_bounds(item.tokens))
    flat = words.reshape(-1, *words.shape[-2:])
    every = np.arange(flat.shape[-1])
    flat[:, every, every] = -1.0
    looks_at = flat[:, item.dependents].argmax(-1)
    looked_at_by = flat[:, :, item.dependents].argmax(-2)
    return np.stack([looks_at == item.heads, looked_at_by == item.heads]).astype(np.float32)


@dataclass(frozen=True)
class RelationTable:
    """What was counted: hits (relation, group, direction, head), n (relation, group), offsets (relation,
    offset).
    """

    shape: tuple[int, int]
    names: tuple[str, ...]
    hits: IntArray
    group_n: IntArray
    offset_hits: IntArray
    n_sentences: int

    def n(self, relation: str) -> int:
        return int(self.group_n[self._row(relation)].sum())

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
        """The fixed distance that finds most heads of the relation, and the share it finds."""
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
        accuracy = hits / n if n else 0.0
        return RelationScore(
            relation, direction, layer, head, n, accuracy, float(low), float(high), offset, share
        )

    def best(self, relation: str, direction: Direction) -> RelationScore:
        """The head that gets most of the relation's cases right."""
        return self.score(relation, direction, *self._place(self._best(relation, direction)))

    def equals(self, relation: str, direction: Direction) -> tuple[tuple[int, int], ...]:
        """The heads that the sentences cannot tell from the best, the best first: (layer, head) from 0."""
        hits = self.hits[self._row(relation), :, DIRECTIONS.index(direction)]
        used = self.group_n[self._row(relation)] > 0
        return tuple(self._place(int(i)) for i in equals_of_the_best(hits[used])) if used.any() else ()

    def held_out(self, relation: str, direction: Direction) -> float:
        """Accuracy of the best head, chosen on one half of the sentences and counted on the other."""
        hits = self.hits[self._row(relation), :, DIRECTIONS.index(direction)]
        halves = hits[0::2].sum(0), hits[1::2].sum(0)
        found = halves[1][halves[0].argmax()] + halves[0][halves[1].argmax()]
        return float(found / max(self.n(relation), 1))

    def scores(self, every_head: bool = False) -> list[RelationScore]:
        """The best head of each relation, in its better direction; or every head in both directions."""
        found: list[RelationScore] = []
        for name in self.names:
            if every_head:
                heads = [(la, h) for la in range(self.shape[0]) for h in range(self.shape[1])]
                found += [self.score(name, d, *place) for d in DIRECTIONS for place in heads]
            else:
                both = [self.best(name, direction) for direction in DIRECTIONS]
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
