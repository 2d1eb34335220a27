"""Memory that is free goes back to the system, where the C library is glibc, which likes to keep it.

Its limit for blocks that it maps alone, and gives back as they are freed, grows with the largest one it saw, to 32 MB,
and that for what it keeps at the end of its heap to twice as much: a class with texts of 128 tokens, 4.7 MB of weights
each, leaves holes of that size everywhere. With limits that stay the most memory of such a class fell by 60 MB. A limit
of 1 MB saves no more, and lets a text of 500 words take 1.4 times as long: what a layer reckons with is 3 MB then.
"""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import cache

# What `mallopt` calls its limits: what may stay free at the end of the heap, and from when a block is mapped alone.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
ALONE, AT_THE_END = 7 << 19, 1 << 24  # bytes


def free_at_once() -> None:
    """Give large blocks back as soon as they are freed, in this process from now on."""
    limit = of_c_library("mallopt")
    if limit is not None:
        limit(MMAP_THRESHOLD, ALONE)
        limit(TRIM_THRESHOLD, AT_THE_END)


def hand_back() -> None:
    """Let the system have the memory that long work has freed: hundreds of megabytes, of a text of 500 words."""
    trim = of_c_library("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def of_c_library(name: str) -> Callable[..., int] | None:
    """A function of the C library that this process uses; None where there is no such library, or it has none."""
    with suppress(OSError, AttributeError, TypeError):
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
        return found
    return None
