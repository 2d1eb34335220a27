"""The live picture of each step of the lesson: blocks for a board, numbers from the model as it is now.

In: a scene (one head, one token of the reader's sentence). Out: blocks. Names are those of lesson.toml.
"""

from collections.abc import Callable

import numpy as np

from mha_core.inside import example, kv_cache_bytes, middle_groups, run_layer
from mha_core.inside.worked import TOKENS
from pages.parts.inside.groups import groups_block
from pages.parts.inside.many import cost_block, one_head, rows_block
from pages.parts.inside.mixing import head_table
from pages.parts.inside.numbers import format_bytes
from pages.parts.inside.scene import Scene
from pages.parts.inside.steps import follow_block
from pages.parts.picture.tiles import Block, Board, column, paragraph, row


def rows(board: Board, scene: Scene) -> list[Block]:
    """One row as one head, many rows as many."""
    return [rows_block(board, scene, one_head(scene))]


def one_query(board: Board, scene: Scene) -> list[Block]:
    """A query against every key."""
    return [follow_block(board, scene)]


def by_hand(board: Board, scene: Scene) -> list[Block]:
    """The first head of the worked example."""
    del scene
    made = example()
    run = run_layer(made.x, made.weights)
    labels = {"rows": TOKENS, "cols": TOKENS}
    return [
        row(
            board.matrix("Q1 = K1", run.q[0], "tiles", id="Q1", rows=TOKENS),
            board.matrix("scores", run.scores[0], "tiles", id="scores", note="÷ √2", **labels),
            board.matrix("weights", run.weights[0], "tiles", id="weights", ramp="weight", **labels),
        )
    ]


def split(board: Board, scene: Scene) -> list[Block]:
    """The queries of all heads: one matrix, cut."""
    h, n, d_k = scene.plain.q.shape
    return [
        paragraph(f"({n}, {h * d_k}) read as ({n}, {h}, {d_k}) and turned to ({h}, {n}, {d_k}):"),
        board.sheets("q", scene.plain.q, chosen=scene.h),
    ]


def mix(board: Board, scene: Scene) -> list[Block]:
    """Before and after W_o."""
    now, sizes = scene.plain, scene.sizes
    d_v = sizes.d_v
    high = max(2.0, min(16.0, 280 / now.n))
    wide = min(2.4, 900 / sizes.d_model)
    return [
        board.matrix(
            "Z", now.concatenated, id="Z", rows=scene.labels, follow=True, high=high, wide=wide,
            note="side by side; the frame is this head", slice=[scene.h * d_v, (scene.h + 1) * d_v],
        ),
        board.matrix(
            "output", now.output, id="output", rows=scene.labels, follow=True, high=high, wide=wide,
            note="mixed",
        ),
    ]  # fmt: skip


def parts(board: Board, scene: Scene) -> list[Block]:
    """What every head adds."""
    del board
    return [head_table(scene)]


def costs(board: Board, scene: Scene) -> list[Block]:
    """Parameters and operations of one head and of many."""
    del board
    return [cost_block(scene.plain.n, scene.sizes)]


def sharing(board: Board, scene: Scene) -> list[Block]:
    """Who uses whose keys and values, and what is to be kept."""
    del board
    h, d_k, n = scene.sizes.n_heads, scene.sizes.d_k, scene.plain.n
    shown = []
    for name, keys in (("Multi-head", h), ("Grouped-query", middle_groups(h)), ("Multi-query", 1)):
        owner = tuple(i * keys // h for i in range(h))
        kept = format_bytes(kv_cache_bytes(n, d_k, keys))
        shown.append(
            column(
                paragraph(f"**{name}**"),
                groups_block(owner, keys, scene.h),
                paragraph(f"{keys} key and value heads; {kept} for {n} tokens in 16 bits."),
                size="third",
            )
        )
    return [row(*shown)]


def norms(board: Board, scene: Scene) -> list[Block]:
    """Where a token looks, and what arrives: weight times the length of the value seen through W_o."""
    del board
    now, h = scene.plain, scene.h
    n = len(scene.there)
    weights = now.weights[h, scene.query, :n]
    arrived = weights * np.linalg.norm(now.v[scene.kv, :n] @ scene.sizes.W_o[h], axis=-1)
    share = arrived / (arrived.sum() or 1.0)
    lines = [
        {"label": label, "values": [float(weights[j]), float(share[j])]}
        for j, label in enumerate(scene.there[:40])
    ]
    return [{"type": "bars", "id": "norms", "series": ["looks at", "share of what arrives"], "rows": lines}]


VIEWS: dict[str, Callable[[Board, Scene], list[Block]]] = {
    "rows": rows,
    "follow": one_query,
    "example": by_hand,
    "split": split,
    "mix": mix,
    "parts": parts,
    "costs": costs,
    "sharing": sharing,
    "norms": norms,
    "none": lambda board, scene: [],
}
