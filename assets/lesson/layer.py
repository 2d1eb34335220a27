"""Multi-head attention in plain PyTorch, to run and to change."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """h heads of d_model / h numbers (Vaswani et al. 2017)."""

    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model / n_heads must be whole")
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):  # (batch, n, d_model) -> (batch, heads, n, d_k)
        return x.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

    def forward(self, x, source=None, mask=None):
        """x (batch, n, d_model); source (batch, m, d_model): cross-attention;
        mask (n, m) or (batch, 1, n, m): True where a token may look."""
        source = x if source is None else source
        q = self.split(self.W_q(x))
        k = self.split(self.W_k(source))
        v = self.split(self.W_v(source))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)  # (..., n, m)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(dim=-1)  # every row adds up to 1
        z = self.dropout(weights) @ v  # (batch, heads, n, d_k)
        side_by_side = z.transpose(1, 2).flatten(-2)  # (batch, n, d_model)
        return self.W_o(side_by_side), weights


if __name__ == "__main__":
    layer = MultiHeadAttention(d_model=512, n_heads=8).eval()
    x = torch.randn(2, 100, 512)
    output, weights = layer(x)
    # Prints (2, 100, 512) (2, 8, 100, 100): output, and weights of all heads.
    print(tuple(output.shape), tuple(weights.shape))
