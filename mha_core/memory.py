"""Room for large tensors of weights, in huge pages where the system has them.

A fresh block of the C library's above 32 MB is mapped anew at every call, and its pages are made one by one: at
4 KiB each, filling 201 MB took 96 ms, in pages of 2 MiB 38.
"""

import math
import mmap
from contextlib import suppress

import torch
from torch import Tensor

LARGE = 32_000_000
HUGE_PAGE = 2 << 20


def new_room(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """An uninitialised contiguous tensor on the CPU, of the type of `like`."""
    n_bytes = math.prod(shape) * like.element_size()
    if n_bytes < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return like.new_empty(shape)
    try:
        held = mmap.mmap(-1, n_bytes + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        return like.new_empty(shape)  # torch says what is missing
    with suppress(OSError):  # a system without them
        held.madvise(mmap.MADV_HUGEPAGE)
    whole = torch.frombuffer(held, dtype=torch.uint8)
    first = -whole.data_ptr() % HUGE_PAGE
    return whole[first : first + n_bytes].view(like.dtype).view(shape)
