"""Every private part of Streamlit that the app leans on, in one place, checked before the first visitor.

A Streamlit that lacks one of them is refused at the start: without them the guard would let through what it is there
to stop.
"""

from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import streamlit
from google.protobuf.message import DecodeError
from starlette.formparsers import MultiPartParser
from streamlit import cli_util
from streamlit.cursor import Cursor
from streamlit.dataframe_util import convert_anything_to_arrow_bytes
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime, app_session
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import ScriptRunner, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import (
    ScriptRequest,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.common import GENERATED_ELEMENT_ID_PREFIX
from streamlit.runtime.state.query_params import QueryParams
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import Serialized, WStates
from streamlit.runtime.state.session_state_proxy import get_session_state
from streamlit.web.server import server_util

from pages.parts.serve import (
    streamlit_again,
    streamlit_controls,
    streamlit_links,
    streamlit_loop,
    streamlit_names,
    streamlit_state,
)
from pages.parts.serve.patience import impatient
from pages.parts.serve.streamlit_loop import joining
from pages.parts.serve.turns import mine, running

__all__ = ["Serialized", "WStates"]  # for what reads them

KINDS = {"rerun_script", "stop_script", "app_heartbeat", "file_urls_request", "backend_operation_request"}
OPERATIONS = {"deferred_file", "dataframe_chunk"}
END_BYTES = 200  # what a message that says so has at most


def missing_parts() -> list[str]:
    """What this Streamlit lacks of what the app needs, a sentence each."""
    elsewhere = (
        *(streamlit_loop, streamlit_names, streamlit_links),
        *(streamlit_controls, streamlit_again, streamlit_state),
    )
    parts = {name: there for module in elsewhere for name, there in module.parts().items()} | {
        "QueryParams.discard_param_no_forward_msg": hasattr(QueryParams, "discard_param_no_forward_msg"),
        "QueryParams.get_binding_for_param": hasattr(QueryParams, "get_binding_for_param"),
        "QueryParams.unbind_widget": hasattr(QueryParams, "unbind_widget"),
        "ScriptRunContext.is_history_navigation": hasattr(ScriptRunContext, "is_history_navigation"),
        "MemoryUploadedFileManager.file_storage": hasattr(MemoryUploadedFileManager("/"), "file_storage"),
        "MemoryUploadedFileManager.remove_session_files": hasattr(
            MemoryUploadedFileManager, "remove_session_files"
        ),
        "MultiPartParser.spool_max_size": hasattr(MultiPartParser, "spool_max_size"),
        "app_session._populate_theme_msg": hasattr(app_session, "_populate_theme_msg"),
        "cli_util.open_browser": hasattr(cli_util, "open_browser"),
        "server_util.get_url": hasattr(server_util, "get_url"),
        "Cursor._transient_elements": "_transient_elements" in Cursor.__init__.__code__.co_names,
        "Runtime.is_active_session": hasattr(Runtime, "is_active_session"),
        "SafeSessionState.get_widget_states": hasattr(SafeSessionState, "get_widget_states"),
        "WStates.get_serialized": hasattr(WStates, "get_serialized"),
        "ScriptRunner._session_id": "_session_id" in ScriptRunner.__init__.__code__.co_names,
        "ScriptRequests.on_scriptrunner_ready": hasattr(ScriptRequests, "on_scriptrunner_ready"),
        "ScriptRunContext.reset": hasattr(ScriptRunContext, "reset"),
        "the kinds of BackMsg": {field.name for field in BackMsg.DESCRIPTOR.fields} >= KINDS,
        "ForwardMsg.script_finished": "script_finished" in ForwardMsg.DESCRIPTOR.fields_by_name,
        "the operations of BackMsg": _operations() >= OPERATIONS,
    }
    return [
        f"Streamlit {streamlit.__version__} lacks {name}, which HeadScope needs; install the version it pins."
        for name, there in parts.items()
        if not there
    ]


def _operations() -> set[str]:
    field = BackMsg.DESCRIPTOR.fields_by_name.get("backend_operation_request")
    return set() if field is None else {part.name for part in field.message_type.fields}


def went_back_or_forward() -> bool:
    """Whether the reader came to this view by the browser's Back or Forward."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def end_if_left() -> None:
    """End this run of a page if its reader has left, or has asked for something else: every reading of the session's
    state does that. Outside of a page nothing happens."""
    ctx = get_script_run_ctx(suppress_warning=True)
    if ctx is not None:
        _ = "anything" in ctx.session_state


def discard_params(keys: Iterable[str]) -> None:
    """Take parameters out of the link without telling the browser yet; the next change of the link does."""
    with get_session_state().query_params() as params:
        for key in keys:
            params.discard_param_no_forward_msg(key)


def leave_param(key: str) -> None:
    """Have a parameter stay in the link though its control is drawn no more; Streamlit would take it out."""
    with get_session_state().query_params() as params:
        binding = params.get_binding_for_param(key)
        if binding is not None:
            params.unbind_widget(binding.widget_id)


def message_kind(frame: bytes) -> tuple[str, str]:
    """What a browser's message asks for, and which operation; raises ValueError for what is no message."""
    try:
        message = BackMsg.FromString(frame)
    except DecodeError:
        raise ValueError("not a message of Streamlit") from None
    kind = message.WhichOneof("type") or ""
    asked = (
        message.backend_operation_request.WhichOneof("payload") if kind == "backend_operation_request" else ""
    )
    return kind, asked or ""


def ends_a_run(frame: bytes | None) -> bool:
    """Whether a message to the browser says that a run is over."""
    if not frame or len(frame) > END_BYTES:
        return False
    try:
        return bool(ForwardMsg.FromString(frame).WhichOneof("type") == "script_finished")
    except DecodeError:
        return False


def uploads() -> dict[str, dict[str, Any]]:
    """The files that readers have uploaded, by session and file; raises AttributeError where there are none."""
    manager: Any = Runtime.instance().uploaded_file_mgr
    stored: dict[str, dict[str, Any]] = manager.file_storage
    return stored


def upload_bytes() -> int:
    """What a file may have at most."""
    megabytes: int = streamlit.get_option("server.maxUploadSize")
    return megabytes * 1024**2


def keep_uploads_in_memory() -> None:
    """Have no upload pass through a file in /tmp, which it does by itself from one megabyte on; before the start."""
    MultiPartParser.spool_max_size = max(MultiPartParser.spool_max_size, upload_bytes() + 1024**2)


def is_connected(session: str) -> bool:
    """Whether the reader of a session is there now."""
    return bool(Runtime.instance().is_active_session(session))


def forget_uploads(session: str) -> None:
    """Let go of what a reader has uploaded."""
    manager: Any = Runtime.instance().uploaded_file_mgr
    manager.remove_session_files(session)


def address_at(host: str) -> str:
    """The address of the pages under that name, with the port, and what else of it is set."""
    url: str = server_util.get_url(host)
    return url


def open_page(url: str) -> None:
    """Open an address in a browser, whose messages are not printed."""
    cli_util.open_browser(url)


def limit_incoming(receive: Any, n_bytes: int) -> bool:
    """Have uvicorn refuse a message of more bytes while it arrives, in every socket from now on; whether it does.

    Streamlit gives it one limit for both directions, and what it sends is larger. `receive` is what uvicorn hands over
    at the start (ASGI's lifespan), which knows the settings of the server.
    """
    config = _config(receive)
    if not hasattr(config, "ws_max_size"):
        return False
    config.ws_max_size = n_bytes
    return True


def take_long_heads(receive: Any, n_bytes: int) -> bool:
    """Have uvicorn read requests whose address and headers have up to so many bytes, from now on; whether it does.

    By itself it refuses more than 16 kB, unless they happen to arrive at once.
    """
    config = _config(receive)
    if not hasattr(config, "h11_max_incomplete_event_size"):
        return False
    config.h11_max_incomplete_event_size = n_bytes
    return True


def limit_waiting(receive: Any, head_seconds: float, body_seconds: float) -> bool:
    """Have uvicorn close connections that do not finish a request in time, from now on; whether it does."""
    config = _config(receive)
    if not all(
        hasattr(getattr(config, "http_protocol_class", None), name)
        for name in ("connection_made", "data_received", "connection_lost", "on_response_complete")
    ):
        return False
    config.http_protocol_class = impatient(config.http_protocol_class, head_seconds, body_seconds)
    return True


def join_writes(receive: Any) -> bool:
    """Have uvicorn send what a web socket says in one go, in every socket from now on; whether it does."""
    config = _config(receive)
    protocol: Any = getattr(config, "ws_protocol_class", None)
    if not hasattr(protocol, "connection_made"):
        return False
    config.ws_protocol_class = joining(protocol)
    return True


def hide_server(receive: Any) -> None:
    """Have uvicorn's answers not say which server and whose it is."""
    config = _config(receive)
    if hasattr(config, "encoded_headers"):
        config.encoded_headers = [pair for pair in config.encoded_headers if pair[0].lower() != b"server"]


def _config(receive: Any) -> Any:
    """uvicorn's settings, from what it hands over at the start; None where another server does."""
    return getattr(getattr(receive, "__self__", None), "config", None)


def texts_sent() -> dict[str, str]:
    """What the browser says stands in the text boxes, by their keys, also those that this session has not drawn yet:
    after a restart, a lost connection or on another replica it knows more than the server."""
    ctx = get_script_run_ctx()
    if ctx is None:
        return {}
    sent = {}
    for state in ctx.session_state.get_widget_states():
        mark, _, name = state.id.partition("-")
        key = name.partition("-")[2]
        if mark == GENERATED_ELEMENT_ID_PREFIX and state.WhichOneof("value") == "string_value":
            sent[key] = state.string_value
    return sent


def warm_arrow() -> None:
    """Import what packs numbers for the browser, so that the first picture does not wait for it."""
    convert_anything_to_arrow_bytes(np.zeros(1, dtype=np.uint16))


@cache
def read_themes_once() -> None:
    """From now on; before the first visitor. Streamlit reads the settings of six themes for every run of a page, and
    they never change."""
    populate, known = app_session._populate_theme_msg, dict[str, Any]()

    def from_memory(message: Any, section: str = "theme") -> None:
        if section not in known:
            known[section] = type(message)()
            populate(known[section], section)
        if known[section].ListFields():
            message.MergeFrom(known[section])

    vars(app_session)["_populate_theme_msg"] = from_memory


def copied(cursor: Cursor, memo: dict[int, Any]) -> Cursor:
    """What `deepcopy` makes of a place on a page: all of it but a list, which is mostly empty, never changes."""
    twin: Cursor = object.__new__(type(cursor))
    vars(twin).update(vars(cursor))
    held = cursor._transient_elements
    twin._transient_elements = deepcopy(held, memo) if len(held) else type(held)()
    return twin


@cache
def copy_places_fast() -> None:
    """From now on; before the first visitor. Streamlit copies some dozens of them for every run of a fragment."""
    setattr(Cursor, "__deepcopy__", copied)  # noqa: B010 - Streamlit has none


@cache
def run_in_turns() -> None:
    """Have every run of a page wait for its turn, from now on; before the first visitor.

    A session waits before it takes what its browser asked for: what comes meanwhile is merged into one run. A run that
    a newer request breaks off goes to the end of the line, too.
    """
    run_thread, next_request, reset = (
        ScriptRunner._run_script_thread,
        ScriptRequests.on_scriptrunner_ready,
        ScriptRunContext.reset,
    )

    def in_turns(runner: ScriptRunner) -> None:
        with running(runner._session_id):
            run_thread(runner)

    def when_called(requests: ScriptRequests) -> ScriptRequest:
        if (run := mine()) is not None:
            run.end()
            if requests._state == ScriptRequestType.RERUN:
                run.begin()
        return next_request(requests)

    def begin(context: ScriptRunContext, *values: Any, **named: Any) -> None:
        if (run := mine()) is not None:
            if not run.fresh:
                run.begin()
            run.fresh = False
        reset(context, *values, **named)

    for where, name, how in (
        (ScriptRunner, "_run_script_thread", in_turns),
        (ScriptRequests, "on_scriptrunner_ready", when_called),
        (ScriptRunContext, "reset", begin),
    ):
        setattr(where, name, how)
