"""Trainings as a page shows them: updates while they go on, and in the last one all that was found.

In: the name of a kind of training and its settings, plain values both. Out: an iterator of `Update`s, a fraction of a
second of work apart. To add a kind: a line in LIVE.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mha_core.errors import InputError
from mha_core.learning.report import report
from mha_core.learning.train import Setup, Snapshot, Training


@dataclass(frozen=True)
class Update:
    """How far it is, from 0 to 1; the new lines of its curve; and what it shows now, instead of what it showed before.

    Plain values and NumPy arrays only: it goes from one process to another.
    """

    fraction: float
    rows: tuple[Mapping[str, Any], ...]
    state: Mapping[str, Any]


def small_live(settings: Mapping[str, Any]) -> Iterator[Update]:
    """One small model: `settings` are the fields of a `Setup`.

    `state`: `weights` on the example (text, layer, head, query, key) as they are at `step`; in the last update also
    `report` (as the command line writes it) and `parameters`.
    """
    setup = Setup(**settings)
    training = Training(setup)
    curve: list[Snapshot] = []
    for now in training.snapshots():
        curve.append(now)
        state: dict[str, Any] = {"step": now.step, "weights": now.weights}
        yield Update(now.step / setup.steps, (now.row(),), state)
    last = {"report": report(training, curve), "parameters": training.parameters()}
    yield Update(1.0, (), {"step": curve[-1].step, "weights": curve[-1].weights, **last})


LIVE: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Update]]] = {"small": small_live}


def begin(kind: str, settings: Mapping[str, Any]) -> Iterator[Update]:
    """A training of that kind. Raises InputError for a kind that does not exist."""
    if kind not in LIVE:
        raise InputError(f"There is no training '{kind}'; choose {', '.join(LIVE)}.")
    return LIVE[kind](settings)
