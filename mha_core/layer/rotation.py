"""Rotary positions followed by hand: one pair of numbers turned, and a score that knows distances alone.

In: how a model rotates, a vector or one of its pairs, a position. Out: the angle, the turned numbers, the product of
a query and a key at any two positions. Written as multiplication of complex numbers, apart from the engine's own way.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.arrays import Array
from mha_core.engine.rotary import Rotary
from mha_core.errors import InputError


@dataclass(frozen=True)
class Turn:
    """One pair of a vector, numbers `pair` and `pair` + d_k / 2 (from 0), turned by `angle` radians."""

    pair: int
    position: int
    angle: float
    before: tuple[float, float]
    after: tuple[float, float]


def turn(rotary: Rotary, vector: Array, position: int, pair: int) -> Turn:
    """Rotate one pair of a vector. Raises InputError for a pair that is not there."""
    half = rotary.d_k // 2
    if not 0 <= pair < half:
        raise InputError(f"Unknown pair {pair + 1}. {rotary.d_k} numbers are {half} pairs.")
    angle = position * rotary.frequency(pair)
    x, y = float(vector[pair]), float(vector[pair + half])
    after = complex(x, y) * np.exp(1j * angle)
    return Turn(pair, position, angle, (x, y), (float(after.real), float(after.imag)))


def rotate_vector(rotary: Rotary, vector: Array, position: int) -> Array:
    """Rotate a vector (d_k,) to a position."""
    half = rotary.d_k // 2
    angles = position * np.array([rotary.frequency(pair) for pair in range(half)])
    after = (vector[:half] + 1j * vector[half:]) * np.exp(1j * angles)
    return np.concatenate([after.real, after.imag]).astype(np.float32)


def product_at(rotary: Rotary, q: Array, k: Array, query: int, key: int) -> float:
    """Return q · k with q and k (d_k,) rotated to these positions."""
    return float(rotate_vector(rotary, q, query).astype(np.float64) @ rotate_vector(rotary, k, key))
