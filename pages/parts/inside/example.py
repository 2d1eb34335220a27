"""The worked example: two tokens, two heads, every number small enough to check by hand, every number open.

In: what the reader typed into the matrices. Out: all steps as numbers, head beside head.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from mha_core import HeadScopeError, LayerRun
from mha_core.inside import equal_to_torch, example, one_token, run_layer
from mha_core.inside.worked import TOKENS, W1, W2, W_O_CHOICES, Example, X
from pages.parts.frame.prose import say
from pages.parts.inside.scene import format_error, formula, nothing
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row

KEY = "inside-example"
START = {"X": X, **{f"W_{name}{i}": W for name in "qkv" for i, W in ((1, W1), (2, W2))}}


@st.fragment
def example_view() -> None:
    """The example, with its matrices to type into."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        together = st.toggle("One matrix for Q, K and V", True, key="same", bind="query-params")
        output = st.selectbox("W_o", tuple(W_O_CHOICES), key="output", bind="query-params", width=200)
    typed = st.session_state.get(KEY, {}).get("cells", {}) or {}
    try:
        made = read_example(typed, together, output if output in W_O_CHOICES else "identity")
        run = run_layer(made.x, made.weights)
    except HeadScopeError as error:
        say(str(error), "problem")
        return
    board = Board()
    board.add(
        paragraph(
            "Two [[token|tokens]], four numbers each, two [[head|heads]] of two numbers. Check it with a pencil, then "
            "type into any framed box: everything after it follows. A decimal comma is as good as a point."
        ),
        row(
            board.matrix(
                "X", made.x, "tiles", id="X", rows=TOKENS, editable=True, note="two tokens of four numbers"
            ),
            {"type": "undo", "text": "put all numbers back"},
        ),
        row(*(_head(board, made, run, h, together) for h in range(2))),
    )
    _joined(board, made, run)
    board.show(KEY, {"cells": nothing}, cells=typed)
    formula(
        r"Z_i = \mathrm{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{2}}\right) V_i,\qquad "
        r"\mathrm{output} = [Z_1 \,|\, Z_2]\,W_o",
        ("q, k, v = x @ W[0], x @ W[0], x @ W[0]", "head 1: (2, 2)"),
        ("z = (q @ k.T / 2 ** 0.5).softmax(-1) @ v", "(2, 2); z2 alike, with W[1]"),
        ("output = torch.cat([z, z2], -1) @ W_o", "(2, 4)"),
    )


def read_example(typed: Mapping[str, Any], together: bool, output: str) -> Example:
    """The example with the reader's numbers in it; what is not a number of a matrix is left out."""

    def matrix(name: str) -> list[list[float]]:
        array = np.array(START[name], np.float64)
        for at, value in (typed.get(name) or {}).items():
            if str(at).isdigit() and int(at) < array.size and isinstance(value, int | float):
                array.flat[int(at)] = value
        return [[float(number) for number in line] for line in array]

    names = ("q", "q", "q") if together else ("q", "k", "v")
    w_q, w_k, w_v = ([matrix(f"W_{name}{i}") for i in (1, 2)] for name in names)
    return example(matrix("X"), w_q, w_k, w_v, output=W_O_CHOICES[output])


def _head(board: Board, made: Example, run: LayerRun, h: int, together: bool) -> Block:
    i = h + 1
    tiles: dict[str, Any] = {"kind": "tiles"}
    rows: dict[str, Any] = {"rows": TOKENS, **tiles}
    used = made.weights
    names = ("q",) if together else ("q", "k", "v")
    given = [
        board.matrix(
            f"W{i}" if together else f"W_{name}{i}",
            getattr(used, f"W_{name}")[h],
            id=f"W_{name}{i}",
            editable=True,
            note="for Q, K and V" if together else "",
            **tiles,
        )
        for name in names
    ]
    readings = [
        board.matrix(
            f"Q{i} = K{i} = V{i}" if together else f"{name.upper()}{i}",
            getattr(run, name)[h],
            id=f"{name.upper()}{i}",
            **rows,
        )
        for name in names
    ]
    scores = board.matrix(
        "scores", run.scores[h], id=f"scores{i}", note=f"Q{i} K{i}ᵀ ÷ √2", cols=TOKENS, **rows
    )
    weights = board.matrix(
        "weights",
        run.weights[h],
        id=f"weights{i}",
        note="softmax, row by row",
        ramp="weight",
        cols=TOKENS,
        **rows,
    )
    z = board.matrix(f"Z{i}", run.context[h], id=f"Z{i}", note=f"weights × V{i}", **rows)
    products = board.matrix("products", run.raw(h), id=f"raw{i}", note=f"Q{i} K{i}ᵀ", cols=TOKENS, **rows)
    return column(
        paragraph(f"**Head {i}**"),
        row(*given),
        row(*readings, products),
        row(scores, weights),
        z,
        size="half",
    )


def _joined(board: Board, made: Example, run: LayerRun) -> None:
    big = made.weights.W_o.reshape(-1, made.weights.d_model)
    alone = np.concatenate([one_token(run, h, 1) for h in range(2)]) @ big
    parity = equal_to_torch(run)
    apart = float(np.abs(alone - run.output[1]).max())
    board.add(
        row(
            board.matrix("[Z1 | Z2]", run.concatenated, "tiles", id="Z", rows=TOKENS, note="side by side"),
            op("×"),
            board.matrix("W_o", big, "tiles", id="W_o"),
            op("="),
            board.matrix("output", run.output, "tiles", id="output", rows=TOKENS),
        ),
        paragraph(
            f"The second token computed alone differs from its row by **{format_error(apart)}**; "
            f"`{parity.against}` differs from all of it by **{format_error(parity.output)}**."
        ),
    )
