"""Costs of attention: parameters (counted from modules), operations, bytes of weights and of the KV cache.

An operation is one multiplication or one addition (a multiply-add counts two), as torch's own counter counts.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch.utils.flop_counter import FlopCounterMode

from mha_core.display_names import count_noun
from mha_core.engine.multihead import MultiHeadAttention
from mha_core.errors import SizeError


def explain_division(d_model: int, n_heads: int) -> None:
    """Refuse sizes that cannot be split, naming the nearest widths that can."""
    if d_model % n_heads == 0:
        return
    below = d_model // n_heads * n_heads
    near = f"{below} or {below + n_heads}" if below else f"{n_heads}"
    raise SizeError(
        f"{d_model} numbers cannot be split evenly over {n_heads} heads: {d_model} / {n_heads} = "
        f"{d_model / n_heads:.4g}, and every head needs a whole number. {near} would do."
    )


@dataclass(frozen=True)
class Configuration:
    """The sizes of a model's attention.

    `bias`: its projections have one; `width`: of a head (else d_model / n_heads); `is_causal`: it writes, and so has a
    cache; `max_tokens`: the most it reads at once (None: no limit).
    """

    name: str
    d_model: int
    n_heads: int
    n_layers: int
    bias: bool = True
    n_kv_heads: int | None = None
    width: int | None = None
    is_causal: bool = True
    max_tokens: int | None = None

    def reads(self, n: int) -> int:
        """Count the tokens, of n, that it can read."""
        return n if self.max_tokens is None else min(n, self.max_tokens)

    def __post_init__(self) -> None:
        for name, size in (("d_model", self.d_model), ("heads", self.n_heads), ("layers", self.n_layers)):
            if size < 1:
                raise SizeError(f"A model needs 1 or more {name}, not {size}.")
        if self.width is None:
            explain_division(self.d_model, self.n_heads)
        if self.kv_heads < 1 or self.n_heads % self.kv_heads:
            raise SizeError(
                f"{count_noun(self.n_heads, 'query head')} cannot share "
                f"{count_noun(self.kv_heads, 'key head')} evenly: "
                f"{self.n_heads} / {self.kv_heads} is not a whole number."
            )

    @property
    def d_k(self) -> int:
        return self.d_model // self.n_heads if self.width is None else self.width

    @property
    def kv_heads(self) -> int:
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads


# Devlin et al. 2019; Radford et al. 2019; Brown et al. 2020; Touvron et al. 2023a, b; Dubey et al. 2024.
CONFIGURATIONS = (
    Configuration("BERT-base", 768, 12, 12, is_causal=False, max_tokens=512),
    Configuration("BERT-large", 1024, 16, 24, is_causal=False, max_tokens=512),
    Configuration("GPT-2", 768, 12, 12, max_tokens=1024),
    Configuration("GPT-3 175B", 12288, 96, 96, max_tokens=2048),
    Configuration("LLaMA-7B", 4096, 32, 32, bias=False, max_tokens=2048),
    Configuration("LLaMA-2-7B", 4096, 32, 32, bias=False, max_tokens=4096),
    Configuration("LLaMA-2-70B", 8192, 64, 80, bias=False, n_kv_heads=8, max_tokens=4096),
    Configuration("Llama 3 8B", 4096, 32, 32, bias=False, n_kv_heads=8, max_tokens=8192),
)


@lru_cache(maxsize=64)
def parameters(
    d_model: int, n_heads: int, n_kv_heads: int | None = None, d_k: int | None = None, bias: bool = True
) -> dict[str, int]:
    """Return the parameters of one layer, counted from a real module that holds no memory (meta device)."""
    with torch.device("meta"):
        layer = MultiHeadAttention(d_model, n_heads, n_kv_heads, d_k, d_k, bias=bias)
    counts = {
        name: sum(p.numel() for p in getattr(layer, name).parameters())
        for name in ("W_q", "W_k", "W_v", "W_o")
    }
    return {**counts, "all": sum(p.numel() for p in layer.parameters())}


def operations(
    n: int, d_model: int, n_heads: int, n_kv_heads: int | None = None, d_k: int | None = None
) -> dict[str, int]:
    """Return the operations of one layer for n tokens: the four matrix products, and their sum."""
    d_k = d_model // n_heads if d_k is None else d_k
    kv = n_heads if n_kv_heads is None else n_kv_heads
    parts = {
        "projections": 2 * n * d_model * (n_heads + 2 * kv) * d_k,
        "scores": 2 * n_heads * n * n * d_k,
        "mixing": 2 * n_heads * n * n * d_k,
        "output": 2 * n * n_heads * d_k * d_model,
    }
    return {**parts, "all": sum(parts.values())}


@lru_cache(maxsize=64)
def measured_operations(
    n: int, d_model: int, n_heads: int, n_kv_heads: int | None = None, d_k: int | None = None
) -> int:
    """Return the sum of `operations` as torch's counter measures it, while our layer runs on shapes alone."""
    with torch.device("meta"):
        layer = MultiHeadAttention(d_model, n_heads, n_kv_heads, d_k, d_k).eval()
        x = torch.empty(1, n, d_model)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x)
    return int(counter.get_total_flops())


def weights_bytes(n: int, n_heads: int, n_layers: int = 1, bytes_each: int = 4) -> int:
    """Return the bytes of all attention weights for n tokens: heads x n x n numbers a layer."""
    return n_layers * n_heads * n * n * bytes_each


def kv_cache_bytes(n: int, d_k: int, n_kv_heads: int, n_layers: int = 1, bytes_each: int = 2) -> int:
    """Return the bytes that hold K and V of n tokens while a model writes on: 2 x n x key heads x d_k a layer."""
    return n_layers * 2 * n * n_kv_heads * d_k * bytes_each
