"""Results kept for all readers, bounded in bytes: what was used longest ago goes first. No Streamlit here.

In: a key and how to make its value. Out: the value, made once, however many readers ask for it at the same moment.
Values are frozen and shared.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np

from pages.parts.serve.turns import aside

T = TypeVar("T")
SHARED = ("projections",)
PLAIN = (int, float, str, bool)
_FIELDS: dict[type, tuple[str, ...]] = {}
OBJECT_BYTES = 200  # what anything counts that says nothing of its size


class Store:
    """Values by key, together at most `limit` bytes; one that is larger alone is kept alone, until the next comes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of that key, made now if it is not kept. Whoever asks while it is being made waits for it.

        What `make` raises is raised to the reader who made it; those who waited try for themselves.
        """
        while True:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return cast(T, self._kept[key][0])
                others = self._making.get(key)
                if others is None:
                    mine: Future[Any] = Future()
                    self._making[key] = mine
                    break
            try:
                with aside():
                    return cast(T, others.result())
            except CancelledError:
                continue
        return self._make(key, make, mine)

    def peek(self, key: Hashable) -> Any:
        """The value of that key if it is kept, else None; nothing is made."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def take(self, key: Hashable) -> Any:
        """The value of that key for one alone, or None: it is kept no longer."""
        with self._lock:
            value, size = self._kept.pop(key, (None, 0))
            self.held -= size
            return value

    def forget(self, key: Hashable) -> None:
        """Drop a value, if it is kept."""
        self.take(key)

    def _make(self, key: Hashable, make: Callable[[], T], mine: "Future[Any]") -> T:
        try:
            value = make()
            self._keep(key, value)
            mine.set_result(value)
            return value
        finally:
            with self._lock:
                del self._making[key]
            mine.cancel()  # does nothing to one that has its result

    def _keep(self, key: Hashable, value: Any) -> None:
        size = bytes_of(value)
        with self._lock:
            self._kept[key] = (value, size)
            self.held += size
            while self.held > self.limit and len(self._kept) > 1:
                self.held -= self._kept.popitem(last=False)[1][1]


def bytes_of(value: Any) -> int:
    """Bytes of the arrays in a value, through dataclasses, mappings and lists; or what it says of itself.

    What is held in several places counts once. The projections of a layer's run cost nothing here: all its runs share
    them, and they are kept by themselves.
    """
    counted, left, found = dict[int, Any](), [value], 0
    while left:
        one = left.pop()
        if one is None or isinstance(one, PLAIN) or id(one) in counted:
            continue
        counted[id(one)] = one  # kept until all is counted, or another could have the same id
        if isinstance(one, np.ndarray):
            found += one.nbytes
        elif isinstance(one, list | tuple) and not hasattr(one, "held_bytes"):
            if any(map(_may_hold_arrays, one[:8])):
                left.extend(one)
            else:
                found += 8 * len(one)
        else:
            found += OBJECT_BYTES
            if isinstance(said := getattr(one, "held_bytes", None), int):
                found += said
            elif names := _fields(type(one)):
                left.extend([getattr(one, name) for name in names])
            elif isinstance(one, Mapping):
                left.extend(one.values())
    return found


def _fields(kind: type) -> tuple[str, ...]:
    """What a dataclass holds; nothing for what is none."""
    if kind not in _FIELDS:
        _FIELDS[kind] = (
            tuple(f.name for f in fields(kind) if f.name not in SHARED) if is_dataclass(kind) else ()
        )
    return _FIELDS[kind]


def _may_hold_arrays(value: Any) -> bool:
    return isinstance(value, np.ndarray | Mapping | list | tuple) or bool(_fields(type(value)))
