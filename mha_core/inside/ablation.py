"""One layer's output without some of its heads, in two ways that must agree: W_o cut, and their parts taken off.

Because W_o only adds, taking a head away is the same as setting its rows of W_o to zero, or its context before W_o
(a gate of 0, Michel et al. 2019, section 2.3).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from mha_core.errors import SizeError
from mha_core.grid import Array
from mha_core.layer_run import LayerRun


@dataclass(frozen=True)
class Without:
    """`output` (n, d_model) of the layer without `heads` (from 0); `difference`: the largest between the two ways."""

    heads: tuple[int, ...]
    output: Array
    difference: float


def without(run: LayerRun, heads: Collection[int]) -> Without:
    """The layer's output without these heads. Raises SizeError for a head that is not there."""
    W_o, b_o = run.projections.W_o, run.projections.b_o
    h, d_v, d = W_o.shape
    gone = tuple(sorted(set(heads)))
    if gone and not (gone[0] >= 0 and gone[-1] < h):
        raise SizeError(
            f"Unknown head {gone[-1] if gone[-1] >= h else gone[0]}. The layer has heads 0 to {h - 1}."
        )
    cut = W_o.copy()
    cut[list(gone)] = 0
    output = run.concatenated @ cut.reshape(h * d_v, d) + (0 if b_o is None else b_o)
    taken_off = run.output - run.contributions[list(gone)].sum(0)
    return Without(gone, np.asarray(output, np.float32), float(np.abs(output - taken_off).max()))
