"""The same layer as torch computes it, and how far the two are apart on these very numbers."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mha_core.arrays import Array
from mha_core.engine.layer_activations import LayerActivations, Projections
from mha_core.engine.rotary import Rotary


@dataclass(frozen=True)
class Parity:
    """Largest absolute differences; `against` names what it was compared with.

    `rows`: how many tokens were compared. One that may look at nothing has no row: torch says NaN there.
    """

    against: str
    output: float
    weights: float | None
    rows: int


def torch_layer(weights: Projections) -> nn.MultiheadAttention:
    """torch's own layer with these numbers in it; shared key heads are repeated for it."""
    shared = weights.n_heads // weights.n_kv_heads
    layer = nn.MultiheadAttention(weights.d_model, weights.n_heads, batch_first=True, bias=weights.has_bias)
    big = [_wide(weights.W_q, 1), _wide(weights.W_k, shared), _wide(weights.W_v, shared)]
    bias = [
        _bias(b, big[0].shape[1], n)
        for b, n in ((weights.b_q, 1), (weights.b_k, shared), (weights.b_v, shared))
    ]
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.from_numpy(np.concatenate(big, axis=1).T.copy()))
        layer.out_proj.weight.copy_(torch.from_numpy(weights.W_o.reshape(-1, weights.d_model).T.copy()))
        if weights.has_bias:
            layer.in_proj_bias.copy_(torch.from_numpy(np.concatenate(bias)))
            layer.out_proj.bias.copy_(torch.from_numpy(_bias(weights.b_o, weights.d_model, 1)))
    return layer.eval()


def _wide(per_head: Array, repeats: int) -> Array:
    """(head, d_model, d_k) side by side: (d_model, head * d_k)."""
    repeated = np.repeat(per_head, repeats, axis=0)
    return np.asarray(repeated.transpose(1, 0, 2).reshape(per_head.shape[1], -1))


def _bias(bias: Array | None, width: int, repeats: int) -> Array:
    """A bias as torch's layer needs it: it has all of them or none."""
    if bias is None:
        return np.zeros(width, np.float32)
    return np.repeat(bias, repeats, axis=0).reshape(-1)


@torch.no_grad()
def equal_to_torch(run: LayerActivations) -> Parity:
    """Run torch on the same x, weights, positions and mask, and return the largest differences found."""
    w = run.projections
    mask = torch.from_numpy(_added(run))
    if run.rotary is not None or w.d_k != w.d_v or w.n_heads * w.d_k != w.d_model or run.n_keys != run.n:
        return _against_sdpa(run, mask)
    # nn.MultiheadAttention always divides by sqrt(d_k): another divisor goes into its W_q instead.
    factor = np.float32(np.sqrt(w.d_k) / run.divisor)
    layer = torch_layer(replace(w, W_q=w.W_q * factor, b_q=None if w.b_q is None else w.b_q * factor))
    x, y = (torch.from_numpy(np.array(rows))[None] for rows in (run.x, run.keys_from))
    mask = mask.expand(w.n_heads, run.n, run.n_keys)
    output, weights = layer(x, y, y, attn_mask=mask, average_attn_weights=False)
    rows = run.allowed.any(axis=1)  # where nothing may be looked at torch says NaN, and we say zero
    return Parity(
        "torch.nn.MultiheadAttention",
        _largest(output[0].numpy()[rows] - run.output[rows]),
        _largest(weights[0].numpy()[:, rows] - run.weights[:, rows]),
        int(rows.sum()),
    )


def _largest(difference: Array) -> float:
    return float(np.abs(difference).max()) if difference.size else 0.0


def _added(run: LayerActivations) -> Array:
    """The mask and the reader's scores as what torch adds to the scores, (1 or head, query, key)."""
    added = np.where(run.allowed, np.float32(0), np.float32(-np.inf))[None]
    if run.edits.scores:
        added = np.repeat(added, run.projections.n_heads, axis=0)
    for edit in run.edits.scores:
        plain = run.raw(edit.head)[edit.query, edit.key] / run.divisor
        added[edit.head, edit.query, edit.key] += np.float32(edit.value - plain)
    return added


def _against_sdpa(run: LayerActivations, mask: Tensor) -> Parity:
    """For what nn.MultiheadAttention cannot have: torch's projections and attention function, one after the other."""
    w = run.projections
    x, y = (torch.from_numpy(np.array(rows)) for rows in (run.x, run.keys_from))
    q, k, v = _projected(x, w.W_q, w.b_q), _projected(y, w.W_k, w.b_k), _projected(y, w.W_v, w.b_v)
    if run.rotary is not None:
        q, k = _rotated(q, run.rotary), _rotated(k, run.rotary)
    z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0 / run.divisor, enable_gqa=True)
    W_o = torch.from_numpy(np.array(w.W_o)).flatten(0, 1).T
    output = F.linear(z.transpose(0, 1).flatten(1), W_o, None if w.b_o is None else torch.tensor(w.b_o))
    rows = run.allowed.any(axis=1)
    difference = _largest(output.numpy()[rows] - run.output[rows])
    return Parity("torch.nn.functional.scaled_dot_product_attention", difference, None, int(rows.sum()))


def _projected(x: Tensor, W: Array, b: Array | None) -> Tensor:
    """torch's linear layer, then (head, n, width)."""
    wide = F.linear(x, torch.from_numpy(_wide(W, 1)).T, None if b is None else torch.tensor(b.reshape(-1)))
    return wide.view(len(x), len(W), -1).transpose(0, 1)


def _rotated(x: Tensor, rotary: Rotary) -> Tensor:
    """The pairs as complex numbers times torch's own polar ones."""
    half = x.shape[-1] // 2
    speeds = torch.tensor([rotary.frequency(pair) for pair in range(half)])
    angles = torch.outer(torch.arange(x.shape[-2], dtype=torch.float32), speeds)
    pairs = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)
