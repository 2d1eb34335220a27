"""Grouped-query attention in plain PyTorch, to run and to change."""

import math

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """n_kv_heads key heads for n_heads (Ainslie et al. 2023)."""

    def __init__(self, d_model, n_heads, n_kv_heads, dropout=0.0):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError("these numbers do not divide evenly")
        self.d_k, self.shared = d_model // n_heads, n_heads // n_kv_heads
        self.W_q = nn.Linear(d_model, d_model)
        # Narrower: what they make is what the cache keeps.
        self.W_k = nn.Linear(d_model, n_kv_heads * self.d_k)
        self.W_v = nn.Linear(d_model, n_kv_heads * self.d_k)
        self.W_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):  # (batch, n, width) -> (batch, heads, n, d_k)
        return x.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

    def forward(self, x, source=None, mask=None):
        """As in multi-head attention; a key and a value head serve a group."""
        source = x if source is None else source
        q = self.split(self.W_q(x))
        k = self.split(self.W_k(source)).repeat_interleave(self.shared, dim=1)
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
    # Prints (2, 100, 512) (2, 8, 100, 100): output, and weights of all heads.
    print(tuple(output.shape), tuple(weights.shape))
