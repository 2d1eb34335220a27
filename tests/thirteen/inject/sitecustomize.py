"""Loaded by Python itself at the start of a server under trial: a clock that can be moved, and sentences that raise.

`HEADSCOPE_TRIAL_CLOCK` names a file with a number of seconds, which the clock of the wall is off by. A text that has
the words "raises MemoryError" ends the engine's run with that exception.
"""

import builtins
import os
import sys
import time
from pathlib import Path


def move_the_clock(file: Path) -> None:
    """Have `time.time` read from the file how wrong it goes, ten times a second at most."""
    true, steady = time.time, time.monotonic
    read = [0.0, -1.0]

    def moved() -> float:
        if steady() - read[1] > 0.1:
            read[:] = float(file.read_text() or 0), steady()
        return true() + read[0]

    time.time = moved
    time.time_ns = lambda: int(moved() * 1e9)


def raise_when_told() -> None:
    """Have the engine end badly on the texts that say so."""
    import mha_core

    sound = mha_core.trace_tokens

    def trace_tokens(tokens, *rest, **named):  # type: ignore[no-untyped-def]
        words = tokens.text.replace(".", " ").split()
        if "raises" in words:
            raise getattr(builtins, words[words.index("raises") + 1])(
                "the words of the reader: " + tokens.text
            )
        return sound(tokens, *rest, **named)

    mha_core.trace_tokens = trace_tokens


if "streamlit" in sys.orig_argv:
    if clock := os.environ.get("HEADSCOPE_TRIAL_CLOCK"):
        move_the_clock(Path(clock))
    if os.environ.get("HEADSCOPE_TRIAL_RAISES"):
        raise_when_told()
