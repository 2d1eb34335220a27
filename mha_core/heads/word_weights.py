"""Attention between pieces → attention between words, for all heads at once.

In: weights (layer, head, query, key) over pieces. Out: (layer, head, word, word), inserted tokens left out
and not renormalised, so that a row plus its shares of [CLS] and [SEP] still sums to one.

Source: Clark et al. 2019, section 4.1: to a split word the sum over its pieces, from it the mean over them.
"""

import numpy as np
import numpy.typing as npt

from mha_core.arrays import FloatArray, IntArray
from mha_core.errors import SizeError
from mha_core.text.tokens import Tokens

BoolArray = npt.NDArray[np.bool_]
SMOOTHING = 0.0001


def word_bounds(tokens: Tokens) -> IntArray:
    """(word, 2): the first piece of each word and the one after its last."""
    return np.array([(word.first, word.stop) for word in tokens.words], dtype=np.intp).reshape(-1, 2)


def tokens_in(tokens: Tokens, span: tuple[int, int]) -> list[int]:
    """Return the tokens that a stretch of a text's characters touches; of two texts, of the first."""
    return [
        index
        for index, piece in enumerate(tokens.pieces)
        if not piece.special and piece.segment == 0 and piece.start < span[1] and span[0] < piece.end
    ]


def merge_words(weights: FloatArray, bounds: IntArray) -> FloatArray:
    """Weights (..., query, key) over pieces → (..., word, word) over the words that `bounds` names, a new
    array.

    Raises SizeError where a word has no piece or lies outside the weights.
    """
    n = weights.shape[-1]
    first, stop = bounds[:, 0], bounds[:, 1]
    if len(bounds) and not (first.min() >= 0 and (first < stop).all() and stop.max() <= n):
        raise SizeError(f"The words lie in pieces {first.min()} to {stop.max()}, and there are {n} pieces.")
    if (stop - first == 1).all():
        return np.ascontiguousarray(weights[..., first[:, None], first])
    piece = np.arange(n)
    inside = ((piece >= first[:, None]) & (piece < stop[:, None])).astype(weights.dtype)
    to_words = weights.reshape(-1, n) @ inside.T
    from_words = inside / (stop - first)[:, None].astype(weights.dtype)
    merged: FloatArray = from_words @ to_words.reshape(*weights.shape[:-1], len(bounds))
    return merged


def entropy(weights: FloatArray, visible: BoolArray | None = None) -> FloatArray:
    """Return the entropy of every row (..., query, key) → (..., query), in nats.

    With Clark et al.'s (2019) smoothing over what the row can see (`visible`, which broadcasts to the weights;
    everything without it).
    """
    share = np.float32(SMOOTHING) / (weights.shape[-1] if visible is None else visible.sum(-1, keepdims=True))
    smooth = weights * np.float32(1 - SMOOTHING) + share.astype(np.float32)
    logs = np.log(smooth) if visible is None else np.where(visible, np.log(smooth), np.float32(0))
    result: FloatArray = -(smooth * logs).sum(-1)
    return result


def visible_words(visible: BoolArray, bounds: IntArray) -> BoolArray:
    """Return which words see which, (layer, word, word): one sees another if any of its pieces sees any of its."""
    result: BoolArray = merge_words(visible.astype(np.float32), bounds) > 0
    return result
