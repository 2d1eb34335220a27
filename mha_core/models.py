"""The shelf of models: a name in, a frozen model that many readers can share out.

The embedded models come out of installed packages and need no hub. Others are checkpoints by hub id or in a
folder. Every model can also be had untrained: the same shape, random weights, a fixed seed. Loaded models are
kept up to a number of bytes; those unused for longest go first, the embedded ones stay.
"""

import os
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch
from torch import nn

from mha_core.cached import DecoderState, start
from mha_core.checkpoints import load_encoder, read_config, sha256, untrained_encoder, weight_files
from mha_core.device import choose_device, choose_precision
from mha_core.embedded import (
    DECODER,
    DECODER_DIGEST,
    EMBEDDED,
    EMBEDDED_DIGESTS,
    decoder_file,
    embedded_folder,
)
from mha_core.errors import InputError, ModelError
from mha_core.families import FAMILIES
from mha_core.gguf_checkpoint import load_gguf
from mha_core.hub import Progress, from_hub, is_hub_id
from mha_core.packed import lay_by_columns, pack
from mha_core.record import ModelInfo
from mha_core.stack import Stack, StackConfig
from mha_core.tokens import Tokenizer, Tokens, model_name

MOST_BYTES = 1_500_000_000  # of models that stay loaded beside the embedded ones
LONGEST = 1024  # tokens of a decoder's text: all heads' weights grow with its square


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
        DECODER,
        "SmolLM2 135M, 4-bit",
        "SmolLM2-135M-Instruct: 30 layers x 9 heads on 3 key-value heads, English; predicts the next token.",
        embedded=True,
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
    encoder: Stack
    masked_head: nn.Module | None
    device: torch.device
    dtype: torch.dtype
    digest: str
    config: StackConfig = field(repr=False)
    next_head: nn.Module | None = None

    @property
    def n_layers(self) -> int:
        """How many layers there are."""
        return self.config.n_layers

    @property
    def n_heads(self) -> int:
        """How many heads a layer has."""
        return self.config.n_heads

    @property
    def n_kv_heads(self) -> int:
        """How many key and value heads a layer has; its query heads share them in groups."""
        return self.config.n_kv_heads

    @property
    def is_causal(self) -> bool:
        """Whether a token sees only what comes before it: a decoder."""
        return self.config.is_causal

    @property
    def d_model(self) -> int:
        """How wide a token's vector is."""
        return self.config.d_model

    @property
    def d_k(self) -> int:
        """How wide a head is."""
        return self.config.d_k

    @property
    def max_tokens(self) -> int:
        """How many tokens fit, the special ones counted."""
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
            self.n_kv_heads,
            self.is_causal,
        )

    @cached_property
    def n_bytes(self) -> int:
        """How much memory its weights take."""
        modules = [
            module for module in (self.encoder, self.masked_head, self.next_head) if module is not None
        ]
        parameters = {id(p): p for module in modules for p in module.parameters()}
        return sum(p.numel() * p.element_size() for p in parameters.values())

    def start(self, tokens: Tokens) -> DecoderState:
        """A state of one reader's own that reads `tokens` and is then given one token at a time.

        Raises InputError for a model that predicts no next token.
        """
        return start(self.encoder, self.next_head, tokens, self.title, self.max_tokens)


def shelf() -> tuple[ShelfEntry, ...]:
    """The models to choose from; the embedded one first."""
    return SHELF


_LOADED: dict[tuple[object, ...], Model] = {}  # those used last stand last
_LOADING, _TABLE = threading.Lock(), threading.Lock()


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
    and cannot be fetched, InputError for an unknown name.
    """
    where = choose_device(device)
    precision = choose_precision(dtype, where)
    folder = local and name not in (EMBEDDED, DECODER) and is_folder(name)
    key = (name, folder, trained, None if trained else seed, str(where), precision)
    found = _used(key)
    if found is None:  # a model that is here does not wait for another one's download
        with _LOADING:
            found = _used(key) or _keep(key, _load(name, trained, seed, where, precision, progress, local))
    return found


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
        _LOADED[key] = model
        others = {
            k: m.n_bytes for k, m in _LOADED.items() if not (m.trained and m.name in (EMBEDDED, DECODER))
        }
        for oldest in list(others):
            if sum(others.values()) <= MOST_BYTES or oldest == key:
                break
            del _LOADED[oldest], others[oldest]
    return model


@dataclass(frozen=True)
class _Parts:
    """What the files of a model gave."""

    config: StackConfig
    tokenizer: Tokenizer
    encoder: Stack
    head: nn.Module | None
    digest: str
    title: str


def _load(
    name: str,
    trained: bool,
    seed: int,
    device: torch.device,
    dtype: torch.dtype,
    progress: Progress | None,
    local: bool,
) -> Model:
    if name == DECODER:
        parts = _from_gguf(decoder_file(), trained, seed)
    else:
        parts = _from_folder(*_folder(name, progress, local), trained, seed)
    # One row at a time, a decoder's step, is slower in oneDNN's order.
    settle = lay_by_columns if parts.config.is_causal else pack
    settle(parts.encoder.to(device=device, dtype=dtype))
    if parts.head is not None:
        settle(parts.head.to(device=device, dtype=dtype))
    title = next((entry.title for entry in SHELF if entry.name == name), parts.title)
    if not trained:
        title += ", untrained"
    predicts = FAMILIES[parts.config.model_type].predicts
    return Model(
        name,
        title,
        trained,
        parts.tokenizer,
        parts.encoder,
        parts.head if predicts == "mask" else None,
        device,
        dtype,
        parts.digest,
        parts.config,
        parts.head if predicts == "next" else None,
    )


def _from_folder(folder: Path, checked: dict[str, str], trained: bool, seed: int) -> _Parts:
    config, title = read_config(folder), model_name(folder)
    family = FAMILIES[config.model_type]
    longest = min(config.max_positions, LONGEST) if config.is_causal else config.max_positions
    tokenizer = family.tokenizer(folder, longest)
    if tokenizer.vocab_size > config.vocab_size:
        raise ModelError(
            f"'{title}' has a tokenizer of {tokenizer.vocab_size} pieces and embeddings for "
            f"{config.vocab_size}; they belong to different models."
        )
    if not trained:
        return _untrained(config, tokenizer, seed, title)
    encoder, head = load_encoder(folder, config)
    digest = checked.get("model.safetensors") or "+".join(map(sha256, weight_files(folder)))
    return _Parts(config, tokenizer, encoder, head, digest, title)


def _from_gguf(path: Path, trained: bool, seed: int) -> _Parts:
    config, tokenizer, encoder, head = load_gguf(path, LONGEST, weights=trained)
    if encoder is None:
        return _untrained(config, tokenizer, seed, path.stem)
    return _Parts(config, tokenizer, encoder, head, DECODER_DIGEST, path.stem)


def _untrained(config: StackConfig, tokenizer: Tokenizer, seed: int, title: str) -> _Parts:
    encoder = untrained_encoder(config, seed)
    tied = getattr(config, "tied", False)
    head = FAMILIES[config.model_type].head(encoder, {}) if tied else None
    return _Parts(config, tokenizer, encoder, head, f"untrained, seed {seed}", title)


def _folder(name: str, progress: Progress | None, local: bool) -> tuple[Path, dict[str, str]]:
    """Where the model's files are, and the digests that were already checked."""
    if name == EMBEDDED:
        return embedded_folder(), EMBEDDED_DIGESTS
    if local and is_folder(name):
        return Path(os.path.expanduser(name)).resolve(), {}  # noqa: PTH111 - Path's own fails on an unknown user
    if not is_hub_id(name):
        raise InputError(
            f"There is no model '{name[:60]}'; choose a name on the shelf, a hub id or a folder."
        )
    return from_hub(name, progress), {}


def is_folder(name: str) -> bool:
    """Whether the name is a folder here; False for invalid paths."""
    try:
        return bool(name) and Path(os.path.expanduser(name)).is_dir()  # noqa: PTH111 - as above
    except (OSError, ValueError):
        return False
