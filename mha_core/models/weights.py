"""Settings and tensors by Hugging Face's names into our own layers, by the family that the settings name.

Nothing is half-loaded: a tensor that is missing, of another shape, not finite, or left over is refused in a sentence.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mha_core.engine.stack import Stack, StackConfig
from mha_core.errors import ModelError, SizeError
from mha_core.models.checkpoint import Folder
from mha_core.models.families import FAMILIES
from mha_core.seeds import check_seed

NUMBERS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def read_config(folder: Path) -> StackConfig:
    """Read the sizes in a folder's config.json. Raises ModelError for one of no family of ours."""
    source = Folder(folder)
    return config_of(source.settings(), source.title)


def config_of(raw: Mapping[str, Any], name: str) -> StackConfig:
    """Make sizes of settings. Raises ModelError where one is missing or cannot be, or no family is named."""
    if raw.get("model_type") not in FAMILIES:
        raise ModelError(
            f"'{name}' is {architecture(raw)}; supported are the model types {', '.join(FAMILIES)}."
        )
    try:
        return FAMILIES[raw["model_type"]].read_config(raw, name)
    except ModelError:
        raise
    except KeyError as missing:
        raise ModelError(f"The config.json of '{name}' does not say its {missing.args[0]}.") from None
    except (SizeError, TypeError, ValueError, OverflowError) as problem:
        raise ModelError(f"The sizes of '{name}' cannot be right: {problem}") from None


def architecture(raw: Mapping[str, Any]) -> str:
    """Say what settings call the model, for a sentence."""
    kind = raw.get("model_type") or raw.get("architectures")
    names = [each for each in (kind if isinstance(kind, list) else [kind]) if isinstance(each, str)]
    return ", ".join(ascii(each[:60])[1:-1] for each in names[:3]) or "of no named architecture"


def load_encoder(folder: Path, config: StackConfig) -> tuple[Stack, nn.Module | None]:
    """Read a folder's layers in fp32, and its prediction head where it has one. Raises ModelError as `assemble`."""
    source = Folder(folder)
    return assemble(config, source.tensors(), source.title)


def assemble(
    config: StackConfig, tensors: Iterable[tuple[str, Tensor]], name: str
) -> tuple[Stack, nn.Module | None]:
    """Put tensors into layers and the prediction head, in fp32 and without a second copy of the model.

    Raises ModelError for a tensor that is missing, of another shape, not finite, or left over.
    """
    family = FAMILIES[config.model_type]
    ours: dict[str, Tensor] = {}
    head_ours: dict[str, Tensor] = {}
    for their, tensor in tensors:
        plain = family.plain_name(their)
        for rules, renamed in ((family.names, ours), (family.head_names, head_ours)):
            key = next((re.sub("^" + old, new, plain) for old, new in rules if re.match(old, plain)), None)
            if key in renamed:
                raise ModelError(f"The weights of '{name}' hold {plain[:80]!a} twice, under two names.")
            if key is not None:
                renamed[key] = tensor
                break
        else:
            if not family.not_needed.match(plain):
                raise ModelError(f"The weights of '{name}' hold {plain[:80]!a}, which no layer of it has.")
    with torch.device("meta"):  # no time or memory is spent on random weights
        encoder = family.stack(config)
    _fill(encoder, family.arrange(ours, config), name)
    head = family.head(encoder, head_ours)
    if head is not None and head_ours:
        _fill(head, head_ours, name)
    return encoder, head


def _fill(module: nn.Module, tensors: Mapping[str, Tensor], name: str) -> None:
    expected = module.state_dict()
    for key, place in expected.items():
        if key not in tensors:
            raise ModelError(f"The weights of '{name}' lack '{key}'.")
        tensor = tensors[key]
        if tensor.shape != place.shape or tensor.dtype not in NUMBERS:
            given = f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
            raise ModelError(
                f"The weights of '{name}' have '{key}' as {given}; by its sizes it is of shape {tuple(place.shape)}, "
                "in floating-point numbers of 16, 32 or 64 bits."
            )
        if not bool(tensor.isfinite().all()):
            raise ModelError(
                f"The weights of '{name}' are damaged: '{key}' holds numbers that are not finite."
            )
    if left := sorted(set(tensors) - set(expected)):
        raise ModelError(f"The weights of '{name}' hold {left[0][:80]!a}, which no layer of it has.")
    module.load_state_dict({key: tensors[key].float() for key in expected}, assign=True)


def untrained_encoder(config: StackConfig, seed: int) -> Stack:
    """Draw random weights as the family starts: normal, biases zero, norms one. Raises InputError for a bad seed."""
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
