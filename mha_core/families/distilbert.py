"""DistilBERT: BERT's layers without segments; its tensors have names of their own.

Source: Sanh et al. 2019.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from mha_core.families.bert import EncoderLayer, masked_head, tokenizer
from mha_core.families.family import Family
from mha_core.settings import whole, word
from mha_core.stack import Stack, StackConfig, table

NAMES = (
    (r"embeddings\.word_embeddings\.", "embeddings.word."),
    (r"embeddings\.position_embeddings\.", "embeddings.position."),
    (r"embeddings\.LayerNorm\.", "embeddings.norm."),
    (r"transformer\.layer\.(\d+)\.attention\.([qkv])_lin\.", r"layers.\1.attention.W_\2."),
    (r"transformer\.layer\.(\d+)\.attention\.out_lin\.", r"layers.\1.attention.W_o."),
    (r"transformer\.layer\.(\d+)\.sa_layer_norm\.", r"layers.\1.attention_norm."),
    (r"transformer\.layer\.(\d+)\.ffn\.lin1\.", r"layers.\1.up."),
    (r"transformer\.layer\.(\d+)\.ffn\.lin2\.", r"layers.\1.down."),
    (r"transformer\.layer\.(\d+)\.output_layer_norm\.", r"layers.\1.output_norm."),
)
HEAD_NAMES = (
    (r"vocab_transform\.", "transform."),
    (r"vocab_layer_norm\.", "norm."),
    (r"vocab_projector\.", "decoder."),
)
NOT_NEEDED = re.compile(r"(pre_classifier\.|classifier\.|qa_outputs\.|.*position_ids$)")


@dataclass(frozen=True)
class DistilBertConfig(StackConfig):
    """The sizes of a DistilBERT. Raises SizeError if they cannot be."""

    model_type = "distilbert"
    reads_segments = False


class Embeddings(nn.Module):
    """Word and position embeddings, summed and normalised: (batch, n) to (batch, n, d_model)."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.word = table(config.vocab_size, config.d_model)
        self.position = table(config.max_positions, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)

    def forward(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor:
        normed: Tensor = self.norm(self.word(ids) + self.position.weight[first : first + ids.shape[1]])
        return normed


class DistilBert(Stack):
    """The whole stack of a DistilBERT."""

    def __init__(self, config: DistilBertConfig) -> None:
        layers = [EncoderLayer(config) for _ in range(config.n_layers)]
        super().__init__(config, Embeddings(config), layers)


def read_config(raw: Mapping[str, Any], name: str) -> DistilBertConfig:
    """DistilBERT's config.json as ours."""
    return DistilBertConfig(
        vocab_size=whole(raw, "vocab_size"),
        d_model=whole(raw, "dim"),
        n_layers=whole(raw, "n_layers"),
        n_heads=whole(raw, "n_heads"),
        d_ff=whole(raw, "hidden_dim", 3072),
        max_positions=whole(raw, "max_position_embeddings", 512),
        activation=word(raw, "activation", "gelu"),
    )


DISTILBERT = Family(
    "distilbert",
    read_config,
    NAMES,
    HEAD_NAMES,
    NOT_NEEDED,
    DistilBert,
    masked_head,
    tokenizer,
    predicts="mask",
    prefix="distilbert.",
)
