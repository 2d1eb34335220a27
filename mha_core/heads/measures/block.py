"""What each token gives another in the whole attention block: all heads together, the residual and LayerNorm included.

|g(F_ij)| with F_ij = sum over heads of a_ij f(x_j), and x_i added where j = i. Where the block normalises after the
residual, g(F) = (F - mean(F)) / s * gamma, with the deviation s of the whole sum, so that the parts add up to what
LayerNorm gives (without beta and the output's bias, which are nobody's); elsewhere g(F) = F.

Source: Kobayashi et al. 2021, sections 2 and 3.
"""

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.engine.layer_activations import LayerActivations
from mha_core.engine.stack import Block, PreNormBlock
from mha_core.heads.measures.base import Measure, shares
from mha_core.interrupt import check_interrupt
from mha_core.models.model import Model
from mha_core.models.trace import every_layer_details, to_numpy
from mha_core.text.tokens import Tokens


def block_norms(run: LayerActivations, block: Block) -> FloatArray:
    """Return the lengths of what every token gives every token in a layer, (query, key)."""
    values = value_outputs(run)
    rows = []
    for query in range(len(run.x)):
        check_interrupt()
        rows.append(np.linalg.norm(block_parts(run, values, block, query), axis=-1))
    return np.stack(rows)


def value_outputs(run: LayerActivations) -> FloatArray:
    """Return each head's values through W_o, f(x), (head, key, d_model)."""
    values: FloatArray = np.repeat(run.v, len(run.weights) // len(run.v), axis=0) @ run.projections.W_o
    return values


def block_parts(run: LayerActivations, values: FloatArray, block: Block, query: int) -> FloatArray:
    """Return what each token gives one token of a layer, (key, d_model), given `value_outputs`.

    One row at a time: all rows together would take n x n x d_model numbers.
    """
    parts: FloatArray = np.einsum("hk,hkd->kd", run.weights[:, query], values)
    own = run.x[query] if run.stream is None else run.stream[query]
    parts[query] += own
    norm = getattr(block, "attention_norm", None)
    if norm is None or isinstance(block, PreNormBlock):
        return parts
    deviation = np.sqrt((own + run.output[query]).var() + norm.eps)
    centred = parts - parts.mean(-1, keepdims=True)
    normed: FloatArray = centred / deviation * to_numpy(norm.weight.detach())
    return normed


def with_residual(tokens: Tokens, model: Model) -> FloatArray:
    """Return the same as shares of each row, (layer, 1, query, key)."""
    runs = enumerate(every_layer_details(tokens, model))
    return np.stack([shares(block_norms(run, model.encoder.layer(layer))) for layer, run in runs])[:, None]


BLOCK = Measure(
    "residual",
    "Value-weighted, with residual and LayerNorm",
    "how much of each word comes through a layer, all heads together, its own residual and LayerNorm included",
    with_residual,
    per="layer",
)
