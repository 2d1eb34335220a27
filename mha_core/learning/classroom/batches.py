"""Texts as a model in training is given them: numbers, some words hidden, and what stood there.

In: a seed and the size of a batch. Out: batches without end. Eight in ten hidden words are [MASK], one in ten is
another word and one in ten is left as it is (Devlin et al. 2019, section 3.1). The slot after "because" is apart:
where it stands for "the street" it is [MASK], three times in ten its pronoun, and `street` is what to find.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from mha_core.learning.classroom.grammar import Grammar, Text
from mha_core.learning.classroom.lexicon import vocabulary

PAD, UNKNOWN, MASK = 0, 1, 2
UNDER_PRONOUN = (
    0.3  # of the nouns to be found after "because" stand under their pronoun, the others under [MASK]
)
UNKNOWNS = 0.01  # of the words that may be hidden are [UNK] instead, so that the sign is known
SORTED = 16  # batches whose texts are sorted by length together


@dataclass(frozen=True)
class Batch:
    """Ids (text, place), which of them are real, and the hidden words: their places in the flattened ids, and what
    stood there."""

    ids: Tensor
    real: Tensor
    places: Tensor
    answers: Tensor

    @property
    def n_tokens(self) -> int:
        return int(self.real.sum())


class Hider:
    """Hides words of texts by chance."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - no secrets
        self.ids = {word: i for i, word in enumerate(vocabulary())}

    def __call__(self, text: Text) -> tuple[list[int], list[tuple[int, int]]]:
        """The numbers a model sees, and (place, number) of what it must find."""
        ids = [self.ids[word] for word in text.words]
        sought = []
        for place, rate in enumerate(text.rates):
            chance = self.rng.random()
            if chance < rate:
                sought.append((place, ids[place]))
                ids[place] = self._sign(ids[place])
            elif chance > 1 - UNKNOWNS and rate:
                ids[place] = UNKNOWN
        if text.slot is not None and text.answer is not None:
            sought.append((text.slot, self.ids[text.answer]))
            if self.rng.random() >= UNDER_PRONOUN:
                ids[text.slot] = MASK
        return ids, sought

    def _sign(self, word: int) -> int:
        chance = self.rng.random()
        if chance < 0.8:
            return MASK
        return self.rng.randrange(MASK + 1, len(self.ids)) if chance < 0.9 else word


def batches(seed: int, size: int) -> Iterator[Batch]:
    """Batches without end; texts of about one length go together."""
    texts, hide, order = Grammar(seed).texts(), Hider(seed + 1_000_003), random.Random(seed)  # noqa: S311
    while True:
        several = [hide(next(texts)) for _ in range(size * SORTED)]
        several.sort(key=lambda one: len(one[0]))
        starts = list(range(0, len(several), size))
        order.shuffle(starts)
        for start in starts:
            yield batch_of(several[start : start + size])


def batch_of(texts: list[tuple[list[int], list[tuple[int, int]]]]) -> Batch:
    """Texts padded to the longest."""
    longest = max(len(ids) for ids, _ in texts)
    ids = torch.tensor([ids + [PAD] * (longest - len(ids)) for ids, _ in texts])
    found = [(row * longest + at, word) for row, (_, sought) in enumerate(texts) for at, word in sought]
    both = torch.tensor(found, dtype=torch.long).reshape(-1, 2)
    return Batch(ids, ids != PAD, both[:, 0], both[:, 1])
