"""A row of options that the address owns; an option that does not exist is said and stays in the address.

Streamlit takes an unknown value out of the address when a bound control is drawn, so the control is then not
bound: it follows the address, and nothing is chosen until the user chooses.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from pages.parts.frame import url_params
from pages.parts.frame.page_text import quoted, say

T = TypeVar("T", str, int)


def unknown_option(key: str, options: Sequence[object]) -> str:
    """Return what the address asks for where that is none of the options; else empty."""
    value = url_params.page_param(key, "")
    return "" if value in map(str, options) else value


def say_unknown(key: str, options: Sequence[object], first: object) -> None:
    """Say that the address asks for an option that does not exist, and what is shown instead."""
    if value := unknown_option(key, options):
        say(f"Unknown {key} {quoted(value)} in the link. Showing “{first}”.", "notice")


def option_row(
    label: str, options: Sequence[T], key: str, *, first: T | None = None, quiet: bool = False, **look: Any
) -> T:
    """Draw a row of options and return the chosen one, at first `first`; `quiet`: the page says what is unknown."""
    standard = options[0] if first is None else first
    if not is_loose(key, options):
        chosen = st.segmented_control(
            label, options, default=standard, required=True, key=key, bind="query-params", **look
        )
        return chosen if chosen in options else standard
    if not quiet:
        say_unknown(key, options, standard)
    return loose(st.segmented_control, label, options, key, standard, **look)


def is_loose(key: str, options: Sequence[object]) -> bool:
    """Return whether the control is not bound: the address asks for no option, or did so before in this session, which
    Streamlit would go back to."""
    if unknown_option(key, options):
        st.session_state[f"{key}{url_params.LOOSE}"] = True
    return f"{key}{url_params.LOOSE}" in st.session_state


def loose(
    control: Callable[..., Any], label: str, options: Sequence[T], key: str, standard: T, **look: Any
) -> T:
    """Draw a control that follows the address and changes it; nothing is chosen where it asks for no option."""
    in_url = url_params.page_param(key, "")
    value = next((option for option in options if str(option) == in_url), None if in_url else standard)

    def write(chosen: T | None) -> None:
        if chosen:
            url_params.change({key: str(chosen)})

    follow_url(control, label, f"{key}-chosen", value, write, options=options, **look)
    return standard if value is None else value


def follow_url(
    control: Callable[..., Any],
    label: str,
    widget: str,
    value: object,
    write: Callable[[Any], None],
    **look: Any,
) -> Any:
    """Draw a control of that key that shows the URL's `value`; return what it shows. `write` gets the user's choice.

    For what `bind="query-params"` cannot do: a value that counts while its control is not drawn, one among no options,
    and a choice that changes several parameters.
    """
    st.session_state[widget] = value
    return control(label, key=widget, on_change=lambda: write(st.session_state[widget]), **look)
