"""Partial results of long work: progress and the result so far. Closing the generator stops the work."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class PartialResult(Generic[T]):
    """Progress (0 to 1), the number of runs made, and the result so far."""

    fraction: float
    n: int
    result: T


def final_result(parts: Iterator[PartialResult[T]]) -> T:
    """Do all of the work and return its result."""
    for part in parts:
        last = part
    return last.result
