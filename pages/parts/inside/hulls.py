"""Why several heads can say what one cannot: the hull of a head's values, and the sum of all heads outside it.

In: a scene. Out: words and two charts on the page.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.display_names import count_noun, percent
from mha_core.draw.figures import charts
from mha_core.layer import HullDistance, distance_to_hull, plane, sum_of_heads
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import visible
from pages.parts.inside.scene import WalkState, follow, format_error
from pages.parts.picture.tiles import Board, paragraph


def _all_outside(scene: WalkState) -> list[HullDistance]:
    """How far the sum of all heads is from each head's hull; costly, and the same for every head of the layer."""
    mapped, total = sum_of_heads(scene.plain, scene.query)
    return scene.kept(
        ("outside", scene.query), lambda: [distance_to_hull(total, points) for points in mapped]
    )


def hulls(scene: WalkState) -> None:
    """Say why heads are added, beside one head's mean in its hull and the sum of all heads outside."""
    first, *rest = st.columns([3, 4, 4], gap="medium")
    board = Board()
    board.add(
        paragraph(
            "A head can only average. Its result is a weighted mean of the values, so it lies inside their "
            "[[convex-hull|convex hull]]. The sum over several heads, each with weights of its own, can leave the "
            "hull of any single head."
        ),
        paragraph(
            "Each picture is the flat view that keeps most (PCA). “Outside” is proven in all dimensions: a plane "
            "separates the point from the hull. Click a point to follow its token.",
            "quiet",
        ),
    )
    with first:
        board.show("many-hulls")
    draw_hulls(scene, rest)


def draw_hulls(scene: WalkState, columns: Sequence[Any] = (), height: int = 380) -> None:
    """Draw one head's mean inside the hull of its values, and the sum of all heads outside, in two columns.

    `height` in pixels.
    """
    now, h, i = scene.plain, scene.h, scene.query
    near = now.allowed[i]
    values = now.v[scene.kv, near]
    mapped, total = sum_of_heads(now, i)
    outside = _all_outside(scene)
    proven = sum(found.gap > 0 for found in outside)
    remade = float(np.abs(now.weights[h, i, near] @ values - now.context[h, i]).max())
    one, all_heads = columns or st.columns(2, gap="medium")
    with one:
        _word("hull", f"**One head**: inside (equal within {format_error(remade)}).")
        _plane(scene, values, now.context[h, i], "z", "hull", height)
    with all_heads:
        _word(
            "hull-of-all",
            f"**Sum of all heads**: outside the hulls of {proven} of {count_noun(len(outside), 'head')}, "
            f"{outside[h].distance:.2f} from this one's.",
        )
        _plane(scene, mapped[h], total, "all heads", "hull-of-all", height)


def _word(key: str, text: str) -> None:
    board = Board()
    board.add(paragraph(text))
    board.show(f"many-{key}")


def _plane(scene: WalkState, points: np.ndarray, mark: np.ndarray, name: str, key: str, height: int) -> None:
    """The values as points, their hull, and what is compared with it; a click on a point follows its token."""
    flat = plane(points, mark[None])
    near = np.flatnonzero(scene.plain.allowed[scene.query])
    weights = scene.plain.weights[scene.h, scene.query, near]
    labels = [visible(scene.labels[j]) for j in near]
    frame = pd.DataFrame({"x": flat.points[:, 0], "y": flat.points[:, 1], "label": labels, "weight": weights})
    marks = pd.DataFrame({"x": flat.marks[:, 0], "y": flat.marks[:, 1], "label": [name]})
    figure = charts.plane(
        frame,
        title=f"{count_noun(len(points), 'value')}, {percent(flat.variance_share)} kept",
        hull=flat.hull,
        marks=marks,
        dark=is_dark(),
    )
    figure.update_layout(height=height, dragmode=False, clickmode="event+select")
    sentence = scene.key.partition("-")[0]
    chart(figure, frame, key=key, on_select=partial(_point_pressed, key, sentence, near.tolist()))


def _point_pressed(key: str, sentence: str, near: Sequence[int]) -> None:
    points = (st.session_state.get(key) or {}).get("selection", {}).get("points", [])
    for point in points:
        at = point.get("customdata")
        at = at[0] if isinstance(at, list) else at
        if isinstance(at, int) and 0 <= at < len(near):
            follow(near[at], sentence)
