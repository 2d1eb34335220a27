"""What the settings of a transformers model say of its layers: which of them attend, which have a window, what takes
part of a row.

A model of several kinds of layers gives the attentions of some; here they get the model's own numbers back. Source:
`layer_types` of the library's configurations (5.x), and what older ones have in its place.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from mha_core.errors import ModelError
from mha_core.grid import Array, Mask

Part = Literal["encoder", "decoder", "cross"]  # of an encoder-decoder
PARTS: tuple[Part, ...] = ("encoder", "decoder", "cross")


def placed(layers: Sequence[Any], kinds: Sequence[str], title: str) -> tuple[list[Any], tuple[str, ...]]:
    """Attentions by the model's own layer numbers, None for a layer without, and what those layers do instead.

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
        found = [layer if there else None for layer, there in zip(layers, attends, strict=True)]
    else:
        found = [next(given) if there else None for there in attends]
    return found, tuple(
        "" if there else kind.replace("_", " ") for kind, there in zip(kinds, attends, strict=True)
    )


def _attends(kind: str) -> bool:
    return kind in ("hybrid", "global", "local") or ("attention" in kind and "linear" not in kind)


def is_local(kind: str) -> bool:
    """Whether a layer of that kind has a window."""
    return kind in ("local", "sliding_attention", "chunked_attention")


def kinds_of(config: Any, whole: Any) -> list[str]:
    """What every layer is, as the settings say it; empty where they say nothing."""
    found = getattr(config, "layer_types", None) or getattr(config, "attention_layers", None)
    if not found and getattr(config, "sliding_window", None) and getattr(whole, "use_sliding_window", True):
        found = ["sliding_attention"] * int(config.num_hidden_layers)
    return [str(kind) for kind in found or ()]


def seen_in_windows(weights: Array, kinds: Sequence[str]) -> Mask:
    """(layer, query, key): what layers with a window can see. Outside of it every head gives exactly nothing; between
    the first and the last key that any head of the layer looks at, all can be seen."""
    seen = np.ones((len(weights), *weights.shape[2:]), dtype=bool)
    for layer, kind in enumerate(kinds):
        if is_local(kind):
            some = (weights[layer] > 0).any(axis=0)
            first, last = some.argmax(axis=-1), some.shape[1] - 1 - some[:, ::-1].argmax(axis=-1)
            places = np.arange(some.shape[1])
            seen[layer] = (places >= first[:, None]) & (places <= last[:, None])
    return seen


def has_sinks(model: Any) -> bool:
    """Whether it has learned sinks, a weight in every row that belongs to no token."""
    return any("sink" in name.rsplit(".", 1)[-1] for name, _ in model.named_parameters())


def settings_of(config: Any, part: Part) -> Any:
    """The settings of that part, where it has some of its own."""
    own = getattr(config, "encoder" if part == "encoder" else "decoder", None)
    if own is not None and hasattr(own, "num_hidden_layers"):
        return own
    return (
        config.get_text_config()
        if hasattr(config, "get_text_config") and not config.is_encoder_decoder
        else config
    )


def first_of(config: Any, *names: str) -> int | None:
    """The first of these settings that is there, as a whole number."""
    return next((int(n) for n in (getattr(config, name, None) for name in names) if n), None)
