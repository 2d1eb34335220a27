"""Whose page runs now: a few at a time, as they came, and who has used the processor much goes later.

In: runs of pages, each of a session. Out: the same, when it is their turn; no Streamlit here. A reader who asks again
and again waits for those who ask now and then, whatever address they share; what was asked meanwhile is one run. A run
that turns out to be long (`heavier`) gives its place to the next one and goes on in the slow lane.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from math import exp

from pages.parts.serve.freeing import hand_back
from pages.parts.serve.lanes import SLOW, Lane

# Python runs one thread at a time, and the engine's products beside it: two keep two cores busy.
PLACES = 2
FORGOTTEN_IN = 15.0  # seconds in which what a session has used counts for a third
NOTHING = 1e-3  # seconds
ORDINARY = 0.3  # seconds that who types a sentence now and then has used at most: they wait for nobody who came later


class Accounts:
    """Seconds of the processor that each session used, of which the older count less."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._used: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._used)

    def of(self, session: str) -> float:
        used, when = self._used.get(session, (0.0, 0.0))
        return used * exp((when - self._clock()) / FORGOTTEN_IN)

    def charge(self, session: str, seconds: float) -> None:
        self._used[session] = (self.of(session) + seconds, self._clock())
        for one in [one for one in self._used if self.of(one) < NOTHING]:
            del self._used[one]


class Waiting:
    """One who waits for a place."""

    def __init__(self, session: str, came: float | None = None) -> None:
        self.session, self.since = session, time.monotonic()
        self.came = self.since if came is None else came
        self.called = threading.Event()


class Turns:
    """Places for runs. Who used more than is ordinary stands behind the others, and a second's wait makes up for one
    that was used; of equal ones who came first goes first."""

    def __init__(self, places: int = PLACES, accounts: Accounts | None = None) -> None:
        self.accounts = accounts or Accounts()
        self._free = places
        self._waiting: list[Waiting] = []
        self._lock = threading.Lock()

    @property
    def length(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def take(self, session: str, came: float | None = None) -> None:
        """Wait for a place and hold it; who was aside says when it `came`, and goes before who came after that."""
        me = Waiting(session, came)
        with self._lock:
            self._waiting.append(me)
            self._call()
        me.called.wait()

    def give(self, session: str, used: float) -> None:
        """Give it back, having used so many seconds of the processor."""
        self.charge(session, used)
        with self._lock:
            self._free += 1
            self._call()

    def charge(self, session: str, used: float) -> None:
        """Count what a session has used elsewhere."""
        with self._lock:
            self.accounts.charge(session, used)

    def _call(self) -> None:
        while self._free and self._waiting:
            first = min(self._waiting, key=lambda one: (self._behind(one), one.came))
            self._waiting.remove(first)
            self._free -= 1
            first.called.set()

    def _behind(self, one: Waiting) -> float:
        waited = time.monotonic() - one.since
        return max(0.0, self.accounts.of(one.session) - ORDINARY - waited)


class Run:
    """What one thread runs for a session: at first among the quick ones, from `heavier` on in the slow lane."""

    def __init__(self, session: str, turns: Turns, slow: Lane) -> None:
        self.session, self.turns, self.slow = session, turns, slow
        self.heavy = self.here = self.fresh = False
        self._came: float | None = None
        self._since = 0.0
        self._place = ExitStack()

    def begin(self) -> None:
        """Wait for a place; a run that has one gives it up first, and is a quick one again."""
        self.end()
        self._came = time.monotonic()
        self.come()
        self.fresh = True

    def end(self) -> None:
        """The run is over."""
        self.leave()
        self._came = None
        if self.heavy:
            self.heavy = False
            hand_back()

    def come(self, told: Callable[[int], None] = lambda _before: None) -> None:
        """Wait for a place of the kind that this run needs."""
        if self.heavy:
            self._place.enter_context(self.slow.turn(told))
        else:
            self.turns.take(self.session, self._came)
        self._since, self.here = time.thread_time(), True

    def leave(self) -> None:
        """Give up the place, if there is one."""
        if not self.here:
            return
        self.here, used = False, time.thread_time() - self._since
        if self.heavy:
            self._place.close()
            self.turns.charge(self.session, used)
        else:
            self.turns.give(self.session, used)

    def forgo(self, seconds: float) -> None:
        """So much of what this thread has used is charged elsewhere."""
        self._since += seconds

    def heavier(self, told: Callable[[int], None]) -> None:
        """Go on in the slow lane, until the run is over; `told` as there."""
        if not self.heavy:
            self.leave()
            self.heavy = True
            self.come(told)


TURNS = Turns()
_OF_THREAD = threading.local()


def mine() -> Run | None:
    """The run of this thread, if it is one of a page."""
    run: Run | None = getattr(_OF_THREAD, "run", None)
    return run


@contextmanager
def running(session: str) -> Iterator[Run]:
    """This thread runs pages of that session, each from `begin` on; at the end it holds no place."""
    run = _OF_THREAD.run = Run(session, TURNS, SLOW)
    try:
        yield run
    finally:
        _OF_THREAD.run = None
        run.end()


@contextmanager
def slow_turn(told: Callable[[int], None] = lambda _before: None) -> Iterator[None]:
    """Within it the slow lane is held; a page's run stays there until it is over."""
    run = mine()
    if run is None:
        with SLOW.turn(told):
            yield
    else:
        run.heavier(told)
        yield


@contextmanager
def aside() -> Iterator[None]:
    """Where a run only waits for somebody else's work, it holds nobody up."""
    run = mine()
    if run is None or not run.here:
        yield
        return
    run.leave()
    try:
        yield
    finally:
        run.come()
