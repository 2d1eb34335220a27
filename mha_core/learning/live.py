"""Trainings as a page shows them: updates while they go on, and in the last one all that was found.

In: the name of a kind of training and its settings, plain values both. Out: an iterator of `Update`s, a fraction of a
second of work apart. To add a kind: a line in LIVE.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mha_core.errors import InputError
from mha_core.learning.classroom import live as classroom
from mha_core.learning.report import report
from mha_core.learning.train import Setup, Snapshot, Training

RUNS_AT_MOST = 2


@dataclass(frozen=True)
class Update:
    """How far it is, from 0 to 1; the new lines of its curve; and what it shows now, instead of what it showed before.

    Plain values and NumPy arrays only: it goes from one process to another.
    """

    fraction: float
    rows: tuple[Mapping[str, Any], ...]
    state: Mapping[str, Any]


def small_live(settings: Mapping[str, Any]) -> Iterator[Update]:
    """Small models side by side, in turns of EVERY steps: `runs`, a list of the fields of a `Setup` each.

    Each gives the numbers that it gives alone. A line of the curve says its `run`, from 0. `state["runs"]`: of each run
    `step` and `weights` on the example (text, layer, head, query, key) as they are now, and, once it is over, `report`
    (as the command line writes it) and `parameters`.
    """
    runs = [_Run(Training(Setup(**setup))) for setup in settings["runs"][:RUNS_AT_MOST]]
    while open_runs := [run for run in runs if not run.is_over]:
        for run in open_runs:
            rows = [now.row() | {"run": runs.index(run)} for now in run.advance()]
            done = sum(one.done for one in runs) / len(runs)
            yield Update(done, tuple(rows), {"runs": [one.state for one in runs]})


class _Run:
    """One of the models, and what is shown of it."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.snapshots = training.snapshots()
        self.curve: list[Snapshot] = []
        self.state: dict[str, Any] = {}

    @property
    def is_over(self) -> bool:
        return "report" in self.state

    @property
    def done(self) -> float:
        """How far it is, from 0 to 1."""
        return 1.0 if self.is_over else (self.curve[-1].step if self.curve else 0) / self.training.setup.steps

    def advance(self) -> list[Snapshot]:
        """Up to the next snapshot; after the last one the report."""
        now = next(self.snapshots, None)
        if now is None:
            made = report(self.training, self.curve)
            self.state = self.state | {"report": made, "parameters": self.training.parameters()}
            return []
        self.curve.append(now)
        self.state = {"step": now.step, "weights": now.weights}
        return [now]


def classroom_live(settings: Mapping[str, Any]) -> Iterator[Update]:
    """The model in which "it" moves: `seed`, and `twin` for the one without a window."""
    for fraction, row, state in classroom.live(settings):
        yield Update(fraction, (row,), state)


LIVE: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Update]]] = {
    "small": small_live,
    "classroom": classroom_live,
}


def begin(kind: str, settings: Mapping[str, Any]) -> Iterator[Update]:
    """A training of that kind. Raises InputError for a kind that does not exist."""
    if kind not in LIVE:
        raise InputError(f"Unknown training '{kind}'. Choose one of: {', '.join(LIVE)}.")
    return LIVE[kind](settings)
