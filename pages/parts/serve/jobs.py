"""Long work behind the pages, moved on in a thread for as long as somebody looks at it. No Streamlit here.

In: a key that says what is computed, and an iterator of `PartialResult`s. Out: a `Job`, the same one for all who ask:
how far it is, the result so far, what went wrong. A `JobQueue` moves its jobs on in turns, one for each reader.
"""

import atexit
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from contextlib import AbstractContextManager
from threading import BoundedSemaphore, Event, Lock, RLock, Thread
from typing import Any, Generic, TypeVar

from mha_core import HeadScopeError
from mha_core.causal import PartialResult

T = TypeVar("T")
R = TypeVar("R")
Parts = Generator[PartialResult[T], None, None]

LOG = logging.getLogger("streamlit.headscope")
LOOKED_AWAY = 20.0  # seconds without a look, then a reader is taken to be gone
TURN = 0.5  # seconds that a job is moved on before the next one
MAX_JOBS = 40  # jobs of a line whose results are kept
SETTLED_SECONDS = 0.5  # an estimate from less is a guess about the cache, not about the file
_CLOSING = Event()
BROKEN = "Something went wrong on our side. Partial results below."


class Job(Generic[T]):
    """One piece of work; `step` is its last part, kept whatever happens, `problem` what went wrong, in one sentence."""

    def __init__(self, begin: Callable[[], Parts[T]]) -> None:
        self._begin = begin
        self._parts: Parts[T] | None = None
        self._moving = Lock()
        self.last_seen: dict[str, float] = {}  # when each reader looked last; 0 for one who has stopped it
        self.step: PartialResult[T] | None = None
        self.seconds = 0.0
        self.finished, self.problem = False, ""

    @property
    def remaining(self) -> float | None:
        """Seconds of work that are left at the pace so far; None where that would be a guess."""
        if self.step is None or self.step.fraction <= 0 or self.seconds < SETTLED_SECONDS:
            return None
        return self.seconds * (1 - self.step.fraction) / self.step.fraction

    @property
    def has_watchers(self) -> bool:
        """Return whether anyone has looked lately."""
        return any(time.monotonic() - seen < LOOKED_AWAY for seen in list(self.last_seen.values()))

    def goes_on_for(self, reader: str) -> bool:
        """Return whether it runs or waits to, and this user has not stopped it."""
        return not self.finished and self.last_seen.get(reader, 0.0) > 0

    def read(self, make: Callable[[PartialResult[T]], R]) -> R | None:
        """`make` of the last part, while nobody moves the work on; None before the first."""
        with self._moving:
            return None if self.step is None else make(self.step)

    def renew(self) -> None:
        """Let it begin again, from nothing; its last part stays until there is another."""
        self._parts, self.seconds, self.finished, self.problem = None, 0.0, False, ""

    def close(self) -> None:
        """Give up what it holds between two parts: it is begun again when it goes on."""
        if self._parts is not None:
            self._parts.close()
            self._parts = None

    def advance(self, seconds: float, among: AbstractContextManager[object]) -> None:
        """Move it on for about so long, each part within `among`, while it is wanted."""
        began = since = time.monotonic()
        while not self.finished and self.has_watchers and since - began < seconds:
            with among, self._moving:
                try:
                    self._parts = self._parts or self._begin()
                    self.step = next(self._parts)
                except StopIteration:
                    self.finished = True
                except HeadScopeError as error:
                    self.problem, self.finished = str(error), True
                except Exception as error:  # any error of ours ends this work; the jobs of others go on
                    LOG.error("A job broke off", exc_info=error)
                    self.problem, self.finished = BROKEN, True
            let_others()
            self.seconds += time.monotonic() - since
            since = time.monotonic()


def let_others() -> None:
    """Between two pieces of long work: let the threads of readers take what they wait for, and end with the process."""
    time.sleep(0.001)
    if _CLOSING.is_set():
        raise SystemExit


class JobQueue:
    """Jobs that share one thread. `among`: what each part is made within, such as the model's semaphore; `seconds`: how
    long one is moved on before the next; `keeps`: whether a job that is paused keeps its place in memory."""

    def __init__(
        self, among: AbstractContextManager[object], seconds: float = TURN, *, keeps: bool = True
    ) -> None:
        self._among, self._seconds, self._keeps = among, seconds, keeps
        self._all: OrderedDict[Hashable, Job[Any]] = OrderedDict()
        self._line: list[Job[Any]] = []
        self._lock = RLock()
        self._thread: Thread | None = None

    def peek(self, key: Hashable) -> Job[Any] | None:
        """Return a key's job if there is one."""
        return self._all.get(key)

    def ask(self, key: Hashable, begin: Callable[[], Parts[T]]) -> Job[T]:
        """Return a key's job, begun or not; drop old ones that nobody waits for."""
        with self._lock:
            job: Job[T] = self._all.setdefault(key, Job(begin))
            self._all.move_to_end(key)
            idle = [name for name, other in self._all.items() if other not in self._line and other is not job]
            for name in idle[: max(0, len(self._all) - MAX_JOBS)]:
                del self._all[name]
            return job

    def forget(self, key: Hashable) -> None:
        """Drop the job of that key: whoever asks again begins a new one."""
        with self._lock:
            self._all.pop(key, None)

    def start(self, job: Job[Any], reader: str) -> None:
        """Let it begin, go on, or begin again for this reader, whose other job stops."""
        with self._lock:
            for other in self._line:
                if other is not job and reader in other.last_seen:
                    other.last_seen[reader] = 0.0
            self._queue(job, reader, time.monotonic())

    def behind(self, job: Job[Any]) -> None:
        """Run the job to its end, watched or not."""
        with self._lock:
            self._queue(job, "", float("inf"))

    def look(self, job: Job[Any], reader: str) -> None:
        """Note that this user still looks: the job goes on only while someone does."""
        with self._lock:
            if job.goes_on_for(reader):
                self._queue(job, reader, time.monotonic())

    def stop(self, job: Job[Any], reader: str) -> None:
        """Stop the job for this user; it goes on while another looks."""
        job.last_seen[reader] = 0.0

    def ahead(self, job: Job[Any]) -> int:
        """Return the number of jobs before it."""
        with self._lock:
            return self._line.index(job) if job in self._line else 0

    def _queue(self, job: Job[Any], reader: str, seen: float) -> None:
        job.last_seen[reader] = seen
        if job.finished:  # also where its turn, which is over, is still in line
            job.renew()
        if job not in self._line:
            self._line.append(job)
        if self._thread is None:
            self._thread = Thread(target=self._run, name="jobs", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        """Move on the first job in line until there is none; the thread's work."""
        while True:
            with self._lock:
                if not self._line:
                    self._thread = None
                    return
                job = self._line[0]
            job.advance(self._seconds, self._among)
            if not self._keeps:
                job.close()
            with self._lock:
                self._line.remove(job)
                if not job.finished and job.has_watchers:  # also where somebody came back meanwhile
                    self._line.append(job)


MODEL = BoundedSemaphore(2)  # two runs of a model keep two cores busy; more would only hold more memory
# Long work behind the pages: what readers ask for, and the roles of heads, which nobody need wait for.
JOBS, FINDINGS = JobQueue(MODEL), JobQueue(MODEL)


@atexit.register
def _close() -> None:
    """Let no thread compute while the process is taken apart."""
    _CLOSING.set()
    for thread in (JOBS._thread, FINDINGS._thread):
        if thread is not None:
            thread.join(2)
