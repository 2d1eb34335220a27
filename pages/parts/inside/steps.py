"""The first steps of the walk: readings, weights, and one token number by number.

In: a scene. Out: boards with every number of the step.
"""

from typing import Any

import numpy as np

from mha_core import Projections
from mha_core.inside import Edits, follow, spread
from mha_core.wording import percent
from pages.parts.frame.prose import heading, visible
from pages.parts.inside.groups import shared_keys
from pages.parts.inside.scene import SHOWN_KEYS, Scene, format_error, formula
from pages.parts.picture.tiles import Block, Board, column, paragraph, row, ruler


def projections(scene: Scene) -> None:
    sizes, now = scene.sizes, scene.now
    n, (h, d, d_k) = now.n, sizes.W_q.shape
    q = now.q if now.q_unrotated is None else now.q_unrotated
    heading("1 · Three readings of every token")
    board = Board()
    board.add(
        paragraph(
            f"Each [[token]] enters [[layer]] {scene.head[0] + 1} as a row of X: {d} numbers. Head {scene.h + 1} reads "
            "it three times: as a [[query]] (what am I looking for?), a [[key]] (what can I be found by?) and a "
            "[[value]] (what do I hand over?). Each reading is the row times a matrix."
        ),
        *_normed(scene),
        board.matrix(
            "X", now.x, id="X", rows=scene.labels, follow=True, wide=min(2.6, 1000 / d), high=high_of(n)
        ),
        row(*(_reading(board, scene, name) for name in ("q", "k", "v"))),
        paragraph(
            f"All {h} heads take part at once. One product gives {n} rows of {h * d_k} numbers; "
            f"cut into {h} pieces of {d_k}, they are the queries of {h} heads:"
        ),
        board.sheets("q", q, chosen=scene.h),
        *shared_keys(sizes, scene.h),
    )
    board.show("inside-board-1")
    alike = "k and v alike" if h == sizes.n_kv_heads else f"k, v: [:, {scene.kv}]"
    formula(
        _projection_formula(sizes),
        ("q = W_q(x)", f"(1, {n}, {h * d_k})"),
        (f"q = q.view(1, {n}, {h}, {d_k}).transpose(1, 2)", f"(1, {h}, {n}, {d_k})"),
        (f"q = q[:, {scene.h}]", f"head {scene.h + 1}: (1, {n}, {d_k}); {alike}"),
    )


def _normed(scene: Scene) -> list[Block]:
    """What X is, where it is not the layer's own input."""
    if not scene.plain.is_pre_norm:
        return []
    return [
        paragraph(
            f"In {scene.title} X is what attention is given: the layer's input after its normalisation (pre\u2011LN); "
            "the input itself passes by and the output is added to it."
        )
    ]


def _projection_formula(sizes: Projections) -> str:
    """Q, K and V, each with its bias if there is one."""
    parts = [
        rf"{name.upper()} = X\,W_{name}" + (f" + b_{name}" if getattr(sizes, f"b_{name}") is not None else "")
        for name in "qkv"
    ]
    return r",\quad ".join(parts)


def high_of(n: int) -> float:
    return max(2.0, min(20.0, 400 / n))


def _reading(board: Board, scene: Scene, name: str) -> Block:
    sizes = scene.sizes
    W, b = getattr(sizes, f"W_{name}"), getattr(sizes, f"b_{name}")
    h = scene.h if name == "q" else scene.kv
    heads, d, d_k = W.shape
    first, last = h * d_k + 1, (h + 1) * d_k
    before = getattr(scene.now, f"{name}_unrotated", None)
    result = (getattr(scene.now, name) if before is None else before)[h]
    whose = "head" if heads == sizes.n_heads else "key head"
    bias = (
        []
        if b is None
        else [
            board.matrix(
                f"b_{name}", b[h][None], id=f"b_{name}", high=10, wide=min(10.0, 300 / d_k), legend=False
            )
        ]
    )
    return column(
        ruler(heads, h, h + 1, f"W_{name}, {whose} {h + 1}: columns {first} to {last} of {heads * d_k}"),
        board.matrix(
            f"W_{name}",
            W[h],
            id=f"W_{name}",
            high=160 / d,
            wide=min(10.0, 300 / d_k),
            describe=f"W_{name} of this head, {d} by {d_k} numbers",
        ),
        *bias,
        board.matrix(
            name.upper(), result, id=name.upper(), rows=scene.labels, follow=True,
            note=f"= X W_{name}" + (f" + b_{name}" if bias else ""),
            high=high_of(scene.now.n), wide=min(8.0, 250 / d_k),
        ),
        size="third",
    )  # fmt: skip


def weights(scene: Scene) -> None:
    now, n, d_k = scene.now, scene.now.n, scene.sizes.d_k
    seen = np.where(now.allowed, now.scores[scene.h], np.nan)
    drawn = np.where(now.allowed, now.weights[scene.h], np.nan) if now.is_causal else now.weights[scene.h]
    there = np.tril(np.ones_like(now.allowed)) if now.is_causal else None
    with_, without = (spread(now.raw(scene.h), d, there) for d in (np.sqrt(d_k), 1.0))
    board = Board()
    board.add(*_changed(now.edits))
    share: dict[str, Any] = {"cols": scene.labels, "rows": scene.labels, "follow": True}
    size: dict[str, Any] = {"high": high_of(n), "wide": min(26.0, 440 / n)}
    sums = now.weights[scene.h].sum(axis=-1)
    board.add(
        row(
            column(board.matrix("scores", seen, id="scores", **share, **size), size="half"),
            column(
                board.matrix("weights", drawn, id="weights", ramp="weight", **share, **size),
                paragraph(said_sums(sums)),
                size="half",
            ),
        ),
        paragraph(
            f"Why divide ([[scaling]])? A sum of {d_k} products grows with {d_k}. Undivided, these scores have a "
            f"variance of **{without.variance:.1f}**, and the largest weight of a row is on average "
            f"**{percent(without.largest)}**; divided by √{d_k}, **{with_.variance:.1f}** and "
            f"**{percent(with_.largest)}**. Where one "
            "weight takes all, softmax hardly answers to small changes, and training stalls."
        ),
    )
    board.show("inside-board-2")
    formula(
        r"A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right)",
        (f"scores = q @ k.transpose(-2, -1) / {d_k} ** 0.5", f"(1, {n}, {n})"),
        ('scores = scores.masked_fill(~allowed, float("-inf"))', ""),
        ("weights = scores.softmax(dim=-1)", "rows add up to one"),
    )


def said_sums(sums: np.ndarray) -> str:
    """What the rows of a table of weights add up to."""
    low, high = percent(sums.min()), percent(sums.max())
    return (
        f"Every row adds up to {low}."
        if low == high
        else f"Rows add up to {low} at least and {high} at most."
    )


def _changed(edits: Edits) -> list[Block]:
    """One line that says what is not as the model has it."""
    if not edits.any:
        return []
    said = [
        "not divided by √d_k" if not edits.scaled else "",
        f"temperature {edits.temperature:g}" if edits.temperature != 1 else "",
        "a causal mask" if edits.causal else "",
        f"{len(edits.hidden_keys)} hidden" if edits.hidden_keys else "",
        _counted(len(edits.scores)),
        f"one changed number of {edits.cells[0].matrix}" if edits.cells else "",
    ]
    return [
        paragraph(f"You changed this layer: {', '.join(filter(None, said))}. All steps follow.", "changed")
    ]


def _counted(scores: int) -> str:
    return "" if not scores else "one changed score" if scores == 1 else f"{scores} changed scores"


def one_query(scene: Scene) -> None:
    now, h, i = scene.now, scene.h, scene.query
    found = follow(now, h, i)
    seen = len(scene.there)
    back = f"[:{seen}]" if now.is_causal else ""
    heading(f"{scene.number(3)} · One token, number by number")
    board = Board()
    best = int(found.weights.argmax())
    board.add(
        paragraph(
            "Here is the whole row of {token}: its q beside each token's k, their product number by number, the sum, "
            "the score, the weight, and the value that the weight lets through. The last column adds up to z, "
            "the [[context]]: what this head brings to {token}.",
            token=scene.token,
        ),
        paragraph(
            "{token} looks most at {best}: " + f"**{percent(found.weights[best])}**.",
            "verdict",
            token=scene.token,
            best=scene.labels[best],
        ),
        follow_block(board, scene),
        paragraph(
            "The matrix form does this for all tokens at once. The same token computed alone, vector by vector, "
            "and its row of the matrix form:"
        ),
        board.matrix(
            "z",
            np.stack([found.alone, found.context]),
            id="z",
            rows=["alone", "row of Z"],
            high=18,
            wide=min(14.0, 450 / now.v.shape[-1]),
        ),
        paragraph(
            f"Largest difference: **{format_error(found.difference)}**"
            + (", the rounding of 32-bit numbers." if found.difference else ".")
        ),
    )
    board.show("inside-board-3")
    formula(
        r"z_i = \sum_j \mathrm{softmax}_j\!\left(\frac{q_i \cdot k_j}{\sqrt{d_k}}\right) v_j",
        (f"scores = (q[{i}] * k{back}).sum(-1) / {now.q.shape[-1]} ** 0.5", f"({seen},)"),
        ("weights = scores.softmax(-1)", f"({seen},)"),
        (f"z = weights @ v{back}", f"({now.v.shape[-1]},)"),
    )


def follow_block(board: Board, scene: Scene) -> Block:
    """The row of one query, element by element, for the keys it looks at most."""
    now, h = scene.now, scene.h
    found = follow(now, h, scene.query)
    order = np.sort(np.argsort(-found.weights, kind="stable")[:SHOWN_KEYS])
    return {
        "type": "follow",
        "tokens": [visible(label) for label in scene.there],
        "query": scene.query,
        "shown": order.tolist(),
        "d_k": now.q.shape[-1],
        "d_v": now.v.shape[-1],
        "divisor": now.divisor,
        "q": board.put(found.q),
        "k": board.put(now.k[scene.kv, : len(scene.there)]),
        "products": board.put(found.products),
        "raw": board.put(found.raw),
        "scores": board.put(np.where(found.allowed, found.scores, np.nan)),
        "weights": board.put(found.weights),
        "weighted": board.put(found.weighted),
        "z": board.put(found.context),
    }
