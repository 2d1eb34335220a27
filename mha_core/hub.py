"""Models from the hub of Hugging Face: the only network. What was fetched once is read from its cache.

In: a model's id. Out: the folder with its files, safetensors only, compared with the digests that the hub keeps.
"""

import os
import queue
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mha_core.checkpoints import read_config, weight_files
from mha_core.embedded import EMBEDDED
from mha_core.errors import HeadScopeError, InputError, ModelError, Unavailable
from mha_core.model_files import sha256
from mha_core.wording import counted

Progress = Callable[[str, int, int], None]  # file, bytes so far, bytes in all

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
HUB_SECONDS = 4.0  # until the hub answers at all
FETCH_SECONDS = 60.0  # for all files of a model; HEADSCOPE_HUB_SECONDS is another number
MOST_SECONDS = 1e9  # a queue cannot wait for much longer
AWAY_SECONDS = 60.0  # so long a hub that did not answer is not asked again
AGAIN_SECONDS = 5.0  # so long a model that could not be fetched is not fetched again
UNFINISHED_SECONDS = 600.0  # a part of a file that nobody has written to for so long is left over
T = TypeVar("T")

_AWAY = {"until": 0.0}
_FAILED: dict[str, tuple[float, HeadScopeError]] = {}


def is_hub_id(name: str) -> bool:
    """Whether the name can be a model's on the hub."""
    return bool(HUB_ID.fullmatch(name)) and ".." not in name and len(name) <= 96


def is_here(name: str) -> bool:
    """Whether a hub model has been fetched before, every shard of it; nobody is asked."""
    if not is_hub_id(name):
        return False
    from huggingface_hub import try_to_load_from_cache

    whole, index = (try_to_load_from_cache(name, f"model.safetensors{end}") for end in ("", ".index.json"))
    if not isinstance(try_to_load_from_cache(name, "config.json"), str):
        return False
    if isinstance(whole, str) or not isinstance(index, str):
        return isinstance(whole, str)
    try:
        return all(shard.is_file() for shard in weight_files(Path(index).parent))
    except ModelError:
        return True  # whoever loads it is told


def from_hub(name: str, progress: Progress | None) -> Path:
    """A hub model's files: from huggingface_hub's cache if they are there, else fetched into it, all of them within
    HEADSCOPE_HUB_SECONDS. A file that arrives damaged is fetched once more. Who asks right after a fetch that failed,
    as a page does that needs the model in two places, is told the same."""
    until, before = _FAILED.get(name, (0.0, None))
    if before is not None and time.monotonic() < until:
        raise type(before)(str(before))
    remove_unfinished(name)
    try:
        return _within(fetch_seconds(), name, lambda tell: _all_files(name, tell), progress)
    except (ModelError, Unavailable) as problem:
        now = time.monotonic()
        for old in [old for old, (until, _) in _FAILED.items() if until < now]:
            del _FAILED[old]
        _FAILED[name] = (now + AGAIN_SECONDS, problem)
        raise


def _all_files(name: str, progress: Progress | None) -> Path:
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
            _check(name, _hub_file(name, shard.name, progress), progress)
    else:
        _check(name, weights, progress)
    return config.parent


def _check(name: str, path: Path | None, progress: Progress | None) -> None:
    """A large file compared with its digest; one that is damaged is removed and fetched once more."""
    if path is not None and is_damaged(path) and is_damaged(_hub_file(name, path.name, progress)):
        raise ModelError(f"The file {path.name} of '{name}' arrived damaged twice; try again later.")


def fetch_seconds() -> float:
    """How long a model may take to arrive. Raises InputError for a setting that is no number."""
    said = os.environ.get("HEADSCOPE_HUB_SECONDS", "")
    try:
        seconds = float(said) if said else FETCH_SECONDS
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MOST_SECONDS:
        raise InputError(
            f"HEADSCOPE_HUB_SECONDS is '{said[:40]}'; it takes a number of seconds up to {MOST_SECONDS:,.0f}."
        )
    return seconds


def _within(seconds: float, name: str, fetch: Callable[[Progress | None], T], progress: Progress | None) -> T:
    """What `fetch` gives, in a thread of its own, because a line that has died says nothing for minutes; how far it is
    is told in the caller's. Raises Unavailable when the time is over; what has arrived by then is kept."""
    heard: queue.SimpleQueue[tuple[str, int, int] | None] = queue.SimpleQueue()
    found: list[T] = []
    problems: list[BaseException] = []

    def tell(*how_far: Any) -> None:
        heard.put(how_far)

    def work() -> None:
        try:
            found.append(fetch(None if progress is None else tell))
        except BaseException as problem:  # noqa: BLE001 - raised again where somebody waits for it
            problems.append(problem)
        heard.put(None)

    threading.Thread(target=work, name=f"fetch {name}", daemon=True).start()
    until = time.monotonic() + seconds
    with suppress(queue.Empty):
        while (how_far := heard.get(timeout=max(0.0, until - time.monotonic()))) is not None:
            if progress is not None:
                progress(*how_far)
    if problems:
        raise problems[0]
    if not found:
        raise Unavailable(
            f"'{name}' did not arrive within {counted(ceil(seconds), 'second')}; ask again to go on, or set "
            "HEADSCOPE_HUB_SECONDS."
        )
    return found[0]


def remove_unfinished(name: str) -> None:
    """Delete what fetches that were killed have left of a model: nothing goes on with it."""
    from huggingface_hub.constants import HF_HUB_CACHE

    oldest = time.time() - UNFINISHED_SECONDS
    model = f"models--{name.replace('/', '--')}"
    for part in (Path(HF_HUB_CACHE) / model / "blobs").glob("*.incomplete"):
        lock = Path(HF_HUB_CACHE) / ".locks" / model / f"{part.name.partition('.')[0]}.lock"
        with suppress(OSError):  # another process may be quicker
            if part.stat().st_mtime < oldest or _is_nobodys(lock):
                part.unlink()


def _is_nobodys(lock: Path) -> bool:
    """Whether no process holds the lock under which a file is fetched; one that is killed lets go of it."""
    from filelock import FileLock, Timeout

    if not lock.is_file():
        return False
    try:
        with FileLock(lock, timeout=0):
            return True
    except (NotImplementedError, OSError, Timeout):
        return False


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
    """Whether the hub can be reached at all, found out in seconds (the library itself tries for most of a minute), and
    remembered for a minute where it cannot."""
    if any(os.environ.get(key) for key in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")):
        return True
    if time.monotonic() < _AWAY["until"]:
        return False
    from huggingface_hub.constants import ENDPOINT

    parts = urlsplit(ENDPOINT)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=HUB_SECONDS).close()
    except OSError:
        _AWAY["until"] = time.monotonic() + AWAY_SECONDS
        return False
    return True


def is_damaged(path: Path | None) -> bool:
    """Whether a hub's large file, which is stored under its own SHA-256, is not what it should be; the library does not
    compare. A damaged one is removed, so that it is fetched anew."""
    blob = None if path is None else path.resolve()
    if blob is None or not re.fullmatch(r"[0-9a-f]{64}", blob.name) or sha256(blob) == blob.name:
        return False
    for file in {path, blob}:
        if file is not None:
            file.unlink(missing_ok=True)
    return True


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
