"""The only writer of session state and of the link. Controls and address always say the same.

`enter` takes what the link says at the start of a run, `link` writes it back at the end; the rest are clicks.
Streamlit's own binding is not used: it forgets the values of a link on the way to another page.
"""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.parts.frame import presets
from pages.parts.frame.request import (
    AGAINST,
    MEASURES,
    SPECIALS,
    UNITS,
    WEIGHTS,
    View,
    models,
    query_of,
    refusal,
)

# What the controls hold, by the name it has in the link; a page's own come last.
CHOICES = ("model", "weights", "unit", "specials", "measure", "against", "model2")
KEPT = ("text", "pair", "model", "weights", "unit", "specials", "measure", "against", "text2", "model2")
OF_COMPARE = ("against", "text2", "model2")
# These belong to the picture, not to a control.
OF_THE_VIEW = ("head", "pin", "to")
LINK_CHARS = 4_000


def enter() -> list[str]:
    """Give every control its value: the reader's, else the link's, else the first; returns what was refused.

    When the reader goes back or forward, the link decides. A control is a new one on every page, so its value is
    handed over each time. A browser can send what no control offers, so choices are checked each time.
    """
    query, said = st.query_params.to_dict(), list[str]()
    back_or_forward = getattr(get_script_run_ctx(), "is_history_navigation", False)
    for key in KEPT:
        value = None if back_or_forward else st.session_state.get(key)
        if value is None:
            value = query.get(key, _first(key))
        problem = refusal(key, value) if key in CHOICES else None
        if problem:
            said.append(problem)
        st.session_state[key] = _first(key) if problem else value
    return said


def _first(key: str) -> str:
    if key == "text2":
        return presets.partner(st.session_state["text"])
    first = {"text": presets.TIRED, "weights": WEIGHTS[0], "unit": UNITS[0], "specials": SPECIALS[0]}
    first["measure"] = MEASURES[0]
    return {**first, "against": AGAINST[0], "model": models()[0], "model2": models()[0]}.get(key, "")


def link(*, comparing: bool) -> None:
    """Put what the controls say into the address; what is first anyway is left out, so that links stay short."""
    for key in KEPT:
        value = st.session_state.get(key) or ""
        short = len(value) <= LINK_CHARS and (comparing or key not in OF_COMPARE)
        if short and (key in ("text", "text2") or value != _first(key)):
            if st.query_params.get(key) != value:
                st.query_params[key] = value
        else:
            st.query_params.pop(key, None)


def keep(chosen: View) -> None:
    """Put the view into the link, so that the browser's address always opens what is seen."""
    wanted = query_of(chosen)
    for key in OF_THE_VIEW:
        if key not in wanted:
            st.query_params.pop(key, None)
        elif st.query_params.get(key) != wanted[key]:
            st.query_params[key] = wanted[key]


def choose_head(name: str) -> None:
    """Another head, everything else as it is; `name` counts from 1 ("4-2")."""
    st.query_params["head"] = name


def carried() -> dict[str, str]:
    """The parameters that go along to another page."""
    query = st.query_params.to_dict()
    return {key: query[key] for key in (*KEPT, *OF_THE_VIEW) if key in query}


def open_text(text: str, pair: str = "") -> None:
    """Put a sentence into the box, as if the reader had typed it; its view opens afresh."""
    st.session_state["text"], st.session_state["pair"] = text, pair
    st.session_state.pop("text2", None)
    for key in OF_THE_VIEW:
        st.query_params.pop(key, None)


def open_pair(pair: presets.MinimalPair) -> None:
    """Put both sentences of a minimal pair into their boxes."""
    open_text(pair.a)
    st.session_state["text2"], st.session_state["against"] = pair.b, "sentence"


def forget_words() -> None:
    """Positions in one sentence mean nothing in the next."""
    for key in ("pin", "to"):
        st.query_params.pop(key, None)


def another_sentence() -> None:
    """The reader typed another sentence: what it was compared with is no longer its twin."""
    forget_words()
    st.session_state.pop("text2", None)


def present(on: bool) -> None:
    """Enter or leave presenter mode."""
    if on:
        st.query_params["present"] = "1"
    else:
        st.query_params.pop("present", None)
