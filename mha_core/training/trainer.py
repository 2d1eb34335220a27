"""One trainer for every small model: seeds give all that is random, and the step alone gives the learning rate.

In: a model, the loss of its next batch, and a schedule. Out: AdamW (Loshchilov & Hutter 2019), one step at a time.
Nothing depends on the clock: the same seed gives the same numbers to the last digit on the same machine with as many
threads (`mha_core.engine.device.use_one_thread`).
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Schedule:
    """At most `steps` of AdamW. The learning rate rises over `warm_up` steps and falls linearly to 0 over the last
    share `decay` of all steps."""

    steps: int
    learning_rate: float = 3e-3
    warm_up: int = 0
    decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.98)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, from 1."""
        left = 1 - (step - 1) / self.steps
        fall = min(1.0, left / self.decay) if self.decay else 1.0
        return self.learning_rate * fall * min(1.0, step / (self.warm_up + 1))


class Trainer(Generic[M]):
    """A `model` in training, changed in place; `loss_of_batch` draws the next batch and returns its loss in nats."""

    def __init__(self, model: M, loss_of_batch: Callable[[], Tensor], schedule: Schedule) -> None:
        self.model, self.schedule, self.n_steps = model, schedule, 0
        self._loss_of_batch = loss_of_batch
        self._optimiser = torch.optim.AdamW(
            model.parameters(), betas=schedule.betas, weight_decay=0.01, fused=True
        )

    @property
    def is_over(self) -> bool:
        """True once all steps of the schedule are made."""
        return self.n_steps >= self.schedule.steps

    def run(self, n: int) -> list[float]:
        """Make n steps, or those that are left; return the loss before each, in nats."""
        return [self._step() for _ in range(min(n, self.schedule.steps - self.n_steps))]

    def _step(self) -> float:
        self.n_steps += 1
        for group in self._optimiser.param_groups:
            group["lr"] = self.schedule.rate(self.n_steps)
        with torch.enable_grad():
            loss = self._loss_of_batch()
            self._optimiser.zero_grad()
            torch.autograd.backward(loss)
        self._optimiser.step()
        return loss.item()


@dataclass(frozen=True)
class TrainingUpdate:
    """Progress of a training: `fraction` from 0 to 1, the new `rows` of its curve, and the `state` that replaces the
    last one. Plain values and NumPy arrays only: it goes from one process to another."""

    fraction: float
    rows: tuple[Mapping[str, Any], ...]
    state: Mapping[str, Any]


def random_for(purpose: str, seed: int) -> torch.Generator:
    """Return a random generator for a purpose ("data", "held out"), the same for the same seed."""
    digest = hashlib.sha256(f"{purpose}:{seed}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


def seeded_module(build: Callable[[], M], seed: int) -> M:
    """Build a module with the initial weights of a seed; torch's own random state stays unchanged."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_for("weights", seed).initial_seed())
        return build()
