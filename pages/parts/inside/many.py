"""One head or many: the same numbers read as one wide head and as h narrow ones, on the user's sentence.

In: a scene. Out: screens with rows, costs, ranks, and the hull of the values.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import Projections
from mha_core.display_names import count_noun, percent, visible
from mha_core.draw.figures import charts
from mha_core.layer import (
    Bilinear,
    as_one_head,
    bilinear,
    distance_to_hull,
    measured_operations,
    merge_heads,
    operations,
    parameters,
    plane,
    sum_of_heads,
)
from pages.parts.frame import loading
from pages.parts.frame.charts import chart, is_dark, show_table
from pages.parts.inside.scene import WalkState, follow, format_error
from pages.parts.inside.screens import Screen
from pages.parts.inside.selectable import LABELS, heads_of, tokens_of
from pages.parts.picture.tiles import Block, Board, paragraph, show_text
from pages.parts.serve import cache

OPERATIONS = {
    "projections": "Q, K, V",
    "scores": "scores",
    "mixing": "weights × V",
    "output": "W_o",
    "all": "all",
}


def _rows(scene: WalkState) -> np.ndarray:
    """Return the followed token's weights as one wide head and in each head, (1 + head, key)."""
    n = len(scene.visible_labels)
    wide = scene.cached("one head", lambda: as_one_head(scene.plain))
    return np.concatenate([wide[scene.query, :n][None], scene.plain.weights[:, scene.query, :n]])


def _row_words(scene: WalkState) -> list[Block]:
    """Say where the token looks as one head, and in how many places split."""
    rows, h = _rows(scene), scene.sizes.n_heads
    best = rows.argmax(axis=1)
    n_targets = len(set(best[1:].tolist()))
    targets = f"**{n_targets}** different tokens" if n_targets > 1 else "**the same** token"
    return [
        paragraph(
            f"Unsplit, the layer is one head {h * scene.sizes.d_k} numbers wide: {{token}} has a single row that sums "
            f"to 100%. Split into {count_noun(h, 'head')}, it has {count_noun(h, 'row')} of 100% each.",
            token=scene.token,
        ),
        paragraph(
            f"As one head, {{token}} looks most at {{first}}: **{percent(rows[0].max())}**. Split, its "
            f"{count_noun(h, 'head', ('looks', 'look'))} most at {targets}.",
            "verdict",
            token=scene.token,
            first=scene.labels[best[0]],
        ),
        paragraph(
            "The matrices were trained as separate heads; a one-head model would learn others."
            if scene.trained
            else "The matrices are random, not trained.",
            "quiet",
        ),
    ]


def rows_picture(board: Board, scene: WalkState, high: float = 18) -> list[Block]:
    """Draw the weights of the followed token: as one wide head, then head by head, `high` pixels each."""
    block = board.matrix(
        "attention weights", _rows(scene), id="one-or-many", note="row: head; column: key", cols=scene.visible_labels,
        rows=["one head", *scene.heads], ramp="weight", high=high, wide=min(40.0, 640 / len(scene.visible_labels)),
    )  # fmt: skip
    block = heads_of(scene, block, f"{LABELS}:not(:first-child)")
    return [tokens_of(scene, block, ".top span", list(range(len(scene.visible_labels))))]


def _cost_words(scene: WalkState) -> list[Block]:
    """Say how many parameters a layer has, one head or many."""
    sizes, n = scene.sizes, scene.plain.n
    d, h, width = sizes.d_model, sizes.n_heads, sizes.n_heads * sizes.d_k
    product = f"{d}²" if width == d else f"{d} · {width}"
    shared = (
        f" Here {h} query heads share {count_noun(sizes.n_kv_heads, 'key and value head')}, so W_k and W_v are smaller."
        if sizes.n_kv_heads < h
        else ""
    )
    return [
        paragraph(
            f"One head or {h}, each 1/{h} as wide: 4 · {product} = {4 * d * width:,} [[parameter|parameters]] without "
            f"biases, and as many [[FLOP|operations]].{shared}"
        ),
        paragraph(f"Only the attention weights grow: {h} of {n} × {n} instead of one.", "quiet"),
    ]


def cost_table(scene: WalkState) -> None:
    """Draw parameters and operations of one head and of h heads, and of heads that share keys."""
    sizes, n = scene.sizes, scene.plain.n
    d, h, kv, d_k = sizes.d_model, sizes.n_heads, sizes.n_kv_heads, sizes.d_k
    shapes = {"1 head": (1, 1, h * d_k), count_noun(h, "head"): (h, h, d_k)}
    shapes |= {f"{h} on {kv}": (h, kv, d_k)} if kv < h else {}
    first = f"{count_noun(n, 'token')}, d_model {d}"
    names = [f"operations: {name}" for name in OPERATIONS.values()]
    table = pd.DataFrame(
        {first: ["parameters of W_q, W_k, W_v, W_o", *names, "operations, counted by torch"]}
    )
    for name, shape in shapes.items():
        counts = operations(n, d, *shape)
        table[name] = [
            parameters(d, *shape, bias=False)["all"],
            *(counts[part] for part in OPERATIONS),
            measured_operations(n, d, *shape),
        ]
    numbers = dict.fromkeys(shapes, st.column_config.NumberColumn(format="localized"))
    columns = {first: st.column_config.TextColumn(pinned=True), **numbers}
    alt = f"Parameters and operations of {' and of '.join(shapes)}"
    show_table(table, key="costs", alt=alt, columns=columns)


def _rank_words(scene: WalkState) -> list[Block]:
    """Say which rank W_q W_kᵀ has in the head, and unsplit."""
    d, (narrow, wide) = scene.sizes.d_model, forms(scene)
    rotation = " Rotary positions leave the rank unchanged." if scene.plain.rotary else ""
    return [
        paragraph(
            f"A score compares two tokens through the QK circuit W_q W_kᵀ ({d} × {d}). In head {scene.h + 1} its "
            f"[[rank]] is **{narrow.rank}**, the width of W_q; unsplit it is **{wide.rank}**."
        ),
        paragraph(f"Each head makes its own low-rank comparison, with its own softmax.{rotation}"),
    ]


def forms(scene: WalkState) -> tuple[Bilinear, Bilinear]:
    """Return the form W_q W_kᵀ of the head, and of all heads of the layer unsplit."""
    sizes, h, layer = scene.sizes, scene.h, scene.head[0]
    model = loading.model(scene.request)

    def unsplit_form() -> Bilinear:
        wide: Projections = merge_heads(sizes)
        return bilinear(wide.W_q[0], wide.W_k[0])

    narrow: Bilinear = cache.of_model(
        model, ("ranks", layer, h), lambda: bilinear(sizes.W_q[h], sizes.W_k[scene.kv])
    )
    wide: Bilinear = cache.of_model(model, ("ranks", layer), unsplit_form)
    return narrow, wide


def spectrum(scene: WalkState, height: int = 340) -> None:
    """Draw the singular values of both forms, the largest as 1, `height` pixels high."""
    named = zip((f"head {scene.h + 1}", "unsplit"), forms(scene), strict=True)
    frame = pd.concat(
        pd.DataFrame({
            "form": f"{name}: rank {form.rank}",
            "number": np.arange(1, len(form.singular) + 1),
            "share": form.singular / (form.singular[0] or 1),
        })
        for name, form in named
    )  # fmt: skip
    figure = charts.curves(
        frame, "number", "share", "form", title="Singular values, the largest as 1", x_title="in order",
        y_title="singular value", dark=is_dark(),
    )  # fmt: skip
    chart(figure.update_layout(height=height), frame, key="ranks")


def hulls(scene: WalkState, height: int = 380) -> None:
    """Draw one head's mean inside the hull of its values, and the sum of all heads outside, `height` pixels high."""
    plain, h, i = scene.plain, scene.h, scene.query
    near = plain.allowed[i]
    values = plain.v[scene.kv, near]
    mapped, total = sum_of_heads(plain, i)
    outside = scene.cached(("outside", i), lambda: [distance_to_hull(total, points) for points in mapped])
    proven = sum(distance.gap > 0 for distance in outside)
    error = float(np.abs(plain.weights[h, i, near] @ values - plain.context[h, i]).max())
    inside_text = f"**One head**: inside (equal within {format_error(error)})."
    outside_text = (
        f"**Sum of all heads**: outside the hulls of {proven} of {count_noun(len(outside), 'head')}, "
        f"{outside[h].distance:.2f} from this one's."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        _plane(scene, values, plain.context[h, i], "z", "hull", inside_text, height)
    with right:
        _plane(scene, mapped[h], total, "all heads", "hull-of-all", outside_text, height)


def _plane(
    scene: WalkState, points: np.ndarray, mark: np.ndarray, name: str, key: str, text: str, height: int
) -> None:
    """Draw values as points, their hull, and `mark` beside it; a click on a point follows its token."""
    show_text(f"many-{key}", text)
    flat = plane(points, mark[None])
    near = np.flatnonzero(scene.plain.allowed[scene.query])
    weights = scene.plain.weights[scene.h, scene.query, near]
    labels = [visible(scene.labels[j]) for j in near]
    frame = pd.DataFrame({"x": flat.points[:, 0], "y": flat.points[:, 1], "label": labels, "weight": weights})
    marks = pd.DataFrame({"x": flat.marks[:, 0], "y": flat.marks[:, 1], "label": [name]})
    title = f"{count_noun(len(points), 'value')}, {percent(flat.variance_share)} kept"
    figure = charts.plane(frame, title=title, hull=flat.hull, marks=marks, dark=is_dark())
    figure.update_layout(height=height, dragmode=False, clickmode="event+select")
    chart(figure, frame, key=key, on_select=partial(_point_pressed, key, scene.sentence, near.tolist()))


def _point_pressed(key: str, sentence: str, near: Sequence[int]) -> None:
    points = (st.session_state.get(key) or {}).get("selection", {}).get("points", [])
    for point in points:
        place = point.get("customdata")
        place = place[0] if isinstance(place, list) else place
        if isinstance(place, int) and 0 <= place < len(near):
            follow(sentence, near[place])


SCREENS = (
    Screen("rows", "One row or many", words=_row_words, picture=rows_picture),
    Screen("costs", "Cost", words=_cost_words, below=cost_table),
    Screen("ranks", "Low-rank comparisons", words=_rank_words, below=spectrum),
    Screen(
        "hulls", "What heads can output",
        words="A head can only average. Its result is a weighted mean of the values, so it lies inside their "
        "[[convex-hull|convex hull]]. The sum over several heads, each with weights of its own, can leave the hull of "
        "any single head. Each picture is the flat view that keeps most (PCA). “Outside” is proven in all dimensions: "
        "a plane separates the point from the hull. Click a point to follow its token.",
        below=hulls,
    ),
)  # fmt: skip
