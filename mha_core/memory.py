"""Room for large tensors of weights, in huge pages where the system has them, and used again.

A fresh block of the C library's above 32 MB is mapped anew at every call, and its pages are made one by one: filling
283 MB took 165 ms at 4 KiB each, 50 to 390 in pages of 2 MiB, for which the system may have to move others, and 39
where the pages were there. So the last room that was let go is kept; its pages are the system's to take until then.
"""

import math
import mmap
import weakref
from contextlib import suppress

import torch
from torch import Tensor

LARGE = 32_000_000
HUGE_PAGE = 2 << 20
MOST_KEPT = 512_000_000
_KEPT: list[mmap.mmap] = []  # the last room that was let go, if any


def new_room(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """An uninitialised contiguous tensor on the CPU, of the type of `like`."""
    n_bytes = math.prod(shape) * like.element_size()
    if n_bytes < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return like.new_empty(shape)
    try:
        held = _kept(n_bytes + HUGE_PAGE) or _mapped(n_bytes + HUGE_PAGE)
    except OSError:
        return like.new_empty(shape)  # torch says what is missing
    lent = memoryview(held)  # lives as long as a tensor needs it
    weakref.finalize(lent, _keep, held).atexit = False
    whole = torch.frombuffer(lent, dtype=torch.uint8)
    first = -whole.data_ptr() % HUGE_PAGE
    return whole[first : first + n_bytes].view(like.dtype).view(shape)


def _mapped(n_bytes: int) -> mmap.mmap:
    held = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system without them
        held.madvise(mmap.MADV_HUGEPAGE)
    return held


def _kept(n_bytes: int) -> mmap.mmap | None:
    """The room that was let go, unless it is too small, or so large that much of it would lie idle."""
    with suppress(IndexError):  # another thread took it
        held = _KEPT.pop()
        return held if n_bytes <= len(held) <= 2 * n_bytes else None
    return None


def _keep(held: mmap.mmap) -> None:
    if len(held) <= MOST_KEPT:
        with suppress(OSError, AttributeError):
            held.madvise(mmap.MADV_FREE)
        _KEPT[:] = [held]
