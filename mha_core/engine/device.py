"""Device and precision of a computation: chosen once, passed down."""

from functools import cache

import torch

from mha_core.errors import InputError

PRECISIONS = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def choose_device(name: str = "auto") -> torch.device:
    """Return the device "cpu", "cuda", "mps", or for "auto" the fastest one here. Raises InputError for any other."""
    counts = _device_counts()
    if name == "auto":
        return torch.device(next(kind for kind in ("cuda", "mps", "cpu") if counts[kind]))
    kind, _, index = name.partition(":")
    if kind not in counts or (":" in name and not (index.isascii() and index.isdigit())):
        raise InputError(f"Unknown device '{name}'. Choose one of: auto, cpu, cuda, mps.")
    if not counts[kind]:
        raise InputError(f"This machine has no device '{name}'. 'auto' takes what there is.")
    if not index:
        return torch.device(kind)
    if len(index) > 6 or int(index) >= counts[kind]:
        raise InputError(f"Unknown device '{name}'. This machine has {counts[kind]}, counted from 0.")
    return torch.device(kind, int(index))


@cache
def _device_counts() -> dict[str, int]:
    """Count the devices of each kind, once: asking the drivers takes longer than a page has time for."""
    return {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}


def choose_precision(name: str | None, device: torch.device) -> torch.dtype:
    """Return the precision of this name, float32 for None. Raises InputError for other names, and float64 on MPS."""
    if name is None:
        return torch.float32
    if name not in PRECISIONS:
        raise InputError(f"Unknown precision '{name}'. Choose one of: {', '.join(PRECISIONS)}.")
    if device.type == "mps" and name == "float64":
        raise InputError("MPS devices have no float64; choose float32, or the device cpu.")
    return PRECISIONS[name]


def use_one_thread() -> None:
    """Compute every call on one processor core, so that calls of several users share the cores evenly."""
    torch.set_num_threads(1)
