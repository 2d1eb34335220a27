"""Streamlit's controls whose value is a URL parameter, also while another screen is drawn.

A control bound by `bind="query-params"` takes its parameter out of the URL once it is not drawn; most of these count
on other screens, too. In: a parameter. Out: its value. `change` writes a choice (`changes.change_link` can undo it).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.parts.frame import state
from pages.parts.frame.option_row import say_unknown

Change = Callable[[Mapping[str, str | None]], None]


def linked(
    control: Callable[..., Any],
    label: str,
    key: str,
    value: object,
    *,
    first: object = None,
    change: Change = state.change,
    as_text: Callable[[Any], str] = str,
    **look: Any,
) -> None:
    """Draw a control with this value; a choice goes to the URL's `key`, but for `first`, which stands for none."""
    widget = f"inside-{key}"
    st.session_state[widget] = value
    control(label, key=widget, on_change=_write, args=(key, widget, first, change, as_text), **look)


def _write(key: str, widget: str, first: object, change: Change, as_text: Callable[[Any], str]) -> None:
    value = st.session_state[widget]
    change({key: None if value in (None, first) else as_text(value)})


def switch(label: str, key: str, *, first: bool, change: Change = state.change) -> bool:
    """Draw a toggle and return whether it is on."""
    value = is_on(key, first=first)
    linked(st.toggle, label, key, value, first=first, change=change, as_text=lambda on: str(on).lower())
    return value


def is_on(key: str, *, first: bool) -> bool:
    """Return whether the URL has a toggle on."""
    return {"true": True, "false": False}.get(state.params().get(key, "").lower(), first)


def choice(label: str, key: str, options: Sequence[str], width: int) -> None:
    """Draw a box with these options; the first is not in the URL."""
    say_unknown(key, options, options[0])
    value = state.own_part(key, options)
    linked(st.selectbox, label, key, value, first=options[0], options=options, width=width)


@dataclass(frozen=True)
class Field:
    """A whole number in the URL: its key, its label, what it is at first, and its limits."""

    key: str
    label: str
    first: int
    minimum: int
    maximum: int

    def in_link(self) -> int:
        """Return the URL's number; the first where it has none, or one out of the limits."""
        text = state.params().get(self.key, "")
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else self.first
        return value if self.minimum <= value <= self.maximum else self.first


def number_fields(fields: Iterable[Field]) -> None:
    """Draw a box for each number."""
    for field in fields:
        limits: dict[str, Any] = {"min_value": field.minimum, "max_value": field.maximum, "width": 150}
        linked(st.number_input, field.label, field.key, field.in_link(), first=field.first, **limits)
