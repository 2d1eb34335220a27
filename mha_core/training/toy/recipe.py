"""The toy model in which a head may learn what "it" means: its sizes, its loss, and every number of its training.

In: a seed and a recipe. Out: a `Trainer`. The same seed gives the same weights: training runs on the CPU in one thread,
where sums are always taken in one order.
"""

from dataclasses import dataclass
from typing import cast

import torch.nn.functional as F
from torch import Tensor

from mha_core.engine.stack import Stack
from mha_core.models.families.classroom import ClassroomConfig
from mha_core.models.weights import untrained_encoder
from mha_core.training.toy.batches import MaskedBatch, batches
from mha_core.training.toy.lexicon import vocabulary
from mha_core.training.trainer import Schedule, Trainer


@dataclass(frozen=True)
class Recipe:
    """Sizes and schedule. `window`: words to each side that layer 1 sees, 0 for all; `steps` of `batch` texts each.

    The learning rate rises to `rate` over `warm_up` steps, and falls linearly to 0 over all of them.
    """

    window: int = 3
    steps: int = 5600
    batch: int = 64
    rate: float = 3e-3
    warm_up: int = 200
    betas: tuple[float, float] = (0.9, 0.98)
    n_layers: int = 2
    n_heads: int = 4
    d_model: int = 128
    d_ff: int = 256
    theta: float = 100.0

    @property
    def config(self) -> ClassroomConfig:
        """The sizes of the model; half of each head's pairs are rotated."""
        return ClassroomConfig(
            vocab_size=len(vocabulary()),
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_ff=self.d_ff,
            theta=self.theta,
            turning=self.d_model // self.n_heads // 4,
            windows=(self.window,) + (0,) * (self.n_layers - 1),
        )


CLASSROOM = Recipe()
CONTROL_RECIPE = Recipe(window=0)


def toy_trainer(seed: int, recipe: Recipe = CLASSROOM) -> Trainer[Stack]:
    """Return the trainer of the untrained model of a seed. Raises InputError for a bad seed."""
    stack, texts = untrained_encoder(recipe.config, seed), batches(seed, recipe.batch)
    schedule = Schedule(recipe.steps, recipe.rate, recipe.warm_up, decay=1.0, betas=recipe.betas)
    return Trainer(stack, lambda: masked_loss(stack, next(texts)), schedule)


def masked_loss(stack: Stack, batch: MaskedBatch) -> Tensor:
    """Return the mean cross-entropy of the hidden words, in nats; attention plays no part in it."""
    output = stack(batch.ids, real=batch.real, need_weights=False)
    return F.cross_entropy(word_logits(stack, output.hidden.flatten(0, 1)[batch.positions]), batch.answers)


def word_logits(stack: Stack, states: Tensor) -> Tensor:
    """Return the logits (n, vocab_size) of final states (n, d_model), by the matrix of the embeddings."""
    return states @ cast(Tensor, stack.get_submodule("embeddings.word").weight).t()
