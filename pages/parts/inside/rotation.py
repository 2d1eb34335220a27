"""Positions by rotation, a step of its own where a model has it: Q and K before and after, one pair of numbers turned
by hand, and a score that knows the distance of two tokens and nothing else of their positions.

In: a scene. Out: a board.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.figures.charts import turned
from mha_core.inside import Turn, product_at, turn
from mha_core.rotary import Rotary
from pages.parts.frame import state
from pages.parts.frame.charts import chart, is_dark
from pages.parts.inside.number_fields import Field, ask
from pages.parts.inside.scene import Scene, format_error
from pages.parts.inside.shown_code import rotation_lines
from pages.parts.inside.stage import Stage
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row

MOVED = (0, 5, 100)


def rotation(scene: Scene, stage: Stage) -> None:
    """Queries and keys before and after; only for models that rotate."""
    rotary = scene.now.rotary
    if rotary is None:
        return
    said, *pictures = _before_and_after(stage.picture, scene, rotary)
    stage.words.add(said)
    stage.picture.add(*pictures)
    turned = rotary.n_turned
    stage.latex = rf"\theta_i = p \cdot {rotary.theta:.0f}^{{-2i/{2 * turned}}}"
    stage.lines = rotation_lines(scene.now)


def distance(scene: Scene, stage: Stage) -> None:
    """One pair turned by hand, and what is left of positions in a score."""
    rotary = scene.now.rotary
    if rotary is None:
        return
    field = Field("turned", "Pair", rotary.n_turned // 8 + 1, 1, rotary.n_turned)
    pair = field.in_link()
    said, *pictures = _by_hand(stage.picture, scene, rotary, pair - 1)
    stage.words.add(said, _why(scene, rotary))
    stage.picture.add(*pictures)
    stage.below = lambda: _below(scene, rotary, pair - 1)
    stage.latex = (
        r"\begin{pmatrix}x'\\y'\end{pmatrix} = "
        r"\begin{pmatrix}\cos\theta & -\sin\theta\\ \sin\theta & \cos\theta\end{pmatrix}"
        r"\begin{pmatrix}x\\y\end{pmatrix}"
    )
    stage.controls = lambda: ask((field,), {"turned": pair}, _pair_chosen)


def _pair_chosen(key: str, value: int) -> None:
    state.change({key: str(value)})


def _before_and_after(board: Board, scene: Scene, rotary: Rotary) -> list[Block]:
    """Q and K of the head, as they were read and as they are compared."""
    now, h, half = scene.now, scene.h, rotary.d_k // 2
    if now.q_unrotated is None or now.k_unrotated is None:
        return []

    def picture(name: str, values: np.ndarray, ident: str) -> Block:
        size: dict[str, Any] = {"high": max(1.0, min(11.0, 150 / now.n)), "wide": min(5.0, 330 / rotary.d_k)}
        return board.matrix(name, values, id=ident, rows=scene.labels, follow=True, cuts=[half], **size)

    last, some = rotary.n_turned - 1, rotary.n_turned < half
    return [
        paragraph(
            f"{scene.title} encodes positions by rotation (RoPE). Queries and keys are {half} pairs, number i with "
            f"i + {half}. The first pair turns by {_degrees(rotary.frequency(0))} per token, the last by "
            f"{_degrees(rotary.frequency(last))}."
            + (f" Pairs {last + 2} to {half} are not rotated." if some else "")
        ),
        row(
            column(
                picture("Q", now.q_unrotated[h], "Q-before"),
                picture("Q rotated", now.q[h], "Q-after"),
                size="narrow",
            ),
            column(
                picture("K", now.k_unrotated[scene.kv], "K-before"),
                picture("K rotated", now.k[scene.kv], "K-after"),
                size="narrow",
            ),
        ),
    ]


def _turned(scene: Scene, rotary: Rotary, pair: int) -> Turn | None:
    queries = scene.now.q_unrotated
    return None if queries is None else turn(rotary, queries[scene.h, scene.query], scene.query, pair)


def _by_hand(board: Board, scene: Scene, rotary: Rotary, pair: int) -> list[Block]:
    """One pair of the followed token's query: the angle, and the matrix that turns it."""
    found = _turned(scene, rotary, pair)
    if found is None:
        return []
    half, cos, sin = rotary.d_k // 2, math.cos(found.angle), math.sin(found.angle)
    how = f"{rotary.theta:,.0f}^(−2 · {pair} / {2 * rotary.n_turned})" + (
        ", stretched" if rotary.stretch else ""
    )
    tiles: dict[str, Any] = {"kind": "tiles", "digits": 3}
    return [
        paragraph(
            f"Pair {pair + 1} of q of {{token}}: numbers {pair + 1} and {pair + 1 + half}. At position "
            f"**{scene.query}**, counted from 0, angle = {scene.query} · {how} = **{found.angle:.3f}** "
            f"({_degrees(found.angle)}).",
            token=scene.token,
        ),
        row(
            board.matrix("turn", np.array([[cos, -sin], [sin, cos]]), id="turn", note="cos −sin, sin cos", **tiles),
            op("×"),
            board.matrix("before", np.array(found.before)[:, None], id="pair-before", **tiles),
            op("="),
            board.matrix("after", np.array(found.after)[:, None], id="pair-after", **tiles),
        ),
    ]  # fmt: skip


def _degrees(angle: float) -> str:
    degrees = math.degrees(angle)
    return f"{degrees:.1f}°" if degrees >= 0.1 or not degrees else f"{degrees:.2g}°"


def _arrow(scene: Scene, rotary: Rotary, pair: int) -> None:
    """The pair as an arrow, before and after."""
    found = _turned(scene, rotary, pair)
    if found is None:
        return
    places = pd.DataFrame([found.before, found.after], columns=["x", "y"]).assign(arrow=["before", "after"])
    figure = turned(found.before, found.after, title=f"Turned by {_degrees(found.angle)}", dark=is_dark())
    chart(figure, places, key="inside-turn")


def _why(scene: Scene, rotary: Rotary) -> Block:
    """What is left of two positions in a score."""
    table = distances(scene, rotary)
    products = table["q · k"][: len(MOVED)]
    best = scene.labels[int(table["key"][0])]
    return paragraph(
        "Only the distance counts. Move the query of {token} and the key of {best} together by "
        f"{MOVED[1]} or {MOVED[2]} tokens: their score stays equal within "
        f"{format_error(products.max() - products.min())}.",
        token=scene.token,
        best=best,
    )


def _below(scene: Scene, rotary: Rotary, pair: int) -> None:
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _arrow(scene, rotary, pair)
    with right:
        _distances(scene, rotary)


def _distances(scene: Scene, rotary: Rotary) -> None:
    st.dataframe(
        distances(scene, rotary),
        hide_index=True,
        column_config={
            "query": "position of the query",
            "key": "position of the key",
            "q · k": st.column_config.NumberColumn(format="%.4f"),
        },
        key="inside-distances",
        alt="One query and one key at other positions",
    )


def distances(scene: Scene, rotary: Rotary) -> pd.DataFrame:
    """Return the same query and key at other positions: where the distance is the same, so is the product."""
    now, i = scene.now, scene.query
    if now.q_unrotated is None or now.k_unrotated is None:
        raise ValueError("a run that rotates must hold what was before the rotation")
    j = int(now.weights[scene.h, i, : len(scene.there)].argmax())
    q, k = now.q_unrotated[scene.h, i], now.k_unrotated[scene.kv, j]
    places = [(i + moved, j + moved) for moved in MOVED] + [(i + 1, j), (i + 20, j)]
    rows = [(at, key, at - key, product_at(rotary, q, k, at, key)) for at, key in places]
    return pd.DataFrame(rows, columns=["query", "key", "distance", "q · k"])
