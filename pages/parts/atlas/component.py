"""The one component of the Atlas page: heads as points, or moments as lines of text. Drawn by assets/js/atlas.js."""

from functools import cache
from typing import Any

import streamlit as st

from mha_core.picture.bundle import bundle, style
from pages.parts.frame import state
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.selection import parse_head


@cache
def _component() -> Any:
    return st.components.v2.component("headscope_atlas", css=style("atlas"), js=bundle("atlas"))


def draw(data: dict[str, Any], key: str) -> None:
    """Mount it; pressing a point, or a link to a head or a description, puts that into the page's link."""
    _component()(
        key=key,
        data=data,
        on_head_change=lambda: _choose(key),
        on_does_change=lambda: _choose_description(key),
    )


def _choose(key: str) -> None:
    pressed = heard_from(key, "head")
    if isinstance(pressed, str) and parse_head(pressed):
        state.choose_head(pressed)


def _choose_description(key: str) -> None:
    pressed = heard_from(key, "does")
    if isinstance(pressed, str):
        state.change({"does": pressed or None})
