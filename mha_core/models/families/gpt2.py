"""GPT-2: a decoder with learned positions and norms before each part (pre-LN); its output matrix is its input's.

Its checkpoints keep Q, K and V in one matrix, and every matrix transposed (Conv1D).
Source: Radford et al. 2019.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from mha_core.engine.stack import Stack, StackConfig, table
from mha_core.models.families.family import Family, Tensors, leave_unless, output_head
from mha_core.models.families.parts import PlainBlock
from mha_core.models.tokenizer_files import tokenizer_of
from mha_core.settings import flag, real, whole, word

NAMES = (
    (r"wte\.", "embeddings.word."),
    (r"wpe\.", "embeddings.position."),
    (r"h\.(\d+)\.ln_1\.", r"layers.\1.attention_norm."),
    (r"h\.(\d+)\.attn\.c_attn\.", r"layers.\1.attention.fused."),
    (r"h\.(\d+)\.attn\.c_proj\.", r"layers.\1.attention.W_o."),
    (r"h\.(\d+)\.ln_2\.", r"layers.\1.output_norm."),
    (r"h\.(\d+)\.mlp\.c_fc\.", r"layers.\1.up."),
    (r"h\.(\d+)\.mlp\.c_proj\.", r"layers.\1.down."),
    (r"ln_f\.", "norm."),
)
HEAD_NAMES = ((r"lm_head\.", ""),)
NOT_NEEDED = re.compile(r"(h\.\d+\.attn\.(masked_)?bias$|score\.|classifier\.)")
TRANSPOSED = re.compile(r"layers\.\d+\.(attention\.(fused|W_o)|up|down)\.weight$")


@dataclass(frozen=True)
class Gpt2Config(StackConfig):
    """The sizes of a GPT-2. Raises SizeError if they cannot be."""

    model_type = "gpt2"
    is_causal = True
    tied: bool = True


class Gpt2Embeddings(nn.Module):
    """Word and position embeddings, summed: (batch, n) to (batch, n, d_model)."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.word = table(config.vocab_size, config.d_model)
        self.position = table(config.max_positions, config.d_model)

    def forward(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor:
        summed: Tensor = self.word(ids) + self.position.weight[first : first + ids.shape[1]]
        return summed


class Gpt2(Stack):
    """The whole stack of a GPT-2."""

    def __init__(self, config: Gpt2Config) -> None:
        layers = [PlainBlock(config) for _ in range(config.n_layers)]
        super().__init__(
            config, Gpt2Embeddings(config), layers, nn.LayerNorm(config.d_model, eps=config.norm_eps)
        )


def read_config(raw: Mapping[str, Any], name: str) -> Gpt2Config:
    """Read GPT-2's config.json."""
    scaled = raw.get("scale_attn_weights", True) and not raw.get("scale_attn_by_inverse_layer_idx", False)
    leave_unless(bool(scaled), name, "scales its attention in another way", "scores divided by sqrt(d_k)")
    leave_unless(not raw.get("add_cross_attention"), name, "is a GPT-2 with cross-attention", "those without")
    d_model = whole(raw, "n_embd")
    return Gpt2Config(
        vocab_size=whole(raw, "vocab_size"),
        d_model=d_model,
        n_layers=whole(raw, "n_layer"),
        n_heads=whole(raw, "n_head"),
        d_ff=whole(raw, "n_inner", 4 * d_model),
        max_positions=whole(raw, "n_positions", 1024),
        norm_eps=real(raw, "layer_norm_epsilon", 1e-5),
        activation=word(raw, "activation_function", "gelu_new"),
        tied=flag(raw, "tie_word_embeddings", True),
    )


def arrange(tensors: Tensors, config: Gpt2Config) -> Tensors:
    """Transpose the matrices, and cut the fused one of Q, K and V in three."""
    arranged: Tensors = {}
    for name, tensor in tensors.items():
        turned = tensor.t() if TRANSPOSED.match(name) and tensor.dim() == 2 else tensor
        if ".fused." not in name:
            arranged[name] = turned
            continue
        for letter, part in zip("qkv", turned.chunk(3), strict=False):
            arranged[name.replace("fused", f"W_{letter}")] = part
    return arranged


GPT2 = Family(
    "gpt2",
    read_config,
    NAMES,
    HEAD_NAMES,
    NOT_NEEDED,
    Gpt2,
    output_head,
    tokenizer_of,  # byte-level BPE
    predicts="next",
    prefix="transformer.",
    arrange=arrange,
)
