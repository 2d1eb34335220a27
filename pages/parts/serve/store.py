"""Results cached for all users, bounded in bytes: the least recently used go first. No Streamlit here.

In: a key and how to make its value. Out: the value, made once, however many readers ask for it at the same moment.
Values are frozen and shared.
"""

import os
import re
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

T = TypeVar("T")
SHARED = ("projections",)
PLAIN = (int, float, type(None))
LIMIT, LIMIT_MB = "HEADSCOPE_STORE_MB", 400
OBJECT_BYTES = 200


class Store:
    """Values by key, at most `limit` bytes together; a larger one is kept alone until the next comes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a key's value, made now if it is not cached. Whoever asks while it is being made waits for it.

        An error of `make` goes to the caller who made it; those who waited try for themselves.
        """
        while True:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return cast(T, self._kept[key][0])
                others = self._making.get(key)
                if others is None:
                    mine = self._making[key] = Future[Any]()
                    break
            try:
                return cast(T, others.result())
            except CancelledError:
                continue
        try:
            value = make()
            self._keep(key, value)
            mine.set_result(value)
            return value
        finally:
            with self._lock:
                del self._making[key]
            mine.cancel()  # does nothing to one that has its result

    def peek(self, key: Hashable) -> Any:
        """Return a key's value if it is cached, else None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def take(self, key: Hashable) -> Any:
        """Return a key's value for one caller alone, or None: it is cached no longer."""
        with self._lock:
            value, size = self._kept.pop(key, (None, 0))
            self.held -= size
            return value

    def _keep(self, key: Hashable, value: Any) -> None:
        size = bytes_of(value)
        with self._lock:
            self._kept[key] = (value, size)
            self.held += size
            while self.held > self.limit and len(self._kept) > 1:
                self.held -= self._kept.popitem(last=False)[1][1]


def bytes_of(value: Any, counted: dict[int, Any] | None = None) -> int:
    """Bytes of the arrays and texts in a value, through dataclasses, mappings and lists; or what it says of itself.

    What is held in several places counts once. The projections of a layer's run cost nothing here: all its runs share
    them, and they are kept by themselves.
    """
    counted = {} if counted is None else counted
    if isinstance(value, PLAIN) or id(value) in counted:
        return 0
    counted[id(value)] = value  # kept until all is counted, or another could have the same id
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, str | bytes | bytearray):
        return sys.getsizeof(value)
    if isinstance(value, pd.DataFrame):
        return int(value.memory_usage(deep=True).sum())
    if isinstance(held := getattr(value, "held_bytes", None), int):
        return OBJECT_BYTES + held
    parts: Iterable[Any] = ()
    if is_dataclass(value):
        parts = [getattr(value, f.name) for f in fields(value) if f.name not in SHARED]
    elif isinstance(value, Mapping):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple | set | frozenset | deque):
        parts = value
    return OBJECT_BYTES + sum(bytes_of(part, counted) for part in parts)


def limit_bytes(environment: Mapping[str, str] = os.environ) -> int:
    """Return the limit of the store. Raises SystemExit for what is no whole number of megabytes."""
    megabytes = environment.get(LIMIT, "").strip() or str(LIMIT_MB)
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", megabytes):
        raise SystemExit(f"{LIMIT} is '{megabytes[:40]}'; it takes a whole number from 1 to 999,999,999.")
    return int(megabytes) * 1_000_000


STORE = Store(limit_bytes())
