"""The only writer of session state and URL: what a click changes. Every function is a callback or ends a page."""

from collections.abc import Sequence

import streamlit as st

from pages.parts import presets
from pages.parts.request import View, query_of

# What the controls hold, by the name it has in the link.
KEPT = ("text", "pair", "model", "weights", "unit", "specials", "text2", "against", "model2")
# These belong to a view, not to a control, so the menu's links carry them from page to page.
CARRIED = ("head", "pin", "to")


def begin(key: str, value: str) -> None:
    """The value a control starts with, unless the link or the reader has given another."""
    st.session_state.setdefault(key, value)


def enter(page: str) -> None:
    """Hand the controls' values over to the page the reader has come to.

    A control is a new one on every page; Streamlit gives it the old one's value only if that was set from here.
    """
    if st.session_state.get("page") == page:
        return
    st.session_state["page"] = page
    for key in KEPT:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def carried() -> dict[str, str]:
    """The parameters that go along to another page."""
    held = {key: st.session_state[key] for key in KEPT if st.session_state.get(key)}
    return held | {key: st.query_params[key] for key in CARRIED if key in st.query_params}


def keep(chosen: View) -> None:
    """Put the view into the URL, so that the browser's address is always a link to what is seen."""
    wanted = query_of(chosen)
    for key in CARRIED:
        if key not in wanted:
            st.query_params.pop(key, None)
        elif st.query_params.get(key) != wanted[key]:
            st.query_params[key] = wanted[key]


def choose_head(name: str) -> None:
    """Another head, everything else as it is; `name` counts from 1 ("4-2")."""
    st.query_params["head"] = name


def open_text(text: str, pair: str = "") -> None:
    """Put a sentence into the box, as if the reader had typed it; its view opens afresh."""
    st.session_state["text"], st.session_state["pair"] = text, pair
    for key in CARRIED:
        st.query_params.pop(key, None)


def open_pair(pair: presets.MinimalPair) -> None:
    """Put both sentences of a minimal pair into their boxes."""
    open_text(pair.a)
    st.session_state["text2"], st.session_state["against"] = pair.b, "sentence"


def forget_words() -> None:
    """Positions in one sentence mean nothing in the next."""
    for key in ("pin", "to"):
        st.query_params.pop(key, None)


def present(on: bool) -> None:
    """Enter or leave presenter mode."""
    if on:
        st.query_params["present"] = "1"
    else:
        st.query_params.pop("present", None)


def study(step: int, done: Sequence[str]) -> None:
    """The step of the lesson and the exercises solved: in the link, and kept while other pages are open."""
    st.session_state["lesson"] = (step, tuple(done))
    st.query_params["step"] = str(step)
    if done:
        st.query_params["done"] = ",".join(done)
