"""A row of options that the address owns; an option that does not exist is said and stays in the address.

Streamlit takes an unknown value out of the address when a bound control is drawn, so the control is then another one
with nothing chosen, until the user chooses.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from pages.parts.frame import state
from pages.parts.frame.page_text import quoted, say

T = TypeVar("T", str, int)


def unknown_option(key: str, options: Sequence[object]) -> str:
    """Return what the address asks for where that is none of the options; else empty."""
    asked = state.own(key, "")
    return "" if asked in map(str, options) else asked


def say_unknown(key: str, options: Sequence[object], first: object, kind: str = "notice") -> None:
    """Say that the address asks for an option that does not exist, and what is shown instead."""
    if asked := unknown_option(key, options):
        say(f"Unknown {key} {quoted(asked)} in the link. Showing “{first}”.", kind)


def option_row(
    label: str, options: Sequence[T], key: str, *, first: T | None = None, quiet: bool = False, **look: Any
) -> T:
    """Draw a row of options and return the chosen one, at first `first`; `quiet`: the page says what is unknown."""
    standard = options[0] if first is None else first
    if not unknown_option(key, options):
        chosen = st.segmented_control(
            label, options, default=standard, required=True, key=key, bind="query-params", **look
        )
        return chosen if chosen in options else standard
    if not quiet:
        say_unknown(key, options, standard)
    st.segmented_control(label, options, **unbound(key), **look)
    return standard


def unbound(key: str) -> dict[str, Any]:
    """Return the options of a control in place of a bound one: what is chosen in it goes into the address."""
    return {"key": f"{key}-unknown", "on_change": partial(_settle, key)}


def _settle(key: str) -> None:
    if chosen := st.session_state[f"{key}-unknown"]:
        st.query_params[key] = str(chosen)
