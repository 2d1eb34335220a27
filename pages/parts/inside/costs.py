"""Costs of known models, of the chosen one and of the user's own sizes; and the chosen model's KV cache.

In: a scene. Out: screens with a table of configurations, and with the cache growing token by token.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import HeadScopeError, Model
from mha_core.display_names import count_noun, visible
from mha_core.draw.figures.charts import curves
from mha_core.layer import (
    CONFIGURATIONS,
    Configuration,
    Growth,
    growth,
    kv_cache_bytes,
    operations,
    parameters,
    weights_bytes,
)
from pages.parts.frame import loading
from pages.parts.frame.charts import chart, is_dark, show_table
from pages.parts.frame.page_text import say
from pages.parts.inside.scene import WalkState
from pages.parts.inside.screens import Screen
from pages.parts.inside.selectable import LABELS, choosing
from pages.parts.picture.tiles import Block, Board, paragraph, show_text
from pages.parts.serve import cache

MIB = 1024**2
WEIGHTS, CACHE, UNSHARED = "attention weights (MiB)", "KV cache (MiB)", "KV cache, nothing shared (MiB)"
OWN = {  # URL parameter: label, first value, limits
    "n": ("Tokens", 2048, 1, 1_000_000),
    "d": ("Model width", 512, 1, 65_536),
    "h": ("Heads", 8, 1, 1024),
    "layers": ("Layers", 6, 1, 1000),
    "kv": ("KV heads (0 = heads)", 0, 0, 1024),
}
EACH = 4  # bytes of a number in the cache here; the table of models counts in 16 bits
READ, LAYER = "cache-read", "cache-layer"


def cost_screens(scene: WalkState) -> list[Screen]:
    """Return the screens: known models, the chosen one and the user's own sizes counted alike; then the cache."""
    model = loading.model(scene.request)
    if not model.is_causal or model.next_head is None:
        words = (
            f"{model.title} reads all {count_noun(len(scene.labels), 'token')} at once, so it has no KV cache. "
            "Choose a decoder, such as SmolLM2, to see one."
        )
        growing = Screen("cache", "KV cache, token by token", words=words)
    else:
        growing = Screen("cache", "KV cache, token by token", below=cache_growth, columns=1)
    return [Screen("models", "Models compared", below=models_table, columns=1), growing]


def models_table(scene: WalkState) -> None:
    """Draw the boxes of the user's own sizes, the table, and how the last row grows."""
    model, sizes = loading.model(scene.request), dict[str, int]()
    with st.container(key="inside-own-sizes", horizontal=True, gap="small", vertical_alignment="bottom"):
        for key, (label, first, minimum, maximum) in OWN.items():
            limits: dict[str, Any] = {
                "min_value": minimum,
                "max_value": maximum,
                "width": 150,
                "persist_state": "session",
            }
            sizes[key] = st.number_input(label, value=first, key=key, bind="query-params", **limits)
        bias = st.toggle("Biases", True, key="biases", bind="query-params", persist_state="session")
    has_bias = model.encoder.layer(0).attention.W_q.bias is not None
    config = Configuration(
        model.title, model.d_model, model.n_heads, model.n_layers, has_bias, model.n_kv_heads, model.d_k,
        model.is_causal, model.max_tokens,
    )  # fmt: skip
    rows, last = [*CONFIGURATIONS, config], ""
    try:
        config = Configuration("yours", sizes["d"], sizes["h"], sizes["layers"], bias, sizes["kv"] or None)
        rows, last = [*rows, config], " Your sizes are in the last row."
    except HeadScopeError as error:
        say(str(error), "notice")
    text = f"For {count_noun(sizes['n'], 'token')} (or the model's limit): [[weight|attention weights]] in 32 bits, "
    show_text("sizes", f"{text}[[KV-cache|KV cache]] in 16.{last}", style="wide-words")
    number = st.column_config.NumberColumn
    show_table(
        pd.DataFrame([_row(row, sizes["n"]) for row in rows]),
        columns={
            "model": st.column_config.TextColumn(pinned=True),
            **dict.fromkeys(("width", "tokens", "parameters per layer"), number(format="localized")),
            **dict.fromkeys(("parameters", "operations per layer"), number(format="compact")),
            **dict.fromkeys((WEIGHTS, CACHE, UNSHARED), number(format="%,.1f")),
        },
        key="configurations",
        alt="Sizes and costs of attention in known models, in the chosen one and in yours",
    )
    tokens = 2 ** np.arange(4, 18)
    curve = {
        "attention weights, one layer": [weights_bytes(int(n), config.n_heads) / MIB for n in tokens],
        **(
            {"KV cache, all layers": [_mebibytes(config, int(n)) for n in tokens]} if config.is_causal else {}
        ),
    }
    say("Twice the tokens need four times the attention weights and twice the KV cache.")
    _grown_chart(f"Memory over tokens: {config.name}", "growing", tokens, "MiB", curve, "log")


def _mebibytes(config: Configuration, n: int, heads: int | None = None) -> float:
    """Return the size of the KV cache for n tokens, with another number of key heads where it is given."""
    return kv_cache_bytes(n, config.d_k, heads or config.kv_heads, config.n_layers) / MIB


def _row(config: Configuration, n: int) -> dict[str, str | float | None]:
    """Return a configuration's sizes, and its costs for n tokens or as many as it can read."""
    n, sizes = config.reads(n), (config.d_model, config.n_heads, config.n_kv_heads, config.d_k)
    n_parameters = parameters(*sizes, config.bias)["all"]
    return {
        "model": config.name,
        "width": config.d_model,
        "heads": config.n_heads,
        "KV heads": config.kv_heads,
        "d_k": config.d_k,
        "layers": config.n_layers,
        "parameters per layer": n_parameters,
        "parameters": n_parameters * config.n_layers,
        "tokens": n,
        "operations per layer": operations(n, *sizes)["all"],
        WEIGHTS: weights_bytes(n, config.n_heads) / MIB,
        CACHE: _mebibytes(config, n) if config.is_causal else None,
        UNSHARED: _mebibytes(config, n, config.n_heads) if config.is_causal else None,
    }


def _grown_chart(
    title: str,
    key: str,
    tokens: np.ndarray,
    unit: str,
    curve: Mapping[str, object],
    scale: str,
    mark: int = 0,
) -> None:
    """Draw sizes over tokens, a line for each name; `mark`: a number of tokens to mark."""
    frame = pd.concat(
        pd.DataFrame({"kept": name, "tokens": tokens, unit: sizes}) for name, sizes in curve.items()
    )
    figure = curves(
        frame, "tokens", unit, "kept" if len(curve) > 1 or scale == "log" else None, title=title, x_title="tokens",
        y_title=unit, dark=is_dark(),
    )  # fmt: skip
    if mark:
        figure.add_vline(mark, line={"dash": "dot", "width": 1})
    figure.update_xaxes(type=scale).update_yaxes(type=scale).update_layout(height=300)
    chart(figure, frame, key=key)


def cache_growth(scene: WalkState) -> None:
    """Draw the user's sentence read one token after the other: new keys and values, and the bytes of all."""
    model = loading.model(scene.request)
    grown = _growth(scene, model)
    with st.container(key="inside-cache-fields", horizontal=True, gap="small", vertical_alignment="bottom"):
        for key, label, limit in ((READ, "Tokens read", grown.n), (LAYER, "Layer", model.n_layers)):
            st.session_state[key] = min(st.session_state.get(key, 1), limit)
            st.number_input(label, 1, limit, key=key, width=150, persist_state="session")
        n, layer = int(st.session_state[READ]), int(st.session_state[LAYER]) - 1
        st.button("Read next token", on_click=_read_up_to, args=(n + 1,), disabled=n >= grown.n)
    labels = [visible(label) for label in scene.labels[: grown.n]]
    text = f"Token {n}, {{new}}: every layer computes one new q, k and v, and compares q with {count_noun(n, 'key')}."
    text += "" if n == 1 else f" The other {n - 1} keys and values come from the cache."
    cut = f"Shows the first {grown.n} tokens; {grown.cut} more not shown."
    left, right = st.columns(2, gap="large")
    with left:
        notes = [paragraph(cut, "quiet")] if grown.cut else []
        show_text("cache-words", paragraph(text, new=labels[n - 1]), *notes)
        _bytes_table(model, grown, n)
    with right:
        board = Board()
        board.add(*(_cached_array(board, grown, name, labels, n, layer) for name in "KV"))
        board.show("cache-growth", {"token": partial(_row_pressed, grown.n)}, query=n - 1)
        board.numbers("cache-growth")


def _growth(scene: WalkState, model: Model) -> Growth:
    def read() -> Growth:
        with st.spinner("Reading your sentence token by token …"):
            return growth(cache.record(scene.request).tokens, model)

    return cache.of_run(scene.request.run, model, "growth", read)


def _read_up_to(n: int) -> None:
    st.session_state[READ] = n


def _row_pressed(limit: int, value: object) -> None:
    """Read the sentence up to a token whose name is pressed in a picture. For callbacks."""
    if isinstance(value, int) and 0 <= value < limit:
        _read_up_to(value + 1)


def _cached_array(board: Board, grown: Growth, name: str, labels: list[str], n: int, layer: int) -> Block:
    """Draw K or V of one layer after n tokens; the newest row is framed."""
    cached = grown.k if name == "K" else grown.v
    heads, width = grown.k.shape[1], grown.k.shape[3]
    values = np.array(np.concatenate(list(cached[layer]), axis=-1))
    values[n:] = np.nan
    note = f"layer {layer + 1}, {count_noun(heads, 'key head')}{' side by side' if heads > 1 else ''}"
    picture = board.matrix(
        name, values, id=f"cache-{name}", rows=labels, follow=True, note=note,
        cuts=[width * i for i in range(1, heads)], high=max(2.0, min(14.0, 140 / grown.n)),
        wide=min(4.0, 380 / (heads * width)),
    )  # fmt: skip
    names = [f"Read up to {label}" for label in labels]
    return choosing(picture, LABELS, "token", list(range(grown.n)), names, n - 1)


def _bytes_table(model: Model, grown: Growth, n: int) -> None:
    """Draw bytes after n tokens: measured, by the formula, new, full, and without sharing where heads share."""
    keys, heads = model.n_kv_heads, model.n_heads

    def by_formula(tokens: int, heads: int = keys) -> int:
        return kv_cache_bytes(tokens, model.d_k, heads, model.n_layers, EACH)

    rows = {
        "kept, measured": grown.n_bytes[n - 1],
        "by the formula": by_formula(n),
        "new with this token": grown.n_bytes[n - 1] - (grown.n_bytes[n - 2] if n > 1 else 0),
        **({f"with {heads} key heads": by_formula(n, heads)} if keys < heads else {}),
        f"full, {model.max_tokens:,} tokens": by_formula(model.max_tokens),
    }
    show_table(
        pd.DataFrame({f"after {count_noun(n, 'token')}": rows.keys(), "bytes": rows.values()}),
        columns={"bytes": st.column_config.NumberColumn(format="localized")},
        key="cache-bytes",
        alt=f"Bytes of the cache after {count_noun(n, 'token')}",
    )
    sizes = f"{count_noun(model.n_layers, 'layer')} · {count_noun(keys, 'key head')} · {model.d_k}"
    say(f"Formula (4 bytes per number): 2 · {sizes} · {n} · {EACH}", "label")
    tokens = np.arange(1, grown.n + 1)
    curve = {count_noun(keys, "key head"): np.array(grown.n_bytes) / 1024}
    if keys < heads:
        curve[count_noun(heads, "key head")] = np.array(
            [by_formula(i, heads) / 1024 for i in tokens.tolist()]
        )
    _grown_chart("The KV cache grows with each token", "cache-grown", tokens, "KiB", curve, "linear", n)
