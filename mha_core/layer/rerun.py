"""A layer's attention run on any x: again with the user's changes, with other weights, or across two texts.

In: x (n, d_model) and projections, or a run and what is changed in it. Out: a `LayerActivations`. What a change does
not reach is taken from the run as it is.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from mha_core.arrays import Array, Mask, freeze
from mha_core.engine.attention import scaled_dot_product_attention
from mha_core.engine.edits import CellEdit, Edits
from mha_core.engine.layer_activations import LayerActivations, Projections
from mha_core.engine.rotary import Rotary
from mha_core.engine.visibility import visible_keys
from mha_core.errors import InputError, SizeError

MATRICES = ("W_q", "W_k", "W_v", "W_o")


def with_cells(weights: Projections, cells: tuple[CellEdit, ...]) -> Projections:
    """Return a copy of the weights with single numbers replaced; the given weights stay as they are."""
    changed: dict[str, Array] = {}
    for cell in cells:
        if cell.matrix not in MATRICES:
            raise InputError(f"{cell.matrix} is not one of {', '.join(MATRICES)}.")
        array = changed.setdefault(cell.matrix, np.array(getattr(weights, cell.matrix)))
        head = cell.head if cell.matrix in ("W_q", "W_o") else weights.kv_head(cell.head)
        place = (head, cell.row, cell.column)
        if not all(0 <= i < size for i, size in zip(place, array.shape, strict=True)):
            raise InputError(
                f"{cell.matrix} of a head is {array.shape[1]} by {array.shape[2]}: no such place."
            )
        array[place] = cell.value
    replaced: Mapping[str, Any] = changed
    return replace(weights, **replaced)


def run_layer(
    x: Array,
    weights: Projections,
    edits: Edits | None = None,
    keys_from: Array | None = None,
    *,
    rotary: Rotary | None = None,
    is_causal: bool = False,
    window: int | None = None,
) -> LayerActivations:
    """Carry x through a layer with these weights. `keys_from` (n_k, d_model) makes it cross-attention.

    Raises SizeError for an x of another width, InputError for a change of what is not there.
    """
    edits = edits or Edits()
    x = np.asarray(x, np.float32)
    y = x if keys_from is None else np.asarray(keys_from, np.float32)
    if x.ndim != 2 or x.shape[1] != weights.d_model or y.shape[1:] != x.shape[1:]:
        raise SizeError(f"X has the shape {x.shape}; {weights.d_model} numbers per token are needed.")
    sizes = with_cells(weights, edits.cells) if edits.cells else weights
    q = times(x, sizes.W_q, sizes.b_q)
    k, v = times(y, sizes.W_k, sizes.b_k), times(y, sizes.W_v, sizes.b_v)
    unrotated = (None, None) if rotary is None else (q, k)
    if rotary is not None:
        q, k = rotated(q, rotary), rotated(k, rotary)
    return _attend(sizes, x, y, (q, k, v), unrotated, edits, rotary, is_causal, window)


def edited(run: LayerActivations, edits: Edits) -> LayerActivations:
    """Return the model's own run with the user's changes; the run itself, where nothing is changed."""
    if not edits.any:
        return run
    if edits.cells:
        result = run_layer(
            run.x,
            run.projections,
            edits,
            run.keys_from,
            rotary=run.rotary,
            is_causal=run.is_causal,
            window=run.window,
        )
    else:
        before = (run.q_unrotated, run.k_unrotated)
        result = _attend(
            run.projections, run.x, run.keys_from, (run.q, run.k, run.v), before, edits, run.rotary, run.is_causal,
            run.window,
        )  # fmt: skip
    return replace(result, stream=run.stream)


def times(x: Array, W: Array, b: Array | None) -> Array:
    """Return x W + b for every head, (head, n, width)."""
    product: Array = x @ W
    return product if b is None else product + b[:, None]


def rotated(x: Array, rotary: Rotary) -> Array:
    """Rotate (head, n, d_k) by the positions 0 to n - 1."""
    tensor = torch.from_numpy(np.array(x))
    return freeze(rotary.at(0, x.shape[1], tensor)(tensor).numpy())


def _attend(
    sizes: Projections,
    x: Array,
    y: Array,
    projected: tuple[Array, Array, Array],
    unrotated: tuple[Array | None, Array | None],
    edits: Edits,
    rotary: Rotary | None,
    is_causal: bool,
    window: int | None,
) -> LayerActivations:
    """Carry q, k and v to the output."""
    q, k, v = projected
    divisor = float((np.sqrt(sizes.d_k) if edits.scaled else 1.0) * edits.temperature)
    shared = sizes.n_heads // sizes.n_kv_heads
    scores = q @ np.repeat(k, shared, axis=0).swapaxes(-1, -2) / np.float32(divisor)
    allowed, extra = _mask(scores, edits, is_causal, window)
    tensors = [torch.from_numpy(np.array(part)) for part in projected]
    context, attention = scaled_dot_product_attention(
        tensors[0], tensors[1], tensors[2], mask=torch.from_numpy(extra), scale=1.0 / divisor
    )
    for edit in edits.scores:
        scores[edit.head, edit.query, edit.key] = edit.value
    z = context.numpy()
    weights = np.zeros_like(scores) if attention is None else attention.numpy()
    contributions = z @ sizes.W_o
    # One product over all heads, apart from the parts, so that adding these up is a check.
    output = np.concatenate(list(z), axis=-1) @ sizes.W_o.reshape(-1, sizes.d_model)
    output = output if sizes.b_o is None else output + sizes.b_o
    return LayerActivations(
        sizes, x, y, q, k, v, scores, allowed, weights, z, contributions, output, divisor,
        is_causal, rotary, *unrotated, edits=edits, window=window,
    )  # fmt: skip


def _mask(scores: Array, edits: Edits, is_causal: bool, window: int | None) -> tuple[Mask, Array]:
    """Return (query, key) True = may look; and what is added to the scores: -inf, or the user's change."""
    heads, n, n_keys = scores.shape
    allowed = visible_keys(
        np.arange(n), np.arange(n_keys), is_causal=edits.causal or is_causal, window=window
    )
    for key in edits.hidden_keys:
        if not 0 <= key < n_keys:
            raise InputError(f"There are {n_keys} tokens: position {key} cannot be hidden.")
        allowed[:, key] = False
    extra = np.where(allowed, np.float32(0), np.float32(-np.inf))
    if not edits.scores:
        return allowed, extra[None]
    extra = np.repeat(extra[None], heads, axis=0)
    for edit in edits.scores:
        if not (0 <= edit.head < heads and 0 <= edit.query < n and 0 <= edit.key < n_keys):
            raise InputError(
                f"Unknown score ({edit.query}, {edit.key}). The scores are {n} × {n_keys}, counted from 0."
            )
        place = (edit.head, edit.query, edit.key)
        extra[place] += np.float32(edit.value) - scores[place]
    return allowed, extra
