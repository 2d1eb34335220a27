"""Models of the Hugging Face Hub: the only network, used only for a model that is not on this machine.

In: a model's id. Out: its size, or the folder of huggingface_hub's cache with its settings, tokenizer and safetensors:
never a pickle, never code.
"""

import io
import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mha_core.errors import ModelError, Unavailable
from mha_core.models.checkpoint import Folder, model_name

Progress = Callable[[str, int, int], None]  # the model, bytes so far, bytes in all
HUB_ID = re.compile(r"(?=.{1,96}$)[A-Za-z0-9]([\w.-]*\w)?(/\w([\w.-]*\w)?)?", re.ASCII)
FILES = [  # never "*.bin", "*.py"
    *("config.json", "generation_config.json", "adapter_config.json", "chat_template.jinja"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *(
        "vocab.txt",
        "vocab.json",
        "merges.txt",
        "spiece.model",
        "sentencepiece.bpe.model",
        "source.spm",
        "target.spm",
    ),
    *("model.safetensors", "model.safetensors.index.json", "model-*.safetensors"),
]
HUB_SECONDS = 1.0  # until the hub answers at all
AWAY_SECONDS = 60.0  # so long a hub that did not answer is not asked again
PROXIES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_AWAY = {"until": 0.0}


def is_hub_id(name: str) -> bool:
    """Return whether the name can be a model's on the hub."""
    return bool(HUB_ID.fullmatch(name)) and not re.search(r"--|\.\.|\.git$|\.gguf$", name)


def is_here(name: str) -> bool:
    """Return whether all weights of a hub model are on this machine, without a question to the hub."""
    return _cached(name) is not None


@lru_cache(256)
def size_of(name: str) -> int:
    """Ask the hub how many bytes `fetch` would bring. Raises Unavailable if it, or the model, is not there."""
    from huggingface_hub import snapshot_download

    _check_hub(name)
    coming = _aside(snapshot_download, name, allow_patterns=FILES, dry_run=True, tqdm_class=_bar([0, 0]))
    return sum(file.file_size for file in _result(coming, name) if file.will_download)


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Return a hub model's folder: from the cache if it is there, else fetched into it.

    `progress` is called ten times a second and at the end, in the caller's thread; an error it raises ends the fetch,
    and files that have arrived whole stay. Raises Unavailable if the hub or the model is not there.
    """
    cached = _cached(name)
    if cached is not None:
        return cached
    from huggingface_hub import snapshot_download

    _check_hub(name)
    n_bytes: list[int] = [0, 0]  # so far, and in all; empty: nobody waits any more
    coming = _aside(snapshot_download, name, allow_patterns=FILES, tqdm_class=_bar(n_bytes))
    try:
        while not wait([coming], 0.1).done:
            if progress is not None:
                progress(name, *n_bytes)
    except BaseException:
        n_bytes.clear()
        raise
    folder = Path(_result(coming, name))
    if progress is not None:
        progress(name, *n_bytes)
    return folder


def check_fetched(folder: Path, digests: Mapping[str, str]) -> None:
    """Raise ModelError for a large file with another SHA-256 than its name in the hub's cache, which does not compare.

    The damaged file is removed, so that the next fetch brings it again.
    """
    for name, digest in digests.items():
        blob = (folder / name).resolve()
        if re.fullmatch(r"[0-9a-f]{64}", blob.name) and blob.name != digest:
            blob.unlink()
            raise ModelError(
                f"The {name} of '{model_name(folder)}' arrived damaged; ask again to fetch it anew."
            )


def _cached(name: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, allow_patterns=FILES, local_files_only=True))
        files = [folder / "config.json", *Folder(folder).weight_files()]
    except (LocalEntryNotFoundError, ModelError):
        return None
    return folder if all(file.is_file() for file in files) else None


def _check_hub(name: str) -> None:
    """Raise Unavailable, within a second, if the hub may not be asked or does not answer."""
    from huggingface_hub import constants

    if constants.is_offline_mode() or time.monotonic() < _AWAY["until"] or not _answers(constants.ENDPOINT):
        raise Unavailable(
            f"'{name}' is not on this machine and the model hub cannot be reached; connect once to fetch it, give a "
            "folder with its files, or choose a model that comes with the program."
        )


def _answers(endpoint: str) -> bool:
    """Return whether the hub can be reached; the library itself tries for most of a minute."""
    if any(os.environ.get(proxy) for proxy in PROXIES):
        return True
    parts = urlsplit(endpoint)
    address = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    connection = _aside(socket.create_connection, address, HUB_SECONDS)  # looking a name up may take long
    if wait([connection], HUB_SECONDS).done and connection.exception() is None:
        connection.result().close()
        return True
    _AWAY["until"] = time.monotonic() + AWAY_SECONDS
    return False


def _aside(call: Callable[..., Any], *args: Any, **options: Any) -> Future[Any]:
    """Begin a call in a thread of its own: the caller can give up."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(call, *args, **options)
    finally:
        pool.shutdown(wait=False)


def _result(coming: Future[Any], name: str) -> Any:
    """Return the library's result, or raise its error as one sentence."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        return coming.result()
    except RepositoryNotFoundError:
        raise Unavailable(f"The hub has no model '{name}', or it is not public.") from None
    except Exception as problem:  # of the disk, the network, the HTTP library, and the store behind it
        reason = getattr(problem, "strerror", None) or "the connection to the hub broke"
        raise Unavailable(f"'{name}' could not be fetched: {reason}.") from problem


def _bar(n_bytes: list[int]) -> type[Any]:
    """Make an unseen progress bar: the library counts its bytes there, and ends when it raises."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "file": io.StringIO(), "disable": False})

        def refresh(self, *args: Any, **options: Any) -> bool | None:
            # Called where another file begins; until it sends, nothing else tells its size.
            if n_bytes and self.unit == "B":
                n_bytes[1] = max(n_bytes[1], int(self.total or 0))
            shown: bool | None = super().refresh(*args, **options)
            return shown

        def update(self, n: float | None = 1) -> bool | None:
            if not n_bytes:
                raise InterruptedError("nobody waits for this model any more")
            if self.unit == "B":  # two bars count bytes, one of them only those by another route
                n_bytes[:] = max(n_bytes[0], int(self.n + (n or 0))), max(n_bytes[1], int(self.total or 0))
            shown: bool | None = super().update(n)
            return shown

    return Bar
