"""How fast messages are taken from a socket, from an address, and from all who hurry together.

In: sockets that have a message each. Out: the same, in time. Who sends too fast is read more slowly: the network holds
the rest back and nothing is lost.
"""

import asyncio
import heapq
import time
from collections.abc import Hashable
from math import exp

HURRIED = 0.3  # seconds for which a message had to wait for those of its address
CALM_AGAIN = 5.0  # seconds
RUN_AT_MOST = 1.0  # seconds for which the others who hurry wait for one run
LOOKS_EVERY = 0.05  # seconds after which it is looked whether others are at work
FORGOTTEN_IN = 15.0  # seconds in which what a socket has taken counts for a third


class TokenBucket:
    """`rate` tokens a second, `burst` at once; `take` waits until there is one, and says whether it had to."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self.left, self.last = burst, time.monotonic()

    def refill(self) -> None:
        """Count what has come since."""
        now = time.monotonic()
        self.left = min(self.burst, self.left + (now - self.last) * self.rate)
        self.last = now

    async def take(self) -> bool:
        self.refill()
        self.left -= 1
        if self.left < 0:
            await asyncio.sleep(-self.left / self.rate)
            return True
        return False


class Taken:
    """How much one socket has had, of which the older counts less."""

    def __init__(self) -> None:
        self._much, self._when = 0.0, time.monotonic()

    @property
    def now(self) -> float:
        return self._much * exp((self._when - time.monotonic()) / FORGOTTEN_IN)

    def more(self) -> None:
        self._much, self._when = self.now + 1, time.monotonic()


class Share:
    """A bucket for many sockets: while it is empty, who has taken least goes first."""

    def __init__(self, rate: float, burst: float) -> None:
        self.bucket = TokenBucket(rate, burst)
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._came = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def last(self) -> float:
        """When somebody last took of it."""
        return self.bucket.last

    async def take(self, taken: float = 0) -> None:
        """Wait for one; `taken` is what this socket has had."""
        mine = asyncio.get_running_loop().create_future()
        self._came += 1
        heapq.heappush(self._waiting, (taken, self._came, mine))
        self._serve()
        await mine

    def _serve(self) -> None:
        """Hand out what there is, and come back when there is more."""
        self.bucket.refill()
        while self._waiting and self.bucket.left >= 1:
            *_, first = heapq.heappop(self._waiting)
            if not first.done():  # who left meanwhile waits no longer
                first.set_result(None)
                self.bucket.left -= 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            wait = (1 - self.bucket.left) / self.bucket.rate
            self._timer = asyncio.get_running_loop().call_later(wait, self._serve)


class AtWork:
    """The sockets whose page is being made now, each for a second at most: what takes longer is in the slow lane."""

    def __init__(self, longest: float = RUN_AT_MOST) -> None:
        self.longest = longest
        self._since: dict[Hashable, float] = {}

    def __bool__(self) -> bool:
        now = time.monotonic()
        return any(now - since < self.longest for since in self._since.values())

    def begins(self, who: Hashable) -> None:
        self._since[who] = time.monotonic()

    def ends(self, who: Hashable) -> None:
        self._since.pop(who, None)


class Crossing:
    """Where all who hurry pass one at a time: while nobody else's page is being made, when the run of the one before is
    over, and after as long a pause. Who passed longest ago goes first; every two seconds one passes in any case."""

    def __init__(self, longest: float = RUN_AT_MOST, others: AtWork | None = None) -> None:
        self.longest = longest
        self.others = AtWork() if others is None else others
        self._waiting: dict[Hashable, asyncio.Future[None]] = {}
        self._passed: dict[Hashable, float] = {}
        self._on_it: Hashable = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def length(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def cross(self, who: Hashable) -> None:
        """Wait for the way to be free, and take it."""
        mine = self._waiting[who] = asyncio.get_running_loop().create_future()
        try:
            self._next()
            await mine
        finally:
            self._waiting.pop(who, None)

    def over(self, who: Hashable) -> None:
        """A run of that one is over."""
        if self._on_it == who and who is not None:
            self._on_it = None
            self._later(min(time.monotonic() - self._since, self.longest))

    def gone(self, who: Hashable) -> None:
        """That one has left."""
        self._passed.pop(who, None)
        self.over(who)

    def _later(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._free)

    def _free(self) -> None:
        self._timer = self._on_it = None
        self._next()

    def _next(self) -> None:
        waiting = [who for who, one in self._waiting.items() if not one.done()]
        if self._timer is not None or not waiting:
            return
        if self.others and time.monotonic() - self._since < 2 * self.longest:
            self._later(LOOKS_EVERY)
            return
        first = min(waiting, key=lambda who: self._passed.get(who, 0.0))
        self._on_it, self._since = first, time.monotonic()
        self._passed[first] = self._since
        self._waiting.pop(first).set_result(None)
        self._later(self.longest)
