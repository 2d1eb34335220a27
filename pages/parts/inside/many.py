"""One head or many: the same numbers read as one wide head and as h narrow ones, on the reader's sentence.

In: what the reader asked for. Out: their rows, parameters, operations, ranks, and the hull of the values.
"""

import numpy as np
import streamlit as st

from mha_core import Projections
from mha_core.inside import (
    Bilinear,
    as_one_head,
    bilinear,
    measured_operations,
    measured_seconds,
    operations,
    parameters,
    unsplit,
)
from mha_core.wording import counted, percent
from pages.parts.frame import loading
from pages.parts.frame.request import Request
from pages.parts.inside.hulls import hulls
from pages.parts.inside.picking import LABELS, heads_of, tokens_of, told
from pages.parts.inside.scene import Scene, make_plain, pick
from pages.parts.inside.screens import Screen, aloud, here, way
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
        Screen("rows", "One row must compromise", _rows),
        Screen("costs", "Many heads cost no more", _costs),
        Screen("ranks", "One narrow head compares few sides", _ranks),
        Screen("hulls", "Inside the values, and beyond them", hulls),
    )
    at = here(screens)
    way("inside-way-many", screens, at)
    with st.container(key="inside-step-many", gap="small"):
        aloud(at, screens[at])
        screens[at].draw(scene)


def one_head(scene: Scene) -> np.ndarray:
    """The weights (query, key) of the layer read as one wide head."""
    return scene.kept("one head", lambda: as_one_head(scene.plain))


def _rows(scene: Scene) -> None:
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
            f"Take the layer's own matrices and do not split them: one head, {h * scene.sizes.d_k} numbers wide. "
            "{token} then has a single row of attention weights that must add up to 100 %, so more for one token is "
            "less for "
            f"the others. Split into {counted(h, 'head')}, {{token}} has {counted(h, 'row')}, each with 100 % of its "
            "own.",
            token=scene.token,
        ),
        paragraph(
            f"As one head, {{token}} looks most at {{first}}: **{percent(rows[0].max())}**. Split, its "
            f"{counted(h, 'head', ('looks', 'look'))} most at {aims}.",
            "verdict",
            token=scene.token,
            first=scene.labels[best[0]],
        ),
        paragraph(
            (
                "These matrices were trained as separate heads; a model trained with one head would have found other "
                "numbers. "
                if scene.trained
                else "These matrices are random, not trained. "
            )
            + "What does not depend on training is that one row adds up to 100 %, once.",
            "quiet",
        ),
        size="third",
    )
    board.add(row(words, column(rows_block(board, scene, one), size="rest")))
    board.show("many-rows", told("many-rows", scene))


def rows_block(board: Board, scene: Scene, one: np.ndarray) -> Block:
    """The weights of the followed token: as one wide head, then head by head."""
    now, i, layer, n = scene.plain, scene.query, scene.head[0] + 1, len(scene.there)
    drawn = board.matrix(
        "attention weights",
        np.concatenate([one[i, :n][None], now.weights[:, i, :n]]),
        id="one-or-many",
        note="rows: heads; columns: what the token looks at",
        rows=["one head", *(f"{layer}-{j + 1}" for j in range(scene.sizes.n_heads))],
        cols=scene.there,
        ramp="weight",
        high=18,
        wide=min(40.0, 640 / n),
    )
    drawn = heads_of(scene, drawn, f"{LABELS}:not(:first-child)")
    return tokens_of(scene, drawn, ".top span", list(range(n)))


def _costs(scene: Scene) -> None:
    sizes, n = scene.sizes, scene.plain.n
    d, h, width = sizes.d_model, sizes.n_heads, sizes.n_heads * sizes.d_k
    board = Board()
    said = (
        f"Four matrices of {d} × {d} either way, 4 · {d}² = {4 * d * d:,} [[parameter|parameters]] without biases; and "
        "as many [[FLOP|operations]]."
        if width == d
        else f"The four matrices hold 4 · {d} · {width} = {4 * d * width:,} [[parameter|parameters]] either way."
    )
    shared = (
        f" Here {h} query heads share {counted(sizes.n_kv_heads, 'key and value head')}, so W_k and W_v are smaller "
        "still."
        if sizes.n_kv_heads < h
        else ""
    )
    words = column(
        paragraph(
            f"{counted(h, 'head')}, each 1/{h} as wide: {sizes.d_k} numbers instead of {width}. " + said + shared
        ),
        paragraph(
            f"Only the attention weights are more: {counted(h, 'table')} of {n} × {n} to keep instead of one, and "
            "their softmax. What that comes to in time is measured in the last line.",
            "quiet",
        ),
        size="third",
    )  # fmt: skip
    board.add(row(words, column(cost_block(n, sizes), size="rest")))
    board.show("many-costs")


def cost_block(n: int, sizes: Projections) -> Block:
    """Parameters, operations and time of one head and of h heads, for n tokens; and of heads that share keys."""
    d, h, kv, d_k = sizes.d_model, sizes.n_heads, sizes.n_kv_heads, sizes.d_k
    shapes = {"1 head": (1, 1, h * d_k), counted(h, "head"): (h, h, d_k)}
    if kv < h:
        shapes[f"{h} on {kv}"] = (h, kv, d_k)
    every = shapes.values()
    done = [operations(n, d, *shape) for shape in every]
    parts = {
        "projections": "Q, K, V",
        "scores": "scores",
        "mixing": "weights × V",
        "output": "W_o",
        "all": "all",
    }
    lines = [
        [
            "parameters of W_q, W_k, W_v, W_o",
            *(f"{parameters(d, *shape, bias=False)['all']:,}" for shape in every),
        ],
        *([f"operations: {name}", *(f"{one[key]:,}" for one in done)] for key, name in parts.items()),
        ["operations, counted by torch", *(f"{measured_operations(n, d, *shape):,}" for shape in every)],
        [
            "time on this server, median of 9",
            *(f"{1e3 * measured_seconds(n, d, *shape):.2f} ms" for shape in every),
        ],
    ]
    return {
        "type": "grid",
        "id": "costs",
        "label": "Parameters and operations",
        "head": [f"{counted(n, 'token')}, d_model {d}", *shapes],
        "rows": lines,
    }


def _ranks(scene: Scene) -> None:
    used, layer = scene.sizes, scene.head[0]
    model = loading.model(scene.request)
    narrow = cache.of_model(
        model, ("ranks", layer, scene.h), lambda: bilinear(used.W_q[scene.h], used.W_k[scene.kv])
    )
    wide = cache.of_model(model, ("ranks", layer), lambda: _unsplit_ranks(used))
    rotation = " Rotation in between turns it and leaves its rank." if scene.plain.rotary else ""
    board = Board()
    words = column(
        paragraph(
            f"A score compares two tokens through W_q W_kᵀ, a matrix of {used.d_model} × {used.d_model}. In head "
            f"{scene.h + 1} its [[rank]] is **{narrow.rank}**, for W_q has only {used.d_k} columns; unsplit it is one "
            f"form of rank **{wide.rank}**."
        ),
        paragraph(
            "So one narrow head compares tokens from few sides, and many heads are as many different comparisons, "
            f"each with a softmax of its own.{rotation}"
        ),
        size="third",
    )
    curve = {
        "type": "curve",
        "axis": "number of the singular value, the largest first",
        "side": "singular value of W_q W_kᵀ, the largest = 1",
        "describe": f"Singular values: {narrow.rank} above zero in one head, {wide.rank} unsplit",
        "lines": [
            {"label": f"{name}: {one.rank}", "at": board.put(one.singular), "count": len(one.singular)}
            for name, one in ((f"head {scene.h + 1}", narrow), ("unsplit", wide))
        ],
    }
    board.add(row(words, column(curve, size="rest")))
    board.show("many-ranks")


def _unsplit_ranks(used: Projections) -> Bilinear:
    wide = unsplit(used)
    return bilinear(wide.W_q[0], wide.W_k[0])
