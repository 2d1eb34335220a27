"""One head or many: the same numbers read as one wide head and as h narrow ones, on the reader's sentence.

In: what the reader asked for. Out: their rows, parameters, operations, ranks, and the hull of the values.
"""

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import Projections
from mha_core.display_names import count_noun, percent
from mha_core.draw.figures.charts import curves
from mha_core.layer import (
    Bilinear,
    as_one_head,
    bilinear,
    measured_operations,
    merge_heads,
    operations,
    parameters,
)
from pages.parts.frame import loading
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.request import Request
from pages.parts.inside.hulls import hulls
from pages.parts.inside.scene import WalkState, make_plain, pick
from pages.parts.inside.screens import Screen, beside, draw_pager, heading, here
from pages.parts.inside.selectable import LABELS, heads_of, on_choice, tokens_of
from pages.parts.picture.tiles import Block, Board, column, paragraph, row
from pages.parts.serve import cache


@st.fragment
def many_view(request: Request) -> None:
    """Rows, costs, ranks and hulls of one head against many."""
    record = cache.record(request)  # a fragment lives as long as its reader, and so does what it is given
    scene = make_plain(request, pick(request, record))
    if scene is None:
        return
    screens = (
        Screen("rows", "One row or many", _rows),
        Screen("costs", "Cost", _costs),
        Screen("ranks", "Low-rank comparisons", _ranks),
        Screen("hulls", "What heads can output", hulls),
    )
    at = here(screens)
    draw_pager("inside-way-many", screens, at)
    with st.container(key="inside-step-many", gap="small"):
        heading(at, screens[at])
        screens[at].draw(scene)


def one_head(scene: WalkState) -> np.ndarray:
    """The weights (query, key) of the layer read as one wide head."""
    return scene.kept("one head", lambda: as_one_head(scene.plain))


def _rows(scene: WalkState) -> None:
    now, i, n = scene.plain, scene.query, len(scene.there)
    h = scene.sizes.n_heads
    one = one_head(scene)
    rows = np.concatenate([one[i, :n][None], now.weights[:, i, :n]])
    best = rows.argmax(axis=1)
    different = len(set(best[1:].tolist()))
    aims = f"**{different}** different tokens" if different > 1 else "**the same** token"
    board = Board()
    words = column(
        paragraph(
            f"Unsplit, the layer is one head {h * scene.sizes.d_k} numbers wide: {{token}} has a single row that sums "
            f"to 100%. Split into {count_noun(h, 'head')}, it has {count_noun(h, 'row')} of 100% each.",
            token=scene.token,
        ),
        paragraph(
            f"As one head, {{token}} looks most at {{first}}: **{percent(rows[0].max())}**. Split, its "
            f"{count_noun(h, 'head', ('looks', 'look'))} most at {aims}.",
            "verdict",
            token=scene.token,
            first=scene.labels[best[0]],
        ),
        paragraph(
            "The matrices were trained as separate heads; a one-head model would learn others."
            if scene.trained
            else "The matrices are random, not trained.",
            "quiet",
        ),
        size="third",
    )
    board.add(row(words, column(rows_block(board, scene, one), size="rest")))
    board.show("many-rows", on_choice("many-rows", scene))
    board.numbers("many-rows", scene.source)


def rows_block(board: Board, scene: WalkState, one: np.ndarray, high: float = 18) -> Block:
    """The weights of the followed token: as one wide head, then head by head, `high` pixels each."""
    now, i, layer, n = scene.plain, scene.query, scene.head[0] + 1, len(scene.there)
    drawn = board.matrix(
        "attention weights",
        np.concatenate([one[i, :n][None], now.weights[:, i, :n]]),
        id="one-or-many",
        note="row: head; column: key",
        rows=["one head", *(f"{layer}-{j + 1}" for j in range(scene.sizes.n_heads))],
        cols=scene.there,
        ramp="weight",
        high=high,
        wide=min(40.0, 640 / n),
    )
    drawn = heads_of(scene, drawn, f"{LABELS}:not(:first-child)")
    return tokens_of(scene, drawn, ".top span", list(range(n)))


def _costs(scene: WalkState) -> None:
    sizes, n = scene.sizes, scene.plain.n
    d, h, width = sizes.d_model, sizes.n_heads, sizes.n_heads * sizes.d_k
    size = (
        f"4 · {d}² = {4 * d * d:,} [[parameter|parameters]] without biases"
        if width == d
        else f"4 · {d} · {width} = {4 * d * width:,} [[parameter|parameters]] without biases"
    )
    shared = (
        f" Here {h} query heads share {count_noun(sizes.n_kv_heads, 'key and value head')}, so W_k and W_v are smaller."
        if sizes.n_kv_heads < h
        else ""
    )
    with beside(
        "many-costs",
        paragraph(f"One head or {h}, each 1/{h} as wide: {size}, and as many [[FLOP|operations]]." + shared),
        paragraph(f"Only the attention weights grow: {h} of {n} × {n} instead of one.", "quiet"),
    ):
        cost_table(n, sizes)


def cost_table(n: int, sizes: Projections) -> None:
    """Draw parameters and operations of one head and of h heads, for n tokens."""
    table = costs(n, sizes)
    first, *shapes = table.columns
    numbers = dict.fromkeys(shapes, st.column_config.NumberColumn(format="localized"))
    st.dataframe(
        table,
        hide_index=True,
        column_config={first: st.column_config.TextColumn(pinned=True), **numbers},
        height="content",
        row_height=28,
        key="costs",
        alt=f"Parameters and operations of {' and of '.join(shapes)}",
    )


def costs(n: int, sizes: Projections) -> pd.DataFrame:
    """Return parameters and operations of one head and of h heads; and of heads that share keys."""
    d, h, kv, d_k = sizes.d_model, sizes.n_heads, sizes.n_kv_heads, sizes.d_k
    shapes = {"1 head": (1, 1, h * d_k), count_noun(h, "head"): (h, h, d_k)}
    if kv < h:
        shapes[f"{h} on {kv}"] = (h, kv, d_k)
    parts = {
        "projections": "Q, K, V",
        "scores": "scores",
        "mixing": "weights × V",
        "output": "W_o",
        "all": "all",
    }
    table: dict[str, list[object]] = {f"{count_noun(n, 'token')}, d_model {d}": [
        "parameters of W_q, W_k, W_v, W_o",
        *(f"operations: {name}" for name in parts.values()),
        "operations, counted by torch",
    ]}  # fmt: skip
    for name, shape in shapes.items():
        done = operations(n, d, *shape)
        table[name] = [
            parameters(d, *shape, bias=False)["all"],
            *(done[part] for part in parts),
            measured_operations(n, d, *shape),
        ]
    return pd.DataFrame(table)


def _ranks(scene: WalkState) -> None:
    used = scene.sizes
    narrow, wide = forms(scene)
    rotation = " Rotary positions leave the rank unchanged." if scene.plain.rotary else ""
    with beside(
        "many-ranks",
        paragraph(
            f"A score compares two tokens through the QK circuit W_q W_kᵀ ({used.d_model} × {used.d_model}). In head "
            f"{scene.h + 1} its [[rank]] is **{narrow.rank}**, the width of W_q; unsplit it is **{wide.rank}**."
        ),
        paragraph(f"Each head makes its own low-rank comparison, with its own softmax.{rotation}"),
    ):
        spectrum(scene)


def forms(scene: WalkState) -> tuple[Bilinear, Bilinear]:
    """Return the form W_q W_kᵀ of the head, and of all heads of the layer unsplit."""
    used, h, layer = scene.sizes, scene.h, scene.head[0]
    model = loading.model(scene.request)
    narrow: Bilinear = cache.of_model(
        model, ("ranks", layer, h), lambda: bilinear(used.W_q[h], used.W_k[scene.kv])
    )
    wide: Bilinear = cache.of_model(model, ("ranks", layer), lambda: _unsplit(used))
    return narrow, wide


def spectrum(scene: WalkState, height: int = 340) -> None:
    """Draw the singular values of both forms, the largest as 1, `height` pixels high."""
    named = zip((f"head {scene.h + 1}", "unsplit"), forms(scene), strict=True)
    frame = pd.concat(
        pd.DataFrame({
            "form": f"{name}: rank {form.rank}",
            "number": np.arange(1, len(form.singular) + 1),
            "share": form.singular / (form.singular[0] or 1),
        })
        for name, form in named
    )  # fmt: skip
    figure = curves(
        frame, "number", "share", "form", title="Singular values, the largest as 1", x_title="in order",
        y_title="singular value", dark=is_dark(),
    )  # fmt: skip
    chart(figure.update_layout(height=height), frame, key="ranks")


def _unsplit(used: Projections) -> Bilinear:
    wide = merge_heads(used)
    return bilinear(wide.W_q[0], wide.W_k[0])
