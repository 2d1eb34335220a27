"""What something that the page has mounted in the browser tells, read by its callbacks."""

from collections.abc import Mapping

import streamlit as st


def component_event(key: str, event: str) -> object:
    """What the mount of that key says of an event, which may be anything; None where it is no longer on the page: a
    browser that does not yet know still tells of it."""
    mount = st.session_state.get(key)
    return mount.get(event) if isinstance(mount, Mapping) else None
