"""Steps 4 and 5 of the walk: all heads side by side, mixed to the output, and whether torch computes the same.

In: a scene. Out: boards with every number of the step.
"""

from typing import Any

import numpy as np

from mha_core.inside import shares
from pages.parts.frame.prose import heading
from pages.parts.inside.scene import Scene, code, formula, gap, parity_of
from pages.parts.inside.steps import high_of
from pages.parts.picture.tiles import Block, Board, paragraph


def output(scene: Scene) -> None:
    heading("4 · All heads, side by side, then mixed")
    board = Board()
    board.add(*_side_by_side(board, scene), *_parts(board, scene))
    board.show("inside-board-4")
    n, (h, d_v, d) = scene.now.n, scene.sizes.W_o.shape
    formula(
        r"\mathrm{output} = [z_1 \,|\, \dots \,|\, z_h]\,W_o + b_o = \sum_{i=1}^{h} z_i\,W_o^{(i)} + b_o",
        (f"z = z.transpose(1, 2).reshape(1, {n}, {h * d_v})", "side by side"),
        ("output = W_o(z)", f"(1, {n}, {d})"),
        ("x = layer_norm(x + output)", "the residual"),
    )


def _side_by_side(board: Board, scene: Scene) -> list[Block]:
    """What all heads made, before and after W_o mixes it."""
    now, (h, d_v, d) = scene.now, scene.sizes.W_o.shape
    cuts = [d_v * i for i in range(1, h)]
    mine = [scene.h * d_v, (scene.h + 1) * d_v]
    options: dict[str, Any] = {"rows": scene.labels, "follow": True, "high": high_of(now.n)}
    return [
        paragraph(
            f"Each of the {h} heads made {d_v} numbers a token. [[concatenation|Set side by side]] they are {h * d_v} "
            "again, and every head still keeps to its own columns; the frame is head "
            f"{scene.h + 1}. [[W_o]] then mixes: every number of the output draws on all heads."
        ),
        board.matrix(
            "Z", now.concatenated, id="Z", note="before: [z₁ | z₂ | … ]", cuts=cuts, slice=mine,
            wide=min(2.6, 1000 / (h * d_v)), **options,
        ),
        board.matrix("output", now.output, id="output", note="after: Z W_o + b_o", wide=min(2.6, 1000 / d), **options),
    ]  # fmt: skip


def _parts(board: Board, scene: Scene) -> list[Block]:
    """The output of the followed token as a sum of one part a head."""
    now, sizes = scene.now, scene.sizes
    h, d_v, d = sizes.W_o.shape
    every = np.concatenate(
        [now.contributions[:, scene.query], sizes.b_o[None], now.output[scene.query][None]]
    )
    names = [*(f"{scene.head[0] + 1}-{i + 1}" for i in range(h)), "b_o", "output"]
    return [
        paragraph(
            "Because W_o only adds, the output is a sum of one part a head. For {token}: how long each part is, "
            "its share of the output, and its [[cosine]] with it. A negative share pulls the other way.",
            token=scene.token,
        ),
        head_table(scene),
        board.matrix(
            "W_o", sizes.W_o[scene.h], id="W_o",
            note=f"the {d_v} rows of head {scene.h + 1}: its z times these is its part",
            high=max(2.0, min(5.0, 160 / d_v)), wide=min(2.6, 1000 / d),
        ),
        paragraph(
            f"Sum of the {h} parts and b_o, minus the layer's output: largest difference "
            f"**{gap(shares(now, scene.query).difference)}**."
        ),
        board.matrix(
            "parts", every, id="parts", note="each head, b_o, output", rows=names,
            high=16, wide=min(2.6, 1000 / d),
        ),
        paragraph(
            "Could W_o be merged into the [[feed-forward|feed-forward network]] that follows? No: before it, the "
            f"layer adds its input X back (the [[residual]]). Z W_o must have X's own {d} columns to be added to it, "
            "and the sum, not Z alone, goes on."
        ),
    ]  # fmt: skip


def head_table(scene: Scene) -> Block:
    """What every head adds to the output of the followed token."""
    found = shares(scene.now, scene.query)
    lines = [
        {
            "label": f"{scene.head[0] + 1}-{i + 1}",
            "norm": float(found.norms[i]),
            "share": float(found.share[i]),
            "cosine": float(found.cosine[i]),
            "chosen": i == scene.h,
        }
        for i in range(len(found.norms))
    ]
    bias = float(np.linalg.norm(scene.sizes.b_o))
    lines.append({"label": "b_o", "norm": bias, "share": found.bias_share, "cosine": None})
    return {"type": "heads", "rows": lines, "total": found.output_norm}


def equal(scene: Scene) -> None:
    found = parity_of(scene.request, scene.head[0], scene.now)
    heading("5 · Is this what torch computes?")
    board = Board()
    board.add(
        paragraph(
            f"Equal to `{found.against}` within **{gap(found.output)}**, for all {scene.now.n} tokens of this "
            "sentence, computed just now.",
            "verdict",
        )
    )
    if found.weights is not None:
        board.add(
            paragraph(f"Its weights and ours, all {scene.sizes.n_heads} heads: within {gap(found.weights)}.")
        )
    board.show("inside-board-5")
    h, d = scene.sizes.n_heads, scene.sizes.d_model
    code(
        (f"layer = torch.nn.MultiheadAttention({d}, {h}, batch_first=True)", "with these weights in it"),
        ("theirs, weights = layer(x, x, x, average_attn_weights=False)", ""),
        ("(theirs - output).abs().max()", gap(found.output)),
    )
