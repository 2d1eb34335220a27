"""One training, step by step: what is random comes from a seed, and the step alone decides what is done.

In: a model, the loss of the batch of each step, and a recipe. Out: an iterator that makes one step of AdamW at a
time. Nothing depends on the clock: the same seed gives the same numbers to the last digit on the same machine with
as many threads (`mha_core.device.use_one_thread`). Source: Loshchilov & Hutter 2019 for AdamW.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Recipe:
    """How to train: `steps` at most; over the last `falls` of them (a share) the learning rate falls in a straight
    line to 0."""

    steps: int
    learning_rate: float = 3e-3
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.01
    falls: float = 0.0

    def rate(self, step: int) -> float:
        """The learning rate of a step, from 1."""
        left = 1 - (step - 1) / self.steps
        return self.learning_rate * min(1.0, left / self.falls if self.falls else 1.0)


def random_for(purpose: str, seed: int) -> torch.Generator:
    """A source of random numbers of its own for each purpose ("data", "held out"), the same for the same seed."""
    digest = hashlib.sha256(f"{purpose}:{seed}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


def begun(make: Callable[[], M], seed: int) -> M:
    """A module with the first weights that the seed gives; torch's own random numbers stay as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_for("weights", seed).initial_seed())
        return make()


def descend(
    model: nn.Module, loss_at: Callable[[int], Tensor], recipe: Recipe
) -> Iterator[tuple[int, float]]:
    """Train `model` in place; after each step its number, from 1, and its loss in nats.

    `loss_at(step)` draws the batch of that step and gives its loss.
    """
    optimiser = torch.optim.AdamW(
        model.parameters(),
        lr=recipe.learning_rate,
        betas=recipe.betas,
        weight_decay=recipe.weight_decay,
        fused=True,
    )
    for step in range(1, recipe.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate(step)
        with torch.enable_grad():
            loss = loss_at(step)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
        optimiser.step()
        yield step, loss.item()
