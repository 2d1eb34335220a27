"""The classroom models that come with the project: where they lie, and that they are right; and how one is saved.

A model's folder has config.json, vocab.txt and model.safetensors in half precision, as any other model folder, and
SHA256SUMS, with which they are compared. The report card beside them says what each does, and the SHA-256 of its
weights.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from mha_core.checkpoint import SUMS, sha256
from mha_core.errors import ModelError
from mha_core.families.classroom import ClassroomConfig
from mha_core.learning.classroom.lexicon import lexicon_path, vocabulary
from mha_core.stack import Stack


def home() -> Path:
    """Where the shipped models lie."""
    return lexicon_path().parent


@cache
def report() -> dict[str, Any]:
    """The report card. Raises ModelError if it is not there."""
    try:
        found: dict[str, Any] = json.loads((home() / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ModelError("The report card of the classroom models is missing or damaged.") from None
    return found


def save_model(stack: Stack, folder: Path) -> None:
    """A model as a folder that the loader reads: weights in half precision, the sizes, the words."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.to(torch.float16).contiguous() for name, tensor in stack.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")
    config = stack.config
    if not isinstance(config, ClassroomConfig):
        raise ModelError(f"A {config.model_type} model is not one of the classroom's.")
    names = ("vocab_size", "d_model", "n_layers", "n_heads", "d_ff", "max_positions", "theta", "turning")
    sizes = {name: getattr(config, name) for name in names}
    sizes = {"model_type": config.model_type} | sizes | {"windows": list(config.windows)}
    (folder / "config.json").write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    sums = [
        f"{sha256(folder / name)}  {name}\n" for name in ("config.json", "model.safetensors", "vocab.txt")
    ]
    (folder / SUMS).write_text("".join(sums), encoding="utf-8")
