"""Weights made small for a screen: steps of 1/65535, pictures of at most 64 x 64, the strongest few of a row.

In: weights (layer, head, query, key) from 0 to 1. Out: integers of one or two bytes. A small picture keeps the
maximum of the cells under it, because a mean would hide a single strong link.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

STEPS = 65535
Floats = NDArray[np.floating]


def quantise(weights: Floats) -> NDArray[np.uint16]:
    """Return weights as uint16 steps of 1/65535: an error of at most 8e-6."""
    return np.rint(np.clip(weights, 0, 1) * np.float64(STEPS)).astype(np.uint16)


def thumbnails(weights: Floats, side: int) -> NDArray[np.uint8]:
    """Shrink (layer, head, query, key) to at most `side` rows and columns, a byte a cell: the maximum, in 1/255."""
    cells: NDArray[np.uint8] = np.rint(np.clip(pooled(weights, side), 0, 1) * 255).astype(np.uint8)
    return cells


def pooled(weights: Floats, side: int) -> Floats:
    """Shrink (..., query, key) to at most `side` rows and columns; a cell keeps the largest weight under it."""
    return _reduced(weights, side, np.maximum)


def changes(difference: Floats, side: int) -> NDArray[np.int8]:
    """Shrink differences (layer, head, m, m) from -1 to 1: a cell keeps the change of the largest size, in 1/127."""
    most, least = pooled(difference, side), _reduced(difference, side, np.minimum)
    larger = np.where(most >= -least, most, least)
    cells: NDArray[np.int8] = np.rint(np.clip(larger, -1, 1) * 127).astype(np.int8)
    return cells


def _reduced(values: Floats, side: int, ufunc: np.ufunc) -> Floats:
    if max(values.shape[-2:]) <= side:
        return values
    down, across = (_bands(n, min(n, side)) for n in values.shape[-2:])
    # Band by band: NumPy's reduceat over the last axis is ten times slower.
    rows = np.stack([ufunc.reduce(values[..., band, :], axis=-2) for band in down], axis=-1)
    small: Floats = np.stack([ufunc.reduce(rows[..., band, :], axis=-2) for band in across], axis=-1)
    return small


def _bands(n: int, count: int) -> list[slice]:
    """Cut n places into so many neighbouring bands."""
    edges = np.ceil(np.arange(count + 1) * n / count).astype(np.intp)
    return [slice(start, stop) for start, stop in pairwise(edges)]


def strongest_by_kind(rows: Floats, kinds: NDArray[np.int_]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the largest of each row (..., n) among the positions of every kind (n,): positions and weights in steps.

    Both (..., kinds), largest first, the first position where two are equal: the first that is of one of some kinds is
    the strongest of all positions of these kinds.
    """
    of_kind = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    positions = np.stack([own[rows[..., own].argmax(axis=-1)] for own in of_kind], axis=-1)
    weights = np.take_along_axis(rows, positions, axis=-1)
    order = np.lexsort((positions, -weights), axis=-1)
    positions, weights = (np.take_along_axis(each, order, axis=-1) for each in (positions, weights))
    return positions.astype(np.uint16), quantise(weights)
