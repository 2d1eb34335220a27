"""Two lanes to the models: a reader's new sentence never waits behind somebody's long computation.

In: work. Out: the same, when it is its turn. The quick lane has two places, the slow one (measures that follow the
weights, sweeps over heads, corpora, the atlas) a single one, in the order in which readers came; whoever waits is
told how many are before, and leaves the line when the page is closed or asks for something else.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import BoundedSemaphore, Condition

from pages.parts.serve.readers import READERS, Readers

# Two sentences at a time keep two cores busy; more would only hold more memory at once.
QUICK = BoundedSemaphore(2)
TOLD_EVERY = 0.2  # seconds
SLICE = 0.5  # seconds
PATIENCE = 60.0  # seconds that work behind the pages lets readers go first, in all
LOOKS = 0.02  # seconds between two looks whether it may go on


class Lane:
    """A line with one place at its head."""

    def __init__(self) -> None:
        self._line: deque[object] = deque()
        self._moved = Condition()

    @contextmanager
    def turn(self, told: Callable[[int], None] = lambda _before: None) -> Iterator[None]:
        """Wait for the place and hold it. `told` is called while others are before, five times a second, with how
        many; what it raises leaves the line."""
        me = object()
        with self._moved:
            self._line.append(me)
        try:
            while True:
                with self._moved:
                    before = self._line.index(me)
                    if not before:
                        break
                told(before)
                with self._moved:
                    self._moved.wait_for(lambda: self._line[0] is me, TOLD_EVERY)
            yield
        finally:
            with self._moved:
                self._line.remove(me)
                self._moved.notify_all()

    @property
    def length(self) -> int:
        """How many hold the place or wait for it."""
        with self._moved:
            return len(self._line)


SLOW = Lane()


class Slices:
    """A lane held for a slice at a time, by work that nobody is shown: it is asked after every piece of the work, and
    goes to the end of the line when its slice is over, or when a reader is served, and then waits until that is over.
    """

    def __init__(
        self,
        lane: Lane,
        seconds: float = SLICE,
        *,
        readers: Readers = READERS,
        patience: float = PATIENCE,
    ) -> None:
        self._lane, self._seconds = lane, seconds
        self._readers, self._patience = readers, patience
        self._turn = ExitStack()
        self._since = 0.0

    def __enter__(self) -> "Slices":
        self._turn.enter_context(self._lane.turn())
        self._since = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._turn.close()

    def __call__(self) -> bool:
        """Let others go first if it is time. False: the work is never to stop."""
        if self._patience > 0 and self._readers.first:
            self._turn.close()
            self._stand_back()
            self.__enter__()
        elif time.monotonic() - self._since > self._seconds:
            self._turn.close()
            self.__enter__()
        return False

    def _stand_back(self) -> None:
        began = time.monotonic()
        while self._readers.first and time.monotonic() - began < self._patience:
            time.sleep(LOOKS)
        self._patience -= time.monotonic() - began


def waiting(before: int) -> str:
    """What a reader is told."""
    return f"{before} longer computation{'s are' if before > 1 else ' is'} before yours …"
