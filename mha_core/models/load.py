"""Loading of models: a name in, a frozen model shared by all users out.

A name is that of an embedded model, a hub id, a folder, or a GGUF file. The files are compared with known digests; the
model is frozen for inference. Every model also comes untrained: the same shape, random weights, a fixed seed. Loaded
models are cached up to a number of bytes; those unused for longest go first, the embedded ones stay.
"""

import os
import threading
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mha_core.engine.device import choose_device, choose_precision
from mha_core.engine.onednn import freeze_for_inference
from mha_core.engine.stack import Stack, StackConfig
from mha_core.engine.torch_modes import plain_numbers
from mha_core.errors import InputError, ModelError
from mha_core.models.checkpoint import SUMS, Folder
from mha_core.models.families import FAMILIES
from mha_core.models.families.bert import LabelHead
from mha_core.models.families.family import AnotherVariantError
from mha_core.models.gguf import GgufFile
from mha_core.models.hf import load_with_transformers
from mha_core.models.hub import Progress, check_fetched, fetch, is_here, is_hub_id
from mha_core.models.model import Model
from mha_core.models.model_list import (
    CLASSROOM,
    CLASSROOM_FOLDERS,
    DECODER,
    DECODER_DIGEST,
    DECODER_FILE,
    EMBEDDED,
    EMBEDDED_DIGESTS,
    LIST,
    SHIPPED,
    classroom_folder,
    decoder_file,
    embedded_folder,
    step_of,
)
from mha_core.models.toy_checkpoints import at_step
from mha_core.models.weights import architecture, assemble, config_of, untrained_encoder
from mha_core.text.tokens import Tokenizer

MAX_BYTES = 1_500_000_000  # of models that stay loaded beside the embedded ones
MAX_UNTRAINED = 4_000_000_000
MAX_TOKENS = 1024  # of a decoder's text: all heads' weights grow with its square
MIN_PIECES = 0.8  # of the embeddings; makers pad theirs to a round number
UNMERGED = "without its adapter"
WEIGHT_FILES = (".safetensors", ".gguf")
STAMPED = (".json", ".txt", *WEIGHT_FILES)

_LOADED: dict[tuple[object, ...], Model] = {}  # the latest use stands last
_LOADING: dict[tuple[object, ...], threading.Lock] = {}  # nobody waits for another model's download
_TABLE = threading.Lock()


def load_model(
    name: str | os.PathLike[str] = EMBEDDED,
    *,
    trained: bool = True,
    seed: int = 0,
    device: str = "auto",
    dtype: str | None = None,
    progress: Progress | None = None,
    local: bool = True,
    sha256: str | None = None,
    shared: bool = True,
    folder: Path | None = None,
) -> Model:
    """Load a model once, then share it with all callers.

    An architecture, or a variant of one, that the engine does not compute is loaded by transformers, which gives its
    attention weights and nothing of its inside.

    Args:
        name: one on the list, "classroom@400" (the classroom's model after 400 steps), a hub id, a folder, or a GGUF
            file. A folder or file that has changed since is loaded anew.
        trained: False gives the untrained twin, the same shape with random weights from `seed`.
        device, dtype: as in `choose_device` and `choose_precision` (a name such as "bfloat16").
        progress: called with (model, bytes so far, bytes in all) of a download, which ends if it raises.
        local: False refuses folders and files, for servers whose users name models.
        sha256: pins all files at once, by `Model.files_digest`.
        folder: where its files lie, for a name that is no place.
        shared: False loads a model that nobody else has, its weights in plain layers that can be changed.

    Raises ModelError if the files are damaged or of another architecture, Unavailable if they are not here and cannot
    be fetched, InputError for an unknown name.
    """
    name = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(name, str):
        raise InputError(f"`name` must be a model's name or folder, not {type(name).__name__}.")
    where = choose_device(device)
    precision = choose_precision(dtype, where)
    is_folder = folder is not None or (local and name not in SHIPPED and is_local(name))
    stamp = _stamp(str(folder or name)) if is_folder else None
    key = (name, stamp, trained, None if trained else seed, str(where), precision)

    def load() -> Model:
        with plain_numbers(loading=True):  # the same numbers in any mode and default type of the caller
            return _load(name, trained, seed, where, precision, progress, local, folder)

    model = _cached(key) if shared else load()
    if model is None:
        with _TABLE:
            lock = _LOADING.setdefault(key, threading.Lock())
        with lock:
            model = _cached(key) or _cache(key, load())
    return model if sha256 is None else _pinned(model, sha256)


def must_be_fetched(name: str, *, local: bool = True) -> bool:
    """Return whether `load_model` would fetch the model from the hub, without a question to it."""
    if name in SHIPPED or step_of(name) is not None or (local and is_local(name)):
        return False
    return is_hub_id(name) and not is_here(name)


def is_local(name: str) -> bool:
    """Return whether the name is a folder or a GGUF file here; False for invalid paths."""
    try:
        path = _path(name)
        return bool(name) and (path.is_dir() or (path.suffix == ".gguf" and path.is_file()))
    except (OSError, ValueError):
        return False


def _path(name: str) -> Path:
    return Path(os.path.expanduser(name)).resolve()  # noqa: PTH111 - Path's own fails on an unknown user


# Cached models


def _stamp(name: str) -> tuple[object, ...]:
    """Return what differs after a change of files: their names, sizes, and times of writing."""
    path = _path(name)
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        states = [(f.name, f.stat()) for f in files if f.suffix in STAMPED or f.name == SUMS]
    except OSError:  # a file that went meanwhile: loading says what is missing
        return (name,)
    return tuple((file, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for file, s in states)


def _cached(key: tuple[object, ...]) -> Model | None:
    """Return the model if it is loaded, which counts as a use."""
    with _TABLE:
        if key in _LOADED:
            _LOADED[key] = _LOADED.pop(key)
        return _LOADED.get(key)


def _cache(key: tuple[object, ...], model: Model) -> Model:
    """Cache the model, and let go of those unused for longest until the others fit in MAX_BYTES."""
    with _TABLE:
        for old in [k for k in _LOADED if k[1] != key[1] and (k[0], *k[2:]) == (key[0], *key[2:])]:
            del _LOADED[old]  # of the folder before it changed
        _LOADED[key] = model
        others = {k: m.n_bytes for k, m in _LOADED.items() if not (m.trained and m.name in SHIPPED)}
        for oldest in list(others):
            if sum(others.values()) <= MAX_BYTES or oldest == key:
                break
            del _LOADED[oldest], others[oldest]
    return model


def _pinned(model: Model, sha256: str) -> Model:
    """Return the model marked as compared. Raises ModelError if its files have another digest."""
    if model.files_digest != sha256.strip().lower():
        raise ModelError(
            f"The files of '{model.title}' are not those asked for: together they have SHA-256 "
            f"{model.files_digest[:12]}…, expected {ascii(sha256[:12])[1:-1]}…."
        )
    return replace(model, pinned=True)


# From files to a model


def _load(
    name: str,
    trained: bool,
    seed: int,
    device: torch.device,
    dtype: torch.dtype,
    progress: Progress | None,
    local: bool,
    folder: Path | None,
) -> Model:
    """Make a new model; arguments as in `load_model`."""
    step = step_of(name)
    named = CLASSROOM if step is not None else name
    place, known = find_files(named, progress, local) if folder is None else (folder, {})
    source = GgufFile(place) if place.is_file() else Folder(place)
    raw = source.settings()
    config = _known(raw, source.title)
    adapter = source.adapter_text() if isinstance(source, Folder) and trained else ""
    if adapter:
        warnings.warn(adapter, stacklevel=4)
    if config is None and isinstance(source, GgufFile):
        raise ModelError(
            f"'{source.title}' is {architecture(raw)}; of GGUF files those of Llama models are read."
        )
    files = dict(known) or source.digests(weights=trained)
    check_fetched(place, files)
    digest = "+".join(digest for file, digest in files.items() if file.endswith(WEIGHT_FILES))
    title = next((entry.title for entry in LIST if entry.name == name), source.title)
    if step is not None:
        digest, title = f"{digest}@{step}", f"Toy model after {step:,} steps"
    if adapter:
        title = f"{title}, {UNMERGED}"
    if not trained:
        digest, title = f"untrained, seed {seed}", f"{title}, untrained"
        files = {file: digest for file, digest in files.items() if not file.endswith(WEIGHT_FILES)}
    facts: dict[str, Any] = {
        "name": name,
        "title": title,
        "trained": trained,
        "digest": digest,
        "files": tuple(sorted(files.items())),
        "pinned": bool(known) or source.has_sums,
    }
    if config is None:
        return load_with_transformers(place, seed=seed, device=device, dtype=dtype, **facts)
    family = FAMILIES[config.model_type]
    max_tokens = min(config.max_positions, MAX_TOKENS) if config.is_causal else config.max_positions
    if isinstance(source, GgufFile):
        tokenizer: Tokenizer = source.tokenizer(max_tokens)
    else:
        tokenizer = family.tokenizer(place, max_tokens)
    _check_vocabulary(tokenizer, config, source.title)
    if not trained:
        encoder, head = _untrained(config, seed, source.title)
    elif step is not None:
        encoder = at_step(step)
        head = family.head(encoder, {})
    else:
        encoder, head = assemble(config, source.tensors(), source.title)
    for module in (encoder, head):
        if module is not None:
            freeze_for_inference(module.to(device=device, dtype=dtype))
    heads = {"mask": "masked_head", "next": "next_head", "label": "label_head"}
    predicts = "label" if isinstance(head, LabelHead) else family.predicts
    facts |= dict.fromkeys(heads.values()) | {heads[predicts]: head}
    return Model(tokenizer=tokenizer, encoder=encoder, config=config, device=device, dtype=dtype, **facts)


def _known(raw: Mapping[str, Any], title: str) -> StackConfig | None:
    """Read the sizes of a model that the engine computes; None for another architecture, or another variant."""
    if raw.get("model_type") not in FAMILIES:
        return None
    try:
        return config_of(raw, title)
    except AnotherVariantError:
        return None


def find_files(
    name: str, progress: Progress | None = None, local: bool = True
) -> tuple[Path, Mapping[str, str]]:
    """Find a model's folder or GGUF file, and the digests of the files already compared."""
    if name == EMBEDDED:
        return embedded_folder(), EMBEDDED_DIGESTS
    if name == DECODER:
        return decoder_file(), {DECODER_FILE: DECODER_DIGEST}
    if name in CLASSROOM_FOLDERS:
        return classroom_folder(name), {}
    if local and is_local(name):
        path = _path(name)
        files = [] if (path / "config.json").exists() else list(path.glob("*.gguf"))
        return files[0] if len(files) == 1 else path, {}
    if not is_hub_id(name):
        raise InputError(
            f"Unknown model '{name[:60]}'. Give a name of the model list, a Hugging Face id, a folder or a GGUF file."
        )
    return fetch(name, progress), {}


def _check_vocabulary(tokenizer: Tokenizer, config: StackConfig, title: str) -> None:
    """Raise ModelError unless every piece has an embedding, and nearly every embedding a piece (some are padding)."""
    if tokenizer.largest_id >= config.vocab_size or tokenizer.vocab_size < MIN_PIECES * config.vocab_size:
        raise ModelError(
            f"'{title}' has embeddings for {config.vocab_size:,} pieces and a tokenizer of {tokenizer.vocab_size:,}, "
            f"numbered up to {tokenizer.largest_id:,} from 0; they belong to different models."
        )


def _untrained(config: StackConfig, seed: int, title: str) -> tuple[Stack, nn.Module | None]:
    """Make the shape with random weights; of the heads only one that is the matrix of the embeddings."""
    if config.n_bytes > MAX_UNTRAINED:
        raise ModelError(
            f"An untrained '{title}' would take {config.n_bytes:,} bytes; at most {MAX_UNTRAINED:,} are made."
        )
    encoder = untrained_encoder(config, seed)
    return encoder, FAMILIES[config.model_type].head(encoder, {}) if getattr(config, "tied", False) else None
