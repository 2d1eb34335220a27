"""A layer computed by torch, and its largest differences from ours on the same numbers."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mha_core.arrays import Array
from mha_core.engine.layer_activations import LayerActivations, Projections
from mha_core.engine.rotary import Rotary
from mha_core.layer.one_or_many import merge_heads


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
    """Return torch's own layer with these numbers in it; shared key heads are repeated for it."""
    layer = nn.MultiheadAttention(weights.d_model, weights.n_heads, batch_first=True, bias=weights.has_bias)
    wide = merge_heads(weights)
    with torch.no_grad():
        in_projection = np.concatenate([wide.W_q[0], wide.W_k[0], wide.W_v[0]], axis=1)
        layer.in_proj_weight.copy_(torch.from_numpy(in_projection.T.copy()))
        layer.out_proj.weight.copy_(torch.from_numpy(wide.W_o[0].T.copy()))
        if weights.has_bias:  # torch has all biases or none
            zeros = np.zeros(weights.d_model, np.float32)
            *biases, b_o = (
                zeros if b is None else b.reshape(-1) for b in (wide.b_q, wide.b_k, wide.b_v, wide.b_o)
            )
            layer.in_proj_bias.copy_(torch.from_numpy(np.concatenate(biases)))
            layer.out_proj.bias.copy_(torch.from_numpy(b_o.copy()))
    return layer.eval()


@torch.no_grad()
def equal_to_torch(run: LayerActivations) -> Parity:
    """Run torch on the same x, weights, positions and mask, and return the largest differences."""
    w = run.projections
    own_layer = (
        run.rotary is None and w.d_k == w.d_v and w.n_heads * w.d_k == w.d_model and run.n_keys == run.n
    )
    mask = torch.from_numpy(_added(run))
    output, weights = _multihead(run, mask) if own_layer else (_sdpa(run, mask), None)
    rows = run.allowed.any(axis=1)  # a row without a key is NaN in torch, and zero in ours
    return Parity(
        "torch.nn.MultiheadAttention" if own_layer else "torch.nn.functional.scaled_dot_product_attention",
        _largest(output.numpy()[rows] - run.output[rows]),
        None if weights is None else _largest(weights.numpy()[:, rows] - run.weights[:, rows]),
        int(rows.sum()),
    )


def _largest(difference: Array) -> float:
    return float(np.abs(difference).max()) if difference.size else 0.0


def _added(run: LayerActivations) -> Array:
    """Return the mask and the user's scores as what torch adds to the scores, (1 or head, query, key)."""
    added = np.where(run.allowed, np.float32(0), np.float32(-np.inf))[None]
    if run.edits.scores:
        added = np.repeat(added, run.projections.n_heads, axis=0)
    for edit in run.edits.scores:
        plain = run.raw(edit.head)[edit.query, edit.key] / run.divisor
        added[edit.head, edit.query, edit.key] += np.float32(edit.value - plain)
    return added


def _multihead(run: LayerActivations, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return output and weights of torch's own layer.

    It always divides by sqrt(d_k): another divisor goes into its W_q instead.
    """
    w = run.projections
    factor = np.float32(np.sqrt(w.d_k) / run.divisor)
    layer = torch_layer(replace(w, W_q=w.W_q * factor, b_q=None if w.b_q is None else w.b_q * factor))
    x, y = (torch.from_numpy(np.array(rows))[None] for rows in (run.x, run.keys_from))
    mask = mask.expand(w.n_heads, run.n, run.n_keys)
    output, weights = layer(x, y, y, attn_mask=mask, average_attn_weights=False)
    return output[0], weights[0]


def _sdpa(run: LayerActivations, mask: Tensor) -> Tensor:
    """Return the output of torch's projections and attention function, one after the other."""
    w = run.projections
    x, y = (torch.from_numpy(np.array(rows)) for rows in (run.x, run.keys_from))
    q, k, v = _projected(x, w.W_q, w.b_q), _projected(y, w.W_k, w.b_k), _projected(y, w.W_v, w.b_v)
    if run.rotary is not None:
        q, k = _rotated(q, run.rotary), _rotated(k, run.rotary)
    z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0 / run.divisor, enable_gqa=True)
    W_o = torch.from_numpy(np.array(w.W_o)).flatten(0, 1).T
    return F.linear(z.transpose(0, 1).flatten(1), W_o, None if w.b_o is None else torch.tensor(w.b_o))


def _projected(x: Tensor, W: Array, b: Array | None) -> Tensor:
    """Apply torch's linear layer, split into (head, n, width)."""
    weight = torch.from_numpy(np.array(W)).transpose(1, 2).flatten(0, 1)
    wide = F.linear(x, weight, None if b is None else torch.tensor(b.reshape(-1)))
    return wide.view(len(x), len(W), -1).transpose(0, 1)


def _rotated(x: Tensor, rotary: Rotary) -> Tensor:
    """Rotate the pairs as complex numbers times torch's own polar ones."""
    half = x.shape[-1] // 2
    speeds = torch.tensor([rotary.frequency(pair) for pair in range(half)])
    angles = torch.outer(torch.arange(x.shape[-2], dtype=torch.float32), speeds)
    pairs = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)
