"""Llama: a decoder with rotary positions, grouped queries, RMS norms before each part, and a gated feed-forward net.

Llama 2 and 3, TinyLlama and SmolLM2 are of this kind. Source: Touvron et al. 2023; Shazeer 2020 for SwiGLU.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from mha_core.engine.multihead import MultiHeadAttention
from mha_core.engine.rotary import Rotary, Stretch
from mha_core.engine.stack import ACTIVATIONS, PreNormBlock, Stack, StackConfig
from mha_core.errors import SizeError
from mha_core.models.families.family import Family, leave_unless, output_head
from mha_core.models.families.parts import WordEmbeddings
from mha_core.models.tokenizer_files import tokenizer_of
from mha_core.settings import flag, real, whole, word

NAMES = (
    (r"embed_tokens\.", "embeddings.word."),
    (r"layers\.(\d+)\.self_attn\.([qkvo])_proj\.", r"layers.\1.attention.W_\2."),
    (r"layers\.(\d+)\.input_layernorm\.", r"layers.\1.attention_norm."),
    (r"layers\.(\d+)\.post_attention_layernorm\.", r"layers.\1.output_norm."),
    (r"layers\.(\d+)\.mlp\.(gate|up|down)_proj\.", r"layers.\1.\2."),
    (r"norm\.", "norm."),
)
HEAD_NAMES = ((r"lm_head\.", ""),)
NOT_NEEDED = re.compile(r"(.*rotary_emb\.inv_freq$|score\.)")


@dataclass(frozen=True)
class LlamaConfig(StackConfig):
    """The sizes of a Llama, and how its positions turn. Raises SizeError if they cannot be."""

    model_type = "llama"
    is_causal = True
    activation: str = "silu"
    theta: float = 10_000.0
    stretch: Stretch | None = None
    attention_bias: bool = False
    mlp_bias: bool = False
    tied: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_k % 2:
            raise SizeError(f"Heads of width {self.d_k} cannot be rotated: positions turn pairs of numbers.")


class LlamaBlock(PreNormBlock):
    """Attention and a gated feed-forward net, each on its normalised input and added to it (pre-LN)."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.d_model, eps=config.norm_eps)
        self.attention = MultiHeadAttention(
            config.d_model,
            config.n_heads,
            config.n_kv_heads,
            config.d_k,
            config.d_k,
            bias=config.attention_bias,
        )
        self.output_norm = nn.RMSNorm(config.d_model, eps=config.norm_eps)
        self.gate = nn.Linear(config.d_model, config.d_ff, bias=config.mlp_bias)
        self.up = nn.Linear(config.d_model, config.d_ff, bias=config.mlp_bias)
        self.down = nn.Linear(config.d_ff, config.d_model, bias=config.mlp_bias)
        self.activation = ACTIVATIONS[config.activation]

    def mlp(self, residual: Tensor) -> Tensor:
        """Return the feed-forward net's output."""
        normed = self.output_norm(residual)
        written: Tensor = self.down(self.activation(self.gate(normed)) * self.up(normed))
        return written


class Llama(Stack):
    """The whole stack of a Llama."""

    def __init__(self, config: LlamaConfig) -> None:
        layers = [LlamaBlock(config) for _ in range(config.n_layers)]
        super().__init__(
            config, WordEmbeddings(config), layers, nn.RMSNorm(config.d_model, eps=config.norm_eps)
        )
        self.rotary = Rotary(config.d_k, config.theta, config.stretch)


def read_config(raw: Mapping[str, Any], name: str) -> LlamaConfig:
    """Read Llama's config.json."""
    theta, stretch = _turns(raw, name)
    n_heads = whole(raw, "num_attention_heads")
    return LlamaConfig(
        vocab_size=whole(raw, "vocab_size"),
        d_model=whole(raw, "hidden_size"),
        n_layers=whole(raw, "num_hidden_layers"),
        n_heads=n_heads,
        d_ff=whole(raw, "intermediate_size"),
        max_positions=whole(raw, "max_position_embeddings", 2048),
        norm_eps=real(raw, "rms_norm_eps", 1e-6),
        activation=word(raw, "hidden_act", "silu"),
        n_kv_heads=whole(raw, "num_key_value_heads", n_heads),
        d_k=whole(raw, "head_dim", 0),
        theta=theta,
        stretch=stretch,
        attention_bias=flag(raw, "attention_bias", False),
        mlp_bias=flag(raw, "mlp_bias", False),
        tied=flag(raw, "tie_word_embeddings", False),
    )


def _turns(raw: Mapping[str, Any], name: str) -> tuple[float, Stretch | None]:
    """Return the base of the angles, and their stretching if there is one."""
    rope = dict(raw.get("rope_scaling") or raw.get("rope_parameters") or {})  # as transformers reads both
    theta = real(rope, "rope_theta", real(raw, "rope_theta", 10_000.0))
    kind = rope.get("rope_type") or rope.get("type") or "default"
    variant = f"stretches its rotary positions by '{kind}'"
    leave_unless(kind in ("default", "llama3"), name, variant, "plain ones and Llama 3's")
    if kind == "default":
        return theta, None
    return theta, Stretch(
        real(rope, "factor"),
        real(rope, "low_freq_factor"),
        real(rope, "high_freq_factor"),
        whole(rope, "original_max_position_embeddings"),
    )


LLAMA = Family(
    "llama",
    read_config,
    NAMES,
    HEAD_NAMES,
    NOT_NEEDED,
    Llama,
    output_head,
    tokenizer_of,  # BPE over bytes (Llama 3, SmolLM2) or made by SentencePiece (Llama 2, TinyLlama)
    predicts="next",
    prefix="model.",
)
