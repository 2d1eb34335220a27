"""What the reader may change in a layer: the switches of step 2, and step 6 with what follows from it.

In: the scene as the model has it. Out: `Edits`; then the picture of before and now.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from mha_core.inside import (
    CellEdit,
    Edits,
    ScoreEdit,
)
from mha_core.wording import percent
from pages.parts.frame.prose import heading, visible
from pages.parts.inside.scene import SHOWN_KEYS, Scene, nothing
from pages.parts.picture.tiles import Block, Board, paragraph

MATRICES = ("W_q", "W_k", "W_v", "W_o")


def weights_controls(scene: Scene) -> Edits:
    heading("2 · From fit to weight")
    board = Board()
    board.add(
        paragraph(
            "Every query meets every key. Multiply them number by number, add up, divide by "
            f"√{scene.sizes.d_k}: that is the [[score]], how well the two fit. [[softmax|Softmax]] turns each row of "
            "scores into [[weight|weights]] that add up to 100 %. A [[mask]] takes tokens out of sight, as it does for "
            "[[padding]] and for [[causal|the future]]. Row = the token that looks, column = the token it "
            "looks at."
        )
    )
    board.show("inside-board-2-text")
    return _switches(scene)


def _switches(scene: Scene) -> Edits:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        scaled = st.toggle(f"Divide by √{scene.sizes.d_k}", True, key="divide", bind="query-params")
        causal = st.toggle("Look only back (causal mask)", key="causal", bind="query-params")
        hidden = st.multiselect(
            "Hide tokens, as padding is hidden",
            range(len(scene.labels)),
            key=f"unseen-{scene.key.split('-')[0]}",
            format_func=lambda i: f"{i + 1} · {visible(scene.labels[i])}",
            placeholder="none hidden",
            width=320,
        )
    return Edits(scaled=scaled, causal=causal, hidden_keys=tuple(hidden))


def typed_scores(scene: Scene) -> dict[str, dict[str, float]]:
    """The scores typed into the boxes of step 6, as the component keeps them."""
    cells = st.session_state.get(f"edit-{scene.key}", {}).get("cells")
    return cells if isinstance(cells, dict) else {}


def score_edits(scene: Scene, typed: Mapping[str, Any]) -> tuple[ScoreEdit, ...]:
    """Those of them that are numbers at places there are."""
    return tuple(
        ScoreEdit(scene.h, scene.query, int(at), float(value))
        for at, value in (typed.get("scores") or {}).items()
        if str(at).isdigit() and int(at) < len(scene.labels) and isinstance(value, int | float)
    )


def edit_controls(scene: Scene, edits: Edits) -> Edits:
    heading("6 · Change it, and see what follows")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        warm = st.slider("Temperature", 0.1, 5.0, 1.0, 0.1, key="temperature", bind="query-params", width=220)
        matrix = st.selectbox("A number of", MATRICES, key="cell-matrix", width=120)
        matrix = matrix if matrix in MATRICES else "W_q"
        h = scene.h if matrix in ("W_q", "W_o") else scene.sizes.kv_head(scene.h)
        used = getattr(scene.plain.weights_used, matrix)[h]
        at = [
            int(st.number_input(label, 1, size, 1, key=f"cell-{label}-{matrix}", width=110)) - 1
            for label, size in zip(("row", "column"), used.shape, strict=True)
        ]
        value = st.number_input(
            f"instead of {used[at[0], at[1]]:.4f}",
            value=None,
            key=f"cell-value-{scene.key}",
            placeholder="as it is",
            format="%.4f",
            width=170,
        )
    cells = () if value is None else (CellEdit(matrix, scene.h, at[0], at[1], float(value)),)
    scores = score_edits(scene, typed_scores(scene))
    return replace(edits, temperature=float(warm), cells=cells, scores=scores)


def edit(scene: Scene) -> None:
    board = Board()
    typed = typed_scores(scene)
    board.add(*_score_boxes(board, scene))
    if scene.now.edits.any:
        board.add(*_before_and_now(board, scene))
    else:
        board.add(paragraph("Nothing is changed yet, here or at step 2."))
    board.show(f"edit-{scene.key}", {"cells": nothing}, cells=typed)


def _score_boxes(board: Board, scene: Scene) -> list[Block]:
    """The scores of the followed token, eight in a row, to type over."""
    scores = scene.now.scores[scene.h, scene.query]
    return [
        paragraph(
            "Type another score of {token}, in any box; the weights, z and the output follow at once.",
            token=scene.token,
        ),
        *(
            board.matrix(
                "scores",
                scores[None, start : start + 8],
                kind="tiles",
                id="scores",
                first=start,
                cols=scene.labels[start : start + 8],
                editable=True,
                digits=3,
                bare=start > 0,
            )
            for start in range(0, min(len(scene.labels), SHOWN_KEYS), 8)
        ),
        {"type": "undo", "text": "Undo changed scores"},
    ]


def _before_and_now(board: Board, scene: Scene) -> list[Block]:
    """How far the output moved, and the weights, z and the output before and now."""
    plain, now, h, i = scene.plain, scene.now, scene.h, scene.query
    moved = float(np.linalg.norm(now.output[i] - plain.output[i]))
    length = float(np.linalg.norm(plain.output[i]))
    return [
        paragraph(
            "The output of {token} moved by "
            + f"**{moved:.3f}**: {percent(moved / length if length else 0.0)} of its length.",
            "verdict",
            token=scene.token,
        ),
        _weights_moved(scene),
        board.matrix(
            "z", np.stack([plain.context[h, i], now.context[h, i]]), id="z-edited", rows=["before", "now"],
            high=18, wide=min(14.0, 450 / now.v.shape[-1]),
        ),
        board.matrix(
            "output", np.stack([plain.output[i], now.output[i]]), id="output-edited", rows=["before", "now"],
            high=18, wide=min(2.6, 1000 / scene.sizes.d_model),
        ),
    ]  # fmt: skip


def _weights_moved(scene: Scene) -> Block:
    before, after = (each.weights[scene.h, scene.query] for each in (scene.plain, scene.now))
    return {
        "type": "bars",
        "id": "before-after",
        "series": ["weight before", "weight now"],
        "rows": [
            {
                "label": label,
                "values": [float(before[j]), float(after[j])],
                "chosen": bool(abs(before[j] - after[j]) > 5e-4),
            }
            for j, label in list(enumerate(scene.labels))[:SHOWN_KEYS]
        ],
    }
