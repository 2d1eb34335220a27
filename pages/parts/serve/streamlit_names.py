"""What a browser has already is sent as its name: of that the server keeps its own account.

A browser keeps what it was sent through two more runs, and says with each request what it has. Streamlit believes that.
Between the request and the answer, though, another run may end, with which the browser lets go of a message; it cannot
look up that message's name, takes that for the end of the connection, and says so. It happens when a head is pressed
and something else right after it: two runs, of which the first shows the page as it was.
"""

from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from streamlit import config
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_cache import create_reference_msg

FINISHED = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}


def parts() -> dict[str, bool]:
    """What is needed of Streamlit here, by name, and whether it is there."""
    metadata = ForwardMsg.DESCRIPTOR.fields_by_name["metadata"].message_type
    run = metadata.fields_by_name.get("run")
    return {
        "Runtime._send_message": hasattr(Runtime, "_send_message"),
        "ForwardMsg.metadata.cacheable": "cacheable" in metadata.fields_by_name,
        "ForwardMsg.metadata.run": run is not None and "fragment_ids" in run.message_type.fields_by_name,
        "ClientState.cached_message_hashes": "cached_message_hashes" in ClientState.DESCRIPTOR.fields_by_name,
    }


class Held:
    """The messages that a browser holds, as of the last one that went to it: `ForwardMessageCache` of its script."""

    def __init__(self, age: int) -> None:
        self._age = age
        self._runs = 0
        self._used: dict[str, int] = {}  # the number of runs that had ended when it was last used
        self._part: dict[str, str] = {}  # the part of the page that it first came with

    def sent(self, message: ForwardMsg) -> bool:
        """Note that this message goes out next; whether the browser has it already."""
        if message.WhichOneof("type") == "script_finished":
            if message.script_finished in FINISHED:
                self._run_ended(set(message.metadata.run.fragment_ids))
            return False
        if not (message.metadata.cacheable and message.hash):
            return False
        there = message.hash in self._used
        self._used[message.hash] = self._runs
        if not there:
            self._part[message.hash] = message.delta.fragment_id
        return there

    def _run_ended(self, parts: set[str]) -> None:
        """The browser lets go of what it has not used for long; when a part alone has run, of what is that part's."""
        self._runs += 1
        for name in [name for name, run in self._used.items() if self._runs - run > self._age]:
            if not parts or self._part[name] in parts:
                del self._used[name], self._part[name]


@cache
def send_names() -> None:
    """From now on; before the first visitor. A client that never says what it holds is sent everything whole."""
    request, send = AppSession.request_rerun, Runtime._send_message
    age = int(config.get_option("global.maxCachedMessageAge"))
    all_held: WeakKeyDictionary[Any, Held] = WeakKeyDictionary()

    def request_rerun(session: AppSession, client_state: ClientState | None) -> None:
        if client_state is not None and client_state.cached_message_hashes:
            session.__dict__["_takes_names"] = True
            # Streamlit itself would believe it.
            client_state.ClearField("cached_message_hashes")
        request(session, client_state)

    def send_message(runtime: Runtime, info: Any, message: ForwardMsg) -> None:
        # One socket's: what was on its way to an earlier one may have been lost.
        held = all_held.get(info.client)
        if held is None:
            held = all_held[info.client] = Held(age)
        if held.sent(message) and "_takes_names" in info.session.__dict__:
            message = create_reference_msg(message)
        send(runtime, info, message)

    AppSession.request_rerun = request_rerun  # type: ignore[method-assign, assignment]
    Runtime._send_message = send_message  # type: ignore[method-assign, assignment]
