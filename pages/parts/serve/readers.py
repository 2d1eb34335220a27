"""Whether a reader is being served now: work that nobody waits for lets readers go first.

In: the runs of pages. Out: whether one is under way, or was a moment ago, when the browser draws what it brought.
All of them share one interpreter, in which a long computation makes each step of a run wait for its turn.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

REST = 0.3  # seconds after a run


class Readers:
    """The runs under way, and who of them waits for the very work that lets readers go first."""

    def __init__(self, rest: float = REST) -> None:
        self._rest = rest
        self._lock = threading.Lock()
        self._served = 0
        self._waiting = 0
        self._last = float("-inf")

    @contextmanager
    def served(self) -> Iterator[None]:
        """While a run makes a page or a part of it."""
        with self._lock:
            self._served += 1
        try:
            yield
        finally:
            with self._lock:
                self._served -= 1
                self._last = time.monotonic()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While somebody needs what is computed behind the pages: it is not held up then."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1

    @property
    def first(self) -> bool:
        """Whether work that nobody waits for is to let a reader go first."""
        with self._lock:
            if self._waiting:
                return False
            return self._served > 0 or time.monotonic() - self._last < self._rest


READERS = Readers()
