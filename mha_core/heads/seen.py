"""What a token can see: the whole text in an encoder, itself and what comes before it in a decoder."""

import numpy as np

from mha_core.heads.words import BoolArray, FloatArray


def seen(n: int, is_causal: bool) -> BoolArray:
    """Which keys each query can look at, (query, key)."""
    return np.tri(n, dtype=bool) if is_causal else np.ones((n, n), dtype=bool)


def evenly(n: int, is_causal: bool) -> FloatArray:
    """What a head that looks at all it can see alike would show, (query, key)."""
    can = seen(n, is_causal)
    found: FloatArray = can / can.sum(-1, keepdims=True)
    return found
