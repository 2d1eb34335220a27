"""ELECTRA: BERT's layers on embeddings of a width of their own, which a linear layer makes as wide as the layers.

Its generator predicts [MASK]; the discriminator, which tells replaced words from others, predicts none.
Source: Clark et al. 2020.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from mha_core.errors import SizeError
from mha_core.families import bert
from mha_core.families.family import Family
from mha_core.settings import whole
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


class GeneratorHead(bert.MaskedHead):
    """The generator's head for [MASK]: BERT's, as wide as the embeddings, and always with the exact GELU."""

    def __init__(self, config: ElectraConfig) -> None:
        super().__init__(config, config.d_embedding)
        self.activation = "gelu"


def read_config(raw: Mapping[str, Any], name: str) -> ElectraConfig:
    """ELECTRA's config.json as ours."""
    return ElectraConfig(**bert.sizes(raw, name, "an ELECTRA"), d_embedding=whole(raw, "embedding_size", 128))


ELECTRA = Family(
    "electra",
    read_config,
    NAMES,
    HEAD_NAMES,
    NOT_NEEDED,
    Electra,
    partial(bert.masked_head, make=GeneratorHead),
    bert.tokenizer,
    predicts="mask",
    prefix="electra.",
)
