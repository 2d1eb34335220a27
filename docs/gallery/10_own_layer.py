"""A layer of your own
Attention weights from anywhere become a record: here four causal heads with random weights, from scratch. What a
decoder's token cannot see is not drawn."""

import torch

from mha_core import MultiHeadAttention, record_of
from mha_core.figures import Design, figure

torch.manual_seed(0)
layer = MultiHeadAttention(d_model=64, n_heads=4)
words = ["To", "be", "or", "not", "to", "be"]
_, weights = layer(3 * torch.randn(1, len(words), 64), is_causal=True)
record = record_of(weights.detach()[None, 0], words, title="random weights")
heads = tuple((0, head) for head in range(4))
figures = [figure(record.grid(), Design("matrix", heads=heads, width=16, size=7))]
