"""Attention without gradients on a CPU: three calls for all heads, and the weights returned are all that is written.

Scores are written into the tensor of the weights, the softmax is taken there, and the values are mixed. The query heads
of a group are so many more rows of one matrix, so keys and values are never repeated.
"""

import itertools
import math
from collections.abc import Iterator

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
    for at in _texts(shape):
        allowed = None if hide is None else hide[at]
        _attend(q[at], k[at], v[at], allowed, future, scale, weights[at], context[at])
    return context, weights


def _texts(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Which texts of a batch are computed at once: all of them, or one after the other."""
    if math.prod(shape[-3:]) < ALONE_TEXT:
        yield ()
    else:
        yield from itertools.product(*map(range, shape[:-3]))


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, future: Tensor | None, scale: float,
    weights: Tensor, context: Tensor,
) -> None:  # fmt: skip
    """The three calls, for all heads or for each key head, into weights (..., h_q, n_q, n_k) and context."""
    n_kv, n_k = k.shape[-3:-1]
    heads, rows = math.prod(k.shape[:-2]), q.shape[-3] // n_kv * q.shape[-2]
    queries, scores, mixed = (x.reshape(heads, rows, x.shape[-1]) for x in (q, weights, context))
    keys, values = (x.reshape(heads, n_k, x.shape[-1]) for x in (k, v))
    together = q.dim() > 3 or rows * n_k < ALONE_HEAD
    for i in (slice(None),) if together else [slice(head, head + 1) for head in range(heads)]:
        piece = scores[i]
        torch.baddbmm(piece, queries[i], keys[i].transpose(1, 2), beta=0, alpha=scale, out=piece)
        here = (..., i if together else _group(i.start, q.shape[-3] // n_kv), slice(None), slice(None))
        _softmax_here(weights[here], None if mask is None else mask[here], future)
        torch.bmm(piece, values[i], out=mixed[i])


def _group(kv_head: int, size: int) -> slice:
    """The query heads that read a key head."""
    return slice(kv_head * size, (kv_head + 1) * size)


def _softmax_here(scores: Tensor, mask: Tensor | None, future: Tensor | None) -> None:
    """`masked_softmax` of the scores (..., head, n_q, n_k), in their own place."""
    if mask is not None and mask.dtype == torch.bool:
        scores.masked_fill_(~mask, -math.inf)
    elif mask is not None:
        scores.add_(mask.to(scores.dtype))
    if future is not None:
        scores.masked_fill_(future, -math.inf)
    if mask is None or scores.shape[-1] == 0:
        _softmax(scores)
        return
    dead = scores.amax(dim=-1, keepdim=True) == -math.inf
    _softmax(scores.masked_fill_(dead, 0.0))
    scores.masked_fill_(dead, 0.0)


def _softmax(scores: Tensor) -> None:
    if not 0 < scores.shape[-1] < SHORT_ROW:
        torch.softmax(scores, dim=-1, out=scores)
        return
    scores.sub_(scores.amax(dim=-1, keepdim=True)).exp_()
    scores.div_(scores.sum(dim=-1, keepdim=True))
