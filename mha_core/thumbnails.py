"""Weights made small for a screen: steps of 1/65535, pictures of at most 64 x 64, the strongest few of a row.

In: weights (layer, head, query, key) from 0 to 1. Out: integers of one or two bytes. A small picture keeps the
maximum of the cells under it, because a mean would hide a single strong link.
"""

import numpy as np
from numpy.typing import NDArray

STEPS = 65535
Floats = NDArray[np.floating]


def quantise(weights: Floats) -> NDArray[np.uint16]:
    """Weights as uint16 steps of 1/65535: an error of at most 8e-6."""
    return np.rint(np.clip(weights, 0, 1) * np.float64(STEPS)).astype(np.uint16)


def thumbnails(weights: Floats, side: int) -> NDArray[np.uint8]:
    """(layer, head, n, n) to (layer, head, side, side), one byte a cell: the maximum, in steps of 1/255."""
    small = _reduced(weights, side, np.maximum)
    cells: NDArray[np.uint8] = np.rint(np.clip(small, 0, 1) * 255).astype(np.uint8)
    return cells


def changes(difference: Floats, side: int) -> NDArray[np.int8]:
    """Differences (layer, head, m, m) from -1 to 1 as small pictures: the change of the largest size, in 1/127."""
    most, least = _reduced(difference, side, np.maximum), _reduced(difference, side, np.minimum)
    larger = np.where(most >= -least, most, least)
    cells: NDArray[np.int8] = np.rint(np.clip(larger, -1, 1) * 127).astype(np.int8)
    return cells


def _reduced(values: Floats, side: int, ufunc: np.ufunc) -> Floats:
    n = values.shape[-1]
    if n <= side:
        return values
    starts = np.ceil(np.arange(side) * n / side).astype(np.intp)
    rows: Floats = ufunc.reduceat(values, starts, axis=-2)
    columns: Floats = ufunc.reduceat(rows, starts, axis=-1)
    return columns


def strongest(rows: Floats, k: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """The k largest of each row (..., n), largest first: their positions and their weights in steps."""
    k = min(k, rows.shape[-1])
    order = np.argsort(-rows, axis=-1, kind="stable")[..., :k]
    return order.astype(np.uint16), quantise(np.take_along_axis(rows, order, axis=-1))


def toward(rows: Floats, key: int) -> NDArray[np.uint16]:
    """What every row (..., n) gives to one key, in steps."""
    return quantise(rows[..., key])


def loudest(weights: Floats, special: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """The strongest link between two words in every head: (layer, head, 3) of query, key and weight in steps."""
    layers, heads, n, _ = weights.shape
    words = np.flatnonzero(~special) if not special.all() else np.arange(n)
    inside = weights[:, :, words][:, :, :, words].reshape(layers, heads, -1)
    best = inside.argmax(axis=-1)
    weight = quantise(np.take_along_axis(inside, best[..., None], axis=-1)[..., 0])
    q, k = np.divmod(best, len(words))
    return np.stack([words[q].astype(np.uint16), words[k].astype(np.uint16), weight], axis=-1)
