"""Room for large tensors of weights, and for a model's matrices, in huge pages where the system has them.

A fresh block of the C library's above 32 MB is mapped anew at every call, and its pages are made one by one: filling
283 MB took 165 ms at 4 KiB each, 50 to 390 in pages of 2 MiB, for which the system may have to move others, and 39
where the pages were there. So the last room that was let go is kept; its pages are the system's to take until then.
Matrices that every text reads once, 425 MB in SmolLM2, are read in 0.94 to 0.96 of the time there.
"""

import ctypes
import math
import mmap
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

LARGE = 32_000_000
DONT_NEED = 4  # what madvise is told of pages that may go
HUGE_PAGE = 2 << 20
LASTING = 4 * HUGE_PAGE  # matrices of fewer bytes could leave more of a page empty than they gain
LINE = 16  # numbers of fp32 in a line of the cache
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
    return _from_huge_page(lent)[:n_bytes].view(like.dtype).view(shape)


class Pages:
    """Room for matrices of fp32 that stay, `n_bytes` in all, one after the other."""

    def __init__(self, n_bytes: int) -> None:
        self._left = torch.empty(0, dtype=torch.float32)
        if n_bytes >= LASTING and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):
                self._left = _from_huge_page(memoryview(_mapped(n_bytes + HUGE_PAGE))).view(torch.float32)

    def empty(self, shape: Sequence[int], like: Tensor) -> Tensor:
        """The next uninitialised tensor; one of its own where no room is left, or `like` is of another type."""
        size = math.prod(shape)
        if size > len(self._left) or like.dtype != torch.float32 or not like.is_cpu:
            return like.new_empty(shape)
        found, self._left = self._left[:size], self._left[-(-size // LINE) * LINE :]
        return found.view(shape)


def forget_room() -> None:
    """Let go of the room that is kept for the next large tensor: the system counts it as used until it needs it."""
    _KEPT.clear()


def forget_file(*tensors: Tensor) -> bool:
    """Let go of the pages of the mapped file that these tensors, or some of them, are read from: of a model's all were
    looked at, and most of its matrices are kept elsewhere since. What is needed again comes back from the file.

    False where there is no such file, or something was written over what came from it.
    """
    addresses = [tensor.data_ptr() for tensor in tensors if tensor.nbytes >= HUGE_PAGE]
    found = _as_in_its_file(addresses) if addresses else None
    if found is None:
        return False
    advise = of_c_library("madvise")
    return (
        advise is not None
        and advise(ctypes.c_void_p(found.start), ctypes.c_size_t(len(found)), DONT_NEED) == 0
    )


@cache
def of_c_library(name: str) -> Callable[..., int] | None:
    """A function of the C library that this process uses; None where there is no such library, or it has none."""
    with suppress(OSError, AttributeError, TypeError):
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
        return found
    return None


def _as_in_its_file(addresses: Sequence[int]) -> range | None:
    """The addresses of the mapped file that one of these is of, if no page there is this process's own.

    The system takes 30 ms to tell, whoever asks for how many.
    """
    found: range | None = None
    with suppress(OSError, ValueError), Path("/proc/self/smaps").open(errors="replace") as lines:
        for line in lines:
            said = line.split()
            if not said[0].endswith(":"):
                start, end = (int(number, 16) for number in said[0].split("-"))
                one_of_it = any(start <= address < end for address in addresses)
                found = range(start, end) if one_of_it and "/" in said[-1] else None
            elif found is not None and said[0] == "Anonymous:":  # pages that are no longer the file's
                if said[1] == "0":
                    return found
                found = None
    return None


def _from_huge_page(lent: memoryview) -> Tensor:
    """The bytes from the start of the first huge page on, as many as make whole numbers."""
    whole = torch.frombuffer(lent, dtype=torch.uint8)
    first = -whole.data_ptr() % HUGE_PAGE
    return whole[first : first + (len(whole) - first) // 8 * 8]


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
