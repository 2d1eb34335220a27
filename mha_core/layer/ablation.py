"""One layer's output without some of its heads: their rows of W_o set to zero.

Because W_o only adds, this equals taking off their contributions, or a context of zero before W_o (a gate of 0, Michel
et al. 2019, section 2.3).
"""

from collections.abc import Collection

import numpy as np

from mha_core.arrays import Array
from mha_core.engine.layer_activations import LayerActivations
from mha_core.errors import SizeError


def ablate_in_layer(run: LayerActivations, heads: Collection[int]) -> Array:
    """Return the layer's output (n, d_model) without these heads, from 0. Raises SizeError for an unknown head."""
    W_o, b_o = run.projections.W_o.copy(), run.projections.b_o
    h, d_v, d = W_o.shape
    removed = sorted(set(heads))
    if unknown := [head for head in reversed(removed) if not 0 <= head < h]:
        raise SizeError(f"Unknown head {unknown[0]}. The layer has heads 0 to {h - 1}.")
    W_o[removed] = 0
    output = run.concatenated @ W_o.reshape(h * d_v, d) + (0 if b_o is None else b_o)
    return np.asarray(output, np.float32)
