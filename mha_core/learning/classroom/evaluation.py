"""Whether "it" moves: how much of one head's attention falls on the right noun and on the wrong one, in pairs of
texts that part in one word.

In: a stack, and pairs. Out: numbers for every head and pair. A head passes a pair if, in both of its texts, it puts
at least `RIGHT` on the noun that is meant and at most `WRONG` on the other. The head is chosen on other pairs. What
the model answers where "it" is hidden is measured beside it: a right answer does not say where it comes from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from mha_core.heads.cluster_stats import wilson
from mha_core.heads.word_weights import FloatArray
from mha_core.learning.classroom.batches import MASK, PAD
from mha_core.learning.classroom.lexicon import vocabulary
from mha_core.learning.classroom.pairs import CHOICE_SEED, FAMOUS, N_PAIRS, TEST_SEED, Pair, pairs
from mha_core.learning.classroom.tasks import gates_without, task_scores
from mha_core.stack import Stack
from mha_core.wording import Head

RIGHT, WRONG = 0.6, 0.15  # of a head's attention from "it"
HALF = 0.5


@dataclass(frozen=True, eq=False)
class Masses:
    """Attention from "it": (layer, head, pair, version), on the right noun and on the wrong one."""

    right: FloatArray
    wrong: FloatArray

    @property
    def passed(self) -> FloatArray:
        """1 where a head passes a pair, (layer, head, pair)."""
        found: FloatArray = ((self.right >= RIGHT) & (self.wrong <= WRONG)).all(-1).astype(float)
        return found


@dataclass(frozen=True)
class Answers:
    """Where "it" is hidden: the share of texts in which the model names the noun itself, `exact`, and in which it
    prefers the right one of the two, `better`."""

    exact: float
    better: float


@dataclass(frozen=True)
class Evaluation:
    """The head that passes most of the pairs it is chosen on, and what it does with others: shares of pairs.
    `pointing`: every head with more than HALF of its attention on the right noun and at most WRONG on the other, on
    average."""

    n: int
    head: Head
    passed: float
    interval: tuple[float, float]
    animate: float
    inanimate: float
    right: float
    wrong: float
    famous: dict[str, tuple[dict[str, float], dict[str, float]]]
    answers: Answers
    without_head: Answers
    pointing: tuple[Head, ...]
    without_pointing: Answers
    tasks: dict[str, float]
    tasks_without_head: dict[str, float]


def evaluate(stack: Stack, n: int = N_PAIRS) -> Evaluation:
    """The whole evaluation of a model on n held-out pairs, its head chosen on n others."""
    head = best_head(masses(stack, _pairs(CHOICE_SEED, n, False)))
    held = _pairs(TEST_SEED, n, True)
    found = masses(stack, held)
    passed = found.passed[head]
    animate = np.array([pair.kind == "animate" for pair in held])
    points = (found.right.mean((-2, -1)) > HALF) & (found.wrong.mean((-2, -1)) <= WRONG)
    pointing = tuple((int(i), int(j)) for i, j in np.argwhere(points))
    low, high = wilson(float(passed.sum()), float(n))
    return Evaluation(
        n,
        head,
        float(passed.mean()),
        (float(low), float(high)),
        float(passed[animate].mean()),
        float(passed[~animate].mean()),
        float(found.right[head].mean()),
        float(found.wrong[head].mean()),
        {name: famous_masses(stack, pair, head) for name, pair in FAMOUS.items()},
        answers(stack, held),
        answers(stack, held, without=(head,)),
        pointing,
        answers(stack, held, without=pointing),
        task_scores(stack),
        task_scores(stack, without=(head,)),
    )


@cache
def _pairs(seed: int, n: int, unseen: bool) -> tuple[Pair, ...]:
    return pairs(seed, n, unseen=unseen)


def best_head(found: Masses) -> Head:
    """The head that passes most pairs; of several the one with the most attention on the right noun."""
    score = found.passed.mean(-1) + 1e-3 * found.right.mean((-2, -1))
    layer, head = np.unravel_index(int(score.argmax()), score.shape)
    return int(layer), int(head)


def masses(stack: Stack, of: Sequence[Pair]) -> Masses:
    """Attention from "it" on both nouns, in every head."""
    ids, real = _ids(of, hidden=False)
    with torch.inference_mode():
        weights = stack(ids, real=real).weights  # (layer, text, head, query, key)
    slots = torch.tensor([pair.slot for pair in of for _ in range(2)])
    rows = weights[:, torch.arange(len(ids)), :, slots]  # (text, layer, head, key)
    rows = rows.movedim(0, -2) if rows.shape[0] == len(ids) else rows.movedim(1, -2)
    places = torch.tensor([order for pair in of for order in (pair.places, pair.places[::-1])])
    picked = [
        rows.gather(-1, places[:, which].expand(*rows.shape[:-1])[..., None])[..., 0] for which in (0, 1)
    ]
    shape = (*rows.shape[:2], len(of), 2)
    right, wrong = (part.reshape(shape).double().numpy() for part in picked)
    return Masses(right, wrong)


def weights_of(stack: Stack, pair: Pair) -> FloatArray:
    """Every head's weights in both texts of a pair, (text, layer, head, query, key)."""
    ids, real = _ids([pair], hidden=False)
    with torch.inference_mode():
        found: FloatArray = stack(ids, real=real).weights.transpose(0, 1).numpy().copy()
    return found


def famous_masses(stack: Stack, pair: Pair, head: Head) -> tuple[dict[str, float], dict[str, float]]:
    """What one head puts on either noun, in the first text and in the second."""
    found = masses(stack, [pair])
    right, wrong = found.right[head][0], found.wrong[head][0]
    a, b = pair.nouns
    return {a: float(right[0]), b: float(wrong[0])}, {a: float(wrong[1]), b: float(right[1])}


def answers(stack: Stack, of: Sequence[Pair], without: Sequence[Head] = ()) -> Answers:
    """What the model says at [MASK] in the place of "it"; `without` heads: with their outputs set to zero."""
    ids, real = _ids(of, hidden=True)
    gates = gates_without(stack, without)
    slots = torch.tensor([pair.slot for pair in of for _ in range(2)])
    with torch.inference_mode():
        hidden = stack(ids, real=real, gates=gates, need_weights=False).hidden
        matrix = stack.get_submodule("embeddings.word").weight
        scores = hidden[torch.arange(len(ids)), slots] @ matrix.t()  # type: ignore[operator]
    number = {word: i for i, word in enumerate(vocabulary())}
    right = torch.tensor([number[noun] for pair in of for noun in pair.nouns])
    wrong = torch.tensor([number[noun] for pair in of for noun in pair.nouns[::-1]])
    rows = torch.arange(len(ids))
    exact = (scores.argmax(-1) == right).double().mean()
    better = (scores[rows, right] > scores[rows, wrong]).double().mean()
    return Answers(float(exact), float(better))


def _ids(of: Sequence[Pair], *, hidden: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Both texts of every pair, one after the other, padded; with [MASK] for "it" where that is hidden."""
    number = {word: i for i, word in enumerate(vocabulary())}
    texts = [(words, pair.slot) for pair in of for words in pair.words]
    longest = max(len(words) for words, _ in texts)
    rows = [[number[word] for word in words] + [PAD] * (longest - len(words)) for words, _ in texts]
    if hidden:
        for row, (_, slot) in zip(rows, texts, strict=True):
            row[slot] = MASK
    ids = torch.tensor(rows)
    return ids, ids != PAD
