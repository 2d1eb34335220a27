"""What the project ships of the classroom: seeds, a twin, checkpoints of one seed, and the report card.

In: a folder, and which trainings. Out: files in it. Checkpoints lie together in one file: each weight as one of 255
steps of the largest of its matrix, compressed; the models themselves are in half precision.
"""

import json
import lzma
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from mha_core.checkpoints import load_encoder, read_config, untrained_encoder
from mha_core.errors import InputError, ModelError
from mha_core.learning.classroom.evaluation import evaluate
from mha_core.learning.classroom.lexicon import lexicon
from mha_core.learning.classroom.recipe import CLASSROOM, TWIN, Recipe
from mha_core.learning.classroom.report import card, over_seeds
from mha_core.learning.classroom.shipped import home, save_model
from mha_core.learning.classroom.training import Training
from mha_core.model_files import sha256
from mha_core.stack import Stack

SEEDS, SHIPPED = (1, 2, 3, 4, 5), (1, 2, 3)
TWIN_SEED = 4
# The steps of the checkpoints: the first is the untrained model, the last the trained one; neither is stored twice.
MOMENTS = (0, 50, 100, 200, 300, 400, 500, 600, 800, 1200, 2000, 3200)
COMMAND = "make train-classroom"
LEVELS = 127
State = dict[str, Tensor]
Told = Callable[[str], None]


def trained(seed: int, recipe: Recipe, told: Told, moments: Mapping[int, State] | None = None) -> Stack:
    """A model trained to the end; `moments` is given its weights at every step of MOMENTS."""
    training = Training(seed, recipe)
    while True:
        if isinstance(moments, dict) and training.done in MOMENTS:
            moments[training.done] = {
                name: tensor.clone() for name, tensor in training.stack.state_dict().items()
            }
        if training.finished:
            return training.stack
        loss = training.step()
        if training.done % 100 == 0:
            told(f"seed {seed}, step {training.done:,} of {recipe.steps:,}, loss {loss:.2f}")


def ship(out: Path, told: Told) -> None:
    """Train all that is shipped, and write it with its report card."""
    stacks: dict[str, Stack] = {}
    moments: dict[int, State] = {}
    for seed in SEEDS:
        stacks[f"seed-{seed}"] = trained(seed, CLASSROOM, told, moments if seed == SHIPPED[0] else None)
    stacks["twin"] = trained(TWIN_SEED, TWIN, told)
    write(out, stacks, moments)


def write(out: Path, stacks: Mapping[str, Stack], moments: Mapping[int, State]) -> None:
    """The folders of the shipped models, the checkpoints, and the report card over all of `stacks`."""
    models: dict[str, Any] = {}
    for name, stack in stacks.items():
        shipped = name == "twin" or int(name.removeprefix("seed-")) in SHIPPED
        if shipped:
            save_model(stack, out / name)
        used = load_encoder(out / name, read_config(out / name))[0] if shipped else stack
        models[name] = card(evaluate(used))
        if shipped:
            models[name]["digest"] = sha256(out / name / "model.safetensors")
    (out / "checkpoints.xz").write_bytes(packed(moments))
    seeds = [models[name] for name in stacks if name != "twin"]
    found = {
        "lexicon": lexicon().version,
        "command": COMMAND,
        "recipe": asdict(CLASSROOM),
        "torch": torch.__version__.partition("+")[0],
        "over_seeds": over_seeds(seeds),
        "untrained": card(evaluate(untrained_encoder(CLASSROOM.config, SHIPPED[0]))),
        "models": models,
        "checkpoints": {"seed": SHIPPED[0], "steps": MOMENTS, "digest": sha256(out / "checkpoints.xz")},
    }
    (out / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


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
        raw = load(lzma.decompress((home() / "checkpoints.xz").read_bytes()))
    except (OSError, lzma.LZMAError):
        raise ModelError("The checkpoints of the classroom model are missing or damaged.") from None
    found: dict[int, State] = {step: {} for step in MOMENTS[1:-1]}
    for key, tensor in raw.items():
        step, _, name = key.partition("/")
        if not name.endswith("/largest"):
            found[int(step)][name] = tensor.float() * raw[f"{key}/largest"] / LEVELS
    return found


def at_step(step: int) -> Stack:
    """The shipped model as it was after so many steps. Raises InputError for a step without a checkpoint."""
    if step not in MOMENTS:
        raise InputError(f"There is no checkpoint at step {step}; there are {', '.join(map(str, MOMENTS))}.")
    stack = untrained_encoder(CLASSROOM.config, SHIPPED[0])
    if step == MOMENTS[-1]:
        folder = home() / f"seed-{SHIPPED[0]}"
        return load_encoder(folder, read_config(folder))[0]
    if step:
        stack.load_state_dict(checkpoints()[step])
    return stack


def recipe_of(twin: bool, steps: int | None) -> Recipe:
    """The recipe, with another number of steps if one is given. Raises InputError for less than one step."""
    recipe = TWIN if twin else CLASSROOM
    if steps is not None and steps < 1:
        raise InputError(f"{steps} steps were asked for; a training takes one at least.")
    return recipe if steps is None else replace(recipe, steps=steps)


def every_moment() -> Iterator[tuple[int, Stack]]:
    """The shipped model at every checkpoint."""
    for step in MOMENTS:
        yield step, at_step(step)
