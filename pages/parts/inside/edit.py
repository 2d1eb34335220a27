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
from pages.parts.picture.tiles import Board, paragraph

MATRICES = ("W_q", "W_k", "W_v", "W_o")


def weights_controls(scene: Scene) -> Edits:
    heading(f"{scene.number(2)} · From fit to weight")
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
    if scene.plain.is_causal:
        board.add(
            paragraph(
                f"{scene.title} reads from left to right and predicts each next token, so its mask is part of the "
                "model and cannot be switched off: what comes after a token is not there for it. Hatched cells have no "
                "weight at all, not a weight of 0 %."
            )
        )
    board.show("inside-board-2-text")
    return _switches(scene)


def _switches(scene: Scene) -> Edits:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        scaled = st.toggle(f"Divide by √{scene.sizes.d_k}", True, key="divide", bind="query-params")
        causal = _mask_switch(scene)
        hidden = st.multiselect(
            "Hide tokens, as padding is hidden",
            range(len(scene.labels)),
            key=f"unseen-{scene.key.split('-')[0]}",
            format_func=lambda i: f"{i + 1} · {visible(scene.labels[i])}",
            placeholder="none hidden",
            width=320,
        )
    return Edits(scaled=scaled, causal=causal, hidden_keys=tuple(hidden))


def _mask_switch(scene: Scene) -> bool:
    """The causal mask to add; fixed where the model has one, which is no change of the reader's."""
    label = "Look only back (causal mask)"
    if not scene.plain.is_causal:
        return st.toggle(label, key="causal", bind="query-params")
    st.toggle(label, True, disabled=True, key="causal-fixed")
    return False


def typed_scores(scene: Scene) -> dict[str, dict[str, float]]:
    """The scores typed into the boxes of step 6, as the component keeps them."""
    cells = st.session_state.get(f"edit-{scene.key}", {}).get("cells")
    return cells if isinstance(cells, dict) else {}


def score_edits(scene: Scene, typed: Mapping[str, Any]) -> tuple[ScoreEdit, ...]:
    """Those of them that are numbers at places there are."""
    return tuple(
        ScoreEdit(scene.h, scene.query, int(at), float(value))
        for at, value in (typed.get("scores") or {}).items()
        if str(at).isdigit() and int(at) < len(scene.there) and isinstance(value, int | float)
    )


def edit_controls(scene: Scene, edits: Edits) -> Edits:
    heading(f"{scene.number(6)} · Change it, and see what follows")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        warm = st.slider("Temperature", 0.1, 5.0, 1.0, 0.1, key="temperature", bind="query-params", width=220)
        matrix = st.selectbox("A number of", MATRICES, key="cell-matrix", width=120)
        matrix = matrix if matrix in MATRICES else "W_q"
        h = scene.h if matrix in ("W_q", "W_o") else scene.sizes.kv_head(scene.h)
        used = getattr(scene.plain.projections, matrix)[h]
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
    plain, now, h, i = scene.plain, scene.now, scene.h, scene.query
    board = Board()
    typed = typed_scores(scene)
    board.add(
        paragraph(
            "Type another score of {token}, in any box; the weights, z and the output follow at once.",
            token=scene.token,
        ),
        *(
            board.matrix(
                "scores",
                now.scores[h, i, : len(scene.there)][None, start : start + 8],
                kind="tiles",
                id="scores",
                first=start,
                cols=scene.there[start : start + 8],
                editable=True,
                digits=3,
                bare=start > 0,
            )
            for start in range(0, min(len(scene.there), SHOWN_KEYS), 8)
        ),
        {"type": "undo", "text": "Undo changed scores"},
    )
    if not now.edits.any:
        board.add(paragraph(f"Nothing is changed yet, here or at step {scene.number(2)}."))
        board.show(f"edit-{scene.key}", {"cells": nothing}, cells=typed)
        return
    moved = np.linalg.norm(now.output - plain.output, axis=-1)
    length = float(np.linalg.norm(plain.output[i]))
    board.add(
        paragraph(
            "The output of {token} moved by "
            + f"**{moved[i]:.3f}**: {percent(moved[i] / length if length else 0.0)} of its length.",
            "verdict",
            token=scene.token,
        ),
        {
            "type": "bars",
            "id": "before-after",
            "series": ["weight before", "weight now"],
            "rows": [
                {
                    "label": label,
                    "values": [float(plain.weights[h, i, j]), float(now.weights[h, i, j])],
                    "chosen": bool(abs(plain.weights[h, i, j] - now.weights[h, i, j]) > 5e-4),
                }
                for j, label in list(enumerate(scene.there))[:SHOWN_KEYS]
            ],
        },
        board.matrix(
            "z", np.stack([plain.context[h, i], now.context[h, i]]), id="z-edited", rows=["before", "now"],
            high=18, wide=min(14.0, 450 / now.v.shape[-1]),
        ),
        board.matrix(
            "output", np.stack([plain.output[i], now.output[i]]), id="output-edited", rows=["before", "now"],
            high=18, wide=min(2.6, 1000 / scene.sizes.d_model),
        ),
    )  # fmt: skip
    board.show(f"edit-{scene.key}", {"cells": nothing}, cells=typed)
