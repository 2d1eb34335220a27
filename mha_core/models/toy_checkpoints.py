"""The toy models that come with the project: their files, their report card, and checkpoints of the training.

A model's folder has config.json, vocab.txt and model.safetensors in half precision, as any other model folder, and
SHA256SUMS. Checkpoints share one compressed file: each weight is one of 181 steps of its matrix's largest. The first
and the last are not stored: they are the untrained model of the same seed, and the shipped model.
"""

import json
import lzma
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from mha_core.engine.stack import Stack
from mha_core.errors import InputError, ModelError
from mha_core.models.checkpoint import check_digest
from mha_core.models.model_list import CLASSROOM, classroom_folder
from mha_core.models.weights import load_encoder, read_config, untrained_encoder
from mha_core.resources import asset

State = dict[str, Tensor]
SEED = 1
CHECKPOINT_STEPS = (0, 100, 250, 400, 600, 800, 1000, 1400, 2000, 3000, 4200, 5600)
LEVELS = 90


@cache
def report() -> dict[str, Any]:
    """Return the report card. Raises ModelError if it is missing."""
    try:
        card: dict[str, Any] = json.loads(asset("classroom", "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ModelError("The report card of the classroom models is missing or damaged.") from None
    return card


def packed(states: Mapping[int, State]) -> bytes:
    """Return the checkpoints between the first and the last, compressed."""
    tensors: State = {}
    for step in CHECKPOINT_STEPS[1:-1]:
        for name, tensor in states[step].items():
            largest = tensor.abs().max().clamp(min=1e-12)
            tensors[f"{step}/{name}"] = (tensor / largest * LEVELS).round().to(torch.int8)
            tensors[f"{step}/{name}/largest"] = largest[None]
    return lzma.compress(save(tensors), preset=9)


def unpacked(file: bytes) -> dict[int, State]:
    """Reverse `packed`, up to half a level. Raises LZMAError for another kind of file."""
    raw = load(lzma.decompress(file))
    states: dict[int, State] = {step: {} for step in CHECKPOINT_STEPS[1:-1]}
    for key, tensor in raw.items():
        step, _, name = key.partition("/")
        if not name.endswith("/largest"):
            states[int(step)][name] = tensor.float() * raw[f"{key}/largest"] / LEVELS
    return states


@cache
def checkpoints() -> Mapping[int, State]:
    """Return the shipped checkpoints between the first and the last, by step. Raises ModelError if they are damaged."""
    try:
        file = asset("classroom", "checkpoints.xz")
        check_digest(file, report()["checkpoints"]["digest"])
        return unpacked(file.read_bytes())
    except (OSError, lzma.LZMAError):
        raise ModelError("The checkpoints of the classroom model are missing or damaged.") from None


def at_step(step: int) -> Stack:
    """Return the shipped model after so many steps. Raises InputError for a step without a checkpoint."""
    if step not in CHECKPOINT_STEPS:
        known = ", ".join(map(str, CHECKPOINT_STEPS))
        raise InputError(f"Unknown checkpoint {step}. Choose one of: {known}.")
    folder = classroom_folder(CLASSROOM)
    config = read_config(folder)
    if step == CHECKPOINT_STEPS[-1]:
        return load_encoder(folder, config)[0]
    stack = untrained_encoder(config, SEED)
    if step:
        stack.load_state_dict(checkpoints()[step])
    return stack
