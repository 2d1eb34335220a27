"""The same weights as multi-head, grouped-query and multi-query attention, causal, and across two sentences.

Grouped and multi-query heads are made from the trained ones by averaging the key and value heads of a group
(Ainslie et al. 2023); nothing is trained afterwards, so their weights show the sharing, not a trained model.
"""

from dataclasses import dataclass, replace

import numpy as np

from mha_core.errors import SizeError
from mha_core.inside.walk import Edits, HeadWeights, Walk, walk


@dataclass(frozen=True)
class Variant:
    """One way of attending; `owner[h]` is the key and value head that query head h uses."""

    name: str
    n_kv_heads: int
    owner: tuple[int, ...]
    walk: Walk


def pooled(weights: HeadWeights, n_kv_heads: int) -> HeadWeights:
    """The same layer with fewer key and value heads: the mean of each group."""
    if n_kv_heads < 1 or weights.n_kv_heads % n_kv_heads:
        raise SizeError(f"{weights.n_kv_heads} key heads cannot be averaged into {n_kv_heads} even groups.")

    def mean(array: np.ndarray) -> np.ndarray:
        grouped = array.reshape(n_kv_heads, -1, *array.shape[1:])
        return np.asarray(grouped.mean(axis=1), np.float32)

    return replace(
        weights, W_k=mean(weights.W_k), b_k=mean(weights.b_k), W_v=mean(weights.W_v), b_v=mean(weights.b_v)
    )


def middle_groups(n_heads: int) -> int:
    """A number of groups between 1 and all: the divisor nearest to a third of the heads."""
    divisors = [d for d in range(2, n_heads) if n_heads % d == 0]
    return min(divisors, key=lambda d: (abs(d - n_heads / 3), d)) if divisors else 1


def variants(
    x: np.ndarray, weights: HeadWeights, other: np.ndarray | None = None, n_groups: int | None = None
) -> tuple[Variant, ...]:
    """MHA, GQA, MQA, causal, and cross-attention from x to `other` where there is one."""
    h = weights.n_heads
    groups = n_groups or middle_groups(h)
    shapes = [("MHA", h), ("GQA", groups), ("MQA", 1)]
    made = [_variant(name, x, pooled(weights, kv)) for name, kv in shapes]
    made.append(_variant("Causal", x, weights, Edits(causal=True)))
    if other is not None:
        made.append(_variant("Cross", x, weights, keys_from=other))
    return tuple(made)


def _variant(
    name: str,
    x: np.ndarray,
    weights: HeadWeights,
    edits: Edits | None = None,
    keys_from: np.ndarray | None = None,
) -> Variant:
    owner = tuple(weights.kv_head(h) for h in range(weights.n_heads))
    return Variant(name, weights.n_kv_heads, owner, walk(x, weights, edits, keys_from))
