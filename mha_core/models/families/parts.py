"""Parts of several families: embeddings of words alone, and a pre-LN block with a plain feed-forward net."""

from torch import Tensor, nn

from mha_core.engine.multihead import MultiHeadAttention
from mha_core.engine.stack import ACTIVATIONS, PreNormBlock, StackConfig, table


class WordEmbeddings(nn.Module):
    """Word embeddings alone, (batch, n) to (batch, n, d_model): positions enter by rotation in every layer."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.word = table(config.vocab_size, config.d_model)

    def forward(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor:
        embedded: Tensor = self.word(ids)
        return embedded


class PlainBlock(PreNormBlock):
    """Attention and a feed-forward net, each on its input normalised by LayerNorm and added to it (pre-LN)."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.output_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.up = nn.Linear(config.d_model, config.d_ff)
        self.down = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]

    def mlp(self, residual: Tensor) -> Tensor:
        """Return the feed-forward net's output."""
        written: Tensor = self.down(self.activation(self.up(self.output_norm(residual))))
        return written
