"""Trainings for all readers, in a process of their own: one at a time, the others wait in line. No Streamlit here.

In: a kind of training and its settings. Out: a `LiveTraining`, the same one for all who ask for the same: its curve so
far, what it shows now, its place in the line. What nobody looks at any more is paused, and goes on where it was.
"""

import json
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mha_core.learning.worker import unpacked

State = Literal["new", "waiting", "running", "stopped", "finished", "problem"]
LOOKED_AWAY = 20.0  # seconds without a look, then a reader is taken to be gone
IDLE = 600.0  # seconds without work, then the process is let go
KEPT_AT_MOST = 40  # trainings whose numbers are kept
BROKEN = "The training broke off. Press the button to let it begin again."
ROOT = Path(__file__).parents[3]  # where mha_core is found, wherever the server was started
WORKER = (sys.executable, "-m", "mha_core.learning.worker")


@dataclass
class LiveTraining:
    """One training: `rows` of its curve and `now`, what it shows. Only its `Trainer` writes."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    state: State = "new"
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    now: Mapping[str, Any] = field(default_factory=dict)
    fraction: float = 0.0
    problem: str = ""
    looks: dict[str, float] = field(default_factory=dict)

    def wanted(self) -> bool:
        """Does a reader still look at it?"""
        return any(time.monotonic() - seen < LOOKED_AWAY for seen in list(self.looks.values()))


class Trainer:
    """The line, and the process at its head. All methods may be called from any thread."""

    def __init__(self, command: tuple[str, ...] = WORKER) -> None:
        self._command = command
        self._lock = threading.RLock()
        self._all: OrderedDict[str, LiveTraining] = OrderedDict()
        self._line: list[LiveTraining] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._work = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._closing = False

    def ask(self, kind: str, settings: Mapping[str, Any]) -> LiveTraining:
        """The training of these settings, begun or not."""
        name = json.dumps([kind, dict(sorted(settings.items()))])
        with self._lock:
            if name not in self._all:
                self._all[name] = LiveTraining(name, kind, settings)
            self._all.move_to_end(name)
            self._forget_old()
            return self._all[name]

    def _forget_old(self) -> None:
        *before, _ = self._all.items()  # the last is the one that is asked for
        idle = [name for name, one in before if one not in self._line]
        for name in idle[: max(0, len(self._all) - KEPT_AT_MOST)]:
            del self._all[name]

    def warm(self) -> None:
        """Start the process, so that it is there when somebody presses the button. Returns at once."""
        with self._work:
            if self._thread is None:
                self._thread = threading.Thread(target=self._live, name="trainer", daemon=True)
                self._thread.start()

    def start(self, training: LiveTraining, reader: str) -> None:
        """Let it begin, or go on: at the end of the line, if others train. What this reader had before it stops."""
        with self._work:
            self.warm()
            for other in self._line:
                other.looks.pop(reader, None)
            training.looks[reader] = time.monotonic()
            if training.state in ("new", "stopped", "problem"):
                training.state, training.problem = "waiting", ""
                self._line.append(training)
                self._work.notify_all()

    def look(self, training: LiveTraining, reader: str) -> None:
        """Say that this reader still looks: it goes on only as long as somebody does."""
        if reader in training.looks:
            training.looks[reader] = time.monotonic()

    def stop(self, training: LiveTraining, reader: str) -> None:
        """This reader wants no more of it. It stops if no other reader looks at it."""
        training.looks.pop(reader, None)

    def ahead(self, training: LiveTraining) -> int:
        """How many trainings are before it."""
        with self._lock:
            return self._line.index(training) if training in self._line else 0

    def close(self) -> None:
        """Let the process go; what it trains stops."""
        with self._work:
            self._closing = True
            if self._process is not None:
                self._process.kill()
            self._work.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _live(self) -> None:
        """The thread; where the system starts no process now, all who wait are told, and the next who asks has it try
        again."""
        try:
            self._run()
        except OSError:
            with self._lock:
                for training in self._line:
                    training.state, training.problem = "problem", BROKEN
                self._line.clear()
                self._thread = self._process = None

    def _run(self) -> None:
        """What it does: starts the process, hands it what is first in line, and ends when there was long nothing."""
        process = self._started()
        while (training := self._next()) is not None:
            if process.poll() is not None:  # it died while nothing was to be trained
                _let_go(process)
                process = self._started()
            end, problem = self._train(process, training)
            if problem == BROKEN:
                _let_go(process)
                process = self._started()
            with self._lock:
                self._line.remove(training)
                training.problem, training.state = problem, end
                if end == "stopped" and training.wanted():  # somebody came back before the pause was heard
                    training.state = "waiting"
                    self._line.append(training)
        _let_go(process)

    def _next(self) -> LiveTraining | None:
        """The first in line; None, and the thread is over, if nobody comes for long."""
        with self._work:
            self._work.wait_for(lambda: self._line or self._closing, timeout=IDLE)
            if self._line and not self._closing:
                return self._line[0]
            self._thread = self._process = None
            return None

    def _started(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(  # noqa: S603
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        with self._lock:
            self._process = process
        if process.stdout is not None:
            process.stdout.readline()  # it is ready
        return process

    def _train(self, process: "subprocess.Popen[bytes]", training: LiveTraining) -> tuple[State, str]:
        """Follow one training to its end or its pause."""
        if not training.wanted():
            return "stopped", ""
        training.state = "running"
        asked = {"go": training.name, "kind": training.kind, "settings": dict(training.settings)}
        paused = False
        try:
            _tell(process, asked)
            for line in iter(process.stdout.readline if process.stdout else bytes, b""):
                message = unpacked(json.loads(line))
                if "end" in message:
                    return ENDS[message["end"]], message.get("problem", "")
                _take(training, message)
                if not paused and not training.wanted():
                    _tell(process, {"pause": training.name})
                    paused = True
        except (OSError, json.JSONDecodeError):
            pass  # the process is gone, perhaps in the middle of a line: said below
        return "problem", BROKEN


ENDS: Mapping[str, State] = {"finished": "finished", "paused": "stopped", "problem": "problem"}


def _tell(process: "subprocess.Popen[bytes]", command: Mapping[str, Any]) -> None:
    if process.stdin is not None:
        process.stdin.write(json.dumps(command).encode() + b"\n")
        process.stdin.flush()


def _let_go(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # what was on its way to it
            if pipe is not None:
                pipe.close()


def _take(training: LiveTraining, message: Mapping[str, Any]) -> None:
    """One update; a training that began anew says its curve from the start."""
    known = [] if message["first"] else training.rows
    training.rows = [*known, *message["rows"]]
    training.now, training.fraction = message["state"], message["fraction"]


TRAINER = Trainer()
