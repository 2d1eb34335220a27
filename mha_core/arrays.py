"""Types of arrays, and arrays that nobody can write to."""

from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=NDArray[Any])
Array = NDArray[np.float32]
Mask = NDArray[np.bool_]
FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


class ReadOnlyArrays:
    """Mixin whose arrays stay read-only through pickle and copy."""

    def __getstate__(self) -> dict[str, Any]:
        return {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            self.__dict__[name] = MappingProxyType(value) if isinstance(value, dict) else value

    def __copy__(self) -> Self:
        return self  # it never changes


def freeze(array: T) -> T:
    """Make an array read-only; return it."""
    array.setflags(write=False)
    return array
