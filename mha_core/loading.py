"""Files to a model: found by a name, compared with the digests that are known, read, and settled for inference."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import nn

from mha_core.checkpoints import load_encoder, read_config, untrained_encoder, weight_files
from mha_core.embedded import (
    CLASSROOM,
    CLASSROOM_FOLDERS,
    DECODER,
    DECODER_DIGEST,
    EMBEDDED,
    EMBEDDED_DIGESTS,
    classroom_folder,
    decoder_file,
    embedded_folder,
)
from mha_core.errors import InputError, ModelError
from mha_core.families import FAMILIES
from mha_core.gguf_checkpoint import load_gguf
from mha_core.hub import Progress, from_hub, is_hub_id
from mha_core.layouts import layout_for
from mha_core.learning.classroom.moments import at_step, step_of
from mha_core.memory import forget_file
from mha_core.model import Model
from mha_core.model_files import digests, has_sums
from mha_core.packed import pack
from mha_core.shelf import SHELF
from mha_core.stack import Stack, StackConfig
from mha_core.tokens import Tokenizer, model_name

LONGEST = 1024  # tokens of a decoder's text: all heads' weights grow with its square
MOST_UNTRAINED = 4_000_000_000
FEWEST_PIECES = 0.8  # of the embeddings; makers pad theirs to a round number


@dataclass(frozen=True)
class _Parts:
    """What the files of a model gave."""

    config: StackConfig
    tokenizer: Tokenizer
    encoder: Stack
    head: nn.Module | None
    digest: str
    title: str
    files: dict[str, str]
    pinned: bool


def build(
    name: str,
    trained: bool,
    seed: int,
    device: torch.device,
    dtype: torch.dtype,
    progress: Progress | None,
    local: bool,
    packed: bool = True,
) -> Model:
    """A model from its files, new. Arguments as in `models.load_model`, which keeps what was loaded; `packed=False`
    leaves its layers as they are, so that their weights can be changed."""
    step = step_of(name)
    if step is not None:
        parts = _at_step(step, trained, seed)
    elif name == DECODER:
        parts = _from_gguf(decoder_file(), trained, seed)
    else:
        parts = _from_folder(*_folder(name, progress, local), trained, seed)
    layout = layout_for(steps=parts.config.is_causal) if packed else "rows"
    settle = partial(pack, layout=layout) if packed else _freeze
    settle(parts.encoder.to(device=device, dtype=dtype))
    if parts.head is not None:
        settle(parts.head.to(device=device, dtype=dtype))
    forget_file(*(one for one in parts.encoder.parameters() if one.is_cpu and not one.is_mkldnn))
    title = next((entry.title for entry in SHELF if entry.name == name), parts.title)
    if not trained:
        title += ", untrained"
    predicts = FAMILIES[parts.config.model_type].predicts
    return Model(
        name,
        title,
        trained,
        parts.tokenizer,
        parts.encoder,
        parts.head if predicts == "mask" else None,
        device,
        dtype,
        parts.digest,
        parts.config,
        parts.head if predicts == "next" else None,
        tuple(parts.files.items()),
        parts.pinned,
    )


def _freeze(module: nn.Module) -> nn.Module:
    return module.eval().requires_grad_(False)


def _from_folder(folder: Path, checked: dict[str, str], trained: bool, seed: int) -> _Parts:
    config, title = read_config(folder), model_name(folder)
    family = FAMILIES[config.model_type]
    longest = min(config.max_positions, LONGEST) if config.is_causal else config.max_positions
    tokenizer = family.tokenizer(folder, longest)
    _check_vocabulary(tokenizer, config, title)
    if not trained:
        found = checked or digests(folder, [])
        return _untrained(config, tokenizer, seed, title, found, bool(checked) or has_sums(folder))
    weights = [] if checked else weight_files(folder)
    found = checked or digests(folder, weights)
    encoder, head = load_encoder(folder, config)
    digest = found.get("model.safetensors") or "+".join(found[path.name] for path in weights)
    return _Parts(config, tokenizer, encoder, head, digest, title, found, bool(checked) or has_sums(folder))


def _check_vocabulary(tokenizer: Tokenizer, config: StackConfig, title: str) -> None:
    """Raise ModelError unless every piece has an embedding, and nearly every embedding a piece (some are padding)."""
    if tokenizer.largest_id >= config.vocab_size:
        raise ModelError(
            f"'{title}' has a tokenizer with piece {tokenizer.largest_id:,} (from 0) and embeddings for "
            f"{config.vocab_size:,}; they belong to different models."
        )
    if tokenizer.vocab_size < FEWEST_PIECES * config.vocab_size:
        raise ModelError(
            f"'{title}' has embeddings for {config.vocab_size:,} pieces and a tokenizer of {tokenizer.vocab_size:,}; "
            "pieces are missing, or they belong to different models."
        )


def _from_gguf(path: Path, trained: bool, seed: int) -> _Parts:
    config, tokenizer, encoder, head = load_gguf(path, LONGEST, weights=trained)
    files = {path.name: DECODER_DIGEST}
    if encoder is None:
        return _untrained(config, tokenizer, seed, path.stem, files, pinned=True)
    return _Parts(config, tokenizer, encoder, head, DECODER_DIGEST, path.stem, files, pinned=True)


def _at_step(step: int, trained: bool, seed: int) -> _Parts:
    """The classroom's model after so many steps of its training, or its twin with random weights."""
    stack, folder = at_step(step), classroom_folder(CLASSROOM)
    family = FAMILIES[stack.config.model_type]
    tokenizer = family.tokenizer(folder, stack.config.max_positions)
    files = digests(folder, weight_files(folder))
    digest, title = f"{files['model.safetensors']}@{step}", f"Classroom after {step:,} steps"
    if not trained:
        return _untrained(stack.config, tokenizer, seed, title, files, has_sums(folder))
    return _Parts(
        stack.config, tokenizer, stack, family.head(stack, {}), digest, title, files, has_sums(folder)
    )


def _untrained(
    config: StackConfig, tokenizer: Tokenizer, seed: int, title: str, files: dict[str, str], pinned: bool
) -> _Parts:
    if config.n_bytes > MOST_UNTRAINED:
        raise ModelError(
            f"An untrained '{title}' would take {config.n_bytes:,} bytes; at most {MOST_UNTRAINED:,} are made."
        )
    encoder = untrained_encoder(config, seed)
    tied = getattr(config, "tied", False)
    head = FAMILIES[config.model_type].head(encoder, {}) if tied else None
    files = {name: digest for name, digest in files.items() if not name.endswith((".safetensors", ".gguf"))}
    return _Parts(config, tokenizer, encoder, head, f"untrained, seed {seed}", title, files, pinned)


def _folder(name: str, progress: Progress | None, local: bool) -> tuple[Path, dict[str, str]]:
    """Where the model's files are, and the digests that were already checked."""
    if name == EMBEDDED:
        return embedded_folder(), dict(sorted(EMBEDDED_DIGESTS.items()))
    if name in CLASSROOM_FOLDERS:
        return classroom_folder(name), {}
    if local and is_folder(name):
        return Path(os.path.expanduser(name)).resolve(), {}  # noqa: PTH111 - Path's own fails on an unknown user
    if not is_hub_id(name):
        raise InputError(
            f"There is no model '{name[:60]}'; choose a name on the shelf, a hub id or a folder."
        )
    return from_hub(name, progress), {}


def is_folder(name: str) -> bool:
    """Whether the name is a folder here; False for invalid paths."""
    try:
        return bool(name) and Path(os.path.expanduser(name)).is_dir()  # noqa: PTH111 - as above
    except (OSError, ValueError):
        return False
