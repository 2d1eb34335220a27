"""What a page put into a control is not taken back by what the browser asked for before it heard of it.

Every request brings the values of all controls, and the next run begins with those. A reader who changes a word in the
picture and touches a head right after it, or a part of the page that runs by itself each second, sends the text from
before along: the word would be back, and what was typed lost.
"""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any
from weakref import WeakKeyDictionary

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.session_state import SessionState

ON_ITS_WAY = 3.0  # seconds after a change in which a request may still come from before it
BY_ITSELF = "by-itself"  # among the controls of a request: no reader asked for it
PICTURE = "json_value"  # what a component says of itself
# What a page can put in: of a file, for one, it cannot.
PUT_IN = {f"{kind}_value" for one in ("bool", "int", "double", "string") for kind in (one, f"{one}_array")}


def parts() -> dict[str, bool]:
    """What is needed of Streamlit here, by name, and whether it is there."""
    return {
        "RerunData.is_auto_rerun": {"is_auto_rerun", "widget_states"} <= set(RerunData.__dataclass_fields__),
        "ScriptRequests._request_rerun_locked": hasattr(ScriptRequests, "_request_rerun_locked"),
        "script_requests._has_active_trigger_value": hasattr(script_requests, "_has_active_trigger_value"),
        "SessionState.set_widgets_from_proto": hasattr(SessionState, "set_widgets_from_proto"),
        "SessionState._widget_changed": hasattr(SessionState, "_widget_changed"),
        "SessionState._old_state": {"_old_state", "_new_session_state", "_new_widget_state", "_key_id_mapper"}
        <= set(SessionState.__dataclass_fields__),
        "ScriptRunContext.pages_manager": "pages_manager" in ScriptRunContext.__annotations__,
    }


@dataclass
class Heard:
    """What a browser said of each control last (a hash of it), and since when it repeats what its page has changed."""

    said: dict[str, int] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)

    def behind(
        self, states: Iterable[WidgetState], differs: Callable[[str], bool], now: float
    ) -> Collection[str]:
        """The controls of which a request says what stood in them before the page changed them; `differs` tells
        whether it says something else than the page has.

        It repeats that of them, and has another cause: each that a reader changes makes a request of its own.
        """
        before, self.said = self.said, {}
        repeated, caused = list[str](), False
        for state in states:
            kind = state.WhichOneof("value") or ""
            if "trigger" in kind:
                caused |= script_requests._has_active_trigger_value(state)
                continue
            now_said = self.said[state.id] = hash(state.SerializeToString(deterministic=True))
            last = before.get(state.id)
            if kind == PICTURE:
                caused |= last != now_said
            elif last is not None and kind in PUT_IN and differs(state.id):
                if last == now_said:
                    repeated.append(state.id)
                else:
                    caused = True
        self.since = {control: self.since.get(control, now) for control in repeated}
        return [control for control in repeated if caused and now - self.since[control] < ON_ITS_WAY]


@cache
def keep_controls() -> None:
    """From now on; before the first visitor."""
    listen, take = SessionState.set_widgets_from_proto, ScriptRequests._request_rerun_locked
    sessions: WeakKeyDictionary[Any, Heard] = WeakKeyDictionary()  # a session has one manager of its pages

    @wraps(take)
    def marked(requests: ScriptRequests, new: RerunData) -> bool:
        """A part that runs by itself says so among the controls: merged with another request it would be forgotten."""
        if new.is_auto_rerun and new.widget_states is not None:
            new.widget_states.widgets.add(id=BY_ITSELF, trigger_value=True)
        return take(requests, new)

    @wraps(listen)
    def hear(state: SessionState, fresh: WidgetStates) -> None:
        listen(state, fresh)
        state._new_widget_state.states.pop(BY_ITSELF, None)
        ctx = get_script_run_ctx()
        if ctx is None:
            return
        heard, keys = sessions.setdefault(ctx.pages_manager, Heard()), state._key_id_mapper.id_key_mapping

        def differs(control: str) -> bool:
            return control in keys and control in state._old_state and state._widget_changed(control)

        behind = heard.behind(fresh.widgets, differs, time.monotonic())
        for control in () if ctx.is_history_navigation else behind:
            del state._new_widget_state[control]
            state[keys[control]] = state._old_state[control]  # so the browser is told again

    SessionState.set_widgets_from_proto = hear  # type: ignore[method-assign, assignment]
    ScriptRequests._request_rerun_locked = marked  # type: ignore[method-assign, assignment]
