"""Runs of a decoder made by hand: weights below the diagonal only, lopsided on purpose, six heads on two key heads."""

import numpy as np

from mha_core import AttentionRecord, ModelInfo, Token, Tokens, Word

WORDS = ["Zoe", "unlocked", "it", "and", "then", "slept", "late"]
LAYERS, HEADS, KEY_HEADS = 2, 6, 2
SPLIT = 1  # "unlocked" is two pieces


def tokens_of(words: list[str], split: int | None = SPLIT) -> Tokens:
    """A text of these words; the word at `split` is cut into its first two letters and the rest."""
    pieces, found, start = [], [], 0
    for number, word in enumerate(words):
        first = len(pieces)
        cuts = [(0, 2), (2, len(word))] if number == split else [(0, len(word))]
        for i, (a, b) in enumerate(cuts):
            spelled = ("" if i or not number else " ") + word[a:b]
            mark = "…" if i else ""
            pieces.append(
                Token(spelled, sum(map(ord, spelled)), start + a, start + b, 0, number, False, mark=mark)
            )
        found.append(Word(word, start, start + len(word), 0, first, len(pieces)))
        start += len(word) + 1
    return Tokens(" ".join(words), None, tuple(pieces), tuple(found))


def causal_record(
    words: list[str] = WORDS, seed: int = 5, split: int | None = SPLIT, same_up_to: int = 0
) -> AttentionRecord:
    """Random rows that look back only. Up to `same_up_to` pieces they are those of every run that shares its seed."""
    tokens = tokens_of(words, split)
    n = len(tokens)
    weights = np.zeros((LAYERS, HEADS, n, n), np.float32)
    for q in range(n):
        own = np.random.default_rng([7 if q < same_up_to else seed, q])
        weights[:, :, q, : q + 1] = own.dirichlet(np.full(q + 1, 0.5), size=(LAYERS, HEADS))
    info = ModelInfo("d", "Decoder", True, LAYERS, HEADS, 12, 2, 999, 64, "digest", KEY_HEADS, is_causal=True)
    return AttentionRecord(info, tokens, weights)
