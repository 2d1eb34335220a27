"""Checkpoints of one training: model folders in one directory, in the order of the numbers in their names.

In: a directory, such as a trainer's output. Out: its folders, checked before any weights are read: they share sizes and
tokenizer. Folders without a number in their name are left out.
"""

import re
from pathlib import Path
from typing import Any

from mha_core.errors import InputError, ModelError
from mha_core.models.checkpoint import MAX_TOKENIZER, Folder, read_json, reading, sha256
from mha_core.models.families import FAMILIES
from mha_core.models.families.family import AnotherVariantError
from mha_core.models.weights import config_of

VOCABULARIES = ("vocab.txt", "vocab.json", "merges.txt", "tokenizer.model", "spiece.model")
SIZES = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
AT_RUN_TIME = ("truncation", "padding")  # of tokenizer.json: a training loop may set them


def read_series(directory: Path) -> dict[str, Path]:
    """Return the checkpoints of a directory in order: names of models, "checkpoints@step-500", and their folders.

    Raises InputError for a directory that cannot be read or has none, ModelError for one that is no model folder, and
    for sizes or a tokenizer that differ from those of the first.
    """
    try:
        folders = [path for path in directory.iterdir() if path.is_dir() and numbers_in(path.name)]
    except OSError as problem:
        reason = problem.strerror or "the system gives no reason"
        raise InputError(f"The checkpoints in '{directory}' cannot be read: {reason}.") from None
    if not folders:
        raise InputError(
            f"'{directory}' has no checkpoints: no folder with a number in its name, such as checkpoint-500."
        )
    folders.sort(key=lambda path: (numbers_in(path.name), path.name))
    for what, read in (("other sizes or another architecture", _sizes), ("another tokenizer", _tokenizer)):
        first = read(folders[0])
        for folder in folders[1:]:
            if read(folder) != first:
                raise ModelError(
                    f"'{folder.name}' has {what} than '{folders[0].name}'; checkpoints of one model are needed."
                )
    return {f"checkpoints@{folder.name}": folder for folder in folders}


def numbers_in(name: str) -> tuple[int, ...]:
    """Return the whole numbers in a name: (2, 500) for "run2-step500"."""
    return tuple(map(int, re.findall(r"[0-9]{1,18}", name)))


def _sizes(folder: Path) -> Any:
    """Return the sizes in a folder's config.json: as the engine reads them, else as they are written."""
    source = Folder(folder)
    raw = source.settings()
    source.weight_files()  # refuses a folder without weights, and pickles
    try:
        if raw.get("model_type") in FAMILIES:
            return config_of(raw, source.title)
    except AnotherVariantError:
        pass
    return [raw.get(name) for name in SIZES]


def _tokenizer(folder: Path) -> Any:
    """Return the vocabulary in a folder's tokenizer files. Raises ModelError without any."""
    path = folder / "tokenizer.json"
    if path.is_file():
        whole = read_json(path, MAX_TOKENIZER)
        return {key: value for key, value in whole.items() if key not in AT_RUN_TIME}
    files = [folder / name for name in VOCABULARIES if (folder / name).is_file()]
    if not files:
        raise ModelError(f"'{folder.name}' has no tokenizer; save it beside the weights, as tokenizer.json.")
    with reading(folder, "A tokenizer file"):
        return {file.name: sha256(file) for file in files}
