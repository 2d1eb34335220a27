"""Switch off one head after the other: how far does the text's embedding move?

In: tokens and a model. Out: (layer, head), 1 - cosine of the mean-pooled embedding with and without the head,
whose context is set to zero before W_o (experiments/sweep.py). The head's own layer and the ones before it look at
the same things as before: their weights do not change.

Source: Michel et al. 2019, section 2.3, for gates; the effect on an embedding is this project's measure.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.errors import SizeError
from mha_core.experiments.outcomes import Cosine
from mha_core.experiments.parts import last
from mha_core.experiments.sweep import every_head
from mha_core.heads.words import FloatArray
from mha_core.models import Model
from mha_core.tokens import Tokens


@dataclass(frozen=True)
class AblationTable:
    """The mean effect of every head over `n_texts` texts, (layer, head)."""

    n_texts: int
    effect: FloatArray


class AblationSums:
    """Sums over texts, which can be merged."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.n_texts = 0
        self.total = np.zeros((model.n_layers, model.n_heads))

    def add(self, tokens: Tokens) -> None:
        """Ablate every head on one text."""
        self.total += ablate_each(tokens, self.model)
        self.n_texts += 1

    def merge(self, other: "AblationSums") -> None:
        """Add the sums of other texts."""
        if self.total.shape != other.total.shape:
            raise SizeError("Sums of models with other heads cannot be merged.")
        self.total += other.total
        self.n_texts += other.n_texts

    def result(self) -> AblationTable:
        """The means so far."""
        return AblationTable(self.n_texts, self.total / max(self.n_texts, 1))


def ablate_each(tokens: Tokens, model: Model) -> FloatArray:
    """The effect of every head on the embedding of one text, (layer, head)."""
    found: FloatArray = -last(every_head(tokens, model, Cosine())).effect
    return found
