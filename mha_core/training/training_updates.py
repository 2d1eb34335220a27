"""Trainings as pages show them: updates while they run, and reports in the last one.

In: a kind of training and its settings, plain values both. Out: an iterator of `TrainingUpdate`s, each a fraction of a
second of work. To add a kind: a line in KINDS.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mha_core.errors import InputError
from mha_core.training.report import report
from mha_core.training.toy.toy_updates import toy_updates
from mha_core.training.train import Training, TrainingSetup
from mha_core.training.trainer import TrainingUpdate

MAX_RUNS = 2


def toy_model_updates(settings: Mapping[str, Any]) -> Iterator[TrainingUpdate]:
    """Train attention-only models in turn, EVERY steps each; yield an update a turn. None affects another's numbers.

    `settings["runs"]`: fields of a `TrainingSetup` each. Curve rows have their `run`, from 0. `state["runs"]`: per run
    `step`, `weights` on the example (text, layer, head, query, key); at the end `report` (as the CLI's), `parameters`.
    """
    setups = [TrainingSetup(**fields) for fields in settings["runs"][:MAX_RUNS]]
    runs = {number: _run_updates(setup) for number, setup in enumerate(setups)}
    fractions, states = [0.0] * len(runs), [dict[str, Any]()] * len(runs)
    while runs:
        for number, run in list(runs.items()):
            if (update := next(run, None)) is None:
                del runs[number]
                continue
            fractions[number], states[number] = update.fraction, dict(update.state)
            rows = tuple({**row, "run": number} for row in update.rows)
            yield TrainingUpdate(sum(fractions) / len(fractions), rows, {"runs": list(states)})


def _run_updates(setup: TrainingSetup) -> Iterator[TrainingUpdate]:
    """Train one model: yield an update a snapshot, and one with the report."""
    training, state = Training(setup), dict[str, Any]()
    for snapshot in training.snapshots():
        state = {"step": snapshot.step, "weights": snapshot.weights}
        yield TrainingUpdate(snapshot.step / setup.steps, (snapshot.row(),), state)
    results = {"report": report(training), "parameters": training.parameters()}
    yield TrainingUpdate(1.0, (), state | results)


KINDS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[TrainingUpdate]]] = {
    "small": toy_model_updates,
    "classroom": toy_updates,
}


def start_training(kind: str, settings: Mapping[str, Any]) -> Iterator[TrainingUpdate]:
    """Return the updates of a training of that kind. Raises InputError for an unknown kind."""
    if kind not in KINDS:
        raise InputError(f"Unknown training '{kind}'. Choose one of: {', '.join(KINDS)}.")
    return KINDS[kind](settings)
