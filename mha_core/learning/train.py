"""Train a small model on a task: how well it does along the way, and what its heads look at.

In: a `Setup`. Out: one `Snapshot` every EVERY steps, the first before any training, the last the end. The same setup
gives the same snapshots.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mha_core.errors import InputError
from mha_core.heads.word_weights import FloatArray
from mha_core.learning.descent import Recipe, begun, descend, random_for
from mha_core.learning.small import Shape, SmallModel, gates_without
from mha_core.learning.tasks import Batch, Task, task_called
from mha_core.seeds import check_seed
from mha_core.wording import Head

EVERY = 50
STEPS_AT_MOST = 20_000
HELD_OUT_SEED = 0  # one examination for all seeds


@dataclass(frozen=True)
class Setup:
    """What is trained: all that a result depends on. `steps` is a limit. Raises InputError."""

    task: str
    layers: int
    heads: int
    seed: int = 0
    steps: int = 8_000

    def __post_init__(self) -> None:
        self.shape  # noqa: B018 - refuses what cannot be
        check_seed(self.seed)
        if not 1 <= self.steps <= STEPS_AT_MOST:
            raise InputError(f"steps must be from 1 to {STEPS_AT_MOST:,}, not {self.steps:,}.")

    @property
    def shape(self) -> Shape:
        """The sizes of the model."""
        return task_called(self.task).shape(self.layers, self.heads)


@dataclass(frozen=True)
class Snapshot:
    """After `step` steps, on texts held out: the mean loss in nats, the share of right answers, and that by job.

    `weights` are all heads' on the fixed example, (text, layer, head, query, key).
    """

    step: int
    loss: float
    accuracy: float
    jobs: Mapping[str, float]
    weights: FloatArray

    def row(self) -> dict[str, Any]:
        """Its line in the curve; with the accuracy of each job where there is more than one."""
        line = {"step": self.step, "loss": self.loss, "accuracy": self.accuracy}
        return line | ({"jobs": dict(self.jobs)} if len(self.jobs) > 1 else {})


class Training:
    """A model being trained; `snapshots()` goes on where it was left."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.task = task_called(setup.task)
        self.model = begun(lambda: SmallModel(setup.shape), setup.seed)
        self._random = random_for("data", setup.seed)
        self._descent = descend(self.model, self._loss, Recipe(setup.steps, falls=self.task.falls))

    def _loss(self, step: int) -> Tensor:
        del step
        batch = self.task.batch(self.task.batch_size, self._random)
        scores, _ = self.model(batch.ids[:, :-1])
        start = batch.learns_from
        return F.cross_entropy(scores[:, start:].flatten(0, 1), batch.ids[:, start + 1 :].flatten())

    def snapshots(self) -> Iterator[Snapshot]:
        """One before the first step, then every EVERY steps, until every job is learnt or the steps are used up."""
        now = take_snapshot(self.model, self.task, 0)
        yield now
        for step, _ in self._descent:
            if step % EVERY == 0 or step == self.setup.steps:
                now = take_snapshot(self.model, self.task, step)
                yield now
                if min(now.jobs.values()) >= self.task.learnt:
                    return

    def parameters(self) -> dict[str, FloatArray]:
        """The weights of the model as they are now, by name."""
        return {name: value.detach().numpy().copy() for name, value in self.model.state_dict().items()}


def revived(setup: Setup, parameters: Mapping[str, FloatArray]) -> SmallModel:
    """The model with the weights that a training gave."""
    model = SmallModel(setup.shape)
    model.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in parameters.items()})
    return model


@cache
def held_out(task: str) -> Batch:
    """The texts on which every model of a task is tried; no training draws from the same source."""
    of = task_called(task)
    return of.batch(of.held_out_size, random_for(f"held out {task}", HELD_OUT_SEED))


@cache
def example(task: str) -> Batch:
    """The fixed texts, one a job, at which everybody looks."""
    return task_called(task).example(random_for(f"example {task}", HELD_OUT_SEED))


@torch.no_grad()
def take_snapshot(model: SmallModel, task: Task, step: int) -> Snapshot:
    """How good the model is now, and where its heads look."""
    loss, jobs = examine(model, task)
    shown = example(task.name)
    _, weights = model(shown.ids[:, :-1], need_weights=True)
    return Snapshot(step, loss, sum(jobs.values()) / len(jobs), jobs, torch.stack(weights, 1).numpy().copy())


@torch.no_grad()
def examine(model: SmallModel, task: Task, without: Sequence[Head] = ()) -> tuple[float, dict[str, float]]:
    """Loss and the share of right answers of each job, on the texts held out, with some heads taken away."""
    batch = held_out(task.name)
    gates = gates_without(model.shape, without) if without else None
    scores, _ = model(batch.ids[:, :-1], gates)
    start = batch.learns_from
    loss = F.cross_entropy(scores[:, start:].flatten(0, 1), batch.ids[:, start + 1 :].flatten()).item()
    right = scores[:, batch.asked_from :].argmax(-1) == batch.ids[:, batch.asked_from + 1 :]
    shares = [right[batch.groups == i].double().mean().item() for i in range(len(task.groups))]
    return loss, dict(zip(task.groups, shares, strict=True))


def answers_of(task: str) -> int:
    """How many answers each job's accuracy is a share of."""
    batch = held_out(task)
    return int((batch.groups == 0).sum()) * (batch.ids.shape[1] - 1 - batch.asked_from)
