"""The smallest model that can learn these tasks: embeddings, layers of nothing but attention, a read-out.

In: token ids (batch, n). Out: scores of the next token (batch, n, vocab_size), and the weights of every layer
(batch, n_heads, n, n). Each layer is pre-LN attention added to its input, without a feed-forward net: what the model
can do, its heads do (Elhage et al. 2021, "attention-only" transformers).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mha_core.errors import InputError, SizeError
from mha_core.multihead import MultiHeadAttention
from mha_core.rotary import rotation
from mha_core.wording import counted

HEADS = (1, 2, 4, 8, 16)
LAYERS_AT_MOST = 4


@dataclass(frozen=True)
class Shape:
    """The sizes of a small model. `theta`: the base of rotary positions; without it positions are learnt.

    The number of heads changes no matrix: n_heads heads of width d_model / n_heads. Raises InputError.
    """

    vocab_size: int
    n_tokens: int
    n_layers: int
    n_heads: int
    d_model: int = 64
    theta: float | None = None

    def __post_init__(self) -> None:
        if self.n_heads not in HEADS:
            known = ", ".join(map(str, HEADS))
            raise InputError(f"heads must be one of {known}, not {self.n_heads}.")
        if not 1 <= self.n_layers <= LAYERS_AT_MOST:
            raise InputError(f"layers must be from 1 to {LAYERS_AT_MOST}, not {self.n_layers}.")


class SmallModel(nn.Module):
    """A causal model of that shape; embeddings and learnt positions begin with a standard deviation of 0.5."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        d = shape.d_model
        self.embedding = nn.Embedding(shape.vocab_size, d)
        nn.init.normal_(self.embedding.weight, std=0.5)
        if shape.theta is None:
            self.positions = nn.Parameter(0.5 * torch.randn(shape.n_tokens, d))
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(shape.n_layers))
        self.layers = nn.ModuleList(MultiHeadAttention(d, shape.n_heads) for _ in range(shape.n_layers))
        self.last_norm = nn.LayerNorm(d)
        self.read_out = nn.Linear(d, shape.vocab_size)

    def forward(
        self, ids: Tensor, gates: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """Scores and, if needed, the weights of every layer. `gates` (n_layers, n_heads): 0 takes a head away."""
        n = ids.shape[-1]
        if n > self.shape.n_tokens:
            raise SizeError(f"The text has {n} tokens; this model takes {self.shape.n_tokens} at most.")
        x: Tensor = self.embedding(ids)
        turns = None
        if self.shape.theta is None:
            x = x + self.positions[:n]
        else:
            turns = rotation(0, n, self.shape.d_model // self.shape.n_heads, self.shape.theta, None, x)
        every: list[Tensor] = []
        for i, (norm, layer) in enumerate(zip(self.norms, self.layers, strict=True)):
            gate = None if gates is None else gates[i]
            attended, weights = layer(
                norm(x), is_causal=True, need_weights=need_weights, gates=gate, rotation=turns
            )
            x = x + attended
            every += [weights] if need_weights else []
        return self.read_out(self.last_norm(x)), every


def gates_without(shape: Shape, heads: Sequence[tuple[int, int]]) -> Tensor:
    """Gates (n_layers, n_heads) that take those heads, (layer, head) from 0, away. Raises InputError."""
    gates = torch.ones(shape.n_layers, shape.n_heads)
    for layer, head in heads:
        if not (0 <= layer < shape.n_layers and 0 <= head < shape.n_heads):
            raise InputError(
                f"There is no head {layer + 1}-{head + 1} in a model of {counted(shape.n_layers, 'layer')} "
                f"with {counted(shape.n_heads, 'head')}."
            )
        gates[layer, head] = 0
    return gates
