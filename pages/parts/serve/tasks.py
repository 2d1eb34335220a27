"""Long work in short slices, so that a page shows how far it is and can stop it; no Streamlit, no threads.

In: an iterator of `Step`s. Out: a `BackgroundTask` that a page moves on for about a second at a time. Two readers
with the same file share one task: whoever looks moves it on, and one at a time.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from mha_core import HeadScopeError
from mha_core.interrupt import in_one_go
from pages.parts.serve.turns import aside

T = TypeVar("T")
R = TypeVar("R")
SLICE_SECONDS = 0.8
BROKEN = "The work broke off by an error of this program; what was counted before it is shown."
# An estimate from the first half second is a guess about the cache, not about the file.
SETTLED_SECONDS = 0.5


@dataclass(frozen=True)
class Step(Generic[T]):
    """How far the work is (0 to 1), how many sentences it has seen, and the result so far."""

    fraction: float
    n: int
    result: T


class BackgroundTask(Generic[T]):
    """One piece of work: `advance()` until `finished`; `step` is the last one, kept whatever happens."""

    def __init__(self, steps: Iterator[Step[T]]) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        self.step: Step[T] | None = None
        self.seconds = 0.0
        self.finished = False
        self.problem: str | None = None

    def advance(self, seconds: float = SLICE_SECONDS, between: Callable[[], object] = lambda: None) -> None:
        """At least one step, and more for about so long; none if another reader's page is at it.

        `between` is called between two steps: what it raises ends this slice, and the work is kept.
        """
        if self.finished or not self._lock.acquire(blocking=False):
            return
        start = time.monotonic()
        try:
            self._next()
            while not self.finished and time.monotonic() - start < seconds:
                between()
                self._next()
        finally:
            self.seconds += time.monotonic() - start
            self._lock.release()

    def _next(self) -> None:
        broken = True
        try:
            with in_one_go():
                self.step = next(self._steps)
            broken = False
        except StopIteration:
            self.finished, broken = True, False
        except HeadScopeError as error:
            self.finished, self.problem, broken = True, str(error), False
        finally:
            # An iterator that raised is over: the next call would take that for the end of the work.
            if broken:
                self.finished, self.problem = True, BROKEN

    def read(self, make: Callable[[Step[T]], R]) -> R | None:
        """`make` of the last step, while nobody moves the work on; None before the first."""
        if not self._lock.acquire(blocking=False):
            with aside():
                self._lock.acquire()
        try:
            return None if self.step is None else make(self.step)
        finally:
            self._lock.release()

    @property
    def remaining(self) -> float | None:
        """Seconds of work that are left at the pace so far; None where that would be a guess."""
        if self.finished:
            return 0.0
        if self.step is None or self.step.fraction <= 0 or self.seconds < SETTLED_SECONDS:
            return None
        return self.seconds * (1 - self.step.fraction) / self.step.fraction


@dataclass
class ReaderControl:
    """Whether this reader lets the task run; stopping is one reader's choice, the task belongs to all."""

    running: bool = True

    def stop(self) -> None:
        self.running = False

    def go_on(self) -> None:
        self.running = True
