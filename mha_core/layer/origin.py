"""Origin of a number of a layer: the row, the column, their products and the sum.

In: a run, a head, and the place of a number. Out: the two vectors whose products add up to it, and what is added to
the sum. `Q`, `K` and `V` are meant before any rotation, `raw` is q · k before it is divided, `z` belongs to one head,
`part` is what that head adds to the output.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.arrays import Array
from mha_core.engine.layer_activations import LayerActivations
from mha_core.errors import InputError

SUMS = ("Q", "K", "V", "raw", "z", "part", "output")


@dataclass(frozen=True, eq=False)
class DotProduct:
    """left (t,) times right (t,), summed, plus `added` (a bias, or None): `value`."""

    left: Array
    right: Array
    added: float | None
    value: float

    @property
    def products(self) -> Array:
        return np.asarray(self.left * self.right, np.float32)

    @property
    def total(self) -> float:
        """Sum of the products and the bias, computed here: it need not be the layer's number."""
        exact = self.left.astype(np.float64) @ self.right.astype(np.float64)
        return float(exact) + (self.added or 0.0)


def table_of(run: LayerActivations, head: int, name: str) -> Array:
    """Return the array of `SUMS` that holds a number. Raises InputError for another name."""
    kv = run.projections.kv_head(head)
    if name == "raw":
        return run.raw(head)
    tables: dict[str, Array] = {
        "Q": (run.q if run.q_unrotated is None else run.q_unrotated)[head],
        "K": (run.k if run.k_unrotated is None else run.k_unrotated)[kv],
        "V": run.v[kv],
        "z": run.context[head],
        "part": run.contributions[head],
        "output": run.output,
    }
    if name not in tables:
        raise InputError(f"“{name}” is none of {', '.join(SUMS)}.")
    return tables[name]


def origin(run: LayerActivations, head: int, name: str, row: int, column: int) -> DotProduct:
    """Return the products behind one number, counted from 0. Raises InputError for a place outside the array."""
    table = table_of(run, head, name)
    if not (0 <= row < table.shape[0] and 0 <= column < table.shape[1]):
        raise InputError(f"{name} is {table.shape[0]} by {table.shape[1]}: it has no such place.")
    left, right, added = _vectors(run, head, name, row, column)
    return DotProduct(
        np.asarray(left, np.float32), np.asarray(right, np.float32), added, float(table[row, column])
    )


def _vectors(
    run: LayerActivations, head: int, name: str, i: int, c: int
) -> tuple[Array, Array, float | None]:
    sizes, kv = run.projections, run.projections.kv_head(head)
    if name in ("Q", "K", "V"):
        h = head if name == "Q" else kv
        W, b = getattr(sizes, f"W_{name.lower()}"), getattr(sizes, f"b_{name.lower()}")
        x = run.x if name == "Q" else run.keys_from
        return x[i], W[h][:, c], None if b is None else float(b[h, c])
    if name == "raw":
        return run.q[head, i], run.k[kv, c], None
    if name == "z":
        return run.weights[head, i], run.v[kv][:, c], None
    if name == "part":
        return run.context[head, i], sizes.W_o[head][:, c], None
    bias = None if sizes.b_o is None else float(sizes.b_o[c])
    return run.concatenated[i], sizes.W_o.reshape(-1, sizes.d_model)[:, c], bias
