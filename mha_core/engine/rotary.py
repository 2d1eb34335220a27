"""Rotary positions: each pair of numbers of a query or key is turned by an angle that grows with its position.

In: a vector of width d_k whose number i is paired with number i + d_k / 2, as in Hugging Face's Llama (the
original pairs neighbours; the products of queries and keys are the same). Source: Su et al. 2021, section 3.2.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Stretch:
    """Llama 3's longer wavelengths: those above original / low are stretched by `factor`, those below
    original / high stay, between them it goes over smoothly."""

    factor: float
    low: float
    high: float
    original: int


@dataclass(frozen=True)
class Rotation:
    """The turns of some positions: cosines and sines (n, d_k / 2)."""

    cos: Tensor
    sin: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Turn the pairs of (..., n, d_k)."""
        cos, sin = self.whole
        if cos.dtype != x.dtype:
            cos, sin = cos.to(x.dtype), sin.to(x.dtype)
        return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), sin)

    @cached_property
    def whole(self) -> tuple[Tensor, Tensor]:
        """Factors of each number and of its partner, (n, d_k) each."""
        return torch.cat((self.cos, self.cos), dim=-1), torch.cat((-self.sin, self.sin), dim=-1)


@dataclass(frozen=True)
class Rotary:
    """Rotation of a model's queries and keys: the width of a head, the base of the angles, and their stretching.

    `turning`: the number of pairs that are turned, the first ones; the others stay as they are (None: all are turned).
    """

    d_k: int
    theta: float
    stretch: Stretch | None = None
    turning: int | None = None

    @property
    def n_turned(self) -> int:
        """Number of pairs of a head that are turned."""
        return self.d_k // 2 if self.turning is None else self.turning

    def at(self, first: int, n: int, like: Tensor) -> Rotation:
        """Return the turns at n positions from `first`, on the device of `like`."""
        positions = torch.arange(first, first + n, dtype=torch.float32, device=like.device)
        speeds = frequencies(self.d_k, self.theta, self.stretch, self.turning).to(like.device)
        angles = torch.outer(positions, speeds)
        return Rotation(angles.cos(), angles.sin())

    def frequency(self, pair: int) -> float:
        """Return the radians a position for one pair, from 0; 0 for a pair that is not turned."""
        return float(frequencies(self.d_k, self.theta, self.stretch, self.turning)[pair])


@cache
def frequencies(d_k: int, theta: float, stretch: Stretch | None, turning: int | None = None) -> Tensor:
    """Return the radians a position for each of the d_k / 2 pairs, theta^(-i / `turning`) for pair i; 0 after those."""
    with torch.inference_mode(False), torch.device("cpu"):
        if turning is not None:
            turned = frequencies(2 * turning, theta, stretch)
            return torch.cat((turned, torch.zeros(d_k // 2 - turning)))
        plain = 1.0 / theta ** (torch.arange(0, d_k, 2, dtype=torch.int64).float() / d_k)
        if stretch is None:
            return plain
        turns = stretch.original * plain / (2 * math.pi)
        share = ((turns - stretch.low) / (stretch.high - stretch.low)).clamp(0, 1)  # that is not stretched
        return share * plain + (1 - share) * plain / stretch.factor
