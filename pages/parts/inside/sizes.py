"""What sizes of known models cost, of the model chosen and of the reader's own; and the cache of the model chosen.

In: what the reader asked for. Out: a table of configurations, and the cache growing token by token.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import HeadScopeError, Model
from mha_core.figures.charts import curves
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
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import say
from pages.parts.frame.request import Request
from pages.parts.inside.cache_growth import cache_view
from pages.parts.inside.link_controls import switch
from pages.parts.inside.number_fields import Field, ask
from pages.parts.inside.screens import Screen, aloud, here, way
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
    """Known models, the chosen one and the reader's own numbers, counted the same way; then the cache."""
    record = cache.record(request)  # a fragment lives as long as its reader, and so does what it is given
    screens = (
        Screen("models", "Models compared", lambda: _table(loading.model(request))),
        Screen("cache", "KV cache, token by token", lambda: cache_view(request, record)),
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


def _told(key: str, value: int) -> None:
    """The link has what is not as at first."""
    first = {field.key: field.first for field in OWN}[key]
    state.change({key: None if value == first else str(value)})


def _table(used: Model) -> None:
    values = {field.key: field.in_link() for field in OWN}
    with st.container(key="inside-own-sizes", horizontal=True, gap="small", vertical_alignment="bottom"):
        ask(OWN, values, _told)
        biases = switch("Biases", "biases", first=True)
    n = values["n"]
    mine, problem = read_own(values["d"], values["h"], values["layers"], values["kv"], biases=biases)
    if problem:
        say(problem, "notice")
    every = [*CONFIGURATIONS, of_model(used), *([mine] if mine else [])]
    board = Board()
    board.add(
        paragraph(
            f"For {counted(n, 'token')} (or the model's limit): [[weight|attention weights]] in 32 bits, "
            f"[[KV-cache|KV cache]] in 16.{' Your sizes are in the last row.' if mine else ''}",
            "wide-words",
        )
    )
    board.show("sizes")
    number = st.column_config.NumberColumn
    compact, mebibytes = number(format="compact"), number(format="%,.1f")
    st.dataframe(
        sizes(every, n),
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
    _growing(mine or of_model(used))


def _growing(one: Configuration) -> None:
    """Draw how attention weights and the KV cache of a configuration grow with the tokens."""
    frame = growing(one)
    figure = curves(
        frame, "tokens", "MiB", "kept", title=f"Memory over tokens: {one.name}", x_title="tokens", y_title="MiB",
        dark=is_dark(),
    )  # fmt: skip
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    say("Twice the tokens need four times the attention weights and twice the KV cache.")
    chart(figure, frame, key="growing")


def growing(one: Configuration) -> pd.DataFrame:
    """Return MiB of attention weights and of the KV cache of a configuration over powers of two of tokens."""
    tokens = 2 ** np.arange(4, 18)
    weights = [weights_bytes(int(n), one.n_heads) / MIB for n in tokens]
    cached = [kv_cache_bytes(int(n), one.d_k, one.kv_heads, one.n_layers) / MIB for n in tokens]
    of_weights = pd.DataFrame({"kept": "attention weights, one layer", "tokens": tokens, "MiB": weights})
    if not one.is_causal:
        return of_weights
    return pd.concat([of_weights, of_weights.assign(kept="KV cache, all layers", MiB=cached)])


def read_own(
    d: int, h: int, layers: int, shared: int, *, biases: bool = True
) -> tuple[Configuration | None, str]:
    """The reader's own configuration, or the sentence that says why there is none."""
    try:
        return Configuration("yours", d, h, layers, biases, n_kv_heads=shared or None), ""
    except HeadScopeError as error:
        return None, str(error)


def sizes(every: Sequence[Configuration], asked: int) -> pd.DataFrame:
    """Return a row a configuration: its sizes, and what it costs for so many tokens."""
    return pd.DataFrame([_line(one, asked) for one in every])


def _line(one: Configuration, asked: int) -> dict[str, str | float | None]:
    n = one.reads(asked)
    held = parameters(one.d_model, one.n_heads, one.n_kv_heads, one.d_k, one.bias)["all"]
    kept, unshared = (
        kv_cache_bytes(n, one.d_k, heads, one.n_layers) / MIB if one.is_causal else None
        for heads in (one.kv_heads, one.n_heads)
    )
    return {
        "model": one.name,
        "width": one.d_model,
        "heads": one.n_heads,
        "KV heads": one.kv_heads,
        "d_k": one.d_k,
        "layers": one.n_layers,
        "parameters per layer": held,
        "parameters": held * one.n_layers,
        "tokens": n,
        "operations per layer": operations(n, one.d_model, one.n_heads, one.n_kv_heads, one.d_k)["all"],
        WEIGHTS: weights_bytes(n, one.n_heads) / MIB,
        CACHE: kept,
        UNSHARED: unshared,
    }
