"""RoBERTa and XLM-R: BERT's layers, positions that are counted from behind the padding's number, and no segments.

Their tokenizers are byte-level BPE and SentencePiece; a pair has two separators between its texts.
Sources: Liu et al. 2019; Conneau et al. 2020.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from mha_core.families import bert
from mha_core.families.family import Family, refuse_unless
from mha_core.settings import whole
from mha_core.stack import Stack, StackConfig, table
from mha_core.tokenizer_files import tokenizer_of
from mha_core.tokens import Specials, Tokenizer

HEAD_NAMES = (
    (r"lm_head\.dense\.", "transform."),
    (r"lm_head\.layer_norm\.", "norm."),
    (r"lm_head\.decoder\.", "decoder."),
    (r"lm_head\.bias$", "decoder.bias"),
)
SPECIALS = Specials("<s>", "</s>", padding="<pad>", unknown="<unk>", mask="<mask>", between=2)
NOT_NEEDED = re.compile(r"(pooler\.|classifier\.|qa_outputs\.|.*position_ids$)")


@dataclass(frozen=True)
class RobertaConfig(StackConfig):
    """The sizes of a RoBERTa. `padding`: the number of its padding token, behind which positions begin; the positions
    up to it are not counted in `max_positions`. Raises SizeError if they cannot be."""

    model_type = "roberta"
    reads_segments = False
    padding: int = 1


@dataclass(frozen=True)
class XlmRobertaConfig(RobertaConfig):
    """The same of an XLM-R."""

    model_type = "xlm-roberta"


class Embeddings(nn.Module):
    """Word and position embeddings and the one segment's, summed and normalised: (batch, n) to (batch, n, d_model).

    The padding token stands on its own position, and none is counted for it.
    """

    def __init__(self, config: RobertaConfig) -> None:
        super().__init__()
        self.padding = config.padding
        self.word = table(config.vocab_size, config.d_model)
        self.position = table(config.max_positions + config.padding + 1, config.d_model)
        self.segment = table(config.n_segments, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)

    def forward(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor:
        counted = ids != self.padding
        positions = counted.cumsum(dim=1) * counted + self.padding
        normed: Tensor = self.norm(self.word(ids) + self.segment.weight[0] + self.position(positions))
        return normed


class Roberta(Stack):
    """The whole stack of a RoBERTa or XLM-R."""

    def __init__(self, config: RobertaConfig) -> None:
        layers = [bert.EncoderLayer(config) for _ in range(config.n_layers)]
        super().__init__(config, Embeddings(config), layers)


class LmHead(bert.MaskedHead):
    """RoBERTa's head for <mask>: BERT's, with the exact GELU whatever the layers have."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__(config)
        self.activation = "gelu"


def read_config(raw: Mapping[str, Any], name: str) -> RobertaConfig:
    """RoBERTa's config.json as ours."""
    return _sizes(RobertaConfig, raw, name)


def read_xlm_config(raw: Mapping[str, Any], name: str) -> RobertaConfig:
    """XLM-R's config.json as ours."""
    return _sizes(XlmRobertaConfig, raw, name)


def _sizes(kind: type[RobertaConfig], raw: Mapping[str, Any], name: str) -> RobertaConfig:
    sizes = bert.sizes(raw, name, "a RoBERTa")
    padding = whole(raw, "pad_token_id", 1)
    refuse_unless(padding >= 0, name, "has no padding token", "those with one")
    sizes["max_positions"] -= padding + 1
    return kind(**sizes, padding=padding)


def tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """By tokenizer.json, with <s> and </s>."""
    return tokenizer_of(folder, max_tokens, SPECIALS)


ROBERTA, XLM_ROBERTA = (
    Family(
        config.model_type,
        reader,
        bert.NAMES,
        HEAD_NAMES,
        NOT_NEEDED,
        Roberta,
        partial(bert.masked_head, make=LmHead),
        tokenizer,
        predicts="mask",
        prefix="roberta.",
    )
    for config, reader in ((RobertaConfig, read_config), (XlmRobertaConfig, read_xlm_config))
)
