"""The worked example: two tokens, two heads, every number small enough to check by hand, on the screens of the walk.

In: what the reader typed into the matrices, from the link. Out: the same screens as for a real layer, with numbers.
"""

import html
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from mha_core import HeadScopeError
from mha_core.inside import example, run_layer
from mha_core.inside.worked import TOKENS, W1, W2, W_O_CHOICES, Example, X
from pages.parts.frame import state
from pages.parts.frame.links import link_to
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.page_text import markup, say
from pages.parts.frame.request import Request
from pages.parts.inside import link_controls
from pages.parts.inside.changes import MOST
from pages.parts.inside.scene import Scene
from pages.parts.inside.walk import show
from pages.parts.picture.tiles import Board, token_row

START = {"X": X, **{f"W_{name}{i}": W for name in "qkv" for i, W in ((1, W1), (2, W2))}}
SHAPES = {name: np.array(values).shape for name, values in START.items()}
_TYPED = re.compile(r"(X|W_[qkv][12]):([1-4]):([1-4]):(-?\d+(?:\.\d+)?(?:e-?\d{1,2})?)", re.ASCII)


@st.fragment
def example_view(request: Request) -> None:
    """The example, with its matrices to type into."""
    typed, together = read_typed(state.params().get("typed", "")), link_controls.on("same", first=True)
    output = state.params().get("output", next(iter(W_O_CHOICES)))
    try:
        made = read_example(typed, together, output if output in W_O_CHOICES else "identity")
        run = run_layer(made.x, made.weights)
    except HeadScopeError as error:
        say(str(error), "problem")
        return
    query, h = _asked("row"), _asked("by")
    with st.container(key="inside-bar", horizontal=True, gap="small", vertical_alignment="center"):
        board = Board()
        board.add(token_row(TOKENS, (False, False), "Token to follow", line=True, trigger="follow"))
        board.show("inside-example-token", {"follow": _followed}, query=query)
        _choose_head(h)
        if typed:
            st.button("Reset", key="inside-back", on_click=state.change, args=({"typed": None},))
        real = link_to("Inside", {**state.carried(), "at": state.own("at", "")})
        markup(f'<a href="{html.escape(real)}">The same step in the model</a>', inline=True)
    key = f"example-{h}-{query}"
    scene = Scene(
        TOKENS, (False, False), (0, h), query, run, run, key, request, small=True, together=together
    )
    told = {
        "typed": partial(_typed, "inside-picture-example"),
        "token": partial(_row_pressed, "inside-picture-example"),
        "head": partial(_head_pressed, "inside-picture-example"),
    }
    show(scene, controls={"qkv": _one_matrix, "output": _output}, told=told, data={"cells": typed})


def _asked(key: str) -> int:
    """The first or the second, from 0."""
    return 1 if state.params().get(key) == "2" else 0


def _followed() -> None:
    _follow(heard_from("inside-example-token", "follow"))


def _row_pressed(key: str) -> None:
    _follow(heard_from(key, "token"))


def _follow(row: object) -> None:
    if row in (0, 1):
        state.change({"row": "2" if row else None, "cell": None})


def _head_pressed(key: str) -> None:
    head = heard_from(key, "head")
    if head in ("1-1", "1-2"):
        state.change({"by": "2" if head == "1-2" else None, "cell": None})


def _choose_head(h: int) -> None:
    st.session_state["inside-example-head"] = h
    st.selectbox(
        "Head",
        range(2),
        key="inside-example-head",
        width=110,
        format_func=lambda at: f"head {at + 1}",
        label_visibility="collapsed",
        on_change=_head_chosen,
    )


def _head_chosen() -> None:
    state.change({"by": "2" if st.session_state["inside-example-head"] else None, "cell": None})


def _one_matrix() -> None:
    link_controls.switch("Same W for Q, K, V", "same", first=True)


def _output() -> None:
    link_controls.choice("W_o", "output", tuple(W_O_CHOICES), 200)


def read_typed(text: str) -> dict[str, dict[str, float]]:
    """The numbers of a link, by matrix and place (from 0, row by row); what is none of them is left out."""
    found: dict[str, dict[str, float]] = {}
    for item in text.split(","):
        match = _TYPED.fullmatch(item)
        if match is None:
            continue
        name, (rows, columns) = match[1], SHAPES[match[1]]
        row, column, value = int(match[2]) - 1, int(match[3]) - 1, float(match[4])
        if row < rows and column < columns and abs(value) <= MOST:
            found.setdefault(name, {})[str(row * columns + column)] = value
    return found


def as_text(typed: Mapping[str, Any]) -> str:
    """What the reader typed, as the link has it: places counted from 1, only numbers of the example's matrices."""
    items = list[str]()
    for name in START:
        columns = SHAPES[name][1]
        cells = typed.get(name) if isinstance(typed.get(name), Mapping) else {}
        for at, value in (cells or {}).items():
            place = int(at) if str(at).isascii() and str(at).isdigit() and len(str(at)) < 3 else -1
            if (
                0 <= place < SHAPES[name][0] * columns
                and isinstance(value, int | float)
                and abs(value) <= MOST
            ):
                items.append(f"{name}:{place // columns + 1}:{place % columns + 1}:{value:.7g}")
    return ",".join(items)


def _typed(key: str) -> None:
    """The reader typed numbers: the link has them all."""
    value = heard_from(key, "typed")
    if isinstance(value, Mapping):
        state.change({"typed": as_text(value) or None})


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
