"""Streamlit's controls whose value stands in the link, whether or not they are drawn on this screen.

In: a key of the link. Out: what the link says. `told` is how a change is written (`changes.change_link` can undo it).
"""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.parts.frame import state
from pages.parts.frame.option_row import say_unknown

Told = Callable[[Mapping[str, str | None]], None]


def switch(label: str, key: str, *, first: bool, told: Told = state.change, disabled: bool = False) -> bool:
    """On or off; the link has what is not as at first."""
    widget = f"inside-linked-{key}"
    value = on(key, first=first)
    st.session_state[widget] = value
    st.toggle(label, key=widget, on_change=_switched, args=(key, widget, first, told), disabled=disabled)
    return value


def on(key: str, *, first: bool) -> bool:
    """What the link says of a switch."""
    return {"true": True, "false": False}.get(state.params().get(key, "").lower(), first)


def _switched(key: str, widget: str, first: bool, told: Told) -> None:
    value = bool(st.session_state[widget])
    told({key: None if value == first else str(value).lower()})


def choice(label: str, key: str, options: Sequence[str], width: int) -> str:
    """One of a few; the first is not in the link."""
    widget = f"inside-linked-{key}"
    value = state.own_part(key, options)
    say_unknown(key, options, options[0])
    st.session_state[widget] = value
    st.selectbox(label, options, key=widget, width=width, on_change=_chosen, args=(key, widget, options[0]))
    return value


def _chosen(key: str, widget: str, first: str) -> None:
    value = st.session_state[widget]
    state.change({key: None if value in (None, first) else str(value)})
