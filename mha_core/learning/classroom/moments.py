"""The shipped classroom model at moments of its training, from untrained to trained.

Checkpoints lie together in one file: each weight as one of 181 steps of the largest of its matrix, compressed. The
first and the last are not stored: they are the untrained model of the same seed, and the model that is shipped.
"""

import lzma
from collections.abc import Mapping
from functools import cache

import torch
from safetensors.torch import load, save
from torch import Tensor

from mha_core.checkpoint import check_digest
from mha_core.errors import InputError, ModelError
from mha_core.learning.classroom.shipped import report
from mha_core.model_list import CLASSROOM, classroom_folder
from mha_core.stack import Stack
from mha_core.weights import load_encoder, read_config, untrained_encoder

State = dict[str, Tensor]
SEED = 1
MOMENTS = (0, 100, 250, 400, 600, 800, 1000, 1400, 2000, 3000, 4200, 5600)  # steps
LEVELS = 90


def packed(moments: Mapping[int, State]) -> bytes:
    """The checkpoints between the first and the last, small."""
    found: State = {}
    for step in MOMENTS[1:-1]:
        for name, tensor in moments[step].items():
            largest = tensor.abs().max().clamp(min=1e-12)
            found[f"{step}/{name}"] = (tensor / largest * LEVELS).round().to(torch.int8)
            found[f"{step}/{name}/largest"] = largest[None]
    return lzma.compress(save(found), preset=9)


@cache
def checkpoints() -> Mapping[int, State]:
    """The shipped checkpoints between the first and the last, by step. Raises ModelError if they are damaged."""
    try:
        file = classroom_folder(CLASSROOM).parent / "checkpoints.xz"
        check_digest(file, report()["checkpoints"]["digest"])
        return unpacked(file.read_bytes())
    except (OSError, lzma.LZMAError):
        raise ModelError("The checkpoints of the classroom model are missing or damaged.") from None


def unpacked(file: bytes) -> dict[int, State]:
    """The reverse of `packed`, up to half a step. Raises LZMAError for what is no such file."""
    raw = load(lzma.decompress(file))
    found: dict[int, State] = {step: {} for step in MOMENTS[1:-1]}
    for key, tensor in raw.items():
        step, _, name = key.partition("/")
        if not name.endswith("/largest"):
            found[int(step)][name] = tensor.float() * raw[f"{key}/largest"] / LEVELS
    return found


def at_step(step: int) -> Stack:
    """The shipped model as it was after so many steps. Raises InputError for a step without a checkpoint."""
    if step not in MOMENTS:
        raise InputError(f"Unknown checkpoint {step}. Choose one of: {', '.join(map(str, MOMENTS))}.")
    folder = classroom_folder(CLASSROOM)
    config = read_config(folder)
    if step == MOMENTS[-1]:
        return load_encoder(folder, config)[0]
    stack = untrained_encoder(config, SEED)
    if step:
        stack.load_state_dict(checkpoints()[step])
    return stack


def step_of(name: str) -> int | None:
    """The step that a model's name asks for ("classroom@400"); None for a name without one."""
    model, mark, step = name.partition("@")
    return int(step) if mark and model == CLASSROOM and step.isdecimal() and len(step) < 9 else None
