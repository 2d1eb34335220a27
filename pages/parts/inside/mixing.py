"""The steps after one token's own: all heads side by side, mixed to the output, and whether torch computes the same.

In: a scene. Out: boards with every number of the step.
"""

from typing import Any

import numpy as np

from mha_core.inside import shares
from pages.parts.frame.prose import heading
from pages.parts.inside.gone import heads_gone
from pages.parts.inside.scene import Scene, code, format_error, formula, parity_of
from pages.parts.inside.steps import high_of
from pages.parts.picture.tiles import Block, Board, paragraph


def output(scene: Scene) -> None:
    now, sizes = scene.now, scene.sizes
    h, d_v, d = sizes.W_o.shape
    heading(f"{scene.number(4)} · All heads, side by side, then mixed")
    board = Board()
    options: dict[str, Any] = {"rows": scene.labels, "follow": True, "high": high_of(now.n)}
    plus = "" if sizes.b_o is None else " + b_o"
    board.add(
        paragraph(
            f"Each of the {h} heads made {d_v} numbers a token. [[concatenation|Set side by side]] they are {h * d_v} "
            "again, and every head still keeps to its own columns; the frame is head "
            f"{scene.h + 1}. [[W_o]] then mixes: every number of the output draws on all heads."
        ),
        board.matrix(
            "Z", now.concatenated, id="Z", note="before: [z₁ | z₂ | … ]", cuts=[d_v * i for i in range(1, h)],
            slice=[scene.h * d_v, (scene.h + 1) * d_v], wide=min(2.6, 1000 / (h * d_v)), **options,
        ),
        board.matrix("output", now.output, id="output", note=f"after: Z W_o{plus}", wide=min(2.6, 1000 / d), **options),
        *_parts(board, scene),
        paragraph(
            "Could W_o be merged into the [[feed-forward|feed-forward network]] that follows? No: before it, the "
            f"layer adds its input {'' if now.is_pre_norm else 'X '}back (the [[residual]]). Z W_o must have its {d} "
            "columns to be added to it, and the sum, not Z alone, goes on."
        ),
    )  # fmt: skip
    board.show("inside-board-4")
    heads_gone(scene)
    formula(
        r"\mathrm{output} = [z_1 \,|\, \dots \,|\, z_h]\,W_o"
        + plus
        + r" = \sum_{i=1}^{h} z_i\,W_o^{(i)}"
        + plus,
        (f"z = z.transpose(1, 2).reshape(1, {now.n}, {h * d_v})", "side by side"),
        ("output = W_o(z)", f"(1, {now.n}, {d})"),
        (
            "x = x_before_the_norm + output" if now.is_pre_norm else "x = layer_norm(x + output)",
            "the residual",
        ),
    )


def _parts(board: Board, scene: Scene) -> list[Block]:
    """The output of the followed token as a sum: one part a head, and b_o where there is one."""
    now, sizes, i = scene.now, scene.sizes, scene.query
    h, d_v, d = sizes.W_o.shape
    found = shares(now, i)
    lines = {f"{scene.head[0] + 1}-{j + 1}": now.contributions[j, i] for j in range(h)}
    if sizes.b_o is not None:
        lines["b_o"] = sizes.b_o
    lines["output"] = now.output[i]
    with_bias = "" if sizes.b_o is None else " and b_o"
    return [
        paragraph(
            "Because W_o only adds, the output is a sum of one part a head. For {token}: how long each part is, "
            "its share of the output, and its [[cosine]] with it. A negative share pulls the other way.",
            token=scene.token,
        ),
        head_table(scene),
        board.matrix(
            "W_o",
            sizes.W_o[scene.h],
            id="W_o",
            note=f"the {d_v} rows of head {scene.h + 1}: its z times these is its part",
            high=max(2.0, min(5.0, 160 / d_v)),
            wide=min(2.6, 1000 / d),
        ),
        paragraph(
            f"Sum of the {h} parts{with_bias}, minus the layer's output: largest difference "
            f"**{format_error(found.difference)}**."
        ),
        board.matrix(
            "parts", np.stack(list(lines.values())), id="parts",
            note="each head, b_o, output" if with_bias else "each head, output",
            rows=list(lines), high=16, wide=min(2.6, 1000 / d),
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
    if scene.sizes.b_o is not None:
        bias = float(np.linalg.norm(scene.sizes.b_o))
        lines.append({"label": "b_o", "norm": bias, "share": found.bias_share, "cosine": None})
    return {"type": "heads", "rows": lines, "total": found.output_norm}


def equal(scene: Scene) -> None:
    found = parity_of(scene)
    heading(f"{scene.number(5)} · Is this what torch computes?")
    board = Board()
    rotated = ", its rotation multiplied as complex numbers" if scene.now.rotary else ""
    board.add(
        paragraph(
            f"Equal to `{found.against}`{rotated} within **{format_error(found.output)}**, for all {scene.now.n} "
            "tokens of this sentence, computed just now.",
            "verdict",
        )
    )
    if found.weights is not None:
        board.add(
            paragraph(
                f"Its weights and ours, all {scene.sizes.n_heads} heads: within {format_error(found.weights)}."
            )
        )
    board.show("inside-board-5")
    code(
        *(_in_one_layer(scene) if found.weights is not None else _in_one_function(scene)),
        _apart(found.output),
    )


def _apart(difference: float) -> tuple[str, str]:
    return "(theirs - output).abs().max()", format_error(difference)


def _in_one_layer(scene: Scene) -> list[tuple[str, str]]:
    """torch's own layer."""
    h, d = scene.sizes.n_heads, scene.sizes.d_model
    causal = "attn_mask=later, " if scene.now.is_causal else ""
    return [
        (f"layer = torch.nn.MultiheadAttention({d}, {h}, batch_first=True)", "with these weights in it"),
        (f"theirs, weights = layer(x, x, x, {causal}average_attn_weights=False)", ""),
    ]


def _in_one_function(scene: Scene) -> list[tuple[str, str]]:
    """torch's attention function, for layers that torch's own layer cannot be."""
    grouped = ", enable_gqa=True" if scene.sizes.n_kv_heads < scene.sizes.n_heads else ""
    return [
        ("q, k = torch.view_as_real(q * turns), torch.view_as_real(k * turns)", "pairs as complex numbers"),
        (f"z = F.scaled_dot_product_attention(q, k, v, is_causal=True{grouped})", ""),
        ("theirs = W_o(z.transpose(1, 2).flatten(2))", ""),
    ]
