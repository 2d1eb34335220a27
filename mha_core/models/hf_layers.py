"""Layers of a transformers model by its settings: which of them attend, which have a window, what takes part of a row.

A model of several kinds of layers gives the attentions of some; here they get the model's own numbers back. Source:
`layer_types` of the library's configurations (5.x), and its counterparts in older ones.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from mha_core.arrays import Array, Mask
from mha_core.errors import ModelError

Part = Literal["encoder", "decoder", "cross"]  # of an encoder-decoder
PARTS: tuple[Part, ...] = ("encoder", "decoder", "cross")


def placed(layers: Sequence[Any], kinds: Sequence[str], title: str) -> tuple[list[Any], tuple[str, ...]]:
    """Place attentions by the model's own layer numbers, None for a layer without; return them and those layers' kinds.

    A model of several kinds of layers gives the weights of its attention layers alone, or those of all.
    """
    attends = [_attends(kind) for kind in kinds]
    if not kinds or all(attends) or len(layers) not in (len(kinds), sum(attends)):
        if kinds and len(layers) != len(kinds):
            raise ModelError(
                f"{title} has {len(kinds)} layers and gave weights of {len(layers)}; it does not say of which."
            )
        return list(layers), ()
    given: Iterator[Any] = iter(layers)
    if len(layers) == len(kinds):
        by_number = [layer if attends_ else None for layer, attends_ in zip(layers, attends, strict=True)]
    else:
        by_number = [next(given) if attends_ else None for attends_ in attends]
    names = ("" if _attends(kind) else kind.replace("_", " ") for kind in kinds)
    return by_number, tuple(names)


def _attends(kind: str) -> bool:
    return kind in ("hybrid", "global", "local") or ("attention" in kind and "linear" not in kind)


LOCAL = ("local", "sliding_attention", "hybrid_sliding")
CHUNKED = "chunked_attention"
WINDOW = ("sliding_window", "window_size", "sliding_window_size", "attention_window_size")
KEY_HEADS = ("num_key_value_heads", "num_kv_heads", "kv_heads", "n_kv_heads", "multi_query_group_num")
STARTS = ("decoder_start_token_id", "bos_token_id")


def kinds_of(config: Any, whole: Any) -> list[str]:
    """Return the kind of every layer in the settings; empty where they say nothing."""
    kinds = getattr(config, "layer_types", None) or getattr(config, "attention_layers", None)
    if not kinds and getattr(config, "sliding_window", None) and getattr(whole, "use_sliding_window", True):
        kinds = ["sliding_attention"] * int(config.num_hidden_layers)
    return [str(kind) for kind in kinds or ()]


def windows_of(config: Any, kinds: Sequence[str], weights: Array, *, is_causal: bool) -> tuple[int, ...]:
    """Return the tokens that each layer sees to each side, 0 for all, by the settings; () where none has a window. A
    layer whose weights (layer, head, query, key) reach further has none: its setting means something else.

    A causal window counts the token itself, one to both sides does not (`transformers.masking_utils`), Gemma's does.
    """
    size = first_of(config, *WINDOW) or 0
    size -= is_causal or bool(getattr(config, "use_bidirectional_attention", False))
    distance = np.abs(np.subtract.outer(*map(np.arange, weights.shape[2:])))
    windows = [
        size if kind in LOCAL and size > 0 and not weights[layer][:, distance > size].any() else 0
        for layer, kind in enumerate(kinds)
    ]
    return tuple(windows) if any(windows) else ()


def seen_in_chunks(config: Any, kinds: Sequence[str], weights: Array) -> Mask | None:
    """Return the masks (layer, query, key): keys up to the query, in layers that are cut into chunks those of its chunk
    alone; None where no layer is."""
    size = first_of(config, "attention_chunk_size")
    if not size or CHUNKED not in kinds:
        return None
    chunks = np.arange(weights.shape[2]) // size
    seen = np.tile(np.tri(weights.shape[2], dtype=bool), (len(weights), 1, 1))
    for layer, kind in enumerate(kinds):
        if kind == CHUNKED:
            seen[layer] &= chunks[:, None] == chunks[None, :]
    return seen


def says_causal(model: Any) -> bool | None:
    """Return whether tokens see no later ones, by settings or layers; None where neither says it."""
    layers = {bool(part.is_causal) for part in model.modules() if hasattr(part, "is_causal")}
    if getattr(model.config, "is_decoder", False) or True in layers:
        return True
    return False if layers else None


def n_key_heads(model: Any, config: Any, n_heads: int) -> int | None:
    """Return the number of key heads, by the attention layers or the settings; None where layers differ or nothing says
    it."""
    counts = {first_of(part, *KEY_HEADS) or 0 for part in model.modules()} - {0}
    groups = {first_of(part, "num_key_value_groups") or 0 for part in model.modules()} - {0}
    counts = counts or {n_heads // size for size in groups}
    shared = counts.pop() if len(counts) == 1 else None if counts else first_of(config, *KEY_HEADS)
    return shared if shared and n_heads % shared == 0 else None


def start_of(model: Any) -> int | None:
    """Return the number of the token a decoder starts with: from the settings, those of generation, the decoder's."""
    config = model.config
    places = (config, getattr(model, "generation_config", None), settings_of(config, "decoder"))
    named = (getattr(place, name, None) for name in STARTS for place in places if place is not None)
    return next((int(start) for start in named if isinstance(start, int)), None)


def has_sinks(model: Any) -> bool:
    """Return whether it has learned sinks, a weight in every row that belongs to no token."""
    return any("sink" in name.rsplit(".", 1)[-1] for name, _ in model.named_parameters())


def settings_of(config: Any, part: Part) -> Any:
    """Return the part's own settings where it has some, else those of the model's text."""
    own = getattr(config, "encoder" if part == "encoder" else "decoder", None)
    own = own.get_text_config() if own is not None and hasattr(own, "get_text_config") else own
    if own is not None and hasattr(own, "num_hidden_layers"):
        return own
    has_text = hasattr(config, "get_text_config") and not config.is_encoder_decoder
    return config.get_text_config() if has_text else config


def first_of(config: Any, *names: str) -> int | None:
    """Return the first of these settings that is a number above 0."""
    values = (getattr(config, name, None) for name in names)
    return next((int(value) for value in values if isinstance(value, int) and value > 0), None)
