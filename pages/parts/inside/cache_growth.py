"""The cache of a decoder growing token by token: what is kept, what is computed anew, and how many bytes it takes.

In: what the reader asked for. Out: the sentence read step by step, by the model itself.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, Model, Tokens
from mha_core.figures.charts import curves
from mha_core.grid import piece_units
from mha_core.inside import Growth, growth, kv_cache_bytes
from mha_core.wording import counted
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
    """The reader's sentence, one token after the other."""
    used = loading.model(request)
    if not used.is_causal or used.next_head is None:
        board = Board()
        board.add(
            paragraph(
                f"{used.title} reads all {counted(len(record.tokens), 'token')} at once, so it has no KV cache. Choose "
                "a decoder, such as SmolLM2, to see one."
            )
        )
        board.show("cache-none")
        return
    found = _growth(request, used, record.tokens)
    n, layer = _controls(found, used)
    board = Board()
    said, *pictures = _read(board, found, record, n, layer)
    board.add(*pictures)
    left, right = st.columns(2, gap="large")
    words = Board()
    words.add(said, *_notes(found, used))
    with left:
        words.show("cache-words")
        _bytes(used, found, n)
        _grown(used, found, n)
    with right:
        board.show("cache-growth", {"token": partial(_row_pressed, "cache-growth", found.n)}, query=n - 1)
        board.numbers("cache-growth")


def _growth(request: Request, used: Model, tokens: Tokens) -> Growth:
    def make() -> Growth:
        with st.spinner("Reading your sentence token by token …"):
            return growth(tokens, used)

    return cache.of_run(request.run, used, "growth", make)


def _controls(found: Growth, used: Model) -> tuple[int, int]:
    """How many tokens have been read, and the layer whose cache is drawn (from 0)."""
    with st.container(key="inside-cache-fields", horizontal=True, gap="small", vertical_alignment="bottom"):
        for key, label, most in ((READ, "Tokens read", found.n), (LAYER, "Layer", used.n_layers)):
            st.session_state[key] = min(st.session_state.get(key, 1), most)
            st.number_input(label, 1, most, key=key, width=150, persist_state="session")
        n = int(st.session_state[READ])
        st.button("Read next token", on_click=_read_up_to, args=(n + 1,), disabled=n >= found.n)
    return n, int(st.session_state[LAYER]) - 1


def _read_up_to(n: int) -> None:
    st.session_state[READ] = n


def _row_pressed(key: str, most: int) -> None:
    """A token's name in a picture: the sentence is read up to it."""
    value = heard_from(key, "token")
    if isinstance(value, int) and 0 <= value < most:
        _read_up_to(value + 1)


def _read(board: Board, found: Growth, record: AttentionRecord, n: int, layer: int) -> list[Block]:
    """K and V of one layer as far as they are there; the newest row is framed."""
    labels = [visible(unit.label) for unit in piece_units(record.tokens)][: found.n]
    heads, width = found.k.shape[1], found.k.shape[3]

    def rows_of(kept: np.ndarray) -> np.ndarray:
        wide = np.array(np.concatenate(list(kept[layer]), axis=-1))
        wide[n:] = np.nan
        return wide

    size = {"high": max(2.0, min(14.0, 140 / found.n)), "wide": min(4.0, 380 / (heads * width))}
    note = f"layer {layer + 1}, {counted(heads, 'key head')}{' side by side' if heads > 1 else ''}"
    options: dict[str, Any] = {
        "rows": labels,
        "follow": True,
        "note": note,
        "cuts": [width * i for i in range(1, heads)],
        **size,
    }

    def pressed(item: Block) -> Block:
        names = [f"Read up to {label}" for label in labels]
        return choosing(item, LABELS, "token", list(range(found.n)), names, n - 1)

    return [
        paragraph(
            f"Token {n}, {{new}}: every layer computes one new q, k and v, and compares q with {counted(n, 'key')}."
            + ("" if n == 1 else f" The other {n - 1} keys and values come from the cache."),
            new=labels[n - 1],
        ),
        pressed(board.matrix("K", rows_of(found.k), id="cache-K", **options)),
        pressed(board.matrix("V", rows_of(found.v), id="cache-V", **options)),
    ]  # fmt: skip


def _bytes(used: Model, found: Growth, n: int) -> None:
    """List bytes as measured, as computed, and as they would be if no head shared keys."""
    st.dataframe(
        counted_bytes(used, found, n),
        hide_index=True,
        column_config={"bytes": st.column_config.NumberColumn(format="localized")},
        key="cache-bytes",
        alt=f"Bytes of the cache after {counted(n, 'token')}",
    )
    layers, keys = counted(used.n_layers, "layer"), counted(used.n_kv_heads, "key head")
    formula = f"2 · {layers} · {keys} · {used.d_k} · {n} · {EACH}"
    say(f"Formula (4 bytes per number): {formula}", "label")


def counted_bytes(used: Model, found: Growth, n: int) -> pd.DataFrame:
    """Return bytes after n tokens: measured, by the formula, new, full, and without sharing where heads share."""
    keys, heads = used.n_kv_heads, used.n_heads
    rows = {
        "kept, measured": found.n_bytes[n - 1],
        "by the formula": _cached(used, n, keys),
        "new with this token": found.n_bytes[n - 1] - (found.n_bytes[n - 2] if n > 1 else 0),
        **({f"with {heads} key heads": _cached(used, n, heads)} if keys < heads else {}),
        f"full, {used.max_tokens:,} tokens": _cached(used, used.max_tokens, keys),
    }
    return pd.DataFrame({f"after {counted(n, 'token')}": rows.keys(), "bytes": rows.values()})


def _cached(used: Model, n: int, keys: int) -> int:
    return kv_cache_bytes(n, used.d_k, keys, used.n_layers, EACH)


def _grown(used: Model, found: Growth, n: int) -> None:
    """Draw the bytes kept over the tokens read, with and without sharing."""
    frame = kept_bytes(used, found)
    several = "kept" if used.n_kv_heads < used.n_heads else None
    figure = curves(
        frame, "tokens", "KiB", several, title="The KV cache grows with each token", x_title="tokens read",
        y_title="KiB", dark=is_dark(),
    )  # fmt: skip
    figure.add_vline(n, line={"dash": "dot", "width": 1})
    chart(figure.update_layout(height=300), frame, key="cache-grown")


def kept_bytes(used: Model, found: Growth) -> pd.DataFrame:
    """Return the measured KiB after each token; and those of a key head for each head, where heads share."""
    tokens = range(1, found.n + 1)
    shared = pd.DataFrame(
        {
            "kept": counted(used.n_kv_heads, "key head"),
            "tokens": tokens,
            "KiB": np.array(found.n_bytes) / 1024,
        }
    )
    if used.n_kv_heads == used.n_heads:
        return shared
    alone = [_cached(used, n, used.n_heads) / 1024 for n in tokens]
    return pd.concat([shared, shared.assign(kept=counted(used.n_heads, "key head"), KiB=alone)])


def _notes(found: Growth, used: Model) -> list[Block]:
    if not found.cut:
        return []
    return [paragraph(f"Shows the first {found.n} tokens; {found.cut} more not shown.", "quiet")]
