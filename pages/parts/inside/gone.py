"""The mix with heads gone: what is left of the output when rows of W_o are zero.

In: a scene. Out: a choice of heads, the output with and without them, and by how much it turned.
"""

from typing import Any

import numpy as np
import streamlit as st

from mha_core.inside import without
from mha_core.wording import head_name, percent
from pages.parts.inside.scene import Scene, format_error
from pages.parts.inside.stage import high_of
from pages.parts.picture.tiles import Board, paragraph


def heads_gone(scene: Scene) -> None:
    """The switches, and below them the output without what is switched off."""
    h, layer = scene.sizes.n_heads, scene.head[0]
    gone = st.pills(
        "Take heads away",
        range(h),
        selection_mode="multi",
        format_func=lambda head: head_name((layer, head)),
        key=f"inside-gone-{layer}",
    )
    if not gone:
        return
    left = without(scene.now, gone)
    before, after = scene.now.output[scene.query], left.output[scene.query]
    lengths = float(np.linalg.norm(before)), float(np.linalg.norm(after))
    cosine = float(before @ after) / (lengths[0] * lengths[1] or 1.0)
    names = ", ".join(head_name((layer, head)) for head in left.heads)
    options: dict[str, Any] = {"rows": scene.labels, "follow": True, "high": high_of(scene.now.n, 220)}
    board = Board()
    board.add(
        paragraph(
            f"Without {names} the output of {{token}} has cosine **{cosine:.3f}** with what it was and "
            f"**{percent(lengths[1] / (lengths[0] or 1.0))}** of its length.",
            "verdict",
            token=scene.token,
        ),
        board.matrix(
            "output without them",
            left.output,
            id="output-without",
            note=f"the rows of W_o of {names} are zero",
            wide=min(2.0, 680 / left.output.shape[1]),
            **options,
        ),
        paragraph(
            "The same comes out if their parts are taken off the sum: largest difference "
            f"**{format_error(left.difference)}**."
        ),
    )
    board.show("inside-board-gone")
