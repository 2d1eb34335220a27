"""A weight times the length of what it brings, |a_ij f(x_j)| with f(x) = (x W_v + b_v) W_o (Kobayashi et al. 2020)."""

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.engine.layer_activations import LayerActivations
from mha_core.heads.measures.base import Measure, shares
from mha_core.models.model import Model
from mha_core.models.trace import every_layer_details
from mha_core.text.tokens import Tokens


def value_norms(run: LayerActivations) -> FloatArray:
    """|a_ij f(x_j)|, (head, query, key): the length of what each key adds to each query through each head."""
    heads = len(run.weights)
    values = np.repeat(run.v, heads // len(run.v), axis=0)
    lengths = np.linalg.norm(values @ run.projections.W_o, axis=-1)
    norms: FloatArray = run.weights * lengths[:, None, :]
    return norms


def value_weighted(tokens: Tokens, model: Model) -> FloatArray:
    """Return the same as shares of each row, (layer, head, query, key)."""
    return np.stack([shares(value_norms(run)) for run in every_layer_details(tokens, model)])


VALUE = Measure(
    "value",
    "Value-weighted (attention block only)",
    "each weight × the norm of the transformed value vector, the attention block only, normalised by row",
    value_weighted,
)
