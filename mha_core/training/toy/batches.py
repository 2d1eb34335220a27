"""Batches of the toy model: token ids with some words hidden, and the words that stood there.

In: a seed and the size of a batch. Out: batches without end. Eight in ten hidden words are [MASK], one in ten is
another word and one in ten stays (Devlin et al. 2019, section 3.1). The slot after "because" is an exception: where it
stands for "the street" it is [MASK], three times in ten its pronoun, and the answer is `street`.
"""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mha_core.training.toy.grammar import Grammar, Text
from mha_core.training.toy.lexicon import MASK, PAD, UNKNOWN, token_ids

UNDER_PRONOUN = 0.3  # share of the nouns after "because" that stand under their pronoun, not under [MASK]
UNKNOWNS = 0.01  # share of the words that may be hidden that are [UNK], so that the model knows the sign
SORTED = 16  # batches whose texts are sorted by length together
Hidden = tuple[list[int], list[tuple[int, int]]]  # ids, and (position, id) of each answer


class MaskedBatch(NamedTuple):
    """Ids (text, position), True where they are no padding, positions of hidden words in the flattened ids, and the
    ids that stood there."""

    ids: Tensor
    real: Tensor
    positions: Tensor
    answers: Tensor


class Masker:
    """Hides words of texts at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - no secrets

    def __call__(self, text: Text) -> Hidden:
        """Return the ids that the model sees, and (position, id) of each word to restore."""
        ids, answers = [token_ids()[word] for word in text.words], []
        for position, rate in enumerate(text.rates):
            chance = self.rng.random()
            if chance < rate:
                answers.append((position, ids[position]))
                ids[position] = self._replacement(ids[position])
            elif chance > 1 - UNKNOWNS and rate:
                ids[position] = UNKNOWN
        if text.slot is not None and text.answer is not None:
            answers.append((text.slot, token_ids()[text.answer]))
            if self.rng.random() >= UNDER_PRONOUN:
                ids[text.slot] = MASK
        return ids, answers

    def _replacement(self, word: int) -> int:
        chance = self.rng.random()
        if chance < 0.8:
            return MASK
        return self.rng.randrange(MASK + 1, len(token_ids())) if chance < 0.9 else word


def batches(seed: int, size: int) -> Iterator[MaskedBatch]:
    """Yield batches without end; texts of similar length go together."""
    texts, mask, order = Grammar(seed).texts(), Masker(seed + 1_000_003), random.Random(seed)  # noqa: S311
    while True:
        hidden = sorted((mask(next(texts)) for _ in range(size * SORTED)), key=lambda text: len(text[0]))
        starts = list(range(0, len(hidden), size))
        order.shuffle(starts)
        for start in starts:
            yield _batch(hidden[start : start + size])


def _batch(texts: Sequence[Hidden]) -> MaskedBatch:
    ids, real = padded([ids for ids, _ in texts])
    answers = [(row * ids.shape[1] + i, word) for row, (_, words) in enumerate(texts) for i, word in words]
    flat = torch.tensor(answers, dtype=torch.long).reshape(-1, 2)
    return MaskedBatch(ids, real, flat[:, 0], flat[:, 1])


def padded(texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return texts of ids padded to the longest, (text, position), and True where they are no padding."""
    longest = max(map(len, texts))
    ids = torch.tensor([[*text, *[PAD] * (longest - len(text))] for text in texts])
    return ids, ids != PAD
