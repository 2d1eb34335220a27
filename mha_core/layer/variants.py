"""One layer's weights as multi-head, grouped-query and multi-query attention, causal, and across two sentences.

Fewer key and value heads are made from the trained ones by averaging those of a group (Ainslie et al. 2023); nothing
is trained afterwards, so their weights show the sharing, not a trained model. More are made by repeating them, which
changes no number. What a model already is, is its own run.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mha_core.arrays import Array
from mha_core.engine.edits import Edits
from mha_core.engine.layer_activations import LayerActivations, Projections
from mha_core.errors import SizeError
from mha_core.layer.rerun import edited, run_layer


@dataclass(frozen=True)
class Variant:
    """One way of attending; `owner[h]` is the key and value head that query head h uses. `own`: the model's way."""

    name: str
    n_kv_heads: int
    owner: tuple[int, ...]
    run: LayerActivations
    own: bool = False


def pool_kv_heads(weights: Projections, n_kv_heads: int) -> Projections:
    """Return the layer with fewer key and value heads: the mean of each group. Raises SizeError for uneven groups."""
    if n_kv_heads < 1 or weights.n_kv_heads % n_kv_heads:
        raise SizeError(f"{weights.n_kv_heads} key heads cannot be averaged into {n_kv_heads} even groups.")

    def mean(array: Array) -> Array:
        return np.asarray(array.reshape(n_kv_heads, -1, *array.shape[1:]).mean(axis=1), np.float32)

    return _with_keys(weights, mean)


def repeat_kv_heads(weights: Projections) -> Projections:
    """Return the layer with a key and value head of its own for every query head: copies of the shared ones."""
    shared = weights.n_heads // weights.n_kv_heads
    return _with_keys(weights, lambda array: np.repeat(array, shared, axis=0))


def _with_keys(weights: Projections, change: Callable[[Array], Array]) -> Projections:
    """Return the layer with its keys' and values' arrays changed, head axis first."""
    return replace(
        weights,
        W_k=change(weights.W_k),
        b_k=None if weights.b_k is None else change(weights.b_k),
        W_v=change(weights.W_v),
        b_v=None if weights.b_v is None else change(weights.b_v),
    )


def middle_groups(n_heads: int) -> int:
    """Return a number of groups between 1 and all: the divisor nearest to a third of the heads."""
    divisors = [d for d in range(2, n_heads) if n_heads % d == 0]
    return min(divisors, key=lambda d: (abs(d - n_heads / 3), d)) if divisors else 1


def group_choices(weights: Projections) -> tuple[int, ...]:
    """Return the numbers of key heads between one and all that divide a layer's own."""
    own = weights.n_kv_heads
    return tuple(d for d in range(2, min(own, weights.n_heads - 1) + 1) if own % d == 0)


def variants(
    run: LayerActivations, other: Array | None = None, n_groups: int | None = None
) -> tuple[Variant, ...]:
    """Return MHA, GQA, MQA, causal (unless the model is), and cross-attention from x to `other` where there is one."""
    weights = run.projections
    choices = group_choices(weights)
    own_groups = weights.n_kv_heads if weights.n_kv_heads in choices else middle_groups(weights.n_kv_heads)
    shapes = [("MHA", weights.n_heads), ("GQA", n_groups or own_groups), ("MQA", 1)]
    results = [_shared(name, run, kv) for name, kv in shapes if name != "GQA" or choices]
    if not run.is_causal:
        results.append(_variant("Causal", edited(run, Edits(causal=True))))
    if other is not None:
        results.append(_variant("Cross", run_layer(run.x, weights, keys_from=other, rotary=run.rotary)))
    return tuple(results)


def _shared(name: str, run: LayerActivations, n_kv_heads: int) -> Variant:
    """Return the run with n_kv_heads key and value heads: the model's own run, if it has as many."""
    weights = run.projections
    if n_kv_heads == weights.n_kv_heads:
        return replace(_variant(name, run), own=True)
    more = n_kv_heads > weights.n_kv_heads
    changed = repeat_kv_heads(weights) if more else pool_kv_heads(weights, n_kv_heads)
    return _variant(
        name, run_layer(run.x, changed, rotary=run.rotary, is_causal=run.is_causal, window=run.window)
    )


def _variant(name: str, run: LayerActivations) -> Variant:
    weights = run.projections
    owner = tuple(weights.kv_head(h) for h in range(weights.n_heads))
    return Variant(name, weights.n_kv_heads, owner, run)
