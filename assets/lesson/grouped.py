"""Grouped-query attention in plain PyTorch: fewer key and value heads than query heads."""

import math

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """n_kv_heads = n_heads is multi-head, 1 is multi-query attention (Ainslie et al. 2023)."""

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError(f"{n_heads} heads on {n_kv_heads} do not divide {d_model} numbers evenly")
        self.d_k, self.shared = d_model // n_heads, n_heads // n_kv_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, n_kv_heads * self.d_k)  # narrower: this is what the cache keeps
        self.W_v = nn.Linear(d_model, n_kv_heads * self.d_k)
        self.W_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):  # (batch, n, width) -> (batch, heads, n, d_k)
        return x.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

    def forward(self, x, source=None, mask=None):
        """x (batch, n, d_model); source (batch, m, d_model) or None; mask: True where a token may look."""
        source = x if source is None else source
        q = self.split(self.W_q(x))
        k = self.split(self.W_k(source)).repeat_interleave(self.shared, dim=1)  # a key head serves a group
        v = self.split(self.W_v(source)).repeat_interleave(self.shared, dim=1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(dim=-1)
        z = self.dropout(weights) @ v
        return self.W_o(z.transpose(1, 2).flatten(-2)), weights


if __name__ == "__main__":
    layer = GroupedQueryAttention(d_model=512, n_heads=8, n_kv_heads=2).eval()
    output, weights = layer(torch.randn(2, 100, 512))
    print(tuple(output.shape), tuple(weights.shape))  # (2, 100, 512) (2, 8, 100, 100)
