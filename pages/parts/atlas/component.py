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
    """Mount it; pressing a point puts its head into the address."""
    _component()(key=key, data=data, on_head_change=lambda: _choose(key))


def _choose(key: str) -> None:
    pressed = heard_from(key, "head")
    if isinstance(pressed, str) and parse_head(pressed):
        state.choose_head(pressed)
