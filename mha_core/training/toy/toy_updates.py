"""The toy model's training as a page shows it: two sentences, the share of pairs, the loss, and every head.

In: a seed. Out: updates, a fraction of a second of work each; the last one has the report cards.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mha_core.display_names import head_name
from mha_core.engine.stack import Stack
from mha_core.models.weights import untrained_encoder
from mha_core.training.toy.evaluation import best_head, cached_pairs, evaluate, masses, pair_weights
from mha_core.training.toy.pairs import CHOICE_SEED, FAMOUS, TEST_SEED
from mha_core.training.toy.recipe import CLASSROOM, CONTROL_RECIPE, Recipe, toy_trainer
from mha_core.training.trainer import TrainingUpdate

WATCHED = 40  # pairs that score every update, and as many to choose the head on
STEPS_FIRST, STEPS_EVERY = 8, 24  # under a second of one core; the first update comes at once


def toy_updates(settings: Mapping[str, Any]) -> Iterator[TrainingUpdate]:
    """Train the toy model of a `seed`, or its control model (`twin`). Raises InputError for a bad seed."""
    return updates_of(settings["seed"], CONTROL_RECIPE if settings.get("twin") else CLASSROOM)


def updates_of(seed: int, recipe: Recipe) -> Iterator[TrainingUpdate]:
    """Yield a row of the curve and a state an update: `step` and `weights` of the two famous sentences (text, layer,
    head, query, key); at the end `report`, and `untrained`: `weights` and `report` of the same seed before training."""
    trainer, losses = toy_trainer(seed, recipe), list[float]()
    while True:
        state = {"step": trainer.n_steps, "weights": pair_weights(trainer.model, FAMOUS["street"])}
        if trainer.is_over:
            before = untrained_encoder(recipe.config, seed)
            untrained = {"weights": pair_weights(before, FAMOUS["street"]), "report": evaluate(before)}
            state |= {"report": evaluate(trainer.model), "untrained": untrained}
        row = {"step": trainer.n_steps, "loss": float(np.mean(losses)) if losses else None}
        yield TrainingUpdate(trainer.n_steps / recipe.steps, (row | _watched(trainer.model),), state)
        if trainer.is_over:
            return
        losses = trainer.run(STEPS_EVERY if trainer.n_steps else STEPS_FIRST)


def _watched(stack: Stack) -> dict[str, Any]:
    """Return the best head on WATCHED pairs, the share that it passes, and its mean masses."""
    head = best_head(masses(stack, cached_pairs(CHOICE_SEED, WATCHED, False)))
    unseen = masses(stack, cached_pairs(TEST_SEED, WATCHED, True))
    return {
        "head": head_name(head),
        "pass": float(unseen.passed[head].mean()),
        "right": float(unseen.right[head].mean()),
        "wrong": float(unseen.wrong[head].mean()),
    }
