"""What sizes of known models cost, of the model chosen and of the reader's own; and the cache of the model chosen.

In: what the reader asked for. Out: a table of configurations, and the cache growing token by token.
"""

import streamlit as st

from mha_core import HeadScopeError, Model
from mha_core.inside import (
    CONFIGURATIONS,
    Configuration,
    kv_cache_bytes,
    operations,
    parameters,
    weights_bytes,
)
from mha_core.wording import counted
from pages.parts.frame import loading, state
from pages.parts.frame.prose import say
from pages.parts.frame.request import Request
from pages.parts.inside.cache_growth import cache_view
from pages.parts.inside.fields import Field, ask
from pages.parts.inside.linked import on
from pages.parts.inside.numbers import format_bytes, format_count
from pages.parts.inside.screens import Screen, aloud, here, way
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.serve import cache

OWN = (
    Field("n", "Tokens", 2048, 1, 1_000_000),
    Field("d", "Width of the model", 512, 1, 65_536),
    Field("h", "Heads", 8, 1, 1024),
    Field("layers", "Layers", 6, 1, 1000),
    Field("kv", "Key heads (0 = as heads)", 0, 0, 1024),
)


@st.fragment
def sizes_view(request: Request) -> None:
    """Known models, the chosen one and the reader's own numbers, counted the same way; then the cache."""
    record = cache.record(request)  # a fragment lives as long as its reader, and so does what it is given
    screens = (
        Screen("models", "What it costs, from BERT to GPT-3", lambda: _table(loading.model(request))),
        Screen("cache", "The cache, token by token", lambda: cache_view(request, record)),
    )
    at = here(screens)
    way("inside-way-sizes", screens, at)
    with st.container(key="inside-step-sizes", gap="small"):
        aloud(at, screens[at])
        screens[at].draw()


def of_model(used: Model) -> Configuration:
    """The chosen model's own sizes."""
    attention = used.encoder.layer(0).attention
    return Configuration(
        used.title,
        used.d_model,
        used.n_heads,
        used.n_layers,
        attention.W_q.bias is not None,
        used.n_kv_heads,
        used.d_k,
        used.is_causal,
        used.max_tokens,
    )


def _told(key: str, value: int | bool) -> None:
    """The link has what is not as at first."""
    if key == "biases":
        state.change({key: None if value else "false"})
        return
    first = {field.key: field.first for field in OWN}[key]
    state.change({key: None if value == first else str(value)})


def _table(used: Model) -> None:
    values = {field.key: field.in_link() for field in OWN}
    biases = on("biases", first=True)
    ask("inside-own-sizes", OWN, values, _told, {"biases": ("With biases", biases)})
    n = values["n"]
    mine, problem = read_own(values["d"], values["h"], values["layers"], values["kv"], biases=biases)
    if problem:
        say(problem, "notice")
    every = [*CONFIGURATIONS, of_model(used), *([mine] if mine else [])]
    board = Board()
    board.add(
        paragraph(
            "[[d_k]] is the width d_model divided by the heads. Parameters are counted from a layer of that size, "
            f"operations and memory for {counted(n, 'token')}, or as many as the model reads: the [[weight|attention "
            "weights]] of all heads in 32 bits if all are kept, the [[KV-cache|KV cache]] in 16 bits, 2 · layers · "
            "key heads · d_k · tokens numbers. Where heads share keys (“on”), its size without sharing stands in "
            f"brackets; BERT-like models keep none. {'The last line is yours. ' if mine else ''}Attention weights grow "
            "with the square of the tokens, the KV cache only with their number; a fused kernel never writes the "
            "attention weights down. LLaMA has no biases.",
            "wide-words",
        ),
        {
            "type": "grid",
            "id": "sizes",
            "label": "Configurations",
            "close": True,
            "head": [
                "model", "width / heads", "d_k", "layers", "parameters of attention, per layer", "all layers", "tokens",
                "operations, per layer", "attention weights, per layer", "KV cache, all layers",
            ],
            "rows": [_line(one, n) for one in every],
            "chosen": len(every) - 1 if mine else None,
        },
    )  # fmt: skip
    board.show("sizes")


def read_own(
    d: int, h: int, layers: int, shared: int, *, biases: bool = True
) -> tuple[Configuration | None, str]:
    """The reader's own configuration, or the sentence that says why there is none."""
    try:
        return Configuration("yours", d, h, layers, biases, n_kv_heads=shared or None), ""
    except HeadScopeError as error:
        return None, str(error)


def _line(one: Configuration, asked: int) -> list[str]:
    n = one.reads(asked)
    held = parameters(one.d_model, one.n_heads, one.n_kv_heads, one.d_k, one.bias)["all"]
    done = operations(n, one.d_model, one.n_heads, one.n_kv_heads, one.d_k)["all"]
    shared = f" on {one.kv_heads}" if one.kv_heads < one.n_heads else ""
    return [
        one.name,
        f"{one.d_model:,} / {one.n_heads}{shared}",
        str(one.d_k),
        str(one.n_layers),
        f"{held:,}",
        format_count(held * one.n_layers),
        f"{n:,}",
        format_count(done),
        format_bytes(weights_bytes(n, one.n_heads)),
        _cache(one, n),
    ]


def _cache(one: Configuration, n: int) -> str:
    """The bytes of its cache, and what they would be with a key head for every query head."""
    if not one.is_causal:
        return "none"
    kept, unshared = (
        kv_cache_bytes(n, one.d_k, heads, one.n_layers) for heads in (one.kv_heads, one.n_heads)
    )
    return format_bytes(kept) + (f" ({format_bytes(unshared)})" if unshared > kept else "")
