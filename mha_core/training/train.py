"""Train an attention-only model on a task: its accuracy along the way, and where its heads look.

In: a `TrainingSetup`. Out: one `Snapshot` every EVERY steps, the first before any training, the last at the end. The
same setup gives the same snapshots.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mha_core.arrays import FloatArray
from mha_core.display_names import Head
from mha_core.errors import InputError
from mha_core.seeds import check_seed
from mha_core.training.attention_only import AttentionOnlyConfig, AttentionOnlyModel, gates_without
from mha_core.training.tasks import Batch, Task, task_called
from mha_core.training.trainer import Schedule, Trainer, random_for, seeded_module

EVERY = 50
MAX_STEPS = 20_000
HELD_OUT_SEED = 0  # same texts for every seed


@dataclass(frozen=True)
class TrainingSetup:
    """All that a training's result depends on. `steps` is a limit. Raises InputError."""

    task: str
    layers: int
    heads: int
    seed: int = 0
    steps: int = 8_000

    def __post_init__(self) -> None:
        self.config  # noqa: B018 - refuses sizes that cannot be
        check_seed(self.seed)
        if not 1 <= self.steps <= MAX_STEPS:
            raise InputError(f"steps must be from 1 to {MAX_STEPS:,}, not {self.steps:,}.")

    @property
    def config(self) -> AttentionOnlyConfig:
        """The sizes of the model."""
        return task_called(self.task).config(self.layers, self.heads)


@dataclass(frozen=True)
class Snapshot:
    """Held-out results after `step` steps: mean loss in nats, accuracy, and accuracy by job.

    `weights` are all heads' on the fixed example, (text, layer, head, query, key).
    """

    step: int
    loss: float
    accuracy: float
    jobs: Mapping[str, float]
    weights: FloatArray

    def row(self) -> dict[str, Any]:
        """Return its row of the curve, with `jobs` where there is more than one."""
        row = {"step": self.step, "loss": self.loss, "accuracy": self.accuracy}
        return row | ({"jobs": dict(self.jobs)} if len(self.jobs) > 1 else {})


class Training:
    """A model in training, and its `curve` of snapshots so far; `snapshots()` continues where it stopped."""

    def __init__(self, setup: TrainingSetup) -> None:
        self.setup, self.task = setup, task_called(setup.task)
        self.model = seeded_module(lambda: AttentionOnlyModel(setup.config), setup.seed)
        self.curve: list[Snapshot] = []
        self._random = random_for("data", setup.seed)
        self._trainer = Trainer(self.model, self._loss, Schedule(setup.steps, decay=self.task.decay))

    def _loss(self) -> Tensor:
        batch = self.task.batch(self.task.batch_size, self._random)
        return _next_token_loss(self.model.logits(batch.ids[:, :-1]), batch)

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield one before the first step, then one every EVERY steps until every job reaches the task's target."""
        yield self._snapshot()
        while not self._trainer.is_over:
            self._trainer.run(EVERY)
            yield (snapshot := self._snapshot())
            if min(snapshot.jobs.values()) >= self.task.target:
                return

    @torch.no_grad()
    def _snapshot(self) -> Snapshot:
        """Score the model as it is, with its heads' weights on the example; add this to the curve."""
        loss, jobs = evaluate_model(self.model, self.task)
        weights = self.model(example(self.task.name).ids[:, :-1]).weights.transpose(0, 1).numpy().copy()
        self.curve.append(
            Snapshot(self._trainer.n_steps, loss, sum(jobs.values()) / len(jobs), jobs, weights)
        )
        return self.curve[-1]

    def parameters(self) -> dict[str, FloatArray]:
        """Return a copy of the model's current weights by name."""
        return {name: value.detach().numpy().copy() for name, value in self.model.state_dict().items()}


def trained_model(setup: TrainingSetup, parameters: Mapping[str, FloatArray]) -> AttentionOnlyModel:
    """Return the model with the `parameters()` of a training."""
    model = AttentionOnlyModel(setup.config)
    model.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in parameters.items()})
    return model


@cache
def held_out(task: str) -> Batch:
    """Return the texts that score every model of a task; no training draws from their generator."""
    drawn = task_called(task)
    return drawn.batch(drawn.held_out_size, random_for(f"held out {task}", HELD_OUT_SEED))


@cache
def example(task: str) -> Batch:
    """Return the fixed texts that pages show, one a job."""
    return task_called(task).example(random_for(f"example {task}", HELD_OUT_SEED))


@torch.no_grad()
def evaluate_model(
    model: AttentionOnlyModel, task: Task, without: Sequence[Head] = ()
) -> tuple[float, dict[str, float]]:
    """Return loss in nats and accuracy of each job on the held-out texts, with the heads `without` ablated."""
    batch = held_out(task.name)
    logits = model.logits(batch.ids[:, :-1], gates_without(model.config, without) if without else None)
    right = logits[:, batch.scored_from :].argmax(-1) == batch.ids[:, batch.scored_from + 1 :]
    shares = [right[batch.groups == i].double().mean().item() for i in range(len(task.groups))]
    return _next_token_loss(logits, batch).item(), dict(zip(task.groups, shares, strict=True))


def _next_token_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Return the mean cross-entropy in nats of the tokens that count."""
    start = batch.learns_from
    return F.cross_entropy(logits[:, start:].flatten(0, 1), batch.ids[:, start + 1 :].flatten())


def n_answers(task: str) -> int:
    """Count the predictions behind each job's accuracy."""
    batch = held_out(task)
    return int((batch.groups == 0).sum()) * (batch.ids.shape[1] - 1 - batch.scored_from)
