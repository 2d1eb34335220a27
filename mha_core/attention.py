"""Scaled dot-product attention: queries, keys and values in; what was mixed, and who looked at whom, out.

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

from mha_core.errors import DtypeError, InputError, SizeError
from mha_core.in_place import attend_in_place
from mha_core.modes import is_transformed


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
    1/sqrt(d_k). Weights are those before dropout; dropout acts on what is mixed, and only when `training`.
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
    """The same for queries, keys and values that are known to fit each other, as a layer's own do; `dropout` acts."""
    if mask is not None:
        _check_mask(mask, (*q.shape[:-1], k.shape[-2]))
    if scale is None:
        scale = 1.0 / math.sqrt(q.shape[-1])
    with without_autocast(q.device):
        if not need_weights:
            return _fused(q, k, v, mask, is_causal, scale, dropout), None
        if dropout == 0.0 and _may_write_in_place(q, k, v, mask):
            return attend_in_place(q, k, v, mask, is_causal, scale, out)
        if out is not None:
            raise InputError("`out` is for calls without gradients and dropout, on the CPU, in fp32 or fp64.")
        return _textbook(q, k, v, mask, is_causal, scale, dropout)


def attention_scores(q: Tensor, k: Tensor, scale: float | None = None) -> Tensor:
    """q kᵀ · scale, before mask and softmax: (..., h_q, n_q, n_k). `scale` defaults to 1/sqrt(d_k)."""
    _check_qkv(q, k, k)
    if scale is None:
        scale = 1.0 / math.sqrt(q.shape[-1])
    with without_autocast(q.device):
        return _grouped_matmul(_wide(q) * scale, _wide(k).transpose(-1, -2)).to(q.dtype)


def mixed_values(weights: Tensor, v: Tensor) -> Tensor:
    """Weights (..., h_q, n_q, n_k) times values (..., h_kv, n_k, d_v): what each query head mixes."""
    with without_autocast(v.device):
        return _grouped_matmul(_wide(weights), _wide(v)).to(v.dtype)


def masked_softmax(scores: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    """Softmax over the last axis of (..., n_q, n_k) under a mask; a row that may look at nothing is zero.

    The zero row is made before and after the softmax, so that its gradient is zero too and never NaN.
    """
    hidden = _hide(scores, mask, is_causal)
    if mask is None or scores.shape[-1] == 0:
        return torch.softmax(hidden, dim=-1)
    dead = hidden.amax(dim=-1, keepdim=True) == -math.inf
    return torch.softmax(hidden.masked_fill(dead, 0.0), dim=-1).masked_fill(dead, 0.0)


def causal_mask(n_q: int, n_k: int, device: torch.device | str | None = None) -> Tensor:
    """True where query i may look at key j ≤ i, (n_q, n_k), aligned top left as in torch's own function."""
    return torch.ones(n_q, n_k, dtype=torch.bool, device=device).tril()


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Inside, the types are the ones written here: autocast would turn fp32 scores back into half precision."""
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def check_dropout(p: float) -> None:
    """Raise InputError unless p is a probability."""
    if not 0.0 <= p <= 1.0:
        raise InputError(f"A dropout of {p} was given; it is a probability, from 0 to 1.")


def _textbook(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, scale: float, dropout: float
) -> tuple[Tensor, Tensor]:
    """The formula as it is written; differentiable, on any device. Half precision is computed in fp32."""
    scores = _grouped_matmul(_wide(q) * scale, _wide(k).transpose(-1, -2))
    weights = masked_softmax(scores, mask, is_causal)
    mixed = F.dropout(weights, dropout) if dropout else weights
    context = _grouped_matmul(mixed, _wide(v))
    return context.to(q.dtype), weights.to(q.dtype)


def _fused(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, scale: float, dropout: float
) -> Tensor:
    """torch's kernel without weights. What may look at nothing looks at everything inside, and is zeroed after."""
    if mask is not None and mask.dtype not in (torch.bool, q.dtype):
        if q.dtype in (torch.float16, torch.bfloat16):  # -1e9 would become minus infinity in fp16
            return _textbook(q, k, v, mask, is_causal, scale, dropout)[0]
        mask = mask.to(q.dtype)
    dead = None
    if mask is not None:
        if is_causal:
            causal = causal_mask(q.shape[-2], k.shape[-2], q.device)
            mask = mask & causal if mask.dtype == torch.bool else mask.masked_fill(~causal, -math.inf)
        allowed = mask if mask.dtype == torch.bool else mask > -math.inf
        dead = ~allowed.any(dim=-1, keepdim=True)
        mask = mask | dead if mask.dtype == torch.bool else mask.masked_fill(dead, 0.0)
        mask = mask.expand(*(1,) * (q.dim() - mask.dim()), *mask.shape)
    grouped = q.shape[-3] != k.shape[-3]
    context = F.scaled_dot_product_attention(
        q, k, v, mask, dropout, is_causal and mask is None, scale=scale, enable_gqa=grouped
    )
    return context if dead is None else context.masked_fill(dead, 0.0)


def _hide(scores: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
    """The scores with minus infinity where a query may not look."""
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask.to(scores.dtype)
    if is_causal:
        scores = scores.masked_fill(
            ~causal_mask(scores.shape[-2], scores.shape[-1], scores.device), -math.inf
        )
    return scores


def _grouped_matmul(left: Tensor, right: Tensor) -> Tensor:
    """(..., h_q, n, a) times (..., h_kv, a, b): the query heads of a group share one right side, uncopied."""
    # A fold's sizes would fix the length.
    if torch.compiler.is_exporting() and left.shape[-3] != right.shape[-3]:
        sizes = (right.shape[-3], left.shape[-3] // right.shape[-3])
        grouped = torch.unflatten(left, -3, sizes)
        return torch.matmul(grouped, right.unsqueeze(-3)).flatten(-4, -3)
    folded_left, folded_right = _fold(left, right)
    return torch.matmul(folded_left, folded_right).view(*left.shape[:-1], right.shape[-1])


def _fold(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Query heads of one group stacked as more rows: (..., h_kv, group * n, a)."""
    group = left.shape[-3] // right.shape[-3] if right.shape[-3] else 1
    if group == 1:
        return left, right
    *batch, heads, n, width = left.shape
    return left.reshape(*batch, heads // group, group * n, width), right


def _wide(x: Tensor) -> Tensor:
    """fp32 for half precision (fp16 scores overflow at 65,504), the tensor itself otherwise."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _may_write_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """No gradient is asked for, and it is plain fp32 or fp64 on the CPU, outside compile, export and vmap."""
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (q, k, v, mask)):
        return False
    plain = q.is_cpu and q.dtype in (torch.float32, torch.float64) and type(q) is Tensor
    return plain and not is_transformed(q, k, v, mask)


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
