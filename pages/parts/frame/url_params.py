"""The URL is the only place that stores what the user asks for.

Controls are bound to it (`bind="query-params"`); pictures and links change it in the browser (assets/js/address.js);
callbacks of buttons and boards change it here. A run of a page reads it and draws.
"""

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.parts.frame.links import NEW_LINE
from pages.parts.frame.pages import CARRIED

# Parameters that a control of the frame owns.
BOUND = frozenset({"text", "pair", "text2", "weights", "unit", "specials", "against", "attention"})
WHOLE = "whole-page"

# Ends the name under which a session keeps that a control is not bound: see option_row.
LOOSE = "-loose"


def params() -> dict[str, str]:
    """Return the URL's parameters without those that are empty, but for an empty text."""
    all_params = st.query_params.to_dict()
    return {key: value for key, value in all_params.items() if value or key in ("text", "text2")}


def carried() -> dict[str, str]:
    """Return those that go along to another page."""
    return {key: value for key, value in params().items() if key in CARRIED}


def page_param(key: str, first: str) -> str:
    """Return the value of a page's own control before it is drawn."""
    return params().get(key, first)


def page_part(key: str, parts: Sequence[str]) -> str:
    """Return the value of a row of parts before it is drawn: the first for one that is none of them."""
    value = page_param(key, parts[0])
    return value if value in parts else parts[0]


def is_presented() -> bool:
    """Return whether the page is in presenter mode."""
    return params().get("present") == "1"


def change(changes: Mapping[str, str | None]) -> None:
    """Set parameters of the address, or with None take them away; for callbacks. It is one step of the history.

    Streamlit makes a step of every message about the address, and a removal is one of its own: where something is set
    as well, what goes is emptied.
    """
    bound = {key for key in changes.keys() & BOUND if f"{key}{LOOSE}" not in st.session_state}
    for key in bound:
        st.session_state[key] = changes[key] or ""
    free = {key: value for key, value in changes.items() if key not in bound}
    in_url = st.query_params.to_dict()
    new = {key: value or "" for key, value in free.items() if (value or "") != in_url.get(key, "")}
    if len(new) == 1 and "" in new.values():
        del st.query_params[next(iter(new))]
    elif new:
        st.query_params.update(new)


def put(text: str, pair: str = "") -> None:
    """Put a text into the box, as if it had been typed; for callbacks."""
    st.session_state[WHOLE] = pair != (st.session_state.get("pair") or "")
    change({"text": text.replace("\n", NEW_LINE), "pair": pair})


def whole_page() -> bool:
    """Return whether the menu, too, has to be drawn again, since `put` has changed what it holds; asked once."""
    return bool(st.session_state.pop(WHOLE, False))
