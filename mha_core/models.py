"""A name in, a frozen model that many readers can share out.

The embedded models come out of installed packages and need no hub. Others are checkpoints by hub id or in a
folder. Every model can also be had untrained: the same shape, random weights, a fixed seed. Loaded models are
kept up to a number of bytes; those unused for longest go first, the embedded ones stay.
"""

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from mha_core.device import choose_device, choose_precision
from mha_core.embedded import CLASSROOM_FOLDERS, DECODER, EMBEDDED
from mha_core.errors import InputError, ModelError
from mha_core.hub import Progress, is_here, is_hub_id
from mha_core.learning.classroom.moments import step_of
from mha_core.loading import build, is_folder
from mha_core.model import Model
from mha_core.model_files import SUMS
from mha_core.modes import plain_numbers
from mha_core.shelf import ShelfEntry, shelf

__all__ = ["MOST_BYTES", "Model", "ShelfEntry", "is_folder", "load_model", "must_be_fetched", "shelf"]

STAMPED = (".json", ".safetensors", ".txt")
MOST_BYTES = 1_500_000_000  # of models that stay loaded beside the embedded ones
SHIPPED = (EMBEDDED, DECODER, *CLASSROOM_FOLDERS)

_LOADED: dict[tuple[object, ...], Model] = {}  # those used last stand last
_LOADING: dict[
    tuple[object, ...], threading.Lock
] = {}  # one a model: nobody waits for another one's download
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
) -> Model:
    """A model by its name on the shelf, its hub id or its folder; loaded once, then shared by all callers.

    A folder whose files have changed since is loaded anew. `shared=False` loads one that nobody else has, its weights
    in plain layers that can be changed.
    "classroom@400" is the classroom's model as it was after 400 steps.
    `trained=False` gives the untrained twin: the same shape, random weights from `seed`. `device` and `dtype`
    (a name such as "bfloat16") as in `choose_device` and `choose_precision`. `progress(file, done, total)` is
    told of downloads in bytes. `local=False` refuses folders, for servers whose readers name models. `sha256` pins
    all files at once (`Model.files_digest`): that of what `sha256sum` writes for them in alphabetical order.

    Raises ModelError if the files are damaged or of another architecture, Unavailable if they are not here
    and cannot be fetched, InputError for an unknown name.
    """
    name = _name(name)
    where = choose_device(device)
    precision = choose_precision(dtype, where)
    folder = local and name not in SHIPPED and is_folder(name)
    stamp = _stamp(name) if folder else None
    key = (name, stamp, trained, None if trained else seed, str(where), precision)
    if not shared:
        own = _load(name, trained, seed, where, precision, progress, local, False)
        return own if sha256 is None else _pinned(own, sha256)
    found = _used(key)
    if found is None:
        with _TABLE:
            loading = _LOADING.setdefault(key, threading.Lock())
        with loading:
            found = _used(key) or _keep(key, _load(name, trained, seed, where, precision, progress, local))
    return found if sha256 is None else _pinned(found, sha256)


def must_be_fetched(name: str, *, local: bool = True) -> bool:
    """Whether `load_model` would fetch the model from the hub: it neither comes with the program, nor is it a folder
    (unless `local=False` refuses those), nor was it fetched before. Nobody is asked."""
    if name in SHIPPED or step_of(name) is not None or (local and is_folder(name)):
        return False
    return is_hub_id(name) and not is_here(name)


def _name(name: object) -> str:
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if not isinstance(name, str):
        raise InputError(f"A model is asked for by its name or folder; {type(name).__name__} was given.")
    return name


def _stamp(folder: str) -> tuple[object, ...]:
    """What tells whether a folder's files have changed: their names, sizes, and when they were written."""
    try:
        files = sorted(Path(os.path.expanduser(folder)).resolve().iterdir())  # noqa: PTH111 - as in loading.py
        states = [(path.name, path.stat()) for path in files if path.suffix in STAMPED or path.name == SUMS]
    except OSError:  # a file that went meanwhile: loading says what is missing
        return (folder,)
    return tuple((name, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for name, s in states)


def _load(*arguments: Any) -> Model:
    """A new model, whatever mode or default number type the caller has chosen: the numbers are the same."""
    with plain_numbers(loading=True):
        return build(*arguments)


def _pinned(model: Model, sha256: str) -> Model:
    """The model as one that was compared. Raises ModelError if its files are others."""
    if model.files_digest != sha256.strip().lower():
        raise ModelError(
            f"The files of '{model.title}' are not those asked for: together they have SHA-256 "
            f"{model.files_digest[:12]}…, expected {ascii(sha256[:12])[1:-1]}…."
        )
    return replace(model, pinned=True)


def _used(key: tuple[object, ...]) -> Model | None:
    """The model if it is loaded, which counts as a use."""
    with _TABLE:
        found = _LOADED.pop(key, None)
        if found is not None:
            _LOADED[key] = found
        return found


def _keep(key: tuple[object, ...], model: Model) -> Model:
    """Keep the model, and let go of those unused for longest until the others fit in MOST_BYTES."""
    with _TABLE:
        if key[1] is not None:  # a folder as it was before is nobody's model any more
            same = (key[0], *key[2:])
            for stale in [k for k in _LOADED if k[1] not in (None, key[1]) and (k[0], *k[2:]) == same]:
                del _LOADED[stale]
        _LOADED[key] = model
        others = {k: m.n_bytes for k, m in _LOADED.items() if not (m.trained and m.name in SHIPPED)}
        for oldest in list(others):
            if sum(others.values()) <= MOST_BYTES or oldest == key:
                break
            del _LOADED[oldest], others[oldest]
    return model
