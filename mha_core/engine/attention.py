"""Scaled dot-product attention: queries, keys and values in; the contexts and the weights out.

Axes in order: batch (any number of axes), head, query or key, width. One function serves multi-head attention
(as many key heads as query heads), grouped-query attention (fewer) and multi-query attention (one), because
query head j reads key head j // (h_q / h_kv).

Source: Vaswani et al. 2017, section 3.2.1; Ainslie et al. 2023 for grouped queries.
"""

import math
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor

from mha_core.engine.torch_modes import is_transformed
from mha_core.errors import DtypeError, InputError, SizeError

STRIP = 64  # queries of a long text that are taken at once under a causal mask


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
    training: bool = False,
    need_weights: bool = True,
    *,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """softmax(q kᵀ · scale + mask) v, and the softmax itself.

    Shapes: `q` (..., h_q, n_q, d_k), `k` (..., h_kv, n_k, d_k), `v` (..., h_kv, n_k, d_v), h_q a multiple of
    h_kv. Returns the context (..., h_q, n_q, d_v) and the weights (..., h_q, n_q, n_k), or None for them when
    `need_weights` is false (then torch's fused kernel computes the context).

    `mask` broadcasts to the shape of the weights: bool, where True means "may look", or floating, added to the
    scaled scores. `is_causal` lets query i look at keys 0..i (aligned top left); with a mask, both must allow.
    A query that may look at nothing gets weights of zeros and a context of zeros. `scale` defaults to
    1/sqrt(d_k). Weights are those before dropout; dropout acts on the context, and only when `training`.
    `out`, without gradients, is a tensor of the weights' shape to write them into.

    Raises SizeError for shapes that do not fit, DtypeError for integer or mixed types, InputError for a
    dropout outside [0, 1].
    """
    _check_qkv(q, k, v)
    check_dropout(dropout_p)
    dropout = dropout_p if training else 0.0
    return attend(q, k, v, mask, is_causal, scale, dropout, need_weights, out)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
    dropout: float,
    need_weights: bool,
    out: Tensor | None,
) -> tuple[Tensor, Tensor | None]:
    """Attend with queries, keys and values that are known to fit each other, as a layer's own do; `dropout` acts."""
    if mask is not None:
        _check_mask(mask, (*q.shape[:-1], k.shape[-2]))
    if scale is None:
        scale = 1.0 / math.sqrt(q.shape[-1])
    with without_autocast(q.device):
        if not need_weights:
            return _fused(q, k, v, mask, is_causal, scale, dropout), None
        in_place, room = _may_write_in_place(q, k, v, mask), None
        shape = (*q.shape[:-1], k.shape[-2])
        if out is not None:
            _check_out(out, shape, in_place)
        wide_q, wide_k, wide_v = _wide(q), _wide(k), _wide(v)
        if in_place:
            room = out if out is not None and out.dtype == wide_q.dtype else wide_q.new_empty(shape)
        is_plain = q.device.type == "cpu" and is_causal and mask is None and not dropout
        # On an accelerator many small products take longer than what they leave out.
        if room is not None and is_plain and shape[-1] == shape[-2] >= 4 * STRIP:
            context, weights = _in_strips(wide_q, wide_k, wide_v, scale, room), room
        else:
            scores = _scores(wide_q, wide_k, scale, room)
            weights = masked_softmax(scores, mask, is_causal, in_place=in_place)
            context = _mix(F.dropout(weights, dropout) if dropout else weights, wide_v)
    if out is None:
        return context.to(q.dtype), weights.to(q.dtype)
    return context.to(q.dtype), out if room is out else out.copy_(weights)


def _in_strips(q: Tensor, k: Tensor, v: Tensor, scale: float, weights: Tensor) -> Tensor:
    """Return the context under a causal mask; the weights go into their tensor. A strip of queries is given no key
    after its last, so that two fifths of a long text's products and exponentials are never computed."""
    n, context = q.shape[-2], q.new_empty(*q.shape[:-1], v.shape[-1])
    for start in range(0, n, STRIP):
        end = min(start + STRIP, n)
        scores = _scores(q[..., start:end, :], k[..., :end, :], scale)
        scores[..., start:].add_(_future(end - start, end - start, scores))
        strip = torch.softmax(scores, dim=-1, out=scores)
        weights[..., start:end, :end] = strip
        weights[..., start:end, end:] = 0
        context[..., start:end, :] = _mix(strip, v[..., :end, :])
    return context


def attention_scores(q: Tensor, k: Tensor, scale: float | None = None) -> Tensor:
    """q kᵀ · scale, before mask and softmax: (..., h_q, n_q, n_k). `scale` defaults to 1/sqrt(d_k)."""
    _check_qkv(q, k, k)
    if scale is None:
        scale = 1.0 / math.sqrt(q.shape[-1])
    with without_autocast(q.device):
        return _scores(_wide(q), _wide(k), scale).to(q.dtype)


def mixed_values(weights: Tensor, v: Tensor) -> Tensor:
    """Multiply weights (..., h_q, n_q, n_k) by values (..., h_kv, n_k, d_v): the context of each query head."""
    with without_autocast(v.device):
        return _mix(_wide(weights), _wide(v)).to(v.dtype)


def masked_softmax(
    scores: Tensor, mask: Tensor | None = None, is_causal: bool = False, *, in_place: bool = False
) -> Tensor:
    """Softmax over the last axis of (..., n_q, n_k) under a mask; a row that may look at nothing is zero.

    The zero row is made before and after the softmax, so that its gradient is zero too and never NaN.
    `in_place` writes over the scores, which saves a tensor of their size.
    """
    n_q, n_k, dead, added = scores.shape[-2], scores.shape[-1], None, None
    if mask is not None:
        added, dead = _added_mask(mask, is_causal, n_q, n_k, scores)
    elif is_causal:
        added = _future(n_q, n_k, scores)
    if added is not None:
        scores = scores.add_(added) if in_place else scores + added
    weights = torch.softmax(scores, dim=-1, out=scores if in_place else None)
    if dead is None:
        return weights
    return weights.masked_fill_(dead, 0.0) if in_place else weights.masked_fill(dead, 0.0)


def causal_mask(n_q: int, n_k: int, device: torch.device | str | None = None) -> Tensor:
    """True where query i may look at key j ≤ i, (n_q, n_k), aligned top left as in torch's own function."""
    return torch.ones(n_q, n_k, dtype=torch.bool, device=device).tril()


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Switch autocast off inside, which would turn fp32 scores back into half precision."""
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def check_dropout(p: float) -> None:
    """Raise InputError unless p is a probability."""
    if not 0.0 <= p <= 1.0:
        raise InputError(f"dropout must be from 0 to 1, not {p}.")


def _future(n_q: int, n_k: int, like: Tensor) -> Tensor:
    """Return the causal mask as added to scores: minus infinity where key j > i. On a CPU adding is four times as fast
    as filling."""
    return torch.full((n_q, n_k), -math.inf, dtype=like.dtype, device=like.device).triu_(1)


def _added_mask(mask: Tensor, is_causal: bool, n_q: int, n_k: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mask as added to scores, minus infinity where a query may not look, and which queries (..., n_q, 1)
    may look at nothing. To their scores zeros are added, so that neither the softmax nor its gradient is NaN: their
    results are to be replaced."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=like.dtype).masked_fill_(~mask, -math.inf)
    added = mask.to(like.dtype)
    if is_causal:
        added = added + _future(n_q, n_k, like)
    dead = (added == -math.inf).all(dim=-1, keepdim=True)
    return added.masked_fill(dead, 0.0), dead


def _fused(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, scale: float, dropout: float
) -> Tensor:
    """Return the context by torch's kernel, which gives no weights."""
    wide = _wide(q).dtype
    if mask is not None and mask.dtype not in (torch.bool, q.dtype) and wide != q.dtype:
        # -1e9 would become minus infinity in fp16.
        return _fused(q.to(wide), k.to(wide), v.to(wide), mask, is_causal, scale, dropout).to(q.dtype)
    added = dead = None
    if mask is not None:
        added, dead = _added_mask(mask, is_causal, q.shape[-2], k.shape[-2], q)
        added = added.expand(*(1,) * (q.dim() - added.dim()), *added.shape)
    context = F.scaled_dot_product_attention(
        q,
        k,
        v,
        added,
        dropout,
        is_causal and added is None,
        scale=scale,
        enable_gqa=q.shape[-3] != k.shape[-3],
    )
    return context if dead is None else context.masked_fill(dead, 0.0)


def _scores(q: Tensor, k: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
    """q kᵀ · scale, into `out` if it is given."""
    if torch.compiler.is_compiling():  # nothing is merged with the length, which torch.export then keeps open
        return q @ _repeated(k, q).transpose(-1, -2) * scale
    queries, keys = _by_key_head(q, k), k.flatten(0, -3)
    room = None if out is None else out.view(*queries.shape[:2], k.shape[-2])
    none = queries.new_empty(())
    scores = torch.baddbmm(none, queries, keys.transpose(1, 2), beta=0, alpha=scale, out=room)
    return scores.view(*q.shape[:-1], k.shape[-2])


def _mix(weights: Tensor, v: Tensor) -> Tensor:
    """Multiply weights by values."""
    if torch.compiler.is_compiling():
        return weights @ _repeated(v, weights)
    mixed = torch.bmm(_by_key_head(weights, v), v.flatten(0, -3))
    return mixed.view(*weights.shape[:-1], v.shape[-1])


def _by_key_head(x: Tensor, shared: Tensor) -> Tensor:
    """Reshape (..., h_q, n, width) to (key heads of all texts, group * n, width): query heads of a group become more
    rows, and the tensor they share (..., h_kv, n_k, ...) is never repeated."""
    heads = math.prod(shared.shape[:-2])
    return x.reshape(heads, math.prod(x.shape[:-1]) // heads if heads else 0, x.shape[-1])


def _repeated(shared: Tensor, x: Tensor) -> Tensor:
    """Repeat a tensor of the key heads once for each query head of `x`."""
    return shared.repeat_interleave(x.shape[-3] // shared.shape[-3], dim=-3)


def _wide(x: Tensor) -> Tensor:
    """Return half precision as fp32 (fp16 scores overflow at 65,504), any other tensor as it is."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _may_write_in_place(*tensors: Tensor | None) -> bool:
    """Return whether no gradient is asked for and torch does not trace the call."""
    remembers = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)
    return not remembers and not is_transformed(*tensors)


def _check_qkv(q: Tensor, k: Tensor, v: Tensor) -> None:
    if not (q.dtype == k.dtype == v.dtype) or not q.dtype.is_floating_point:
        raise DtypeError(
            f"q, k and v are {q.dtype}, {k.dtype} and {v.dtype}; they must share one floating type."
        )
    shapes = f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if min(q.dim(), k.dim(), v.dim()) < 3:
        raise SizeError(f"q, k and v need at least three axes (head, position, width); given: {shapes}.")
    if not (q.shape[:-3] == k.shape[:-3] == v.shape[:-3]):
        raise SizeError(f"q, k and v must have the same batch sizes; given: {shapes}.")
    if q.shape[-1] != k.shape[-1] or q.shape[-1] == 0:
        raise SizeError(f"q has width {q.shape[-1]} and k {k.shape[-1]}; they must be equal and above zero.")
    if k.shape[-2] != v.shape[-2]:
        raise SizeError(f"There are {k.shape[-2]} keys and {v.shape[-2]} values; every key needs one value.")
    if k.shape[-3] != v.shape[-3] or 0 in (q.shape[-3], k.shape[-3]) or q.shape[-3] % k.shape[-3]:
        raise SizeError(
            f"{q.shape[-3]} query heads cannot share {k.shape[-3]} key heads and {v.shape[-3]} value heads; "
            "the query heads must be a multiple of both, and these two equal."
        )


def _check_out(out: Tensor, shape: tuple[int, ...], in_place: bool) -> None:
    if not in_place:
        raise InputError("`out` is for calls without gradients; leave it out, or call under torch.no_grad().")
    if out.shape != shape or not out.is_contiguous():
        raise SizeError(
            f"`out` must be a contiguous tensor of the weights' shape {shape}, not {tuple(out.shape)}."
        )


def _check_mask(mask: Tensor, target: tuple[int, ...]) -> None:
    if mask.dtype != torch.bool and not mask.dtype.is_floating_point:
        raise DtypeError(
            f"The mask is {mask.dtype}; it must be bool (True = may look) or floating (added to the scores)."
        )
    fits = mask.dim() <= len(target) and all(
        have in (1, want) for have, want in zip(reversed(mask.shape), reversed(target), strict=False)
    )
    if not fits:
        raise SizeError(
            f"A mask of shape {tuple(mask.shape)} does not broadcast to the weights' shape {tuple(target)}."
        )
