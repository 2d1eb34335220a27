"""Attention without gradients on a CPU: three calls for all heads, and the weights returned are all that is written.

Scores are written into the tensor of the weights, the softmax is taken there, and the values are mixed. The query heads
of a group are so many more rows of one matrix, so keys and values are never repeated.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from mha_core.errors import SizeError
from mha_core.memory import new_room

# Scores of one text from which each is computed alone, for its queries, keys and values need no copy then; and those of
# one key head from which each head is: 1 MiB of fp32, half of a core's second-level cache.
ALONE_TEXT, ALONE_HEAD = 1 << 16, 1 << 18
# Rows of fewer cells go through torch's softmax one by one, in two to three times the time of four calls for all.
SHORT_ROW = 16


def attend_in_place(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, scale: float, out: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Context and weights, as `scaled_dot_product_attention` says them; the weights in `out` if it is given."""
    shape = (*q.shape[:-1], k.shape[-2])
    weights = new_room(shape, q) if out is None else out
    if weights.shape != shape or weights.dtype != q.dtype or not weights.is_contiguous():
        raise SizeError(f"`out` must be a contiguous tensor of shape {tuple(shape)} and type {q.dtype}.")
    hide = None if mask is None else mask.expand(shape)
    future = torch.ones(shape[-2:], dtype=torch.bool).triu(1) if is_causal else None
    context = q.new_empty(*q.shape[:-1], v.shape[-1])
    if math.prod(shape[-3:]) < ALONE_TEXT:
        _attend(q, k, v, hide, future, scale, weights, context)
        return context, weights
    for at in itertools.product(*map(range, shape[:-3])):
        allowed = None if hide is None else hide[at]
        _attend(q[at], k[at], v[at], allowed, future, scale, weights[at], context[at])
    return context, weights


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, future: Tensor | None, scale: float,
    weights: Tensor, context: Tensor,
) -> None:  # fmt: skip
    """The three calls, for all heads or for each key head, into weights (..., h_q, n_q, n_k) and context."""
    *batch, n_kv, n_k, d_k = k.shape
    group, heads = q.shape[-3] // n_kv, math.prod(batch) * n_kv
    rows, d_v = group * q.shape[-2], v.shape[-1]
    queries, keys = q.reshape(heads, rows, d_k), k.reshape(heads, n_k, d_k).transpose(1, 2)
    values, scores, mixed = (
        v.reshape(heads, n_k, d_v),
        weights.view(heads, rows, n_k),
        context.view(heads, rows, d_v),
    )
    if q.dim() > 3 or rows * n_k < ALONE_HEAD:
        mix(scores, queries, keys, values, scale, mixed, partial(_hide_and_softmax, weights, mask, future))
        return
    for head in range(heads):
        one, its = slice(head, head + 1), slice(head * group, (head + 1) * group)
        softmax = partial(_hide_and_softmax, weights[its], None if mask is None else mask[its], future)
        mix(scores[one], queries[one], keys[one], values[one], scale, mixed[one], softmax)


def mix(
    scores: Tensor, queries: Tensor, keys: Tensor, values: Tensor, scale: float, mixed: Tensor,
    softmax: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """The three calls: queries (heads, n_q, d_k) times keys (heads, d_k, n_k) into `scores`, the softmax of those in
    their place, and the values (heads, n_k, d_v) into `mixed`. `softmax` is what to do where something is hidden."""
    torch.baddbmm(scores, queries, keys, beta=0, alpha=scale, out=scores)
    if softmax is None:
        softmax_here(scores)
    else:
        softmax()
    torch.bmm(scores, values, out=mixed)


def _hide_and_softmax(scores: Tensor, mask: Tensor | None, future: Tensor | None) -> None:
    """`masked_softmax` of the scores (..., head, n_q, n_k), in their own place."""
    if mask is not None and mask.dtype == torch.bool:
        scores.masked_fill_(~mask, -math.inf)
    elif mask is not None:
        scores.add_(mask.to(scores.dtype))
    if future is not None:
        scores.masked_fill_(future, -math.inf)
    if mask is None or scores.shape[-1] == 0:
        softmax_here(scores)
        return
    dead = scores.amax(dim=-1, keepdim=True) == -math.inf
    softmax_here(scores.masked_fill_(dead, 0.0))
    scores.masked_fill_(dead, 0.0)


def softmax_here(scores: Tensor) -> None:
    """The softmax of the last axis, in its own place."""
    if not 0 < scores.shape[-1] < SHORT_ROW:
        torch.softmax(scores, dim=-1, out=scores)
        return
    scores.sub_(scores.amax(dim=-1, keepdim=True)).exp_()
    scores.div_(scores.sum(dim=-1, keepdim=True))
