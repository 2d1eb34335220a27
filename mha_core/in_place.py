"""Attention without gradients on a CPU: three calls for all heads, and the weights returned are all that is written.

Scores are written into the tensor of the weights, the softmax is taken there, and the values are mixed. The query heads
of a group are so many more rows of one matrix, so keys and values are never repeated. Long texts go in parts whose
scores stay in a core's cache until they are written as weights; a causal mask then hides half of them uncomputed.
Where oneDNN multiplies faster than torch's own library (layouts.py), each head of a longer text is its.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from mha_core.errors import SizeError
from mha_core.layouts import is_onednn_faster, times_packed
from mha_core.memory import new_room

# Scores of one text from which each is computed alone, for its queries, keys and values need no copy then; and those of
# one key head from which each head is: 1 MiB of fp32, half of a core's second-level cache.
ALONE_TEXT, ALONE_HEAD = 1 << 16, 1 << 18
# Under a causal mask so many queries are taken at once, with the keys up to the last of them; and scores at a time.
STRIP, STRIP_SCORES = 64, 1 << 19
# Queries of one head that are taken at once where nothing is hidden and a head's scores, or those of the heads that
# share its keys, leave the cache: 0.33 MiB of scores for 512 keys.
TILE = 171
# What oneDNN is given: so many queries at once, and no head of fewer scores, for a call of it costs 15 microseconds.
ONEDNN_TILE, ONEDNN_HEAD = 512, 1 << 16
# Rows of fewer cells go through torch's softmax one by one, in two to three times the time of four calls for all; in
# rows of so many and more its largest score need not be looked for: see `_mix_quickly`.
SHORT_ROW, LONG_ROW = 16, 64
# Between which a row's sum of exponentials must lie for that.
LEAST_SUM, MOST_SUM = 1e-20, 1e20  # one is the other's inverse


def attend_in_place(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, scale: float, out: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Context and weights, as `scaled_dot_product_attention` says them; the weights in `out` if it is given."""
    shape = (*q.shape[:-1], k.shape[-2])
    weights = new_room(shape, q) if out is None else out
    if weights.shape != shape or weights.dtype != q.dtype or not weights.is_contiguous():
        raise SizeError(f"`out` must be a contiguous tensor of shape {tuple(shape)} and type {q.dtype}.")
    if mask is None and is_causal and shape[-1] == shape[-2] >= STRIP:
        return _in_strips(q, k, v, scale, weights), weights
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
    is_plain = mask is None and future is None
    if q.dim() > 3 or (rows * n_k < ALONE_HEAD and not (is_plain and is_of_onednn(q.shape[-2] * n_k, q))):
        mix(scores, queries, keys, values, scale, mixed, partial(_hide_and_softmax, weights, mask, future))
        return
    if is_plain:
        in_tiles(q, k, v, scale, weights, context)
        return
    for head in range(heads):
        one, its = slice(head, head + 1), slice(head * group, (head + 1) * group)
        softmax = partial(_hide_and_softmax, weights[its], None if mask is None else mask[its], future)
        mix(scores[one], queries[one], keys[one], values[one], scale, mixed[one], softmax)


def in_tiles(q: Tensor, k: Tensor, v: Tensor, scale: float, weights: Tensor, context: Tensor) -> None:
    """One text's heads one after the other, so many queries at a time that their scores stay in a core's cache: q
    (n_heads, n_q, d_k), k and v of as many heads or fewer, into weights (n_heads, n_q, n_k) and context."""
    sums = q.new_empty(*q.shape[:2], 1)
    tiles = _in_tiles_of_onednn if is_of_onednn(math.prod(weights.shape[1:]), q) else _in_tiles
    if weights.shape[-1] < LONG_ROW or not tiles(q, k, v, scale, weights, context, sums):
        tiles(q, k, v, scale, weights, context, None)


def is_of_onednn(n_scores: int, like: Tensor) -> bool:
    """Whether a head with so many scores, of the type of `like`, is multiplied alone, by oneDNN."""
    return n_scores >= ONEDNN_HEAD and like.dtype is torch.float32 and is_onednn_faster()


def _in_tiles(
    q: Tensor, k: Tensor, v: Tensor, scale: float, weights: Tensor, context: Tensor, sums: Tensor | None
) -> bool:
    """The same with `_mix_quickly`'s exponentials and their `sums` (n_heads, n_q, 1), or with softmax without them;
    false where the sums are not safe."""
    n_heads, n_q, n_k = weights.shape
    group = n_heads // len(k)
    at_once = n_q if group == 1 and n_q * n_k <= ALONE_HEAD else TILE
    turned = k.new_empty(k.shape[2], n_k)  # the faster order to multiply by, worth it for many queries
    for head in range(n_heads):
        keys, values = k[head // group].t(), v[head // group]
        if at_once < n_q:
            keys = turned.copy_(keys) if head % group == 0 else turned
        parts = (q[head], weights[head], context[head], weights[head] if sums is None else sums[head])
        for queries, scores, mixed, shares in zip(*(torch.split(x, at_once) for x in parts), strict=True):
            torch.addmm(scores, queries, keys, alpha=scale, beta=0, out=scores)
            if sums is None:
                softmax_here(scores)
                torch.mm(scores, values, out=mixed)
            else:
                torch.sum(scores.exp_(), dim=-1, keepdim=True, out=shares)
                torch.mm(scores, values, out=mixed)
                scores.mul_(shares.reciprocal_())
    if sums is None:
        return True
    context.mul_(sums)
    return are_sums_safe(sums)  # as well of what one is divided by as of one divided by it


def _in_tiles_of_onednn(
    q: Tensor, k: Tensor, v: Tensor, scale: float, weights: Tensor, context: Tensor, sums: Tensor | None
) -> bool:
    """The same by oneDNN, whose results are tensors of their own: what is done to scores writes them as weights."""
    group = len(weights) // len(k)
    for head, queries in enumerate(q):
        if head % group == 0:  # it reads those that touch alone
            keys, values = k[head // group].contiguous(), v[head // group].contiguous().t()
        parts = (queries * scale, weights[head], context[head], weights[head] if sums is None else sums[head])
        for some, looks, mixed, shares in zip(*(torch.split(x, ONEDNN_TILE) for x in parts), strict=True):
            scores = times_packed(some, keys, None)
            if sums is None:
                torch.softmax(scores, dim=-1, out=looks)
            else:
                torch.sum(torch.exp(scores, out=looks), dim=-1, keepdim=True, out=shares)
            mixed.copy_(times_packed(looks, values, None))
            if sums is not None:
                looks.mul_(shares.reciprocal_())
    if sums is None:
        return True
    context.mul_(sums)
    return are_sums_safe(sums)


def _in_strips(q: Tensor, k: Tensor, v: Tensor, scale: float, weights: Tensor) -> Tensor:
    """The context of every text under a causal mask, (..., n_heads, n, d_v), its weights into `weights`.

    A strip of queries is given the keys up to its last one alone, so nearly half of the scores are never computed.
    """
    *batch, n_heads, n, _ = q.shape
    context = q.new_empty(*batch, n, n_heads, v.shape[-1])  # in the order in which W_o reads it
    for at in itertools.product(*map(range, batch)):
        _strips_of(q[at], k[at], v[at], scale, weights[at], context[at])
    return context.transpose(-3, -2)


def _strips_of(q: Tensor, k: Tensor, v: Tensor, scale: float, weights: Tensor, context: Tensor) -> None:
    """One text's: q (n_heads, n, d_k), the weights (n_heads, n, n), context (n, n_heads, d_v)."""
    n_kv, n, d_k = k.shape
    group, at_once = len(q) // n_kv, max(1, STRIP_SCORES // (len(q) // n_kv * STRIP * n))
    queries, looks = q.view(n_kv, group, n, d_k), weights.view(n_kv, group, n, n)
    contexts = context.view(n, n_kv, group, v.shape[-1])
    room = q.new_empty(min(at_once, n_kv) * group * STRIP * n)
    future = torch.ones(STRIP, STRIP, dtype=torch.bool).triu_(diagonal=1)
    for start in range(0, n, STRIP):
        end = min(start + STRIP, n)
        for first in range(0, n_kv, at_once):
            some = slice(first, min(first + at_once, n_kv))
            strip = queries[some, :, start:end]
            shape = (*strip.shape[:3], end)
            scores = room[: math.prod(shape)].view(len(strip), -1, end)
            keys = k[some, :end].transpose(1, 2)
            torch.baddbmm(scores, strip.flatten(1, 2), keys, alpha=scale, beta=0, out=scores)
            scores.view(shape)[..., start:].masked_fill_(future[: end - start, : end - start], -math.inf)
            softmax_here(scores)
            looks[some, :, start:end, :end] = scores.view(shape)
            looks[some, :, start:end, end:] = 0
            mixed = torch.bmm(scores, v[some, :end]).view(*shape[:3], -1)
            contexts[start:end, some] = mixed.permute(2, 0, 1, 3)


def mix(
    scores: Tensor, queries: Tensor, keys: Tensor, values: Tensor, scale: float, mixed: Tensor,
    softmax: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """The three calls: queries (heads, n_q, d_k) times keys (heads, d_k, n_k) into `scores`, the softmax of those in
    their place, and the values (heads, n_k, d_v) into `mixed`. `softmax` is what to do where something is hidden."""
    score = partial(torch.baddbmm, scores, queries, keys, beta=0, alpha=scale, out=scores)
    score()
    if softmax is None:
        if scores.shape[-1] >= LONG_ROW:
            if _mix_quickly(scores, values, mixed):
                return
            score()
        softmax_here(scores)
    else:
        softmax()
    torch.bmm(scores, values, out=mixed)


def _mix_quickly(scores: Tensor, values: Tensor, mixed: Tensor) -> bool:
    """Softmax and mixing in two thirds of the softmax's time: exponentials of the scores as they are, divided by their
    sum when they are mixed. False, and nothing to be used, where a sum says that numbers so large or small lose
    digits: scores beyond 46 or so, or no numbers at all."""
    shares = scores.exp_().sum(dim=-1, keepdim=True)
    if not are_sums_safe(shares):
        return False
    torch.bmm(scores, values, out=mixed)
    mixed.mul_(shares.reciprocal_())
    scores.mul_(shares)
    return True


def are_sums_safe(sums: Tensor) -> bool:
    """Whether rows of exponentials with these sums have all their digits."""
    least, most = sums.aminmax()
    return float(least) > LEAST_SUM and float(most) < MOST_SUM


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
