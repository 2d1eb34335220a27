"""ELECTRA: BERT's layers on embeddings of a width of their own, which a linear layer makes as wide as the layers.

Its generator predicts [MASK]; the discriminator, which tells replaced words from others, predicts none.
Source: Clark et al. 2020.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_core.errors import SizeError
from mha_core.families import bert
from mha_core.families.family import Family, Tensors, refuse_unless
from mha_core.settings import real, whole, word
from mha_core.stack import SIZES, Stack, StackConfig, table

NAMES = (*bert.NAMES, (r"embeddings_project\.", "embeddings.project."))
HEAD_NAMES = (
    (r"generator_predictions\.dense\.", "transform."),
    (r"generator_predictions\.LayerNorm\.", "norm."),
    (r"generator_lm_head\.", "decoder."),
)
NOT_NEEDED = re.compile(r"(discriminator_predictions\.|classifier\.|qa_outputs\.|.*position_ids$)")


@dataclass(frozen=True)
class ElectraConfig(StackConfig):
    """The sizes of an ELECTRA; `d_embedding` is the width of its embeddings. Raises SizeError if they cannot be."""

    model_type = "electra"
    n_segments: int = 2
    d_embedding: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.d_embedding <= SIZES["d_model"]:
            raise SizeError(f"d_embedding is {self.d_embedding}; it must be from 1 to {SIZES['d_model']:,}.")


class Embeddings(nn.Module):
    """Word, position and segment embeddings, summed, normalised and projected: (batch, n) to (batch, n, d_model)."""

    def __init__(self, config: ElectraConfig) -> None:
        super().__init__()
        width = config.d_embedding
        self.word = table(config.vocab_size, width)
        self.position = table(config.max_positions, width)
        self.segment = table(config.n_segments, width)
        self.norm = nn.LayerNorm(width, eps=config.norm_eps)
        self.project = nn.Identity() if width == config.d_model else nn.Linear(width, config.d_model)

    def forward(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor:
        positions = self.position.weight[first : first + ids.shape[1]]
        projected: Tensor = self.project(self.norm(self.word(ids) + self.segment(segments) + positions))
        return projected


class Electra(Stack):
    """The whole stack of an ELECTRA."""

    def __init__(self, config: ElectraConfig) -> None:
        layers = [bert.EncoderLayer(config) for _ in range(config.n_layers)]
        super().__init__(config, Embeddings(config), layers)


class GeneratorHead(nn.Module):
    """The generator's head: hidden states (..., d_model) to a score for every word piece."""

    def __init__(self, config: ElectraConfig) -> None:
        super().__init__()
        self.transform = nn.Linear(config.d_model, config.d_embedding)
        self.norm = nn.LayerNorm(config.d_embedding, eps=config.norm_eps)
        self.decoder = nn.Linear(config.d_embedding, config.vocab_size)

    def forward(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.decoder(self.norm(F.gelu(self.transform(hidden))))
        return scores


def read_config(raw: Mapping[str, Any], name: str) -> ElectraConfig:
    """ELECTRA's config.json as ours."""
    positions = raw.get("position_embedding_type", "absolute")
    refuse_unless(positions == "absolute", name, f"has {positions} positions", "absolute ones")
    decoder = raw.get("is_decoder") or raw.get("add_cross_attention")
    refuse_unless(not decoder, name, "is an ELECTRA decoder", "ELECTRA encoders")
    return ElectraConfig(
        vocab_size=whole(raw, "vocab_size"),
        d_model=whole(raw, "hidden_size"),
        n_layers=whole(raw, "num_hidden_layers"),
        n_heads=whole(raw, "num_attention_heads"),
        d_ff=whole(raw, "intermediate_size"),
        max_positions=whole(raw, "max_position_embeddings", 512),
        n_segments=whole(raw, "type_vocab_size", 2),
        norm_eps=real(raw, "layer_norm_eps", 1e-12),
        activation=word(raw, "hidden_act", "gelu"),
        d_embedding=whole(raw, "embedding_size", 128),
    )


def generator_head(stack: Stack, tensors: Tensors) -> nn.Module | None:
    """The head for [MASK] where the checkpoint has one; its last matrix is that of the embeddings if it has none."""
    if "transform.weight" not in tensors or not isinstance(stack.config, ElectraConfig):
        return None
    tensors.setdefault("decoder.weight", stack.get_submodule("embeddings.word").weight.detach())  # type: ignore[operator]
    with torch.device("meta"):
        return GeneratorHead(stack.config)


ELECTRA = Family(
    "electra",
    read_config,
    NAMES,
    HEAD_NAMES,
    NOT_NEEDED,
    Electra,
    generator_head,
    bert.tokenizer,
    predicts="mask",
    prefix="electra.",
)
