"""The worked example of the field: two tokens, four numbers each, two heads, all by hand.

X = [[1,0,1,0],[0,2,0,2]], d_model 4, h 2, d_k 2. Head 1 uses W1 for Q, K and V, head 2 uses W2. The two differ in more
than their columns' order, which would leave every score as it is: with W1 each token looks at itself, with W2 both look
at the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mha_core.engine.layer_activations import Projections
from mha_core.errors import InputError

X = ((1, 0, 1, 0), (0, 2, 0, 2))
W1 = ((1, 0), (0, 1), (1, 0), (0, 1))
W2 = ((1, 0), (0, 1), (0, 1), (1, 0))
TOKENS = ("first", "second")

W_O_CHOICES: dict[str, tuple[tuple[float, ...], ...]] = {
    "identity": ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)),
    "heads added": ((1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0)),
    "heads swapped": ((0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0)),
    "mixed": ((1, 0, 1, 0), (0, 1, 0, 1), (0, 1, -1, 0), (1, 0, 0, -1)),
}

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class WorkedExample:
    """x (2, 4) and the weights; the matrices of a head are (4, 2), W_o is (4, 4)."""

    x: np.ndarray
    weights: Projections


def example(
    x: Matrix = X,
    queries: Sequence[Matrix] = (W1, W2),
    keys: Sequence[Matrix] = (W1, W2),
    values: Sequence[Matrix] = (W1, W2),
    output: Matrix = W_O_CHOICES["identity"],
) -> WorkedExample:
    """Return the example with any of its matrices replaced. Raises InputError for a number that is not finite."""
    arrays = [np.array(m, np.float32) for m in (queries, keys, values)]
    rows, big = np.array(x, np.float32), np.array(output, np.float32)
    if not all(np.isfinite(a).all() for a in (rows, big, *arrays)):
        raise InputError("Every number of the matrices must be finite.")
    h, d_model, d_k = arrays[0].shape
    W_q, W_k, W_v = arrays
    weights = Projections(W_q, None, W_k, None, W_v, None, big.reshape(h, d_k, d_model), None)
    return WorkedExample(rows, weights)
