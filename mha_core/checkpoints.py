"""A checkpoint in a folder, read into our own layers: safetensors only, and nothing half-loaded.

In: a folder with config.json and model.safetensors (or its shards with an index). Out: the sizes, the layers with
their weights, and the prediction head if the checkpoint has one, all by the family that config.json names. A
tensor that is missing, of another shape, not finite, or left over is refused in one sentence.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from mha_core.errors import ModelError, SizeError
from mha_core.families import FAMILIES
from mha_core.model_files import MOST_INDEX, read_json, reading
from mha_core.seeds import check_seed
from mha_core.stack import Stack, StackConfig
from mha_core.tokens import model_name
from mha_core.wording import counted

T = TypeVar("T")
NUMBERS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def read_config(folder: Path) -> StackConfig:
    """The sizes in config.json. Raises ModelError for another architecture, naming it and what is supported."""
    path = folder / "config.json"
    if not path.exists():
        raise ModelError(f"'{model_name(folder)}' has no config.json, so it is not a model folder.")
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise ModelError(f"The config.json of '{model_name(folder)}' is damaged: it holds no settings.")
    kind = _kind(raw)
    if kind not in FAMILIES:
        *others, last = FAMILIES
        raise ModelError(
            f"'{model_name(folder)}' is {kind}; supported are the model types {', '.join(others)} and {last}."
        )
    try:
        return FAMILIES[kind].read_config(raw, model_name(folder))
    except ModelError:
        raise
    except KeyError as missing:
        raise ModelError(
            f"The config.json of '{model_name(folder)}' does not say its {missing.args[0]}."
        ) from None
    except (SizeError, TypeError, ValueError, OverflowError) as problem:
        raise ModelError(f"The config.json of '{model_name(folder)}' cannot be right: {problem}") from None


def _kind(raw: Mapping[str, object]) -> str:
    """What the settings say the model is, for a sentence where it is none of ours."""
    kind = raw.get("model_type")
    if isinstance(kind, str) and kind:
        return kind if kind.isascii() and kind.isprintable() and len(kind) <= 60 else ascii(kind[:60])
    named = raw.get("architectures")
    names = [each for each in named if isinstance(each, str)] if isinstance(named, list) else []
    return ", ".join(ascii(each[:60])[1:-1] for each in names[:3]) or "of no named architecture"


def load_encoder(folder: Path, config: StackConfig) -> tuple[Stack, nn.Module | None]:
    """The layers in fp32, and the prediction head where the checkpoint has one.

    Raises ModelError if the weights are a pickle, damaged, incomplete, or do not fit the config.
    """
    family, name = FAMILIES[config.model_type], model_name(folder)
    theirs: dict[str, Tensor] = {}
    for their, tensor in _read_tensors(folder):
        if (plain := family.plain_name(their)) in theirs:
            raise ModelError(f"The weights of '{name}' hold {plain[:80]!a} twice, under two names.")
        theirs[plain] = tensor
    ours, rest = rename(theirs, family.names)
    head_ours, rest = rename(rest, family.head_names)
    left = [their for their in rest if not family.not_needed.match(their)]
    if left:
        raise ModelError(
            f"The weights of '{name}' hold {counted(len(left), 'tensor')} that its config.json does not account "
            f"for, such as {left[0][:80]!a}."
        )
    encoder = empty_encoder(config)
    fill(encoder, family.arrange(ours, config), name)
    head = family.head(encoder, head_ours)
    if head is not None and head_ours:
        fill(head, head_ours, name)
    return encoder, head


def untrained_encoder(config: StackConfig, seed: int) -> Stack:
    """The same shape with random weights, as its family starts: normal, biases zero, norms one. Raises InputError for
    a seed that is none."""
    check_seed(seed)
    encoder = FAMILIES[config.model_type].stack(config)
    generator = torch.Generator().manual_seed(seed)
    for module in encoder.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=config.first_embedding_std, generator=generator)
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=config.first_std, generator=generator)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    return encoder


def empty_encoder(config: StackConfig) -> Stack:
    """A stack whose weights are still to be put in: no time or memory is spent on random ones."""
    with torch.device("meta"):
        return FAMILIES[config.model_type].stack(config)


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a model folder: one, or the shards that its index names."""
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return [single]
    if index.is_file():
        found = read_json(index, MOST_INDEX)
        shards = found.get("weight_map") if isinstance(found, dict) else None
        if not isinstance(shards, dict) or not shards or not all(isinstance(s, str) for s in shards.values()):
            raise ModelError(f"The index of the weights of '{model_name(folder)}' is damaged.")
        return [folder / Path(name).name for name in sorted(set(shards.values()))]
    if any(found for pattern in PICKLES for found in folder.glob(pattern)):
        raise ModelError(
            f"'{model_name(folder)}' holds its weights as a pickle, which can run any code when opened; "
            "only safetensors are read (most models have a model.safetensors as well)."
        )
    raise ModelError(f"'{model_name(folder)}' has no model.safetensors.")


def _read_tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    for path in weight_files(folder):
        if not path.is_file():
            raise ModelError(
                f"The weights of '{model_name(folder)}' ({path.name}) are missing, cut or damaged."
            )
        try:
            with reading(folder, f"The weights ({path.name})"), safe_open(str(path), framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 - safe_open is no mapping
                    if not re.search(r"(^|\.)position_ids$", name):
                        yield name, file.get_tensor(name)
        except ModelError as problem:
            if isinstance(problem.__cause__, SafetensorError):
                raise ModelError(
                    f"The weights of '{model_name(folder)}' ({path.name}) are missing, cut or damaged."
                ) from None
            raise


def rename(tensors: Mapping[str, T], rules: tuple[tuple[str, str], ...]) -> tuple[dict[str, T], dict[str, T]]:
    """The tensors (or what stands for them) that a rule knows, under our names; and the rest."""
    ours: dict[str, T] = {}
    rest: dict[str, T] = {}
    for name, tensor in tensors.items():
        for pattern, replacement in rules:
            if re.match(pattern, name):
                ours[re.sub("^" + pattern, replacement, name)] = tensor
                break
        else:
            rest[name] = tensor
    return ours, rest


def fill(module: nn.Module, tensors: Mapping[str, Tensor], model: str) -> None:
    """Put the tensors into a module whose shapes are known and whose weights are not, as fp32."""
    expected = module.state_dict()
    for name, place in expected.items():
        if name not in tensors:
            raise ModelError(f"The weights of '{model}' lack '{name}'.")
        if tensors[name].shape != place.shape:
            raise ModelError(
                f"The weights of '{model}' have '{name}' of shape {tuple(tensors[name].shape)}; by its "
                f"config.json it is {tuple(place.shape)}."
            )
        if tensors[name].dtype not in NUMBERS:
            kind = str(tensors[name].dtype).removeprefix("torch.")
            raise ModelError(
                f"The weights of '{model}' have '{name}' as {kind}; floating-point numbers of 16, 32 and 64 bits are "
                "read."
            )
        if not bool(tensors[name].isfinite().all()):
            raise ModelError(
                f"The weights of '{model}' are damaged: '{name}' holds numbers that are not finite."
            )
    left = sorted(set(tensors) - set(expected))
    if left:
        raise ModelError(
            f"The weights of '{model}' hold {left[0][:80]!a}, which its config.json does not account for."
        )
    module.load_state_dict({name: tensors[name].float() for name in expected}, assign=True)
