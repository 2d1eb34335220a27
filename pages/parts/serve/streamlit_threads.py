"""The threads in which pages run: used again, and asked less what Streamlit asks at every step.

Streamlit starts a thread for every sentence and waits, in the event loop, until it runs; beside runs that hold the
interpreter each of a hundred sentences would hold up all others for that long.
"""

import threading
from contextvars import Context
from functools import cache
from queue import SimpleQueue
from typing import Any

from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType

IDLE = 16  # threads that wait for the next run; those beyond them end


def parts() -> dict[str, bool]:
    """What is needed of Streamlit here, by name, and whether it is there."""
    return {
        "ScriptRunner._run_script_thread": hasattr(ScriptRunner, "_run_script_thread"),
        "ScriptRunner._script_thread": {"_script_thread", "_requests"}
        <= set(ScriptRunner.__init__.__code__.co_names),
        "ScriptRunner._maybe_handle_execution_control_request": hasattr(
            ScriptRunner, "_maybe_handle_execution_control_request"
        ),
        "ScriptRequests._state": "_state" in ScriptRequests.__init__.__code__.co_names,
    }


class Threads:
    """Threads that run pages one after another; of those that have nothing to do some wait, and the rest end."""

    def __init__(self, idle: int = IDLE) -> None:
        self._idle = idle
        self._waiting: list[PageThread] = []

    def start(self, runner: ScriptRunner) -> None:
        """In place of `ScriptRunner.start`: have a thread run it, without waiting until it does."""
        if runner._script_thread is not None:
            raise RuntimeError("ScriptRunner was already started")
        try:
            thread = self._waiting.pop()
        except IndexError:
            thread = PageThread(self)
            runner._script_thread = thread
            thread.given.put(runner)
            thread.start()
        else:
            runner._script_thread = thread
            thread.given.put(runner)

    def take_back(self, thread: "PageThread") -> bool:
        """Let a thread wait for its next run; False where enough of them do."""
        if len(self._waiting) >= self._idle:
            return False
        self._waiting.append(thread)
        return True


class PageThread(threading.Thread):
    """One of them. Between two runs it keeps nothing of either: no context, no variable, no value of a reader's."""

    def __init__(self, threads: Threads) -> None:
        super().__init__(name="ScriptRunner.scriptThread", daemon=True)
        self.given: SimpleQueue[ScriptRunner] = SimpleQueue()
        self._threads = threads

    def run(self) -> None:
        """Run what is given; what a run raises ends the thread, as it does with Streamlit."""
        mine = set(vars(self))
        while True:
            self._run_next()
            for name in set(vars(self)) - mine:
                delattr(self, name)
            if not self._threads.take_back(self):
                return

    def _run_next(self) -> None:
        Context().run(_run, self.given.get())


def _run(runner: Any) -> None:
    runner._run_script_thread()


@cache
def use_threads_again() -> None:
    """From now on; before the first visitor. Streamlit's own test client waits until the thread of a run has ended."""
    threads, start_one = Threads(), ScriptRunner.start

    def start(runner: ScriptRunner) -> None:
        if type(runner) is ScriptRunner:
            threads.start(runner)
        else:
            start_one(runner)

    setattr(ScriptRunner, "start", start)  # noqa: B010 - mypy lets no method be assigned


@cache
def ask_for_requests_fast() -> None:
    """From now on; before the first visitor. At every message and every reading of the session's state a run asks
    whether its reader wants something else: mostly not, and what else Streamlit looks for there, trouble in fragments
    that run side by side, this app has none of."""
    handle = ScriptRunner._maybe_handle_execution_control_request

    def fast(runner: ScriptRunner) -> None:
        if runner._requests._state is not ScriptRequestType.CONTINUE:
            handle(runner)

    setattr(ScriptRunner, "_maybe_handle_execution_control_request", fast)  # noqa: B010
