"""Trainings in a process of their own, so that pages stay fast: each is a job in a queue of one at a time.

In: a kind of training and its settings. Out: a job whose result is a `TrainingProgress`, the same for all who want the
same. A training that nobody watches is paused, and goes on where it was.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from mha_core import HeadScopeError
from mha_core.causal import PartialResult
from mha_core.training.worker import unpacked
from pages.parts.serve.jobs import Job, JobQueue, Parts

IDLE = 600.0  # seconds without work, then the process ends
BROKEN = "Training stopped unexpectedly. Press Start to retry."
ROOT = Path(__file__).parents[3]  # where mha_core is, wherever the server was started
WORKER = (sys.executable, "-m", "mha_core.training.worker")
Process: TypeAlias = "subprocess.Popen[bytes]"
Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class TrainingProgress:
    """The `rows` of a training's curve so far, and its latest `state`."""

    rows: tuple[Mapping[str, Any], ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)


class Worker:
    """The process that trains, started when it is needed. One training speaks to it at a time."""

    def __init__(self, command: tuple[str, ...] = WORKER) -> None:
        self.command = command
        self._process: Process | None = None
        self._lock = threading.Lock()
        self._idle: threading.Timer | None = None

    def warm(self) -> None:
        """Start the process in the background, ready for the button. Returns at once."""
        if self._process is None:
            threading.Thread(target=self._warm, daemon=True).start()

    def _warm(self) -> None:
        with suppress(OSError):  # the button reports the error
            self.running()

    def rest(self) -> None:
        """Keep the process for a while after a training, with what is paused in it."""
        self._idle = threading.Timer(IDLE, self.close)
        self._idle.daemon = True
        self._idle.start()

    def close(self) -> None:
        """End the process; what it trains, or keeps, is lost."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # a message was on its way
                    if pipe is not None:
                        pipe.close()

    def running(self) -> Process:
        """Return the process, started if there is none. Raises OSError where none can be started."""
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(  # noqa: S603
                    self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
                )
                if self._process.stdout is not None:
                    self._process.stdout.readline()  # it is ready
            return self._process


class TrainingJob:
    """One training, whose progress goes on where it was when its parts are begun again."""

    def __init__(self, worker: Worker, kind: str, settings: Settings, name: str, *, fresh: bool) -> None:
        self._worker = worker
        self._command = {"go": name, "kind": kind, "settings": dict(settings), "fresh": fresh}
        self._progress = TrainingProgress()

    def parts(self) -> Parts[TrainingProgress]:
        """Yield the progress so far, again and again; closing it pauses the training."""
        try:
            process = self._worker.running()
            _send(process, self._command)
            self._command["fresh"] = False
            for message in _messages(process):
                if "end" in message:
                    if message["end"] == "problem":
                        raise HeadScopeError(message["problem"])
                    return
                self._take(message)
                try:
                    yield PartialResult(message["fraction"], len(self._progress.rows), self._progress)
                except GeneratorExit:
                    self._pause(process)
                    raise
        except OSError:
            self._worker.close()
            raise HeadScopeError(BROKEN) from None
        finally:
            self._worker.rest()

    def _pause(self, process: Process) -> None:
        """Stop it, and take the updates that it sends until it stops."""
        with suppress(OSError):  # it died: whoever goes on with it gets a new one
            _send(process, {"pause": self._command["go"]})
            for message in _messages(process):
                if "end" not in message:
                    self._take(message)

    def _take(self, message: Mapping[str, Any]) -> None:
        """Add one update; a training that began anew sends its curve from the start."""
        known = () if message["first"] else self._progress.rows
        self._progress = TrainingProgress((*known, *message["rows"]), message["state"])


class Trainings:
    """All trainings of a server: one goes on at a time, the others wait in the queue."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.line = JobQueue(nullcontext(), float("inf"), keeps=False)

    def start(self, kind: str, settings: Settings, reader: str) -> None:
        """Begin for this user, apart from a run that others have finished. For callbacks."""
        name, job = name_of(kind, settings), self.begun(kind, settings, reader)
        if job is not None and job.finished and not job.problem:
            name = _own_name(kind, settings, reader)
            self.line.forget(name)
        self._begin(kind, settings, name, reader, fresh=False)

    def show(self, job: Job[TrainingProgress], reader: str) -> None:
        """Let this user look at a run that others have finished. For callbacks."""
        self.line.stop(job, reader)

    def restart(self, kind: str, settings: Settings, reader: str) -> None:
        """Train from the first step, unless another user watches this training. For callbacks."""
        job = self.begun(kind, settings, reader)
        if job is None or job.has_watchers:
            self.start(kind, settings, reader)
            return
        name = _own_name(kind, settings, reader)
        name = name if self.line.peek(name) else name_of(kind, settings)
        self.line.forget(name)
        self._begin(kind, settings, name, reader, fresh=True)

    def _begin(self, kind: str, settings: Settings, name: str, reader: str, *, fresh: bool) -> None:
        training = TrainingJob(self.worker, kind, settings, name, fresh=fresh)
        self.line.start(self.line.ask(name, training.parts), reader)

    def begun(self, kind: str, settings: Settings, reader: str = "") -> Job[TrainingProgress] | None:
        """Return the training of these settings if somebody began it; the user's own where there is one."""
        return self.line.peek(_own_name(kind, settings, reader)) or self.line.peek(name_of(kind, settings))


def _own_name(kind: str, settings: Settings, reader: str) -> str:
    return f"{name_of(kind, settings)} of {reader}"


def _send(process: Process, command: Mapping[str, Any]) -> None:
    """Send a command. Raises OSError where the process is gone."""
    if process.stdin is not None:
        process.stdin.write(json.dumps(command).encode() + b"\n")
        process.stdin.flush()


def _messages(process: Process) -> Iterator[dict[str, Any]]:
    """Yield its messages up to the end of a training. Raises OSError where it dies."""
    for line in iter(process.stdout.readline if process.stdout else bytes, b""):
        with suppress(json.JSONDecodeError):  # it died in the middle of a line
            message: dict[str, Any] = unpacked(json.loads(line))
            yield message
            if "end" in message:
                return
    raise BrokenPipeError("the process that trains is gone")


def name_of(kind: str, settings: Settings) -> str:
    """Return the name of a training: the same for the same settings."""
    return json.dumps([kind, dict(sorted(settings.items()))])


def progress_of(job: Job[TrainingProgress] | None) -> TrainingProgress:
    """Return a training's progress; an empty one where nobody began it."""
    return job.step.result if job and job.step else TrainingProgress()


TRAININGS = Trainings(Worker())
