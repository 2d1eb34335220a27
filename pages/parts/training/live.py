"""Trainings in a process of their own, so that pages stay fast: each is a job in a line of one at a time.

In: a kind of training and its settings. Out: a job whose result is a `Course`, the same for all who ask for the same.
What nobody looks at any more is paused, and goes on where it was.
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
from pages.parts.serve.jobs import Job, Line, Parts

IDLE = 600.0  # seconds without work, then the process is let go
BROKEN = "Training stopped unexpectedly. Press Start to retry."
ROOT = Path(__file__).parents[3]  # where mha_core is found, wherever the server was started
Process: TypeAlias = "subprocess.Popen[bytes]"
WORKER = (sys.executable, "-m", "mha_core.training.worker")


@dataclass(frozen=True)
class Course:
    """What a training has shown: the `rows` of its curve, and what it is `now`."""

    rows: tuple[Mapping[str, Any], ...] = ()
    now: Mapping[str, Any] = field(default_factory=dict)


class Worker:
    """The process that trains, started when it is needed. One training speaks to it at a time."""

    def __init__(self, command: tuple[str, ...] = WORKER) -> None:
        self.command = command
        self._process: Process | None = None
        self._lock = threading.Lock()
        self._idle: threading.Timer | None = None

    def warm(self) -> None:
        """Start the process, so that it is there when somebody presses the button. Returns at once."""
        if self._process is None:
            threading.Thread(target=self._warm, daemon=True).start()

    def rest(self) -> None:
        """A training is over: the process is kept for a while, with what is paused in it."""
        self._idle = threading.Timer(IDLE, self.close)
        self._idle.daemon = True
        self._idle.start()

    def close(self) -> None:
        """Let the process go; what it trains, or keeps, is lost."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was on its way to it
                    if pipe is not None:
                        pipe.close()

    def _warm(self) -> None:
        with suppress(OSError):  # whoever presses the button is told
            self.running()

    def running(self) -> Process:
        """The process, started if there is none. Raises OSError where none can be started."""
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


class Training:
    """One training, whose course goes on where it was when its parts are begun again."""

    def __init__(
        self, worker: Worker, kind: str, settings: Mapping[str, Any], name: str, *, fresh: bool = False
    ) -> None:
        self._worker = worker
        self.name = name
        self._asked = {"go": self.name, "kind": kind, "settings": dict(settings), "fresh": fresh}
        self._course = Course()

    def parts(self) -> Parts[Course]:
        """The course so far, again and again; whoever closes it has the training pause."""
        try:
            process = self._worker.running()
            _tell(process, self._asked)
            self._asked["fresh"] = False
            for message in _messages(process):
                if "end" in message:
                    if message["end"] == "problem":
                        raise HeadScopeError(message["problem"])
                    return
                self._take(message)
                try:
                    yield PartialResult(message["fraction"], len(self._course.rows), self._course)
                except GeneratorExit:
                    self._pause(process)
                    raise
        except OSError:
            self._worker.close()
            raise HeadScopeError(BROKEN) from None
        finally:
            self._worker.rest()

    def _pause(self, process: Process) -> None:
        """Have it stop, and take what it says until it has heard of that."""
        with suppress(OSError):  # it died: who goes on with it is given a new one
            _tell(process, {"pause": self.name})
            for message in _messages(process):
                if "end" not in message:
                    self._take(message)

    def _take(self, message: Mapping[str, Any]) -> None:
        """One update; a training that began anew says its curve from the start."""
        known = () if message["first"] else self._course.rows
        self._course = Course((*known, *message["rows"]), message["state"])


class Trainings:
    """All trainings of a server: one goes on at a time, the others wait in line."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.line = Line(nullcontext(), float("inf"), keeps=False)

    def start(self, kind: str, settings: Mapping[str, Any], reader: str) -> None:
        """Callback of the button: let it begin for this reader, apart from a run that others have finished."""
        name, job = name_of(kind, settings), self.begun(kind, settings, reader)
        if job is not None and job.finished and not job.problem:
            name = _own_name(kind, settings, reader)
            self.line.forget(name)
        training = Training(self.worker, kind, settings, name)
        self.line.start(self.line.ask(name, training.parts), reader)

    def show(self, job: Job[Course], reader: str) -> None:
        """Callback of the button: this reader looks at what others have finished."""
        self.line.stop(job, reader)

    def restart(self, kind: str, settings: Mapping[str, Any], reader: str) -> None:
        """Callback of the button: train from the first step, unless another reader is watching this training."""
        job = self.begun(kind, settings, reader)
        if job is None or job.wanted:
            self.start(kind, settings, reader)
            return
        own = _own_name(kind, settings, reader)
        name = own if self.line.peek(own) else name_of(kind, settings)
        self.line.forget(name)
        training = Training(self.worker, kind, settings, name, fresh=True)
        self.line.start(self.line.ask(name, training.parts), reader)

    def begun(self, kind: str, settings: Mapping[str, Any], reader: str = "") -> Job[Course] | None:
        """The training of these settings if somebody has let it begin; the reader's own where there is one."""
        return self.line.peek(_own_name(kind, settings, reader)) or self.line.peek(name_of(kind, settings))


def _own_name(kind: str, settings: Mapping[str, Any], reader: str) -> str:
    return f"{name_of(kind, settings)} of {reader}"


def _tell(process: Process, command: Mapping[str, Any]) -> None:
    """Give it a command. Raises OSError where it is gone."""
    if process.stdin is not None:
        process.stdin.write(json.dumps(command).encode() + b"\n")
        process.stdin.flush()


def _messages(process: Process) -> Iterator[dict[str, Any]]:
    """What it says, up to the end of a training. Raises OSError where it dies."""
    for line in iter(process.stdout.readline if process.stdout else bytes, b""):
        with suppress(json.JSONDecodeError):  # it died in the middle of a line
            message: dict[str, Any] = unpacked(json.loads(line))
            yield message
            if "end" in message:
                return
    raise BrokenPipeError("the process that trains is gone")


def name_of(kind: str, settings: Mapping[str, Any]) -> str:
    """What a training is called: the same for the same settings."""
    return json.dumps([kind, dict(sorted(settings.items()))])


def course_of(job: Job[Course] | None) -> Course:
    """How far a training has come; an empty course where nobody has let it begin."""
    return job.step.result if job and job.step else Course()


TRAININGS = Trainings(Worker())
