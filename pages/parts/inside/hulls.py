"""Why several heads can say what one cannot: the hull of a head's values, and the sum of all heads outside it.

In: a scene. Out: a board on the page.
"""

from typing import Any

import numpy as np

from mha_core.inside import Outside, distance_to_hull, plane, sum_of_heads
from mha_core.wording import counted, percent
from pages.parts.inside.picking import DOTS, tokens_of, told
from pages.parts.inside.scene import Scene, format_error
from pages.parts.picture.tiles import Block, Board, column, paragraph, row


def _all_outside(scene: Scene) -> list[Outside]:
    """How far the sum of all heads is from each head's hull; costly, and the same for every head of the layer."""
    mapped, total = sum_of_heads(scene.plain, scene.query)
    return scene.kept(
        ("outside", scene.query), lambda: [distance_to_hull(total, points) for points in mapped]
    )


def hulls(scene: Scene, words: bool = True) -> None:
    """One head's mean inside the hull of its values, the sum of all heads outside; with `words`, why that is so."""
    now, h, i = scene.plain, scene.h, scene.query
    near = now.allowed[i]
    values = now.v[scene.kv, near]
    mapped, total = sum_of_heads(now, i)
    outside = _all_outside(scene)
    proven = sum(found.gap > 0 for found in outside)
    remade = float(np.abs(now.weights[h, i, near] @ values - now.context[h, i]).max())
    board = Board()
    why = column(
        paragraph(
            "A head can only average: its result is a weighted mean of the values, so it lies inside their "
            "[[convex-hull|convex hull]]. The sum over several heads, each with weights of its own, can leave the "
            "hull of any single head."
        ),
        paragraph(
            "Each picture is the flat view that keeps most (PCA); “outside” is proven in all dimensions, by a plane "
            "that separates the point from the hull.",
            "quiet",
        ),
        size="third",
    )
    pictures = row(
        column(
            paragraph(
                f"**One head.** z = weights × values: inside, largest difference {format_error(remade)}."
            ),
            _plane(scene, values, now.context[h, i], "z"),
            size="narrow",
        ),
        column(
            paragraph(
                f"**All heads added**, as W_o adds them: outside the hulls of {proven} of "
                f"{counted(len(outside), 'head')}; {outside[h].distance:.2f} away from this one's."
            ),
            _plane(scene, mapped[h], total, "sum of all heads"),
            size="narrow",
        ),
    )
    board.add(row(why, column(pictures, size="rest")) if words else pictures)
    board.show("many-hulls", told("many-hulls", scene))


def _plane(scene: Scene, points: np.ndarray, mark: np.ndarray, name: str) -> Block:
    """The values as points, their hull, and what is compared with it."""
    flat = plane(points, mark[None])
    near = np.flatnonzero(scene.plain.allowed[scene.query]).tolist()
    found: dict[str, Any] = {
        "type": "plane",
        "wide": 340,
        "points": flat.points.round(5).tolist(),
        "hull": flat.hull.round(5).tolist(),
        "marks": flat.marks.round(5).tolist(),
        "labels": [scene.labels[j] for j in near],
        "markLabels": [name],
        "weights": scene.plain.weights[scene.h, scene.query, near].round(5).tolist(),
        "describe": f"Values of {counted(len(points), 'token')} in a plane with their hull, and {name}; "
        f"{percent(flat.kept)} kept",
    }
    return tokens_of(scene, found, DOTS, near)
