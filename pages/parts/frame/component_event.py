"""Events of components that a page has mounted in the browser, read by callbacks."""

from collections.abc import Mapping

import streamlit as st


def component_event(key: str, event: str) -> object:
    """Return the value of an event, which may be anything; None once its component has left the page.

    A browser that does not know that yet still reports the event.
    """
    mount = st.session_state.get(key)
    return mount.get(event) if isinstance(mount, Mapping) else None
