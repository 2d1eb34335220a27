"""The cache of a decoder growing token by token: what is kept, what is computed anew, and how many bytes it takes.

In: what the reader asked for. Out: the sentence read step by step, by the model itself.
"""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from mha_core import AttentionRecord, Model, Tokens
from mha_core.grid import piece_units
from mha_core.inside import Growth, growth, kv_cache_bytes
from mha_core.wording import counted
from pages.parts.frame import loading
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.prose import visible
from pages.parts.frame.request import Request
from pages.parts.inside.fields import Field, ask
from pages.parts.inside.numbers import format_bytes
from pages.parts.inside.picking import LABELS, choosing
from pages.parts.picture.tiles import Block, Board, column, paragraph, row
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
                f"{used.title} reads its {counted(len(record.tokens), 'token')} at once and writes none, so it keeps "
                "nothing from one token to the next. A model that writes, such as SmolLM2 (Options, Model), keeps K "
                "and V."
            )
        )
        board.show("cache-none")
        return
    found = _growth(request, used, record.tokens)
    n, layer = _controls(found, used)
    board = Board()
    said, *pictures = _read(board, found, record, n, layer)
    words = column(said, *_counted(used, found, n), *_notes(found, used), size="half")
    board.add(row(words, column(*pictures, size="half")))
    board.show("cache-growth", {"token": partial(_row_pressed, "cache-growth", found.n)}, query=n - 1)


def _growth(request: Request, used: Model, tokens: Tokens) -> Growth:
    def make() -> Growth:
        with st.spinner("Reading your sentence one token at a time …"):
            return growth(tokens, used)

    return cache.of_run(request.run, used, "growth", make)


def _controls(found: Growth, used: Model) -> tuple[int, int]:
    """How many tokens have been read, and the layer whose cache is drawn (from 0)."""
    fields = (
        Field(READ, "Tokens read", 1, 1, found.n),
        Field(LAYER, "Layer drawn", 1, 1, used.n_layers),
    )
    values = {field.key: _kept(field) for field in fields}
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        ask("inside-cache-fields", fields, values, _told)
        n = values[READ]
        st.button("Read the next token", on_click=_told, args=(READ, n + 1), disabled=n >= found.n)
    return n, values[LAYER] - 1


def _kept(field: Field) -> int:
    """What the reader chose before, where it is still there."""
    value = st.session_state.get(field.key, field.first)
    return min(max(value if isinstance(value, int) else field.first, field.least), field.most)


def _told(key: str, value: int | bool) -> None:
    st.session_state[key] = value


def _row_pressed(key: str, most: int) -> None:
    """A token's name in a picture: the sentence is read up to it."""
    value = heard_from(key, "token")
    if isinstance(value, int) and 0 <= value < most:
        _told(READ, value + 1)


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
            f"{{new}} is read, token {n}. Every layer computes one new row of q, k and v for it, and its q meets the "
            f"{'one key that is' if n == 1 else f'{n} keys that are'} there. "
            + (
                "There is nothing before it."
                if n == 1
                else f"The rows of the {n - 1} before it are kept and not computed again; their queries are done with."
            ),
            new=labels[n - 1],
        ),
        pressed(board.matrix("K", rows_of(found.k), id="cache-K", **options)),
        pressed(board.matrix("V", rows_of(found.v), id="cache-V", **options)),
    ]  # fmt: skip


def _counted(used: Model, found: Growth, n: int) -> list[Block]:
    """Bytes as measured, as computed, and as they would be if no head shared keys."""
    layers, keys, heads, d_k = used.n_layers, used.n_kv_heads, used.n_heads, used.d_k
    measured = found.n_bytes[n - 1]
    unshared = kv_cache_bytes(n, d_k, heads, layers, EACH)
    grown = measured - (found.n_bytes[n - 2] if n > 1 else 0)
    formula = f"2 · {counted(layers, 'layer')} · {counted(keys, 'key head')} · {d_k} · {n} · {EACH} bytes"
    lines = [
        ["kept, measured", f"{measured:,}", format_bytes(measured)],
        ["by the formula", f"{kv_cache_bytes(n, d_k, keys, layers, EACH):,}", formula],
        ["new with this token", f"{grown:,}", format_bytes(grown)],
    ]
    if keys < heads:
        lines.append(
            [
                f"with {heads} key heads",
                f"{unshared:,}",
                f"{format_bytes(unshared)}, {heads // keys} times as much",
            ]
        )
    lines.append(
        [
            f"full, {used.max_tokens:,} tokens",
            f"{kv_cache_bytes(used.max_tokens, d_k, keys, layers, EACH):,}",
            format_bytes(kv_cache_bytes(used.max_tokens, d_k, keys, layers, EACH)),
        ]
    )
    return [
        paragraph(
            "K and V, in every layer and key head, d_k numbers for every token, 4 bytes each (the table of models "
            "counts the 2 of 16 bits):"
        ),
        {
            "type": "grid",
            "id": "cache-bytes",
            "label": "Bytes of the cache",
            "head": [f"after {n} tokens" if n > 1 else "after 1 token", "bytes", ""],
            "rows": lines,
            "chosen": 0,
        },
    ]


def _notes(found: Growth, used: Model) -> list[Block]:
    if not found.cut:
        return []
    left_out = f"{found.cut} more {'is' if found.cut == 1 else 'are'} left out here"
    return [paragraph(f"Read up to token {found.n}; {left_out}.", "quiet")]
