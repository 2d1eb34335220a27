"""The mix with heads gone: what is left of the output when rows of W_o are zero.

In: a scene. Out: a choice of heads, the output with and without them, and by how much it turned.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from mha_core.inside import without
from mha_core.wording import head_name, percent
from pages.parts.inside.scene import Scene
from pages.parts.inside.selectable import LABELS, tokens_of, told
from pages.parts.inside.stage import high_of
from pages.parts.picture.tiles import Block, Board, paragraph


def heads_gone(scene: Scene) -> None:
    """The switches, and below them the output without what is switched off."""
    h, layer = scene.sizes.n_heads, scene.head[0]
    gone = st.pills(
        "Ablate heads",
        range(h),
        selection_mode="multi",
        format_func=lambda head: head_name((layer, head)),
        key=f"inside-gone-{layer}",
    )
    board = Board()
    if gone:
        board.add(*_without(board, scene, gone))
    else:
        board.add(_drawn(board, scene, "output", scene.now.output, "output-whole", "no head ablated"))
    board.show("inside-board-gone", told("inside-board-gone", scene))
    board.numbers("inside-board-gone", scene.source)


def _drawn(board: Board, scene: Scene, name: str, values: np.ndarray, ident: str, note: str) -> Block:
    size: dict[str, Any] = {"high": high_of(len(values), 220), "wide": min(2.0, 680 / values.shape[1])}
    made = board.matrix(name, values, id=ident, note=note, rows=scene.labels, follow=True, **size)
    return tokens_of(scene, made, LABELS)


def _without(board: Board, scene: Scene, gone: Sequence[int]) -> list[Block]:
    """Return blocks of the output without these heads, and how far it moved."""
    left, layer = without(scene.now, gone), scene.head[0]
    before, after = scene.now.output[scene.query], left.output[scene.query]
    lengths = float(np.linalg.norm(before)), float(np.linalg.norm(after))
    cosine = float(before @ after) / (lengths[0] * lengths[1] or 1.0)
    names = ", ".join(head_name((layer, head)) for head in left.heads)
    return [
        paragraph(
            f"Without {names} the output of {{token}} keeps **{percent(lengths[1] / (lengths[0] or 1.0))}** of its "
            f"length (cosine **{cosine:.2f}**).",
            "verdict",
            token=scene.token,
        ),
        _drawn(
            board, scene, "output after ablation", left.output, "output-without",
            f"rows of W_o of {names} set to zero",
        ),
    ]  # fmt: skip
