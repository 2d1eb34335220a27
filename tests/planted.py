"""Treebanks made by hand, and heads planted in them: what every word looks at is known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from mha_core.heads.conclude import Answer, conclude
from mha_core.heads.corpora import Sentence
from mha_core.heads.questions.base import Measured
from mha_core.heads.questions.syntax import Asked, Looks, measure, questions

TRIED = 1000
TRIES = 20  # draws of a distance until one fits
# A determiner before its noun; in the last two another noun stands between, which no rule leaps over.
NEAR = ("the dog saw a cat", [1, 2, -1, 4, 2], "det nsubj root det obj", "DET NOUN VERB DET NOUN")
LONG = (
    "the big red dog saw cats",
    [3, 3, 3, 4, -1, 4],
    "det amod amod nsubj root obj",
    "DET ADJ ADJ NOUN VERB NOUN",
)
FAR = (
    "the dog of gold saw cats",
    [3, 0, 3, 4, -1, 4],
    "det dep case nsubj root obj",
    "DET NOUN ADP NOUN VERB NOUN",
)

FURTHER = (
    "the dog of very old gold saw cats",
    [5, 0, 5, 4, 5, 6, -1, 6],
    "det dep case advmod amod nsubj root obj",
    "DET NOUN ADP ADV ADJ NOUN VERB NOUN",
)


def sentence(number: int, words: str, heads: list[int], relations: str, tags: str) -> Sentence:
    """A sentence whose words all differ from those of the others; its last word hangs on the root."""
    forms = (*(f"{word}{number}" for word in words.split()), f"word{number}")
    heads, names, kinds = [*heads, heads.index(-1)], (*relations.split(), "dep"), (*tags.split(), "X")
    return Sentence(forms, tuple(heads), names, " ".join(forms), number, kinds, f"document {number // 3}")


def treebank(n: int = 600) -> list[Sentence]:
    """In two of four sentences the noun is the next one; in the others a rule that looks for it is wrong."""
    return [sentence(i, *(NEAR, LONG, FAR, FURTHER)[i % 4]) for i in range(n)]


Head = Callable[[Sentence, int, np.random.Generator], int]


def gold(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The true head word."""
    del rng
    return max(one.heads[word], 0)


def next_noun(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The next noun, whatever depends on it."""
    del rng
    return next((i for i in range(word + 1, len(one.words)) if one.tags[i] == "NOUN"), 0)


def one_ahead(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The next word."""
    del rng
    return min(word + 1, len(one.words) - 1)


def weak_gold(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The true head word in every second case, and any word in the others."""
    return gold(one, word, rng) if rng.random() < 0.5 else int(rng.integers(len(one.words)))


def root(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The root of the sentence in eight of ten cases, from every word."""
    return one.heads.index(-1) if rng.random() < 0.8 else int(rng.integers(len(one.words)))


def looks_of(trees: list[Sentence], planted: dict[int, Head], seed: int = 0, n_heads: int = 6) -> list[Looks]:
    """Random heads, but those planted by number."""
    rng, found = np.random.default_rng(seed), []
    for one in trees:
        n = len(one.words)
        at = rng.integers(0, n, (2, n_heads, n))
        for head, looks in planted.items():
            at[:, head] = [looks(one, word, rng) for word in range(n)]
        found.append(Looks(one, at.astype(np.int16), np.full((2, n), n - 1)))
    return found


def asked(looks: list[Looks], *keys: str) -> list[Asked]:
    """Some questions of these sentences."""
    known = {one.question.key: one for one in questions(looks, "treebank", is_causal=False)}
    return [known[key] for key in keys]


def answer(looks: list[Looks], key: str, n_heads: int = 6) -> Answer:
    """What is concluded of all heads."""
    found = conclude(measure(*asked(looks, key), looks), (1, n_heads), TRIED)
    assert found is not None
    return found


def called(found: Sequence[Measured], n_heads: int = 6) -> list[tuple[str, int]]:
    """Every question with every head that has its role, or is said to track it."""
    answers = (conclude(one, (1, n_heads), TRIED) for one in found)
    return [
        (one.key, head)
        for one in answers
        if one is not None
        for head in range(n_heads)
        if one.word[0, head] in ("role", "weak", "tracks")
    ]


def shuffled(trees: Sequence[Asked], looks: Sequence[Looks], seed: int) -> Iterator[Measured]:
    """The questions with shuffled gold: every dependent has the distance of another case that fits its sentence."""
    rng = np.random.default_rng(seed)
    for one in trees:
        cases = one.cases
        length = np.array([looks[number].at.shape[-1] for number in cases.sentence])
        distances, found = cases.answer - cases.anchor, cases.answer.copy()
        left = np.ones(len(cases), dtype=bool)
        for _ in range(TRIES):
            drawn = cases.anchor + rng.choice(distances, len(cases))
            fits = left & (drawn >= 0) & (drawn < length)
            found[fits] = drawn[fits]
            left &= ~fits
        yield measure(replace(one, cases=replace(cases, answer=found)), looks)
