"""The KV cache of a decoder growing token by token: its keys and values, the new ones, and its bytes.

In: a request. Out: the user's sentence read step by step, by the model itself.
"""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, Model, Tokens
from mha_core.display_names import count_noun
from mha_core.draw.figures.charts import curves
from mha_core.layer import Growth, growth, kv_cache_bytes
from mha_core.record.grid import piece_units
from pages.parts.frame import loading
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.page_text import say, visible
from pages.parts.frame.request import Request
from pages.parts.inside.selectable import LABELS, choosing
from pages.parts.picture.tiles import Block, Board, paragraph
from pages.parts.serve import cache

EACH = 4  # bytes of a number here; the table of models counts in 16 bits
READ, LAYER = "cache-read", "cache-layer"


def cache_view(request: Request, record: AttentionRecord) -> None:
    """Draw the user's sentence read one token after the other."""
    model = loading.model(request)
    board, words = Board(), Board()
    if not model.is_causal or model.next_head is None:
        words.add(
            paragraph(
                f"{model.title} reads all {count_noun(len(record.tokens), 'token')} at once, so it has no KV cache. "
                "Choose a decoder, such as SmolLM2, to see one."
            )
        )
        words.show("cache-none")
        return
    grown = _growth(request, model, record.tokens)
    n, layer = _controls(grown, model)
    labels = [visible(unit.label) for unit in piece_units(record.tokens)][: grown.n]
    board.add(*(_cached_array(board, grown, name, labels, n, layer) for name in "KV"))
    words.add(
        paragraph(
            f"Token {n}, {{new}}: every layer computes one new q, k and v, and compares q with {count_noun(n, 'key')}."
            + ("" if n == 1 else f" The other {n - 1} keys and values come from the cache."),
            new=labels[n - 1],
        )
    )
    if grown.cut:
        words.add(paragraph(f"Shows the first {grown.n} tokens; {grown.cut} more not shown.", "quiet"))
    left, right = st.columns(2, gap="large")
    with left:
        words.show("cache-words")
        _bytes_table(model, grown, n)
        _bytes_chart(model, grown, n)
    with right:
        board.show("cache-growth", {"token": partial(_row_pressed, "cache-growth", grown.n)}, query=n - 1)
        board.numbers("cache-growth")


def _growth(request: Request, model: Model, tokens: Tokens) -> Growth:
    def read() -> Growth:
        with st.spinner("Reading your sentence token by token …"):
            return growth(tokens, model)

    return cache.of_run(request.run, model, "growth", read)


def _controls(grown: Growth, model: Model) -> tuple[int, int]:
    """Return how many tokens have been read, and the layer whose cache is drawn (from 0)."""
    with st.container(key="inside-cache-fields", horizontal=True, gap="small", vertical_alignment="bottom"):
        for key, label, limit in ((READ, "Tokens read", grown.n), (LAYER, "Layer", model.n_layers)):
            st.session_state[key] = min(st.session_state.get(key, 1), limit)
            st.number_input(label, 1, limit, key=key, width=150, persist_state="session")
        n = int(st.session_state[READ])
        st.button("Read next token", on_click=_read_up_to, args=(n + 1,), disabled=n >= grown.n)
    return n, int(st.session_state[LAYER]) - 1


def _read_up_to(n: int) -> None:
    st.session_state[READ] = n


def _row_pressed(key: str, limit: int) -> None:
    """Read the sentence up to a token whose name is pressed in a picture. For callbacks."""
    value = heard_from(key, "token")
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
    """List bytes after n tokens: measured, by the formula, new, full, and without sharing where heads share."""
    keys, heads = model.n_kv_heads, model.n_heads
    rows = {
        "kept, measured": grown.n_bytes[n - 1],
        "by the formula": _cache_bytes(model, n, keys),
        "new with this token": grown.n_bytes[n - 1] - (grown.n_bytes[n - 2] if n > 1 else 0),
        **({f"with {heads} key heads": _cache_bytes(model, n, heads)} if keys < heads else {}),
        f"full, {model.max_tokens:,} tokens": _cache_bytes(model, model.max_tokens, keys),
    }
    st.dataframe(
        pd.DataFrame({f"after {count_noun(n, 'token')}": rows.keys(), "bytes": rows.values()}),
        hide_index=True,
        column_config={"bytes": st.column_config.NumberColumn(format="localized")},
        key="cache-bytes",
        alt=f"Bytes of the cache after {count_noun(n, 'token')}",
    )
    sizes = f"{count_noun(model.n_layers, 'layer')} · {count_noun(keys, 'key head')} · {model.d_k}"
    say(f"Formula (4 bytes per number): 2 · {sizes} · {n} · {EACH}", "label")


def _cache_bytes(model: Model, n: int, keys: int) -> int:
    return kv_cache_bytes(n, model.d_k, keys, model.n_layers, EACH)


def _bytes_chart(model: Model, grown: Growth, n: int) -> None:
    """Draw the measured KiB over the tokens read, and those of a key head for each head where heads share."""
    tokens, keys, heads = range(1, grown.n + 1), model.n_kv_heads, model.n_heads
    measured = np.array(grown.n_bytes) / 1024
    frame = pd.DataFrame({"kept": count_noun(keys, "key head"), "tokens": tokens, "KiB": measured})
    if keys < heads:
        unshared = [_cache_bytes(model, i, heads) / 1024 for i in tokens]
        frame = pd.concat([frame, frame.assign(kept=count_noun(heads, "key head"), KiB=unshared)])
    figure = curves(
        frame, "tokens", "KiB", "kept" if keys < heads else None, title="The KV cache grows with each token",
        x_title="tokens read", y_title="KiB", dark=is_dark(),
    )  # fmt: skip
    figure.add_vline(n, line={"dash": "dot", "width": 1})
    chart(figure.update_layout(height=300), frame, key="cache-grown")
