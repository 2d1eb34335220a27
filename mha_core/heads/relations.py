"""Which head finds which syntactic relation, in both directions, and does it beat a fixed distance?

In: weights of one sentence and its dependency tree, one sentence at a time. Out: for every relation,
direction and head the share of cases it gets right, its 95 % interval, the best fixed offset, and the heads
that cannot be told from the best.

dep->head: the word that a dependent looks at most is its head. head->dep: the word that looks most at the
dependent (the largest entry of its column) is its head. The dependent itself and special tokens are no
candidates. In a decoder only dep->head is asked for, of the dependents whose head came before them. `root` has
no head word; punctuation is a relation of its own; "all" is every relation but these two.

Source: Clark et al. 2019, section 4.2; Voita et al. 2019 for the offset a syntactic head must beat.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from mha_core.errors import InputError, SizeError
from mha_core.heads.corpora import Sentence
from mha_core.heads.intervals import N_GROUPS, group_of
from mha_core.heads.relation_table import ALL, DIRECTIONS, OFFSETS, RelationTable
from mha_core.heads.words import FloatArray, IntArray, merge_words, word_bounds
from mha_core.tokens import Tokenizer, Tokens

NOT_IN_ALL = ("root", "punct")
MAX_RELATIONS = 200


@dataclass(frozen=True)
class RelationCases:
    """The dependents of one sentence, each with its head and relation: positions in `tokens.words`. `cut`: the
    relations of those that the model cannot read, since they or their heads are beyond its limit."""

    tokens: Tokens
    dependents: IntArray
    heads: IntArray
    relations: tuple[str, ...]
    cut: tuple[str, ...] = ()

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
    counted = set(kept)
    return RelationCases(
        tokens,
        np.array(kept, dtype=np.intp),
        np.array([sentence.heads[i] for i in kept], dtype=np.intp),
        tuple(sentence.relations[i] for i in kept),
        tuple(
            sentence.relations[i] for i, head in enumerate(sentence.heads) if head >= 0 and i not in counted
        ),
    )


class RelationCounts:
    """Sums over sentences, which can be merged: (relation, group, direction, head) hits."""

    def __init__(self, n_layers: int, n_heads: int, is_causal: bool = False) -> None:
        self.shape = (n_layers, n_heads)
        self.is_causal = is_causal
        self.n_later = 0
        self.names: dict[str, int] = {}
        self.n_sentences = 0
        self.hits = np.zeros((8, N_GROUPS, 2, n_layers * n_heads), dtype=np.int32)
        self.offsets = np.zeros((8, len(OFFSETS)), dtype=np.int64)
        self.n = np.zeros((8, N_GROUPS), dtype=np.int64)
        self.cut = Counter[str]()

    def add(self, weights: FloatArray, item: RelationCases) -> None:
        """Count one sentence; weights (layer, head, query, key) over its pieces."""
        group = group_of(item.tokens.text)
        self.n_sentences += 1
        self.cut.update(item.cut)
        for name in item.cut:
            self._index(name)
        if self.is_causal:
            self.n_later += int((item.heads >= item.dependents).sum())
            item = _looking_back(item)
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

    def result(self) -> RelationTable:
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
            DIRECTIONS[:1] if self.is_causal else DIRECTIONS,
            self.n_later,
            tuple(sum(self.cut[each] for each in self.names if self.names[each] in i) for i in rows.values()),
        )


def _looking_back(item: RelationCases) -> RelationCases:
    """Those dependents whose head came before them."""
    kept = np.flatnonzero(item.heads < item.dependents)
    relations = tuple(item.relations[i] for i in kept)
    return RelationCases(item.tokens, item.dependents[kept], item.heads[kept], relations, item.cut)


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
