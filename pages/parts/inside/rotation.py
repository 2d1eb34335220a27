"""Positions by rotation, for models that have it: Q and K before and after, one pair of numbers turned by hand, and a
score that depends on the distance of two tokens alone.

In: a scene. Out: words, blocks and charts of two screens.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.draw.figures.charts import turned
from mha_core.engine.rotary import Rotary
from mha_core.layer import Turn, product_at, turn
from pages.parts.frame import url_params
from pages.parts.frame.charts import chart, is_dark, show_table
from pages.parts.inside.scene import WalkState, format_error
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row

MOVED = (0, 5, 100)
MATRIX = (
    r"\begin{pmatrix}x'\\y'\end{pmatrix} = "
    r"\begin{pmatrix}\cos\theta & -\sin\theta\\ \sin\theta & \cos\theta\end{pmatrix}"
    r"\begin{pmatrix}x\\y\end{pmatrix}"
)


def _rotation_of(scene: WalkState) -> tuple[Rotary, np.ndarray, np.ndarray]:
    """Return how the layer rotates, and Q and K of the head before it. Raises ValueError where it does not."""
    run = scene.run
    if run.rotary is None or run.q_unrotated is None or run.k_unrotated is None:
        raise ValueError("a run that rotates must hold its rotation, and q and k before it")
    return run.rotary, run.q_unrotated[scene.h], run.k_unrotated[scene.kv]


def angle_formula(scene: WalkState) -> str:
    """Return the angle of a pair in LaTeX."""
    rotary, *_ = _rotation_of(scene)
    return rf"\theta_i = p \cdot {rotary.theta:.0f}^{{-2i/{2 * rotary.n_turned}}}"


def rotation_words(scene: WalkState) -> list[Block]:
    """Say how far the first and the last pair turn per token."""
    rotary, *_ = _rotation_of(scene)
    half, last = rotary.d_k // 2, rotary.n_turned - 1
    text = (
        f"{scene.title} encodes positions by rotation (RoPE). Queries and keys are {half} pairs, number i with i + "
        f"{half}. The first pair turns by {_degrees(rotary.frequency(0))} per token, the last by "
        f"{_degrees(rotary.frequency(last))}."
    )
    return [paragraph(text + (f" Pairs {last + 2} to {half} are not rotated." if last + 1 < half else ""))]


def rotation(board: Board, scene: WalkState) -> list[Block]:
    """Draw Q and K of the head, before and after rotation."""
    rotary, q, k = _rotation_of(scene)
    size = {"high": max(1.0, min(11.0, 150 / scene.run.n)), "wide": min(5.0, 330 / rotary.d_k)}

    def picture(name: str, values: np.ndarray, ident: str) -> Block:
        options: dict[str, Any] = {"rows": scene.labels, "follow": True, "cuts": [rotary.d_k // 2], **size}
        return board.matrix(name, values, id=ident, **options)

    def both(name: str, before: np.ndarray, after: np.ndarray) -> Block:
        blocks = picture(name, before, f"{name}-before"), picture(f"{name} rotated", after, f"{name}-after")
        return column(*blocks, size="narrow")

    return [row(both("Q", q, scene.run.q[scene.h]), both("K", k, scene.run.k[scene.kv]))]


def pair_control(scene: WalkState) -> None:
    """Draw which pair of numbers is turned by hand."""
    rotary, *_ = _rotation_of(scene)
    st.number_input(
        "Pair", 1, rotary.n_turned, rotary.n_turned // 8 + 1, key="turned", bind="query-params", width=150
    )


def _turn_of(scene: WalkState) -> Turn:
    """Return the URL's pair (from 1 there) of the followed token's query, turned."""
    rotary, q, _ = _rotation_of(scene)
    by_name = {str(pair + 1): pair for pair in range(rotary.n_turned)}
    pair = by_name.get(url_params.params().get("turned", ""), rotary.n_turned // 8)
    return turn(rotary, q[scene.query], scene.query, pair)


def distance_words(scene: WalkState) -> list[Block]:
    """Say by which angle a pair turns, and what is left of positions in a score."""
    rotary, *_ = _rotation_of(scene)
    pair, half = _turn_of(scene), rotary.d_k // 2
    stretched = ", stretched" if rotary.stretch else ""
    speed = f"{rotary.theta:,.0f}^(−2 · {pair.pair} / {2 * rotary.n_turned}){stretched}"
    table = distances(scene)
    error = format_error(np.ptp(table["q · k"][: len(MOVED)]))
    return [
        paragraph(
            f"Pair {pair.pair + 1} of q of {{token}}: numbers {pair.pair + 1} and {pair.pair + 1 + half}. At position "
            f"**{scene.query}**, counted from 0, angle = {scene.query} · {speed} = **{pair.angle:.3f}** "
            f"({_degrees(pair.angle)}).",
            token=scene.token,
        ),
        paragraph(
            f"Only the distance counts. Move the query of {{token}} and the key of {{best}} together by {MOVED[1]} or "
            f"{MOVED[2]} tokens: their score stays equal within {error}.",
            token=scene.token,
            best=scene.labels[int(table["key"][0])],
        ),
    ]


def turned_by_hand(board: Board, scene: WalkState) -> list[Block]:
    """Draw a pair times the matrix that turns it."""
    pair = _turn_of(scene)
    cos, sin = math.cos(pair.angle), math.sin(pair.angle)

    def tiles(name: str, values: np.ndarray, ident: str, **note: str) -> Block:
        return board.matrix(name, values, "tiles", id=ident, digits=3, **note)

    return [
        row(
            tiles("turn", np.array([[cos, -sin], [sin, cos]]), "turn", note="cos −sin, sin cos"),
            op("×"),
            tiles("before", np.array(pair.before)[:, None], "pair-before"),
            op("="),
            tiles("after", np.array(pair.after)[:, None], "pair-after"),
        )
    ]


def _degrees(angle: float) -> str:
    degrees = math.degrees(angle)
    return f"{degrees:.1f}°" if degrees >= 0.1 or not degrees else f"{degrees:.2g}°"


def distance_charts(scene: WalkState) -> None:
    """Draw the pair as an arrow before and after, and the products at other positions."""
    pair = _turn_of(scene)
    arrows = pd.DataFrame([pair.before, pair.after], columns=["x", "y"]).assign(arrow=["before", "after"])
    figure = turned(pair.before, pair.after, title=f"Turned by {_degrees(pair.angle)}", dark=is_dark())
    left, right = st.columns([2, 3], gap="medium")
    with left:
        chart(figure, arrows, key="inside-turn")
    names = {"query": "position of the query", "key": "position of the key"}
    columns = names | {"q · k": st.column_config.NumberColumn(format="%.4f")}
    with right:
        alt = "One query and one key at other positions"
        show_table(distances(scene), key="inside-distances", alt=alt, columns=columns)


def distances(scene: WalkState) -> pd.DataFrame:
    """Return the same query and key at other positions: where the distance is the same, so is the product."""
    rotary, q, k = _rotation_of(scene)
    i = scene.query
    j = int(scene.run.weights[scene.h, i, : len(scene.visible_labels)].argmax())
    places = [(i + moved, j + moved) for moved in MOVED] + [(i + 1, j), (i + 20, j)]
    rows = [(query, key, query - key, product_at(rotary, q[i], k[j], query, key)) for query, key in places]
    return pd.DataFrame(rows, columns=["query", "key", "distance", "q · k"])
