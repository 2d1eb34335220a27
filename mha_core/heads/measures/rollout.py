"""The weights multiplied through the layers, half of every row for the residual (Abnar & Zuidema 2020)."""

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.heads.measures.base import Measure
from mha_core.models.model import Model
from mha_core.models.trace import trace_tokens
from mha_core.text.tokens import Tokens


def rollout(weights: FloatArray) -> FloatArray:
    """Weights (layer, head, query, key) → (layer, query, key): how much of a position at a layer is of each
    input.
    """
    n = weights.shape[-1]
    mixed = 0.5 * weights.mean(axis=1) + 0.5 * np.eye(n, dtype=weights.dtype)
    products = [mixed[0]]
    for layer in mixed[1:]:
        products.append(layer @ products[-1])
    return np.stack(products)


def layers_mixed(tokens: Tokens, model: Model) -> FloatArray:
    """The rollout of a text, (layer, 1, query, key)."""
    return rollout(trace_tokens(tokens, model).weights)[:, None]


ROLLOUT = Measure(
    "rollout",
    "Attention rollout",
    "how much of each word has come up through the layers, all heads together",
    layers_mixed,
    per="layer",
)
