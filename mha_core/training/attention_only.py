"""The smallest model that can learn the tasks: a causal stack of embeddings, attention layers and a read-out.

In: token ids (batch, n). Out: logits of the next token (batch, n, vocab_size), and all weights (n_layers, batch,
n_heads, n, n). Each pre-LN layer adds its attention to its input and has no feed-forward net: what the model can do,
its heads do (Elhage et al. 2021, "attention-only" transformers).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mha_core.display_names import Head, count_noun
from mha_core.engine.multihead import MultiHeadAttention
from mha_core.engine.rotary import Rotary
from mha_core.engine.stack import PreNormBlock, Stack, StackConfig
from mha_core.errors import InputError

HEADS = (1, 2, 4, 8, 16)
MAX_LAYERS = 4
FIRST_STD = 0.5  # of embeddings and learned positions


@dataclass(frozen=True)
class AttentionOnlyConfig(StackConfig):
    """The sizes of an attention-only model. `theta`: base of rotary positions; None: positions are learned.

    The number of heads changes no matrix: n_heads heads of width d_model / n_heads. Raises InputError.
    """

    model_type = "attention-only"
    is_causal = True
    d_ff: int = 1  # no layer has a feed-forward net
    norm_eps: float = 1e-5
    theta: float | None = None

    def __post_init__(self) -> None:
        if self.n_heads not in HEADS:
            raise InputError(f"heads must be one of {', '.join(map(str, HEADS))}, not {self.n_heads}.")
        if not 1 <= self.n_layers <= MAX_LAYERS:
            raise InputError(f"layers must be from 1 to {MAX_LAYERS}, not {self.n_layers}.")
        super().__post_init__()


class TokenEmbeddings(nn.Module):
    """Token embeddings (batch, n, d_model), plus learned positions where the model does not rotate."""

    def __init__(self, config: AttentionOnlyConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.word.weight, std=FIRST_STD)
        shape = config.max_positions, config.d_model
        self.positions = nn.Parameter(FIRST_STD * torch.randn(shape)) if config.theta is None else None

    def forward(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor:
        """Embed token ids (batch, n), the first one at position `first`."""
        x: Tensor = self.word(ids)
        return x if self.positions is None else x + self.positions[first : first + ids.shape[1]]


class AttentionOnlyBlock(PreNormBlock):
    """A pre-LN layer whose feed-forward net is absent: it writes zeros."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.attention = MultiHeadAttention(config.d_model, config.n_heads)

    def mlp(self, residual: Tensor) -> Tensor:
        """Return zeros (batch, n, d_model)."""
        return torch.zeros_like(residual)


class AttentionOnlyModel(Stack):
    """The stack with its read-out."""

    def __init__(self, config: AttentionOnlyConfig) -> None:
        embeddings = TokenEmbeddings(config)
        layers = [AttentionOnlyBlock(config) for _ in range(config.n_layers)]
        super().__init__(config, embeddings, layers, nn.LayerNorm(config.d_model, eps=config.norm_eps))
        self.read_out = nn.Linear(config.d_model, config.vocab_size)
        self.rotary = None if config.theta is None else Rotary(config.d_k, config.theta)

    def logits(self, ids: Tensor, gates: Tensor | None = None) -> Tensor:
        """Return the logits of the next token, (batch, n, vocab_size). `gates` (n_layers, n_heads): 0 ablates a head.

        Raises SizeError for more tokens than `max_positions`.
        """
        logits: Tensor = self.read_out(self(ids, gates=gates, need_weights=False).hidden)
        return logits


def gates_without(config: StackConfig, heads: Sequence[Head]) -> Tensor:
    """Return gates (n_layers, n_heads): 0 for these heads, (layer, head) from 0, and 1 for all others.

    Raises InputError for a head that the model does not have.
    """
    gates = torch.ones(config.n_layers, config.n_heads)
    for layer, head in heads:
        if not (0 <= layer < config.n_layers and 0 <= head < config.n_heads):
            raise InputError(
                f"There is no head {layer + 1}-{head + 1} in a model of {count_noun(config.n_layers, 'layer')} "
                f"with {count_noun(config.n_heads, 'head')}."
            )
        gates[layer, head] = 0
    return gates
