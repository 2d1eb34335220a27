"""The same layer as `torch.nn.MultiheadAttention`, and how far the two are apart on these very numbers."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from mha_core.inside.walk import HeadWeights, Walk


@dataclass(frozen=True)
class Parity:
    """Largest absolute differences; `against` names what it was compared with."""

    against: str
    output: float
    weights: float | None


def torch_layer(weights: HeadWeights) -> nn.MultiheadAttention:
    """torch's own layer with these numbers in it; shared key heads are repeated for it."""
    shared = weights.n_heads // weights.n_kv_heads
    layer = nn.MultiheadAttention(weights.d_model, weights.n_heads, batch_first=True)
    big = [_wide(weights.W_q, 1), _wide(weights.W_k, shared), _wide(weights.W_v, shared)]
    bias = [weights.b_q, np.repeat(weights.b_k, shared, axis=0), np.repeat(weights.b_v, shared, axis=0)]
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.from_numpy(np.concatenate(big, axis=1).T.copy()))
        layer.in_proj_bias.copy_(torch.from_numpy(np.concatenate([b.reshape(-1) for b in bias])))
        out = weights.W_o.reshape(-1, weights.d_model).T
        layer.out_proj.weight.copy_(torch.from_numpy(out.copy()))
        layer.out_proj.bias.copy_(torch.from_numpy(np.array(weights.b_o)))
    return layer.eval()


def _wide(per_head: np.ndarray, repeats: int) -> np.ndarray:
    """(head, d_model, d_k) side by side: (d_model, head * d_k)."""
    repeated = np.repeat(per_head, repeats, axis=0)
    return np.asarray(repeated.transpose(1, 0, 2).reshape(per_head.shape[1], -1))


@torch.no_grad()
def equal_to_torch(walk: Walk) -> Parity:
    """Run torch on the same x, weights and mask, and return the largest differences found."""
    w = walk.weights_used
    mask = torch.from_numpy(_added(walk))
    if w.d_k != w.d_v or w.n_heads * w.d_k != w.d_model or walk.n_keys != walk.n:
        return _against_sdpa(walk, mask)
    # nn.MultiheadAttention always divides by sqrt(d_k): another divisor goes into its W_q instead.
    factor = np.float32(np.sqrt(w.d_k) / walk.divisor)
    layer = torch_layer(HeadWeights(**{**vars(w), "W_q": w.W_q * factor, "b_q": w.b_q * factor}))
    x = torch.from_numpy(np.array(walk.x))[None]
    output, weights = layer(x, x, x, attn_mask=mask, average_attn_weights=False)
    rows = walk.allowed.any(axis=1)  # where nothing may be looked at torch says NaN, and we say zero
    return Parity(
        "torch.nn.MultiheadAttention",
        _largest(output[0].numpy()[rows] - walk.output[rows]),
        _largest(weights[0].numpy()[:, rows] - walk.weights[:, rows]),
    )


def _largest(difference: np.ndarray) -> float:
    return float(np.abs(difference).max()) if difference.size else 0.0


def _added(walk: Walk) -> np.ndarray:
    """The reader's mask and scores as what torch adds to the scores, (head, query, key)."""
    plain = walk.raw / np.float32(walk.divisor)
    return np.where(walk.allowed, walk.scores - plain, -np.inf).astype(np.float32)


def _against_sdpa(walk: Walk, mask: torch.Tensor) -> Parity:
    """For sizes that nn.MultiheadAttention cannot have: torch's attention function, then W_o."""
    w = walk.weights_used
    shared = w.n_heads // w.n_kv_heads
    q, k, v = torch.from_numpy(walk.q), torch.from_numpy(walk.k), torch.from_numpy(walk.v)
    k, v = k.repeat_interleave(shared, 0), v.repeat_interleave(shared, 0)
    z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0 / walk.divisor)
    output = (z @ torch.from_numpy(np.array(w.W_o))).sum(0) + torch.from_numpy(np.array(w.b_o))
    rows = walk.allowed.any(axis=1)
    difference = _largest(output.numpy()[rows] - walk.output[rows])
    return Parity("torch.nn.functional.scaled_dot_product_attention", difference, None)
