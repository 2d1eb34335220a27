"""One pass over passages: what is kept of every head, in memory that does not grow with the text.

In: passage by passage the tokens, the weights and the norms of what heads would write. Out: top examples and a random
sample of all rows. Which half a passage is of and which rows are sampled follow from its own text, so that neither
the order nor the division of the work matters.
"""

import hashlib
from collections.abc import Callable
from copy import copy
from heapq import nlargest
from typing import NamedTuple

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.engine.visibility import Visibility, attention_sinks
from mha_core.heads.word_weights import BoolArray
from mha_core.text.tokens import Tokens

A_PASSAGE = 2  # top examples of one passage at most, of one head
KEPT = 40  # top examples of one head
SAMPLED = 200  # rows of one head
LOOKED_THROUGH = 12  # of a passage's rows, to find A_PASSAGE with different tokens
PRUNE_EVERY = 1_000  # passages
# For a description a row counts only if it has something to choose among. Near the beginning of a decoder's text the
# strongest key is strong in any model, and all it would say is how passages begin.
LEAST_CHOICE = 8  # keys


class Example(NamedTuple):
    """A row of a head: at `query` its strongest key apart from attention sinks is `key`, with `weight`; `output_norm`
    is the weight times the norm of what the head writes for that key. Indices from 0."""

    passage: int
    query: int
    key: int
    weight: float
    output_norm: float

    @property
    def order(self) -> tuple[float, int, int, int]:
        """Sorted by this the strongest comes last, the same for any order of reading."""
        return (self.output_norm, -self.query, -self.key, -self.passage)


class Rows(NamedTuple):
    """One passage's rows: its number, its tokens' ids (query,), and (head, query) each the strongest key, its weight
    and the output norm, which is below 0 where a row does not count."""

    passage: int
    ids: IntArray
    key: IntArray
    weight: FloatArray
    output_norm: FloatArray


class TopExamples:
    """The strongest examples of every head, one for each pair of tokens, at most two a passage."""

    def __init__(self, n_heads: int) -> None:
        self.of: list[dict[tuple[int, int], Example]] = [{} for _ in range(n_heads)]
        self.floor = np.zeros(n_heads)

    def add(self, rows: Rows) -> None:
        """Take in one passage."""
        order = np.argsort(-rows.output_norm, axis=1, kind="stable")[:, :LOOKED_THROUGH]
        top = np.take_along_axis(rows.output_norm, order[:, :1], axis=1)[:, 0]
        for head in np.flatnonzero((top > 0) & (top >= self.floor)).tolist():
            taken: set[tuple[int, int]] = set()
            for query in order[head].tolist():
                norm = float(rows.output_norm[head, query])
                if len(taken) == A_PASSAGE or norm <= 0 or norm < self.floor[head]:
                    break
                key = int(rows.key[head, query])
                pair = (int(rows.ids[query]), int(rows.ids[key]))
                if pair not in taken:
                    taken.add(pair)
                    weight = float(rows.weight[head, query])
                    self._keep(head, pair, Example(rows.passage, query, key, weight, norm))

    def _keep(self, head: int, pair: tuple[int, int], example: Example) -> None:
        examples = self.of[head]
        if pair in examples and examples[pair].order >= example.order:
            return
        examples[pair] = example
        if len(examples) > KEPT:
            del examples[min(examples, key=lambda other: examples[other].order)]
        if len(examples) == KEPT:
            self.floor[head] = min(other.output_norm for other in examples.values())

    def merge(self, other: "TopExamples") -> None:
        """Take in those of other passages."""
        for head, examples in enumerate(other.of):
            for pair, example in examples.items():
                self._keep(head, pair, example)

    def renumbered(self, new: Callable[[int], int]) -> "TopExamples":
        """Return the same with other numbers of passages."""
        renumbered = TopExamples(len(self.of))
        renumbered.of = [
            {pair: example._replace(passage=new(example.passage)) for pair, example in examples.items()}
            for examples in self.of
        ]
        return renumbered

    def sorted(self, head: int) -> list[Example]:
        """Return one head's examples, the strongest first."""
        return nlargest(KEPT, self.of[head].values(), key=lambda example: example.order)


class RowSample:
    """SAMPLED rows of every head, drawn at random: (head, row, column), the columns a priority and an Example."""

    def __init__(self, n_heads: int) -> None:
        self.rows: FloatArray = np.zeros((n_heads, 0, 1 + len(Example._fields)))

    def add(self, rows: Rows, priority: FloatArray) -> None:
        """Take in one passage; the rows with the smallest priorities (head, query) stay."""
        n_heads, n = rows.output_norm.shape
        of_all = np.broadcast_to(rows.passage, (n_heads, n)), np.broadcast_to(np.arange(n), (n_heads, n))
        drawn = np.where(rows.output_norm >= 0, priority, np.inf)
        new = np.stack([drawn, *of_all, rows.key, rows.weight, rows.output_norm], axis=-1)
        self.merge(new)

    def merge(self, new: FloatArray) -> None:
        """Take in rows of other passages; of the same passage twice the first stays."""
        rows = np.concatenate([self.rows, new], axis=1)
        order = np.lexsort((rows[..., 1], rows[..., 0]))[:, :SAMPLED]
        self.rows = np.take_along_axis(rows, order[..., None], axis=1)

    def drawn(self, head: int) -> list[Example]:
        """Return one head's rows, in the order of the draw."""
        rows = self.rows[head][np.isfinite(self.rows[head, :, 0])]
        rows = rows[np.argsort(rows[:, 0], kind="stable"), 1:]
        return [Example(int(p), int(q), int(k), weight, norm) for p, q, k, weight, norm in rows.tolist()]


class Collection:
    """What is kept of a text, fed passage by passage; heads are counted through, layer by layer.

    `halves` are the top examples of each half of the passages, among rows with a choice: descriptions are found on the
    first half and counted on the second. `passages` are the tokens of those that examples are of.
    """

    def __init__(self, n_layers: int, n_heads: int, visibility: Visibility) -> None:
        self.shape, self.visibility = (n_layers, n_heads), visibility
        n = n_layers * n_heads
        self.top, self.halves = TopExamples(n), (TopExamples(n), TopExamples(n))
        self.sample = RowSample(n)
        self.passages: dict[int, Tokens] = {}
        self.n_passages = self.n_tokens = self.n_rows = 0
        self.at_sink: FloatArray = np.zeros(n)

    def add(self, number: int, tokens: Tokens, weights: FloatArray, norms: FloatArray) -> None:
        """Take in a passage: its number in the text, weights (layer, head, query, key), norms (layer, head, key)."""
        can = candidates(tokens, self.visibility)
        rows = strongest_keys(number, tokens, weights, norms, can)
        digest = hashlib.sha256(repr(tokens.ids).encode()).digest()
        half, seed = digest[0] & 1, np.frombuffer(digest[1:17], np.uint64)
        norm = rows.output_norm.reshape(weights.shape[:3])
        with_choice = np.where((can.sum(-1) >= LEAST_CHOICE)[:, None], norm, -1.0).reshape(-1, len(tokens))
        self.top.add(rows)
        self.halves[half].add(rows._replace(output_norm=with_choice))
        self.sample.add(rows, np.random.default_rng(seed).random(rows.output_norm.shape))
        counted = can.any((0, 2))
        sinks: BoolArray = np.logical_not(can.any((0, 1)))
        self.at_sink += sinks[weights[:, :, counted].argmax(-1)].sum(-1).ravel()
        self.n_rows += int(counted.sum())
        self.passages[number] = tokens
        self.n_passages += 1
        self.n_tokens += len(tokens)
        if self.n_passages % PRUNE_EVERY == 0:
            self.prune()

    def merge(self, other: "Collection") -> None:
        """Take in what is kept of other passages."""
        self.top.merge(other.top)
        for mine, theirs in zip(self.halves, other.halves, strict=True):
            mine.merge(theirs)
        self.sample.merge(other.sample.rows)
        self.passages |= other.passages
        self.at_sink = self.at_sink + other.at_sink
        self.n_passages += other.n_passages
        self.n_tokens += other.n_tokens
        self.n_rows += other.n_rows
        self.prune()

    def renumbered(self, new: Callable[[int], int]) -> "Collection":
        """Return the same with other numbers of passages, in the same order."""
        renumbered = copy(self)
        renumbered.top, *halves = (tops.renumbered(new) for tops in (self.top, *self.halves))
        renumbered.halves, renumbered.sample = (halves[0], halves[1]), copy(self.sample)
        renumbered.sample.rows = self.sample.rows.copy()
        renumbered.sample.rows[..., 1] = np.vectorize(new, otypes=[float])(
            self.sample.rows[..., 1].astype(np.int64)
        )
        renumbered.passages = {new(number): tokens for number, tokens in self.passages.items()}
        return renumbered

    @property
    def sink(self) -> FloatArray:
        """The share of rows whose largest weight is on an attention sink, (head,)."""
        share: FloatArray = self.at_sink / max(self.n_rows, 1)
        return share

    def prune(self) -> None:
        """Let go of passages that no kept example is of."""
        sampled = self.sample.rows[..., 1][np.isfinite(self.sample.rows[..., 0])]
        numbers = set(np.unique(sampled).astype(int).tolist())
        for tops in (self.top, *self.halves):
            numbers |= {example.passage for examples in tops.of for example in examples.values()}
        self.passages = {number: example for number, example in self.passages.items() if number in numbers}


def candidates(tokens: Tokens, visibility: Visibility) -> BoolArray:
    """Return (layer, query, key): who can look at what, without attention sinks."""
    is_special = np.array([piece.special for piece in tokens.pieces])
    ordinary = ~attention_sinks(is_special, visibility.is_causal)
    pairs: BoolArray = visibility.mask(len(tokens)) & ordinary[:, None] & ordinary
    return pairs


def strongest_keys(
    passage: int, tokens: Tokens, weights: FloatArray, norms: FloatArray, can: BoolArray
) -> Rows:
    """Return the strongest key of every row of weights (layer, head, query, key) among those it `can` look at, (layer,
    query, key); `norms` (layer, head, key)."""
    masked = np.where(can[:, None], weights, -1.0)
    key = masked.argmax(-1)
    weight = np.take_along_axis(masked, key[..., None], -1)[..., 0]
    output_norm = np.where(can.sum(-1)[:, None] > 0, weight * np.take_along_axis(norms, key, -1), -1.0)
    flat = (each.reshape(-1, len(tokens)) for each in (key, weight, output_norm))
    return Rows(passage, np.array(tokens.ids), *flat)
