"""What came out of a training, as it leaves the program: the curve, every head, and what each is worth.

In: a training that is over. Out: one mapping. Layers and heads count from 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mha_core.heads.word_weights import FloatArray
from mha_core.learning.scores import effects, head_scores, mean_masses
from mha_core.learning.tasks import task_called
from mha_core.learning.train import Setup, Snapshot, Training, answers_of, examine, revived
from mha_core.wording import Head, head_name


def report(training: Training, curve: Sequence[Snapshot]) -> dict[str, Any]:
    """Everything that was found, with all that is needed to find it again."""
    last = curve[-1]
    return {
        "setup": asdict(training.setup),
        "parameters": sum(p.numel() for p in training.model.parameters()),
        "answers": answers_of(training.setup.task),
        "curve": [snapshot.row() for snapshot in curve],
        "heads": [score.row() for score in head_scores(training.model, training.task)],
        "without": [effect.row(last.jobs) for effect in effects(training.model, training.task)],
    }


def trained(setup: Setup, tell: Callable[[Snapshot], None] | None = None) -> dict[str, Any]:
    """Train to the end and report; `tell` hears of every snapshot as it is taken."""
    training, curve = Training(setup), list[Snapshot]()
    for now in training.snapshots():
        curve.append(now)
        if tell is not None:
            tell(now)
    return report(training, curve)


def taken_away(setup: Setup, parameters: Mapping[str, FloatArray], heads: Sequence[Head]) -> dict[str, Any]:
    """A trained model without some heads, (layer, head) from 0: its accuracy, that of each job, and what the others
    do now. Raises InputError for a head that it does not have.
    """
    model, task = revived(setup, parameters), task_called(setup.task)
    _, jobs = examine(model, task, heads)
    left = mean_masses(model, task, heads)["induction"]
    return {
        "accuracy": sum(jobs.values()) / len(jobs),
        "jobs": jobs,
        "induction": {head_name((i, j)): float(mass) for (i, j), mass in np.ndenumerate(left)},
    }


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line whose inner mappings become columns ("jobs" of "mirror": "mirror")."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= {key if name == "jobs" else f"{name} {key}": inner for key, inner in value.items()}
        else:
            found[name] = value
    return found
