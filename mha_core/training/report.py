"""The report of a training: its curve, every head, and what ablating each one costs. Layers and heads count from 1.

In: a setup, or a finished training. Out: one mapping, as command line and pages write it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mha_core.arrays import FloatArray
from mha_core.display_names import Head
from mha_core.training.head_scores import ablated, ablation_rows, head_rows
from mha_core.training.tasks import task_called
from mha_core.training.train import Snapshot, Training, TrainingSetup, n_answers, trained_model


def report(training: Training) -> dict[str, Any]:
    """Return all results of a finished training, with the setup that gives them again."""
    model, task = training.model, training.task
    return {
        "setup": asdict(training.setup),
        "parameters": sum(p.numel() for p in model.parameters()),
        "answers": n_answers(task.name),
        "curve": [snapshot.row() for snapshot in training.curve],
        "heads": head_rows(model, task),
        "without": ablation_rows(model, task, training.curve[-1].accuracy),
    }


def train_and_report(
    setup: TrainingSetup, on_snapshot: Callable[[Snapshot], None] = lambda _: None
) -> dict[str, Any]:
    """Train to the end and report; `on_snapshot` gets every snapshot as it is taken."""
    training = Training(setup)
    for snapshot in training.snapshots():
        on_snapshot(snapshot)
    return report(training)


def ablation_report(
    setup: TrainingSetup, parameters: Mapping[str, FloatArray], heads: Sequence[Head]
) -> dict[str, Any]:
    """Return `ablated` of a trained model, given its `parameters()`. Raises InputError as it does."""
    return ablated(trained_model(setup, parameters), task_called(setup.task), heads)


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose inner mappings are columns ("jobs" of "mirror": "mirror")."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        prefix = "" if name == "jobs" else f"{name} "
        flat |= {prefix + key: v for key, v in value.items()} if isinstance(value, Mapping) else {name: value}
    return flat
