"""Costs of known models, of the chosen one and of the user's own sizes; and the cache of the chosen model.

In: a request. Out: a table of configurations, and the cache growing token by token.
"""

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import HeadScopeError, Model
from mha_core.display_names import count_noun
from mha_core.draw.figures.charts import curves
from mha_core.layer import (
    CONFIGURATIONS,
    Configuration,
    kv_cache_bytes,
    operations,
    parameters,
    weights_bytes,
)
from pages.parts.frame import loading
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import say
from pages.parts.frame.request import Request
from pages.parts.inside.cache_growth import cache_view
from pages.parts.inside.link_controls import Field, number_fields, switch
from pages.parts.inside.screens import Screen, draw_pager, heading, here
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.serve import cache

MIB = 1024**2
WEIGHTS, CACHE, UNSHARED = "attention weights (MiB)", "KV cache (MiB)", "KV cache, nothing shared (MiB)"
OWN = (
    Field("n", "Tokens", 2048, 1, 1_000_000),
    Field("d", "Model width", 512, 1, 65_536),
    Field("h", "Heads", 8, 1, 1024),
    Field("layers", "Layers", 6, 1, 1000),
    Field("kv", "KV heads (0 = heads)", 0, 0, 1024),
)


@st.fragment
def sizes_view(request: Request) -> None:
    """Draw known models, the chosen one and the user's own sizes, counted the same way; then the cache."""
    record = cache.record(request)  # a fragment lives as long as its user, and so does what it is given
    screens = (
        Screen("models", "Models compared", lambda: _table(loading.model(request))),
        Screen("cache", "KV cache, token by token", lambda: cache_view(request, record)),
    )
    index = here(screens)
    draw_pager("inside-way-sizes", screens, index)
    with st.container(key="inside-step-sizes", gap="small"):
        heading(index, screens[index])
        screens[index].draw()


def of_model(model: Model) -> Configuration:
    """Return a model's own sizes."""
    has_bias = model.encoder.layer(0).attention.W_q.bias is not None
    own = (model.title, model.d_model, model.n_heads, model.n_layers, has_bias)
    return Configuration(*own, model.n_kv_heads, model.d_k, model.is_causal, model.max_tokens)


def _table(model: Model) -> None:
    """Draw the boxes of the user's own sizes, the table, and how the last row grows."""
    values = {field.key: field.in_link() for field in OWN}
    with st.container(key="inside-own-sizes", horizontal=True, gap="small", vertical_alignment="bottom"):
        number_fields(OWN)
        biases = switch("Biases", "biases", first=True)
    n = values["n"]
    mine = None
    try:
        shape = values["d"], values["h"], values["layers"], biases
        mine = Configuration("yours", *shape, n_kv_heads=values["kv"] or None)
    except HeadScopeError as error:
        say(str(error), "notice")
    every = [*CONFIGURATIONS, of_model(model), *([mine] if mine else [])]
    board = Board()
    board.add(
        paragraph(
            f"For {count_noun(n, 'token')} (or the model's limit): [[weight|attention weights]] in 32 bits, "
            f"[[KV-cache|KV cache]] in 16.{' Your sizes are in the last row.' if mine else ''}",
            "wide-words",
        )
    )
    board.show("sizes")
    number = st.column_config.NumberColumn
    compact, mebibytes = number(format="compact"), number(format="%,.1f")
    st.dataframe(
        pd.DataFrame([_row(config, n) for config in every]),
        hide_index=True,
        column_config={
            "model": st.column_config.TextColumn(pinned=True),
            **dict.fromkeys(("width", "tokens", "parameters per layer"), number(format="localized")),
            **dict.fromkeys(("parameters", "operations per layer"), compact),
            **dict.fromkeys((WEIGHTS, CACHE, UNSHARED), mebibytes),
        },
        height="content",
        key="configurations",
        alt="Sizes and costs of attention in known models, in the chosen one and in yours",
    )
    _growing(mine or of_model(model))


def _growing(config: Configuration) -> None:
    """Draw how attention weights and the KV cache of a configuration grow with the tokens."""
    tokens = 2 ** np.arange(4, 18)
    weights = [weights_bytes(int(n), config.n_heads) / MIB for n in tokens]
    frame = pd.DataFrame({"kept": "attention weights, one layer", "tokens": tokens, "MiB": weights})
    if config.is_causal:
        cached = [kv_cache_bytes(int(n), config.d_k, config.kv_heads, config.n_layers) / MIB for n in tokens]
        frame = pd.concat([frame, frame.assign(kept="KV cache, all layers", MiB=cached)])
    figure = curves(
        frame, "tokens", "MiB", "kept", title=f"Memory over tokens: {config.name}", x_title="tokens", y_title="MiB",
        dark=is_dark(),
    )  # fmt: skip
    figure.update_xaxes(type="log").update_yaxes(type="log")
    say("Twice the tokens need four times the attention weights and twice the KV cache.")
    chart(figure, frame, key="growing")


def _row(config: Configuration, n: int) -> dict[str, str | float | None]:
    """Return a configuration's sizes, and its costs for n tokens or as many as it can read."""
    n = config.reads(n)
    n_parameters = parameters(config.d_model, config.n_heads, config.n_kv_heads, config.d_k, config.bias)[
        "all"
    ]
    shared, unshared = (
        kv_cache_bytes(n, config.d_k, heads, config.n_layers) / MIB if config.is_causal else None
        for heads in (config.kv_heads, config.n_heads)
    )
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
        "operations per layer": operations(n, config.d_model, config.n_heads, config.n_kv_heads, config.d_k)[
            "all"
        ],
        WEIGHTS: weights_bytes(n, config.n_heads) / MIB,
        CACHE: shared,
        UNSHARED: unshared,
    }
