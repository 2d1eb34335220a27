"""Long work in parts: every part says how far it is and brings the result so far. Closing the generator stops it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Part(Generic[T]):
    """How far the work is (0 to 1), how many runs it has made, and the result so far."""

    fraction: float
    n: int
    result: T


def last(parts: Iterator[Part[T]]) -> T:
    """All of the work, and its result."""
    for part in parts:
        found = part
    return found.result
