"""Train what the project ships: the toy model, its control model, checkpoints, and the report card.

In: a folder, and which trainings. Out: files in it; the models in half precision.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from mha_core.engine.stack import Stack
from mha_core.errors import ModelError
from mha_core.models.checkpoint import SUMS, sha256
from mha_core.models.families.classroom import ClassroomConfig
from mha_core.models.toy_checkpoints import CHECKPOINT_STEPS, SEED, State, packed, unpacked
from mha_core.models.weights import load_encoder, read_config, untrained_encoder
from mha_core.training.toy.evaluation import evaluate, over_seeds
from mha_core.training.toy.lexicon import lexicon, vocabulary
from mha_core.training.toy.recipe import CLASSROOM, CONTROL_RECIPE, Recipe, toy_trainer

# One seed is shipped; the others show how far its result is that of the recipe.
SEEDS, SHIPPED = (1, 2, 3, 4, 5), (f"seed-{SEED}", "twin")
# Seeds tried for a control model: a training without the window in which no head passes 5 % of the pairs. With seeds 2
# and 6 one does, so 4 comes first. A training stops where a head does after a multiple of CHECKED_EVERY steps.
CONTROL_SEEDS, MAX_PASSED, CHECKED_EVERY = (4, 1, 2, 3, 5, 6), 0.05, 1400
EVERY = 50  # steps; every checkpoint lies at a multiple
SIZES = ("vocab_size", "d_model", "n_layers", "n_heads", "d_ff", "max_positions", "theta", "turning")
COMMAND = "make train-classroom"
Tell = Callable[[str], None]


def save_model(stack: Stack, folder: Path) -> None:
    """Write a model as a folder that the loader reads: sizes, words, and weights in half precision."""
    config = stack.config
    if not isinstance(config, ClassroomConfig):
        raise ModelError(f"A {config.model_type} model is not one of the classroom's.")
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.to(torch.float16).contiguous() for name, tensor in stack.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")
    sizes = {"model_type": config.model_type, **{name: getattr(config, name) for name in SIZES}}
    sizes["windows"] = list(config.windows)
    (folder / "config.json").write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    files = ("config.json", "model.safetensors", "vocab.txt")
    sums = "".join(f"{sha256(folder / name)}  {name}\n" for name in files)
    (folder / SUMS).write_text(sums, encoding="utf-8")


def train_toy(
    seed: int, recipe: Recipe, tell: Tell, stops_at: Callable[[int, Stack], bool] | None = None
) -> Stack:
    """Train a model to its end, or to the multiple of EVERY, from 0, where `stops_at(step, model)` is true."""
    trainer = toy_trainer(seed, recipe)
    while not (stops_at and stops_at(trainer.n_steps, trainer.model)) and not trainer.is_over:
        loss = trainer.run(EVERY)[-1]
        tell(f"seed {seed}, step {trainer.n_steps:,} of {recipe.steps:,}, loss {loss:.2f}")
    return trainer.model


def ship(out: Path, tell: Tell) -> None:
    """Train all that is shipped, and write it with its report card."""
    stacks, states, passed = dict[str, Stack](), dict[int, State](), dict[int, float]()

    def save_state(seed: int, step: int, stack: Stack) -> bool:
        if seed == SEED and step in CHECKPOINT_STEPS:
            states[step] = {name: tensor.clone() for name, tensor in stack.state_dict().items()}
        return False

    for seed in SEEDS:
        stacks[f"seed-{seed}"] = train_toy(seed, CLASSROOM, tell, partial(save_state, seed))
    for seed in CONTROL_SEEDS:
        stack, passed[seed] = train_control(seed, lambda line: tell(f"without the window, {line}"))
        if passed[seed] < MAX_PASSED:
            stacks["twin"] = stack
            break
    write(out, stacks, states, passed)


def train_control(seed: int, tell: Tell, recipe: Recipe = CONTROL_RECIPE) -> tuple[Stack, float]:
    """Return a model trained without the window, to its end or until a head points, and the share of pairs that its
    best head passes."""

    def has_pointer(step: int, stack: Stack) -> bool:
        return step > 0 and step % CHECKED_EVERY == 0 and evaluate(stack)["pass"] > MAX_PASSED

    stack = train_toy(seed, recipe, tell, has_pointer)
    return stack, evaluate(stack)["pass"]


def write(
    out: Path, stacks: Mapping[str, Stack], states: Mapping[int, State], controls: Mapping[int, float]
) -> None:
    """Write the folders of the shipped models, the checkpoints, and the report card over all seeds of `stacks`.

    `controls`: the share of pairs that each training without the window passed at its end, by seed.
    """
    cards: dict[str, dict[str, Any]] = {}
    for name, stack in stacks.items():
        if name not in SHIPPED:
            cards[name] = evaluate(stack)
            continue
        save_model(stack, out / name)
        saved = load_encoder(out / name, read_config(out / name))[0]
        cards[name] = evaluate(saved) | {"digest": sha256(out / name / "model.safetensors")}
    (out / "checkpoints.xz").write_bytes(file := packed(states))
    restored = untrained_encoder(stacks[f"seed-{SEED}"].config, SEED)
    moments = []
    for step, state in sorted({**states, **unpacked(file)}.items()):
        restored.load_state_dict(state)
        card = evaluate(restored)
        moments.append({"step": step} | {name: card[name] for name in ("pairs", "pass", "head", "answers")})
    summary = {
        "lexicon": lexicon().version,
        "command": COMMAND,
        "recipe": asdict(CLASSROOM),
        "torch": torch.__version__.partition("+")[0],
        "over_seeds": over_seeds([card for name, card in cards.items() if name != "twin"]),
        "without_window": {str(seed): share for seed, share in controls.items()},
        "untrained": evaluate(untrained_encoder(CLASSROOM.config, SEED)),
        "models": {name: cards[name] for name in SHIPPED if name in cards},
        "moments": moments,
        "checkpoints": {
            "seed": SEED, "steps": CHECKPOINT_STEPS, "digest": sha256(out / "checkpoints.xz"),
        },
    }  # fmt: skip
    (out / "report.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
