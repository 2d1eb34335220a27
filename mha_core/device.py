"""Where and how precisely to compute: chosen once, passed down."""

import torch

from mha_core.errors import InputError

PRECISIONS = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def choose_device(name: str = "auto") -> torch.device:
    """ "cpu", "cuda", "mps", or "auto" for the fastest one here. Raises InputError for one that is not here."""
    here = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device(next(kind for kind in ("cuda", "mps", "cpu") if here[kind]))
    kind, _, index = name.partition(":")
    if kind not in here or (index and not index.isdigit()):
        raise InputError(f"There is no device '{name}'; choose auto, cpu, cuda or mps.")
    if not here[kind]:
        raise InputError(
            f"The device '{name}' was asked for, and this machine has none; 'auto' takes what is there."
        )
    if kind == "cuda" and index and int(index) >= torch.cuda.device_count():
        raise InputError(f"The device '{name}' was asked for; this machine has {torch.cuda.device_count()}.")
    return torch.device(name)


def choose_precision(name: str | None, device: torch.device) -> torch.dtype:
    """float32 unless told otherwise. Raises InputError for a name that is none, or float64 on MPS."""
    if name is None:
        return torch.float32
    if name not in PRECISIONS:
        raise InputError(f"There is no precision '{name}'; choose {', '.join(PRECISIONS)}.")
    if device.type == "mps" and name == "float64":
        raise InputError("MPS devices have no float64; choose float32, or the device cpu.")
    return PRECISIONS[name]


def use_one_thread() -> None:
    """Compute every call on one processor core, so that calls of several readers share the cores evenly."""
    torch.set_num_threads(1)
