"""The classroom's training as a page shows it: the two sentences, the share of pairs, the loss, and every head.

In: a seed. Out: updates, a fraction of a second of work apart; the last one has the report.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch

from mha_core.errors import InputError
from mha_core.learning.classroom.evaluation import best_head, evaluate, masses, weights_of
from mha_core.learning.classroom.pairs import CHOICE_SEED, FAMOUS, TEST_SEED, Pair, pairs
from mha_core.learning.classroom.recipe import CLASSROOM, TWIN
from mha_core.learning.classroom.report import card
from mha_core.learning.classroom.training import Training
from mha_core.seeds import LAST, is_seed
from mha_core.weights import untrained_encoder
from mha_core.wording import head_name

WATCHED = 40  # pairs that are tried all the while, and as many to choose the head on
STEPS_FIRST, STEPS_EVERY = 8, 24  # a little less than a second of one processor core; the first time at once
Told = tuple[float, dict[str, Any], dict[str, Any]]


@cache
def watched(seed: int, unseen: bool) -> tuple[Pair, ...]:
    """The pairs that are tried all the while."""
    return pairs(seed, WATCHED, unseen=unseen)


def rows_of(training: Training, losses: list[float]) -> dict[str, Any]:
    """One line of the curve."""
    head = best_head(masses(training.stack, watched(CHOICE_SEED, False)))
    found = masses(training.stack, watched(TEST_SEED, True))
    return {
        "step": training.done,
        "loss": float(np.mean(losses)) if losses else None,
        "head": head_name(head),
        "pass": float(found.passed[head].mean()),
        "right": float(found.right[head].mean()),
        "wrong": float(found.wrong[head].mean()),
    }


def live(settings: Mapping[str, Any]) -> Iterator[Told]:
    """The training of a `seed`, or of its `twin`. Raises InputError for a seed that cannot be."""
    seed = settings.get("seed")
    if not is_seed(seed):
        raise InputError(f"The seed is a whole number from 0 to {LAST:,}.")
    yield from followed(Training(seed, TWIN if settings.get("twin") else CLASSROOM))


def followed(training: Training) -> Iterator[Told]:
    """How far it is, from 0 to 1, a line of the curve, and what is shown: `weights` of the two famous sentences
    (text, layer, head, query, key); at the end `report`, and `untrained`: `weights` and `report` of the same seed
    before its first step."""
    losses = list[float]()
    yield 0.0, rows_of(training, losses), _shown(training)
    while training.done < training.recipe.steps:
        losses = []
        steps = STEPS_EVERY if training.done else STEPS_FIRST
        for _ in range(min(steps, training.recipe.steps - training.done)):
            with torch.enable_grad():
                losses.append(training.step())
        shown = _shown(training)
        if training.done == training.recipe.steps:
            shown |= {"report": card(evaluate(training.stack)), "untrained": _untrained(training)}
        yield training.done / training.recipe.steps, rows_of(training, losses), shown


def _untrained(training: Training) -> dict[str, Any]:
    stack = untrained_encoder(training.recipe.config, training.seed)
    return {"weights": weights_of(stack, FAMOUS["street"]), "report": card(evaluate(stack))}


def _shown(training: Training) -> dict[str, Any]:
    return {"step": training.done, "weights": weights_of(training.stack, FAMOUS["street"])}
