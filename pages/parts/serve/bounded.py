"""Results kept for all readers, bounded in bytes: what was used longest ago goes first. No Streamlit here.

In: a key and how to make its value. Out: the value, made once. Values are frozen and shared.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Bounded:
    """A cache of at most `limit` bytes; what is larger than a quarter of it is made each time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of that key, made now if it is not kept. Two readers may make the same at once."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                value: T = self._kept[key][0]
                return value
        value = make()
        size = bytes_of(value)
        if size * 4 <= self.limit:
            with self._lock:
                self.held += size - self._kept.pop(key, (None, 0))[1]
                self._kept[key] = (value, size)
                while self.held > self.limit:
                    self.held -= self._kept.popitem(last=False)[1][1]
        return value


def bytes_of(value: Any) -> int:
    """Bytes of the arrays in a dataclass that own their memory; views of a model's weights cost nothing."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_dataclass(value) and not isinstance(value, type):
        held = [getattr(value, f.name) for f in fields(value) if not f.name.startswith(("W_", "b_"))]
        return 1000 + sum(bytes_of(one) for one in held if isinstance(one, np.ndarray))
    return 1000
