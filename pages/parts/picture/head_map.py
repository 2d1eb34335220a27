"""All heads in one picture to choose from: a grid, or a map on which heads that look alike are near.

In: marks, one a head. Out: a picture; pressing a head puts it into the link. Drawn by assets/js/head_map.js.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

import streamlit as st

from mha_core.picture.bundle import bundle, style
from mha_core.wording import Head, head_name
from pages.parts.frame import state
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.selection import parse_head


@dataclass(frozen=True)
class Mark:
    """One head: `letter` and `colour` of its role, or `fill` (0 to 1) and `text` of a measure; `x`, `y` on the map.

    With a fill the letter stands beside the number: this head does what the heads are coloured by.
    """

    head: Head
    label: str
    letter: str = ""
    colour: str = ""
    fill: float | None = None
    text: str = ""
    x: float = 0.0
    y: float = 0.0
    cluster: int = -1


@cache
def _component() -> Any:
    return st.components.v2.component("headscope_head_map", css=style("head_map"), js=bundle("head_map"))


def head_map(
    marks: Sequence[Mark],
    *,
    chosen: Head,
    legend: Sequence[tuple[str, str, str]] = (),
    layout: Literal["grid", "map"] = "grid",
    key: str,
    hue: str = "",
) -> None:
    """Draw the heads; `legend` is (letter, name, colour), `hue` the colour that fills have instead of ink."""
    data = {
        "layout": layout,
        "n_heads": 1 + max((mark.head[1] for mark in marks), default=0),
        "chosen": head_name(chosen),
        "legend": [dict(zip(("letter", "name", "colour"), entry, strict=True)) for entry in legend],
        "heads": [as_data(mark) for mark in marks],
        "hue": hue,
    }
    _component()(key=key, data=data, on_head_change=lambda: _choose(key))


def _choose(key: str) -> None:
    pressed = heard_from(key, "head")
    if isinstance(pressed, str) and parse_head(pressed):
        state.choose_head(pressed)


def as_data(mark: Mark) -> dict[str, Any]:
    """A mark as the browser takes it."""
    rest = {field: value for field, value in asdict(mark).items() if field != "head"}
    return {"id": head_name(mark.head), "layer": mark.head[0], "head": mark.head[1], **rest}
