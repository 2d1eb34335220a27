"""A command as a process: its exit code, its one sentence, its streams, Ctrl-C.

Exit codes: 0 done, or the pipe's reader needs no more; 2 bad input, or a place that cannot be written to; 130 stopped
by the user. Nobody sees a traceback for a full disk, a closed output or Ctrl-C.
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path

from mha_core.cli.output import warn
from mha_core.errors import HeadScopeError, InputError

UNUSABLE = 2
STOPPED = 130
Stop = Callable[[], bool]


def run_guarded(command: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run a command and return its exit code, with one sentence on standard error where it is 2 or 130."""
    is_closed = _prepare_streams()
    try:
        _check_arguments(arguments)
        if is_closed and not any(each == "--out" or each.startswith("--out=") for each in arguments):
            raise InputError("Standard output is closed; name a file with --out.")
        code = command(arguments)
        sys.stdout.flush()
        return code
    except HeadScopeError as problem:
        warn(problem)
        return UNUSABLE
    except BrokenPipeError:  # the pipe's reader (head, less) needs no more
        _drop_output()
        return 0
    except KeyboardInterrupt:
        warn("Stopped.")
        return STOPPED
    except OSError as problem:  # of other files the commands speak themselves: this is the output's
        _drop_output()
        warn(f"The result cannot be written: {problem.strerror or problem}.")
        return UNUSABLE


def interruptible(
    run: Callable[[argparse.Namespace, Stop], int | None],
) -> Callable[[argparse.Namespace], int | None]:
    """Return a command for which Ctrl-C is a request, `stop()`: it ends between two texts, with no sum half added."""

    def run_with_stop(options: argparse.Namespace) -> int | None:
        requested = threading.Event()
        if threading.current_thread() is not threading.main_thread():  # only that one has signals
            return run(options, requested.is_set)
        previous = signal.signal(signal.SIGINT, lambda *_: requested.set())
        try:
            return run(options, requested.is_set)
        finally:
            signal.signal(signal.SIGINT, previous)

    return run_with_stop


def _prepare_streams() -> bool:
    """Make both streams writable, whatever their encoding; return whether standard output is closed."""
    is_closed = sys.stdout is None
    if is_closed:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot write "→" or an accent
    return is_closed


def _check_arguments(arguments: Sequence[str]) -> None:
    """Raise InputError for an argument whose bytes are neither text nor a path here."""
    for argument in arguments:
        if any("\ud800" <= sign <= "\udfff" for sign in argument) and not os.path.lexists(argument):
            raise InputError(
                f"The argument {argument[:40]!a} holds bytes that are no text in this terminal's encoding; "
                "set a UTF-8 locale, or PYTHONUTF8=1."
            )


def _drop_output() -> None:
    """Keep Python from complaining at exit about output that it could not write."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # not a real file (a test's)
        sys.stdout = sys.__stdout__
