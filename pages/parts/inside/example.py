"""The worked example: two tokens, two heads, every number small enough to check by hand, on the screens of the walk.

In: the numbers typed into its matrices, from the URL. Out: the same screens as for a real layer, with numbers.
"""

import html
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from mha_core import HeadScopeError
from mha_core.layer import example, run_layer
from mha_core.layer.worked import TOKENS, W1, W2, W_O_CHOICES, WorkedExample, X
from pages.parts.frame import url_params
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import markup, say
from pages.parts.frame.request import Request
from pages.parts.inside.changes import MAX_NUMBER, number_text, read_number
from pages.parts.inside.controls import is_on, linked
from pages.parts.inside.scene import WalkState
from pages.parts.inside.screens import show
from pages.parts.inside.walk import walk_screens
from pages.parts.picture.tiles import Board, token_row

START = {"X": X, **{f"W_{name}{i}": W for name in "qkv" for i, W in ((1, W1), (2, W2))}}
SHAPES = {name: np.array(values).shape for name, values in START.items()}
Typed = dict[str, dict[str, float]]  # numbers by matrix and place, from 0, row by row


@st.fragment
def example_view(request: Request) -> None:
    """Draw the example, with its matrices to type into."""
    typed, together = read_typed(url_params.params().get("typed", "")), is_on("same", first=True)
    output = url_params.page_part("output", tuple(W_O_CHOICES))
    try:
        numbers = read_example(typed, together, output)
        run = run_layer(numbers.x, numbers.weights)
    except HeadScopeError as error:
        say(str(error), "problem")
        return
    query, h = (int(url_params.params().get(key) == "2") for key in ("row", "by"))
    with st.container(key="inside-bar", horizontal=True, gap="small", vertical_alignment="center"):
        board = Board()
        board.add(token_row(TOKENS, (False, False), "Token to follow", line=True, trigger="follow"))
        board.show("inside-example-token", {"follow": _follow}, query=query)
        linked(
            st.selectbox, "Head", "by", str(h + 1), first="1", change=_change, options=("1", "2"), width=110,
            format_func="head {}".format, label_visibility="collapsed",
        )  # fmt: skip
        if typed:
            st.button("Reset", key="inside-back", on_click=url_params.change, args=({"typed": None},))
        real = link_to("Inside", {**url_params.carried(), "at": url_params.page_param("at", "")})
        link = f'<a href="{html.escape(real)}" target="_self">The same step in the model</a>'
        markup(f'<p class="hs-why">{link}</p>', inline=True)
    key = f"example-{h}-{query}"
    scene = WalkState(
        TOKENS, (False, False), (0, h), query, run, run, key, request, small=True, together=together
    )
    on_event = {"typed": _type, "token": _follow, "head": _choose_head}
    show("example", walk_screens(scene), scene, on_event=on_event, cells=typed)


def _change(values: Mapping[str, str | None]) -> None:
    """Change the URL; a number that was chosen is left."""
    url_params.change({**values, "cell": None})


def _follow(row: object) -> None:
    if row in (0, 1):
        _change({"row": "2" if row else None})


def _choose_head(head: object) -> None:
    if head in ("1-1", "1-2"):
        _change({"by": "2" if head == "1-2" else None})


def _type(typed: object) -> None:
    """Write all typed numbers to the URL."""
    if isinstance(typed, Mapping):
        url_params.change({"typed": as_text(typed) or None})


def read_typed(text: str) -> Typed:
    """Return the numbers of a URL; what is none of the example's matrices is left out."""
    typed: Typed = {}
    for name, row, column, value in filter(None, map(read_number, text.split(","))):
        rows, columns = SHAPES.get(name, (0, 0))
        if row < rows and column < columns:
            typed.setdefault(name, {})[str(row * columns + column)] = value
    return typed


def as_text(typed: Mapping[str, Any]) -> str:
    """Return typed numbers as in the URL; a browser may send anything."""
    items = list[str]()
    for name, (rows, columns) in SHAPES.items():
        cells = typed.get(name)
        for key, value in cells.items() if isinstance(cells, Mapping) else ():
            place = int(key) if re.fullmatch(r"[0-9]{1,2}", str(key)) else rows * columns
            if place < rows * columns and isinstance(value, int | float) and abs(value) <= MAX_NUMBER:
                items.append(number_text(name, place // columns, place % columns, value))
    return ",".join(items)


def read_example(typed: Mapping[str, Mapping[str, float]], together: bool, output: str) -> WorkedExample:
    """Return the example with these numbers, as of `read_typed`, in it."""

    def matrix(name: str) -> list[list[float]]:
        array = np.array(START[name], np.float64)
        for place, value in typed.get(name, {}).items():
            array.flat[int(place)] = value
        return [[float(value) for value in row] for row in array]

    names = "qqq" if together else "qkv"
    w_q, w_k, w_v = ([matrix(f"W_{name}{i}") for i in (1, 2)] for name in names)
    return example(matrix("X"), w_q, w_k, w_v, output=W_O_CHOICES[output])
