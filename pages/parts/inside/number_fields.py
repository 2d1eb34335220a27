"""Boxes for whole numbers whose values are kept elsewhere: in the link, or with the session.

In: which numbers, and what is told. Out: the boxes on the page.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import streamlit as st

from pages.parts.frame import state

Told = Callable[[str, int], None]


@dataclass(frozen=True)
class Field:
    """A whole number that a reader types: its key, its name on the screen, what it is at first, and its reach."""

    key: str
    label: str
    first: int
    least: int
    most: int

    def in_link(self) -> int:
        """What the link says; the first where it says none, or one out of reach."""
        text = state.params().get(self.key, "")
        asked = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else self.first
        return asked if self.least <= asked <= self.most else self.first


def ask(fields: Iterable[Field], values: Mapping[str, int], told: Told) -> None:
    """Draw the boxes with the numbers in them now; `told` is called with a key and its new number."""
    for field in fields:
        widget = f"inside-field-{field.key}"
        st.session_state[widget] = values[field.key]
        st.number_input(
            field.label,
            field.least,
            field.most,
            key=widget,
            width=150,
            on_change=_typed,
            args=(field.key, widget, told),
        )


def _typed(key: str, widget: str, told: Told) -> None:
    told(key, int(st.session_state[widget]))
