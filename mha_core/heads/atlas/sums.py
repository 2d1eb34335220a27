"""One pass over passages: what is kept of every head, in memory that does not grow with the text.

In: tokens of a passage, its weights (head, query, key) and how long what each key would write is (head, key). Out:
moments, samples, measures, and of the passages that are kept their tokens and how often each feature occurs.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.heads.atlas.features import allowed, features, pair_features
from mha_core.heads.atlas.habits import LINKED, HabitSums
from mha_core.heads.atlas.moments import Sample, Strongest, half_of, priorities
from mha_core.heads.words import BoolArray, FloatArray, IntArray
from mha_core.tokens import Tokens

PRUNE_EVERY = 1_000  # passages
# For a description a row counts only if it has something to choose among. Near the beginning of a decoder's text the
# strongest key is strong in any model, and all it would say is how passages begin.
LEAST_CHOICE = 8  # keys


@dataclass(frozen=True, eq=False)
class PassageKept:
    """A passage that moments are of: its tokens, and the counts of its `PairFeatures`."""

    tokens: Tokens
    pairs: IntArray
    counts: IntArray
    rows: FloatArray


class AtlasSums:
    """Fed passage by passage; heads are counted through, layer by layer."""

    def __init__(self, n_layers: int, n_heads: int, is_causal: bool) -> None:
        self.shape, self.is_causal = (n_layers, n_heads), is_causal
        heads = n_layers * n_heads
        self.strongest = Strongest(heads)
        self.halves = (Strongest(heads), Strongest(heads))  # of rows with a choice: what descriptions are of
        self.sample = Sample(heads)
        self.habits = HabitSums(heads)
        self.passages: dict[int, PassageKept] = {}
        self.n_passages = 0
        self.n_tokens = 0
        names = [feature.key for feature in features(is_causal)]
        self._links = {name: names.index(name) for name in LINKED}

    def add(
        self, weights: FloatArray, lengths: FloatArray, tokens: Tokens, number: int | None = None
    ) -> None:
        """One passage: weights (layer, head, query, key) and the lengths (layer, head, key) of what keys write.
        `number` is its place in the text, where passages are not read in order."""
        flat = weights.reshape(-1, *weights.shape[-2:])
        found = pair_features(tokens, self.is_causal)
        can = allowed(tokens, self.is_causal)
        key, weight, brings = strongest_keys(flat, lengths.reshape(len(flat), -1), can)
        number = self.n_passages if number is None else number
        self.passages[number] = PassageKept(tokens, found.pairs, found.counts, found.rows)
        ids = np.array(tokens.ids)
        self.strongest.add(number, ids, key, weight, brings)
        chosen = np.where(can.sum(-1) >= LEAST_CHOICE, brings, -1.0)
        self.halves[half_of(tokens)].add(number, ids, key, weight, chosen)
        self.sample.add(number, priorities(tokens, len(flat)), key, weight, brings)
        links = {name: found.of[i] for name, i in self._links.items()}
        self.habits.add(flat, links, can, brings)
        self.n_passages += 1
        self.n_tokens += len(tokens)
        if self.n_passages % PRUNE_EVERY == 0:
            self.prune()

    def prune(self) -> None:
        """Let go of passages that no kept moment is of."""
        used = self.sample.passages()
        for half in (self.strongest, *self.halves):
            used |= {one.passage for kept in half.of for one in kept.values()}
        self.passages = {number: one for number, one in self.passages.items() if number in used}


def strongest_keys(
    weights: FloatArray, lengths: FloatArray, can: BoolArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """For every head and row the strongest key that it may look at, its weight, and what it brings (weight times
    length), (head, query) each; a row that may look at nothing brings -1."""
    masked = np.where(can, weights, -1.0)
    key = masked.argmax(-1)
    weight = np.take_along_axis(masked, key[..., None], -1)[..., 0]
    brings = weight * np.take_along_axis(lengths, key, -1)
    return key, weight, np.where(can.any(-1), brings, -1.0)
