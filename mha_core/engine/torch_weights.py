"""Weights of a layer from and to torch's own `nn.MultiheadAttention`, which keeps Q, K and V in one matrix."""

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from mha_core.errors import InputError, SizeError

if TYPE_CHECKING:
    from mha_core.engine.multihead import MultiHeadAttention


def from_torch(kind: "type[MultiHeadAttention]", theirs: nn.MultiheadAttention) -> "MultiHeadAttention":
    """See `MultiHeadAttention.from_torch`."""
    if not isinstance(theirs, nn.MultiheadAttention):
        raise InputError(f"Expected a torch.nn.MultiheadAttention, not {type(theirs).__name__}.")
    d_model = theirs.embed_dim
    if theirs.kdim != d_model or theirs.vdim != d_model:
        raise SizeError(
            f"Its keys are {theirs.kdim} and its values {theirs.vdim} wide; this layer takes all as wide as queries, "
            f"{d_model}."
        )
    if theirs.bias_k is not None or theirs.add_zero_attn:
        raise SizeError(
            "It adds a key of its own to every text (add_bias_kv, add_zero_attn); this layer has none."
        )
    bias = theirs.in_proj_bias is not None
    ours = kind(d_model, theirs.num_heads, dropout=theirs.dropout, bias=bias)
    ours.to(device=theirs.in_proj_weight.device, dtype=theirs.in_proj_weight.dtype).train(theirs.training)
    with torch.no_grad():
        for linear, weight in zip(
            (ours.W_q, ours.W_k, ours.W_v), theirs.in_proj_weight.chunk(3), strict=True
        ):
            linear.weight.copy_(weight)
        ours.W_o.weight.copy_(theirs.out_proj.weight)
        if bias:
            for linear, part in zip(
                (ours.W_q, ours.W_k, ours.W_v), theirs.in_proj_bias.chunk(3), strict=True
            ):
                linear.bias.copy_(part)
            ours.W_o.bias.copy_(theirs.out_proj.bias)
    return ours


def to_torch(ours: "MultiHeadAttention") -> nn.MultiheadAttention:
    """See `MultiHeadAttention.to_torch`."""
    if ours.n_kv_heads != ours.n_heads:
        raise SizeError(
            f"{ours.n_heads} query heads share {ours.n_kv_heads} key heads; torch's layer has one for each."
        )
    if not ours.n_heads * ours.d_k == ours.n_heads * ours.d_v == ours.d_model:
        raise SizeError(
            f"Heads of width {ours.d_k} and {ours.d_v} were given; torch's layer cuts {ours.d_model} into "
            f"{ours.n_heads}."
        )
    bias, like = ours.W_q.bias is not None, ours.W_q.weight
    theirs = nn.MultiheadAttention(
        ours.d_model, ours.n_heads, ours.dropout, bias, batch_first=True, device=like.device, dtype=like.dtype
    ).train(ours.training)
    linears = (ours.W_q, ours.W_k, ours.W_v)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in linears]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([cast(Tensor, linear.bias) for linear in linears]))
            theirs.out_proj.bias.copy_(cast(Tensor, ours.W_o.bias))
    return theirs
