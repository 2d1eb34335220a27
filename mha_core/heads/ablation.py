"""Switch off one head after the other: how far does the text's embedding move?

In: tokens and a model. Out: (layer, head), 1 - cosine of the mean-pooled embedding with and without the head,
whose context is set to zero before W_o. A gate is an argument of the call, so the shared model stays as it
is. The head's own layer and the ones before it look at the same things as before: their weights do not
change.

Source: Michel et al. 2019, section 2.3, for gates; the effect on an embedding is this project's measure.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from mha_core.errors import SizeError
from mha_core.heads.words import FloatArray
from mha_core.models import Model
from mha_core.tokens import Tokens
from mha_core.trace import run

# Tokens in one batch of ablations: what fits a cache's worth of hidden states without a peak in memory.
BATCH_TOKENS = 2048


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
    places = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    gates = torch.ones(model.n_layers, len(places) + 1, model.n_heads)
    for i, (layer, head) in enumerate(places):
        gates[layer, i + 1, head] = 0
    vectors = np.concatenate(list(_embeddings(tokens, model, gates))).astype(float)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    effects: FloatArray = 1 - vectors[1:] @ vectors[0]
    return effects.reshape(model.n_layers, model.n_heads)


def _embeddings(tokens: Tokens, model: Model, gates: torch.Tensor) -> Iterable[FloatArray]:
    """The embedding of the same text under every column of gates (layer, run, head)."""
    step = max(1, BATCH_TOKENS // len(tokens))
    for start in range(0, gates.shape[1], step):
        part = gates[:, start : start + step]
        output = run([tokens] * part.shape[1], model, gates=part.to(model.device), need_weights=False)
        yield output.hidden.mean(dim=1).float().cpu().numpy()
