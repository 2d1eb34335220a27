"""One layer's output without some of its heads: their rows of W_o set to zero.

Because W_o only adds, this equals taking off their contributions, or a context of zero before W_o (a gate of 0, Michel
et al. 2019, section 2.3).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from mha_core.arrays import Array
from mha_core.engine.layer_activations import LayerActivations
from mha_core.errors import SizeError


@dataclass(frozen=True)
class Without:
    """`output` (n, d_model) of the layer without `heads` (from 0, in order)."""

    heads: tuple[int, ...]
    output: Array


def ablate_in_layer(run: LayerActivations, heads: Collection[int]) -> Without:
    """Return the layer's output without these heads. Raises SizeError for a head that the layer does not have."""
    W_o, b_o = run.projections.W_o.copy(), run.projections.b_o
    h, d_v, d = W_o.shape
    removed = tuple(sorted(set(heads)))
    if unknown := [head for head in reversed(removed) if not 0 <= head < h]:
        raise SizeError(f"Unknown head {unknown[0]}. The layer has heads 0 to {h - 1}.")
    W_o[list(removed)] = 0
    output = run.concatenated @ W_o.reshape(h * d_v, d) + (0 if b_o is None else b_o)
    return Without(removed, np.asarray(output, np.float32))
