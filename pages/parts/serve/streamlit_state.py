"""The state of a reader's session, read with less ado than Streamlit reads it."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import ScriptRunner, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType
from streamlit.runtime.state.common import is_element_id
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX, SessionState


def parts() -> dict[str, bool]:
    """What is needed of Streamlit here, by name, and whether it is there."""
    return {
        "SafeSessionState.filtered_state": isinstance(
            getattr(SafeSessionState, "filtered_state", None), property
        ),
        "SafeSessionState._yield_callback": {"_state", "_lock", "_yield_callback"}
        <= set(SafeSessionState.__annotations__),
        "ScriptRunner._requests": "_requests" in ScriptRunner.__init__.__code__.co_names,
        "ScriptRunner._maybe_handle_execution_control_request": hasattr(
            ScriptRunner, "_maybe_handle_execution_control_request"
        ),
        "ScriptRequests._state": "_state" in ScriptRequests.__init__.__code__.co_names,
    }


def values_of(keys: Iterable[str]) -> dict[str, Any]:
    """What the session's state has of these keys. Read one by one each of them would ask whether the reader wants
    something else, and wait for the lock."""
    ctx = get_script_run_ctx(suppress_warning=True)
    if ctx is None:
        return {key: st.session_state[key] for key in keys if key in st.session_state}
    safe, found = ctx.session_state, dict[str, Any]()
    safe._yield_callback()
    with safe._lock:
        for key in keys:
            try:
                found[key] = safe._state[key]
            except KeyError:
                continue
    return found


class Looked(Mapping[str, Any]):
    """What a session's state has under the keys that a page gives: the same as Streamlit's own dictionary of all of
    it, which is made for every text box to look up one key."""

    def __init__(self, state: SessionState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> Any:
        if is_element_id(key) or key.startswith(STREAMLIT_INTERNAL_KEY_PREFIX):
            raise KeyError(key)
        return self._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._state.filtered_state)

    def __len__(self) -> int:
        return len(self._state.filtered_state)


@cache
def look_up_single_keys() -> None:
    """From now on; before the first visitor."""

    def filtered(safe: SafeSessionState) -> Looked:
        return Looked(safe._state)

    setattr(SafeSessionState, "filtered_state", property(filtered))  # noqa: B010 - mypy lets no property be assigned


@cache
def ask_for_requests_fast() -> None:
    """From now on; before the first visitor. At every message and every reading of the session's state a run asks
    whether its reader wants something else: mostly not, and what else Streamlit looks for there, trouble in fragments
    that run side by side, this app has none of."""
    handle = ScriptRunner._maybe_handle_execution_control_request

    def fast(runner: ScriptRunner) -> None:
        if runner._requests._state is not ScriptRequestType.CONTINUE:
            handle(runner)

    setattr(ScriptRunner, "_maybe_handle_execution_control_request", fast)  # noqa: B010
