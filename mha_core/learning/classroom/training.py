"""Training the classroom model, step by step: the same seed gives the same weights.

In: a seed and the recipe. Out: a model and its loss after every step. On the CPU, in one thread: that a sum is
always taken in one order is what makes the weights the same to the last digit.
"""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from mha_core.learning.classroom.batches import Batch, batches
from mha_core.learning.classroom.recipe import CLASSROOM, Recipe
from mha_core.stack import Stack
from mha_core.weights import untrained_encoder


class Training:
    """One run of the training. `stack` is the model as it is now; before the first step it is the untrained one
    that the list gives for the same seed."""

    def __init__(self, seed: int, recipe: Recipe = CLASSROOM) -> None:
        self.seed, self.recipe = seed, recipe
        self.stack: Stack = untrained_encoder(recipe.config, seed)
        self.done, self.n_tokens = 0, 0
        self._batches = batches(seed, recipe.batch)
        self._optimizer = torch.optim.AdamW(self.stack.parameters(), betas=recipe.betas, fused=True)

    @property
    def finished(self) -> bool:
        return self.done >= self.recipe.steps

    def step(self) -> float:
        """Learn from one batch; the mean loss of its hidden words, in nats."""
        batch = next(self._batches)
        for group in self._optimizer.param_groups:
            group["lr"] = self.recipe.rate_at(self.done)
        loss = masked_loss(self.stack, batch)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        self.done += 1
        self.n_tokens += batch.n_tokens
        return float(loss.detach())


def masked_loss(stack: Stack, batch: Batch) -> Tensor:
    """The mean loss (cross-entropy, nats) of the hidden words; attention plays no part in it."""
    output = stack(batch.ids, real=batch.real, need_weights=False)
    states = output.hidden.flatten(0, 1)[batch.places]
    matrix = cast(Tensor, stack.get_submodule("embeddings.word").weight)
    return F.cross_entropy(states @ matrix.t(), batch.answers)
