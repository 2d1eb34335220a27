"""Models from the hub of Hugging Face: the only network. What was fetched once is read from its cache.

In: a model's id. Out: the folder with its files, safetensors only, compared with the digests that the hub keeps.
"""

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mha_core.checkpoints import read_config, weight_files
from mha_core.embedded import EMBEDDED
from mha_core.errors import ModelError, Unavailable
from mha_core.model_files import sha256

Progress = Callable[[str, int, int], None]  # file, bytes so far, bytes in all

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
HUB_SECONDS = 4.0


def is_hub_id(name: str) -> bool:
    """Whether the name can be a model's on the hub."""
    return bool(HUB_ID.fullmatch(name)) and ".." not in name and len(name) <= 96


def from_hub(name: str, progress: Progress | None) -> Path:
    """A hub model's files: from huggingface_hub's cache if they are there, else fetched into it."""
    config = _hub_file(name, "config.json", progress)
    if config is None:
        raise Unavailable(f"The hub has no model '{name}', or it is not public.")
    read_config(config.parent)
    if _hub_file(name, "tokenizer.json", progress) is None:
        for file in ("vocab.txt", "tokenizer_config.json"):
            _hub_file(name, file, progress)
    weights = _hub_file(name, "model.safetensors", progress)
    if weights is None:
        index = _hub_file(name, "model.safetensors.index.json", progress)
        if index is None:
            raise ModelError(f"The hub's '{name}' has no safetensors; only those are read, never pickles.")
        for shard in weight_files(index.parent):
            _check_blob(_hub_file(name, shard.name, progress))
    _check_blob(weights)
    return config.parent


def _hub_file(name: str, file: str, progress: Progress | None) -> Path | None:
    """One file of a hub model, or None if the hub has no such file. Raises Unavailable without a network."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    # The root of what the hub's HTTP library raises, whichever that is: a cut download is no OSError in all of them.
    transport: type[Exception] = HfHubHTTPError.__bases__[0]
    cached = try_to_load_from_cache(name, file)
    if cached is not None:  # a path, or the note that the hub has no such file
        return Path(cached) if isinstance(cached, str) else None
    offline = (
        f"'{name}' is not on this machine and the model hub cannot be reached; connect once to fetch it, "
        f"give a folder with its files, or choose the embedded model '{EMBEDDED}'."
    )
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "TRUE", "YES", "ON") or not _hub_answers():
        raise Unavailable(offline)
    try:
        return Path(
            hf_hub_download(name, file, etag_timeout=HUB_SECONDS, tqdm_class=_reporter(file, progress))
        )
    except LocalEntryNotFoundError:
        raise Unavailable(offline) from None
    except EntryNotFoundError:
        return None
    except HfHubHTTPError as problem:
        status = getattr(problem.response, "status_code", None)
        if status in (401, 403, 404):
            raise Unavailable(f"The hub has no model '{name}', or it is not public.") from None
        raise Unavailable(offline) from None
    except (OSError, transport) as problem:
        reason = getattr(problem, "strerror", None) or "the connection broke"
        raise Unavailable(f"'{name}' could not be fetched: {reason}.") from None


def _hub_answers() -> bool:
    """Whether the hub can be reached at all, found out in seconds (the library itself tries for most of a minute)."""
    if any(os.environ.get(key) for key in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")):
        return True
    from huggingface_hub.constants import ENDPOINT

    parts = urlsplit(ENDPOINT)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=HUB_SECONDS).close()
    except OSError:
        return False
    return True


def _check_blob(path: Path | None) -> None:
    """A hub's large file is stored under its own SHA-256: compare, because the library does not."""
    blob = None if path is None else path.resolve()
    if blob is not None and re.fullmatch(r"[0-9a-f]{64}", blob.name) and sha256(blob) != blob.name:
        raise ModelError(
            f"The fetched file {path.name if path else ''} is damaged; delete it and fetch it again."
        )


def _reporter(file: str, progress: Progress | None) -> type[Any] | None:
    """A tqdm that draws nothing and tells `progress` instead."""
    if progress is None:
        return None
    tell = progress
    from tqdm import tqdm

    class Reporter(tqdm):  # type: ignore[misc]
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **{**kwargs, "disable": False, "file": _Nowhere()})

        def update(self, n: float | None = 1) -> bool | None:
            shown: bool | None = super().update(n)
            tell(file, int(self.n), int(self.total or 0))
            return shown

    return Reporter


class _Nowhere:
    def write(self, text: str) -> int:
        """Take the text and drop it."""
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""
