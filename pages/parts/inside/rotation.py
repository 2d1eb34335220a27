"""Positions by rotation, a step of its own where a model has it: Q and K before and after, one pair of numbers turned
by hand, and a score that knows the distance of two tokens and nothing else of their positions.

In: a scene. Out: a board.
"""

import math
from typing import Any

import numpy as np

from mha_core.inside import Turn, product_at, turn
from mha_core.rotary import Rotary
from pages.parts.frame import state
from pages.parts.inside.fields import Field, ask
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
    why, table = _distance(scene, rotary)
    stage.words.add(said, why)
    stage.picture.add(*pictures, table)
    stage.latex = (
        r"\begin{pmatrix}x'\\y'\end{pmatrix} = "
        r"\begin{pmatrix}\cos\theta & -\sin\theta\\ \sin\theta & \cos\theta\end{pmatrix}"
        r"\begin{pmatrix}x\\y\end{pmatrix}"
    )
    stage.controls = lambda: ask("inside-pair", (field,), {"turned": pair}, _pair_chosen)


def _pair_chosen(key: str, value: int | bool) -> None:
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
            f"{scene.title} adds nothing to a token for its position. Instead every head turns its queries and keys: "
            f"the {rotary.d_k} numbers are {half} pairs, number i with number i + {half}, each an arrow in a plane, "
            "and the arrow of a token is turned by its position times an angle. The first pair turns fastest, "
            f"{_degrees(rotary.frequency(0))} per token; the last one "
            f"{_degrees(rotary.frequency(last))}, a full circle in {2 * math.pi / rotary.frequency(last):,.0f} "
            "tokens."
            + (f" Pairs {last + 2} to {half} are not turned: they know no position." if some else "")
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


def _by_hand(board: Board, scene: Scene, rotary: Rotary, pair: int) -> list[Block]:
    """One pair of the followed token's query: the angle, the matrix, the arrow."""
    queries = scene.now.q_unrotated
    if queries is None:
        return []
    found = turn(rotary, queries[scene.h, scene.query], scene.query, pair)
    half, cos, sin = rotary.d_k // 2, math.cos(found.angle), math.sin(found.angle)
    how = f"{rotary.theta:,.0f}^(−2 · {pair} / {2 * rotary.n_turned})" + (
        ", stretched" if rotary.stretch else ""
    )
    tiles: dict[str, Any] = {"kind": "tiles", "digits": 3}
    return [
        paragraph(
            f"Pair {pair + 1} of the query of {{token}}: its numbers {pair + 1} and {pair + 1 + half}. {{token}} is "
            f"token {scene.query + 1}, at position **{scene.query}** (positions count from 0). Angle = {scene.query} · "
            f"{how} = {scene.query} · {rotary.frequency(pair):.4g} = **{found.angle:.3f}** radians, "
            f"{_degrees(found.angle)}.",
            token=scene.token,
        ),
        row(
            column(_arrow(found), size="slim"),
            row(
                board.matrix("turn", np.array([[cos, -sin], [sin, cos]]), id="turn", note="cos −sin, sin cos", **tiles),
                op("×"),
                board.matrix("before", np.array(found.before)[:, None], id="pair-before", **tiles),
                op("="),
                board.matrix("after", np.array(found.after)[:, None], id="pair-after", **tiles),
            ),
        ),
    ]  # fmt: skip


def _degrees(angle: float) -> str:
    degrees = math.degrees(angle)
    return f"{degrees:.1f}°" if degrees >= 0.1 or not degrees else f"{degrees:.2g}°"


def _arrow(found: Turn) -> Block:
    """The pair as an arrow, before and after."""
    return {
        "type": "turn",
        "before": list(found.before),
        "after": list(found.after),
        "angle": found.angle,
        "describe": f"An arrow to {found.before[0]:.3f}, {found.before[1]:.3f} turned by {_degrees(found.angle)} "
        f"to {found.after[0]:.3f}, {found.after[1]:.3f}",
    }


def _distance(scene: Scene, rotary: Rotary) -> list[Block]:
    """The same query and key at other positions: where the distance is the same, so is the score."""
    now, i = scene.now, scene.query
    if now.q_unrotated is None or now.k_unrotated is None:
        return []
    weights = now.weights[scene.h, i, : len(scene.there)]
    j = int(weights.argmax())
    which = ", the token it looks at most," if weights.any() else ""
    q, k = now.q_unrotated[scene.h, i], now.k_unrotated[scene.kv, j]
    places = [(i + moved, j + moved) for moved in MOVED] + [(i + 1, j), (i + 20, j)]
    products = [product_at(rotary, q, k, *place) for place in places]
    apart = max(products[: len(MOVED)]) - min(products[: len(MOVED)])
    lines = [
        [f"{at}", f"{key}", f"{at - key}", f"{product:.4f}"]
        for (at, key), product in zip(places, products, strict=True)
    ]
    return [
        paragraph(
            "Why turn? In q · k only the difference of two angles is left, so a score depends on how far apart two "
            "tokens are and not on where they stand. The query of {token} and the key of {best}"
            f"{which} at their own positions, then both moved on by {MOVED[1]} and by {MOVED[2]}: the score stays, to "
            f"{format_error(apart)}. At another distance it is another score.",
            token=scene.token,
            best=scene.labels[j],
        ),
        {
            "type": "grid",
            "id": "distances",
            "label": "One query and one key at other positions",
            "head": [
                "position of the query",
                "position of the key",
                "distance",
                "q · k",
            ],
            "rows": lines,
            "chosen": 0,
        },
    ]
