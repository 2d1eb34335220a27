"""A row of things to press that stand as words: the example sentences and the minimal pairs.

In: their names and texts. Out: what a press does. One element, which the browser has after the first time; drawn by
assets/js/examples.js.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Protocol, TypeVar

import streamlit as st

from mha_core.picture.bundle import bundle, style
from pages.parts.frame.mounts import heard_from


class Named(Protocol):
    """What has a name to press."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


@cache
def _component() -> Any:
    return st.components.v2.component("headscope_examples", css=style("examples"), js=bundle("examples"))


def row(
    label: str, offered: Sequence[T], text_of: Callable[[T], str], choose: Callable[[T], None], key: str
) -> None:
    """Draw the names, with their texts for who points at one; `choose` is called with the one that is pressed."""
    _component()(
        key=key,
        data={"label": label, "offered": [[one.name, text_of(one)] for one in offered]},
        width="content",
        on_chosen_change=partial(_choose, key, {one.name: one for one in offered}, choose),
    )


def _choose(key: str, offered: Mapping[str, T], choose: Callable[[T], None]) -> None:
    """A browser may send what is not offered."""
    pressed = heard_from(key, "chosen")
    if isinstance(pressed, str) and pressed in offered:
        choose(offered[pressed])
