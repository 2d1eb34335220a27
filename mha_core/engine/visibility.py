"""Visibility of tokens: causal masks, windows, and the attention sinks that no choice falls on.

In: positions, or the length of a text. Out: Boolean masks, True where a query may look at a key.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mha_core.arrays import Mask


def visible_keys(queries: Any, keys: Any, *, is_causal: bool = False, window: int | None = None) -> Any:
    """Return which keys each query may see, (query, key), given the positions of both as arrays or as tensors.

    `window`: tokens to each side; None or 0: all.
    """
    distance = queries[:, None] - keys
    visible = distance >= (0 if is_causal else -keys.shape[0])
    return visible & (abs(distance) <= window) if window else visible


@dataclass(frozen=True)
class Visibility:
    """Masks of a model's layers: `is_causal`, and `windows`, tokens to each side, one a layer (0: all); without windows
    every layer sees the same."""

    is_causal: bool = False
    windows: tuple[int, ...] = ()

    def mask(self, n: int) -> Mask:
        """Return the masks of n tokens, (layer, query, key); one layer's alone where all see the same."""
        n_masks = len(self.windows) if len(set(self.windows)) > 1 else 1
        return np.stack([self.in_layer(layer, n) for layer in range(n_masks)])

    def in_layer(self, layer: int, n: int) -> Mask:
        """Return one layer's mask (from 0), (query, key)."""
        positions, window = np.arange(n), self.windows[layer] if self.windows else 0
        visible: Mask = visible_keys(positions, positions, is_causal=self.is_causal, window=window)
        return visible


EVERYTHING = Visibility()


def attention_sinks(is_special: Mask, is_causal: bool) -> Mask:
    """Return which tokens are attention sinks, (token,): special ones, and a decoder's first."""
    sinks = is_special.copy()
    sinks[:1] |= is_causal
    return sinks
