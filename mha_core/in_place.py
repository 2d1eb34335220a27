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

# Scores of one key head, from which one is done after the other: 4 MiB of fp32, twice a core's second-level cache.
ALONE_CELLS = 1 << 20
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
    rows = shape[-3] // k.shape[-3] * shape[-2]
    queries, keys, values = (
        x.reshape(math.prod(k.shape[:-2]), n, x.shape[-1])
        for x, n in ((q, rows), (k, shape[-1]), (v, shape[-1]))
    )
    scores, turned = weights.view(*queries.shape[:2], shape[-1]), keys.transpose(1, 2)
    context = q.new_empty(*queries.shape[:2], v.shape[-1])
    for heads, at in _pieces(shape, k.shape[-3]):
        piece = scores[heads]
        torch.baddbmm(piece, queries[heads], turned[heads], beta=0, alpha=scale, out=piece)
        _softmax_here(weights[at], None if hide is None else hide[at], is_causal)
        torch.bmm(piece, values[heads], out=context[heads])
    return context.view(*shape[:-1], v.shape[-1]), weights


def _pieces(shape: tuple[int, ...], n_kv_heads: int) -> Iterator[tuple[slice, tuple[int | slice, ...]]]:
    """What is computed at once: which key heads, counted through the batch, and where their weights stand in it."""
    *batch, heads, n_q, n_k = shape
    group = heads // n_kv_heads
    if group * n_q * n_k < ALONE_CELLS:
        yield slice(None), ()
        return
    number = 0
    for member in itertools.product(*map(range, batch)):
        for first in range(0, heads, group):
            yield slice(number, number + 1), (*member, slice(first, first + group))
            number += 1


def _softmax_here(scores: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    """`masked_softmax` of the scores (..., head, n_q, n_k), in their own place."""
    if mask is not None and mask.dtype == torch.bool:
        scores.masked_fill_(~mask, -math.inf)
    elif mask is not None:
        scores.add_(mask.to(scores.dtype))
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
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
