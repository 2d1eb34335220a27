"""BERT: an encoder that sees both sides, with learned positions, segments, and norms after each part (post-LN).

Source: Devlin et al. 2019; the layer as in Vaswani et al. 2017.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mha_core.families.family import Family, Tensors, refuse_unless
from mha_core.layouts import times
from mha_core.multihead import MultiHeadAttention
from mha_core.settings import real, whole, word
from mha_core.stack import ACTIVATIONS, Block, Stack, StackConfig, table
from mha_core.straight import Around, Layer, activated, attention, matrix, norm
from mha_core.tokenizer_files import wordpiece_of
from mha_core.tokens import Specials, Tokenizer

SPECIALS = Specials("[CLS]", "[SEP]", padding="[PAD]", unknown="[UNK]", mask="[MASK]")
NAMES = (
    (r"embeddings\.word_embeddings\.", "embeddings.word."),
    (r"embeddings\.position_embeddings\.", "embeddings.position."),
    (r"embeddings\.token_type_embeddings\.", "embeddings.segment."),
    (r"embeddings\.LayerNorm\.", "embeddings.norm."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.query\.", r"layers.\1.attention.W_q."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.key\.", r"layers.\1.attention.W_k."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.value\.", r"layers.\1.attention.W_v."),
    (r"encoder\.layer\.(\d+)\.attention\.output\.dense\.", r"layers.\1.attention.W_o."),
    (r"encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\.", r"layers.\1.attention_norm."),
    (r"encoder\.layer\.(\d+)\.intermediate\.dense\.", r"layers.\1.up."),
    (r"encoder\.layer\.(\d+)\.output\.dense\.", r"layers.\1.down."),
    (r"encoder\.layer\.(\d+)\.output\.LayerNorm\.", r"layers.\1.output_norm."),
)
HEAD_NAMES = (
    (r"cls\.predictions\.transform\.dense\.", "transform."),
    (r"cls\.predictions\.transform\.LayerNorm\.", "norm."),
    (r"cls\.predictions\.decoder\.", "decoder."),
    (r"cls\.predictions\.bias$", "decoder.bias"),
)
# Parts of BERT's other heads; no attention depends on them.
NOT_NEEDED = re.compile(r"(pooler\.|cls\.seq_relationship\.|classifier\.|qa_outputs\.|.*position_ids$)")


@dataclass(frozen=True)
class EncoderConfig(StackConfig):
    """The sizes of a BERT encoder. Raises SizeError if they cannot be."""

    model_type = "bert"
    n_segments: int = 2


class Embeddings(nn.Module):
    """Word, position and segment embeddings, summed and normalised: (batch, n) to (batch, n, d_model)."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.word = table(config.vocab_size, config.d_model)
        self.position = table(config.max_positions, config.d_model)
        self.segment = table(config.n_segments, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)

    def forward(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor:
        positions = self.position.weight[first : first + ids.shape[1]]
        normed: Tensor = self.norm(self.word(ids) + self.segment(segments) + positions)
        return normed


class EncoderLayer(Block):
    """Attention and a feed-forward net, each added to its input and normalised after (post-LN)."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.attention_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.up = nn.Linear(config.d_model, config.d_ff)
        self.down = nn.Linear(config.d_ff, config.d_model)
        self.output_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.activation = config.activation

    def residual(self, x: Tensor, attended: Tensor) -> Tensor:
        """LayerNorm(x + attended)."""
        normed: Tensor = self.attention_norm(x + attended)
        return normed

    def feed_forward(self, x: Tensor, attended: Tensor) -> Tensor:
        """The rest of the layer, from its input and the output of its attention."""
        x = self.residual(x, attended)
        result: Tensor = self.output_norm(x + self.down(ACTIVATIONS[self.activation](self.up, x)))
        return result

    def straight(self, is_causal: bool) -> Layer:
        """The whole layer as one function."""
        attend, down = attention(self.attention, is_causal), matrix(self.down)
        after_attention, after_all = norm(self.attention_norm), norm(self.output_norm)
        up = activated(self.up, self.activation)

        def layer(x: Tensor, weights: Tensor, around: Around) -> Tensor:
            x = after_attention(attend(x, weights, around).add_(x))
            return after_all(times(up(x), *down).add_(x))

        return layer


class Encoder(Stack):
    """The whole stack of a BERT."""

    def __init__(self, config: EncoderConfig) -> None:
        layers = [EncoderLayer(config) for _ in range(config.n_layers)]
        super().__init__(config, Embeddings(config), layers)


class MaskedHead(nn.Module):
    """BERT's masked-language-model head: hidden states (..., d_model) to a score for every word piece.

    `width`: of the embeddings, where they are not as wide as the layers.
    """

    def __init__(self, config: StackConfig, width: int | None = None) -> None:
        super().__init__()
        width = config.d_model if width is None else width
        self.transform = nn.Linear(config.d_model, width)
        self.norm = nn.LayerNorm(width, eps=config.norm_eps)
        self.decoder = nn.Linear(width, config.vocab_size)
        self.activation = config.activation

    def forward(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.decoder(self.norm(ACTIVATIONS[self.activation](self.transform, hidden)))
        return scores


def read_config(raw: Mapping[str, Any], name: str) -> EncoderConfig:
    """BERT's config.json as ours."""
    return EncoderConfig(**sizes(raw, name, "a BERT"))


def sizes(raw: Mapping[str, Any], name: str, kind: str) -> dict[str, Any]:
    """What BERT and its kin call alike in config.json; `kind`: "a BERT". Refuses decoders and other positions."""
    positions = raw.get("position_embedding_type", "absolute")
    refuse_unless(positions == "absolute", name, f"has {positions} positions", "absolute ones")
    decoder = raw.get("is_decoder") or raw.get("add_cross_attention")
    refuse_unless(not decoder, name, f"is {kind} decoder", f"{kind.split()[1]} encoders")
    return {
        "vocab_size": whole(raw, "vocab_size"),
        "d_model": whole(raw, "hidden_size"),
        "n_layers": whole(raw, "num_hidden_layers"),
        "n_heads": whole(raw, "num_attention_heads"),
        "d_ff": whole(raw, "intermediate_size"),
        "max_positions": whole(raw, "max_position_embeddings", 512),
        "n_segments": whole(raw, "type_vocab_size", 2),
        "norm_eps": real(raw, "layer_norm_eps", 1e-12),
        "activation": word(raw, "hidden_act", "gelu"),
    }


def masked_head(
    stack: Stack, tensors: Tensors, make: Callable[[Any], nn.Module] = MaskedHead
) -> nn.Module | None:
    """The head for [MASK] where the checkpoint has one; its last matrix is that of the embeddings if it has none."""
    if "transform.weight" not in tensors:
        return None
    tensors.setdefault("decoder.weight", stack.get_submodule("embeddings.word").weight.detach())  # type: ignore[operator]
    with torch.device("meta"):
        return make(stack.config)


def tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """WordPiece with BERT's special tokens."""
    return wordpiece_of(folder, max_tokens, SPECIALS)


BERT = Family(
    "bert",
    read_config,
    NAMES,
    HEAD_NAMES,
    NOT_NEEDED,
    Encoder,
    masked_head,
    tokenizer,
    predicts="mask",
    prefix="bert.",
)
