"""What surrounds a command at a terminal or in a script: its exit code, its one sentence, its files.

Exit codes: 0 done, or the reader of the pipe has seen enough; 2 bad input, or a place that cannot be written to; 130
stopped by the reader. Nobody sees a traceback for a full disk, a closed output or Ctrl-C.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path

from mha_core.errors import HeadScopeError, InputError

UNUSABLE = 2
STOPPED = 130


def guarded(command: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run a command with its arguments; returns the exit code, with one sentence on stderr where it is 2 or 130."""
    closed = _prepare_streams()
    try:
        _check_arguments(arguments)
        if closed and not any(each == "--out" or each.startswith("--out=") for each in arguments):
            raise InputError("Standard output is closed; name a file with --out.")
        code = command(arguments)
        sys.stdout.flush()
        return code
    except HeadScopeError as problem:
        _say(problem)
        return UNUSABLE
    except BrokenPipeError:  # the reader of the pipe (head, less) has seen enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        _say("Stopped.")
        return STOPPED
    except OSError as problem:  # of files the commands speak themselves: this is the output's
        _drop_output()
        _say(f"The result cannot be written: {problem.strerror or problem}.")
        return UNUSABLE


def _say(sentence: object) -> None:
    sys.stderr.write(f"{sentence}\n")


def check_file(path: Path | None) -> None:
    """Raises InputError where a file cannot be written for want of its folder: before what takes long, not after it."""
    if path is not None and not Path(os.path.realpath(path)).parent.is_dir():
        raise InputError(f"Cannot write '{path}': the folder does not exist.")


def write_file(path: Path, content: str) -> None:
    """Write a file whole or not at all: beside its place, then renamed. Raises InputError with the system's reason."""
    data = content.encode()
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():  # a device or a pipe takes bytes and no other name
            target.write_bytes(data)
            return
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).chmod(mode)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as problem:
        raise InputError(
            f"'{path}' cannot be written: {getattr(problem, 'strerror', None) or problem}."
        ) from None


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def _prepare_streams() -> bool:
    """Streams that can be written to whatever they know and whether they are there; True if stdout is closed."""
    closed = sys.stdout is None
    if closed:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot write "→" or an accent
    return closed


def _check_arguments(arguments: Sequence[str]) -> None:
    """Raise InputError for an argument with bytes that are no text here and no path either."""
    for argument in arguments:
        if any("\ud800" <= sign <= "\udfff" for sign in argument) and not os.path.lexists(argument):
            raise InputError(
                f"The argument {argument[:40]!a} holds bytes that are no text in this terminal's encoding; "
                "set a UTF-8 locale, or PYTHONUTF8=1."
            )


def _drop_output() -> None:
    """Keep Python from complaining at exit about what it could not write."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # not a real file (a test's)
        sys.stdout = sys.__stdout__
