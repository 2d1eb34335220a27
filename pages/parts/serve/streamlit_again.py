"""What a page draws again as it drew it before: the same messages, without making them anew.

Streamlit makes every element of a part that runs, whatever has changed; after a new sentence most of them say what they
said before.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator_singletons import get_dg_singleton_instance
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext, ThreadState
from streamlit.runtime.scriptrunner_utils.shared_run_state import SharedRunState
from streamlit.runtime.state.safe_session_state import SafeSessionState

AGAIN = "drawn-again"


def parts() -> dict[str, bool]:
    """What is needed of Streamlit here, by name, and whether it is there."""
    shared = SharedRunState.__init__.__code__.co_names
    return {
        "ScriptRunContext.enqueue": hasattr(ScriptRunContext, "enqueue"),
        "ForwardMsg.hash": "hash" in ForwardMsg.DESCRIPTOR.fields_by_name,
        "SafeSessionState.register_widget": hasattr(SafeSessionState, "register_widget"),
        "SharedRunState.widget_ids_this_run": {"widget_ids_this_run", "widget_user_keys_this_run"}
        <= set(shared),
        "DeltaGenerator._active_dg": hasattr(type(get_dg_singleton_instance().main_dg), "_active_dg"),
    }


@contextmanager
def noted() -> Iterator[list[ForwardMsg]]:
    """The messages in which this run draws what it draws within it, for `draw_again`."""
    drawn, ctx = list[ForwardMsg](), get_script_run_ctx()
    if ctx is None:
        yield drawn
        return
    sent = ctx.enqueue

    def note(message: ForwardMsg) -> None:
        drawn.append(message)
        sent(message)

    vars(ctx)["enqueue"] = note
    try:
        yield drawn
    finally:
        del vars(ctx)["enqueue"]


def draw_again(link: ForwardMsg, query: str) -> None:
    """Draw a page link that was `noted` where it stands, also in a fragment that runs alone, with other parameters.

    Streamlit would look up the page and draw a wrapper around an element beyond the fragment.
    """
    message, ctx = ForwardMsg(), get_script_run_ctx()
    message.CopyFrom(link)
    message.ClearField("hash")
    message.delta.new_element.page_link.query_string = query
    if ctx is not None:
        ctx.enqueue(message)


@dataclass(frozen=True)
class Drawn:
    """A part of a page as a run drew it: of what and where, in which messages, with which controls and names."""

    of: Hashable
    messages: tuple[ForwardMsg, ...]
    controls: tuple[
        tuple[Any, str | None, Any], ...
    ]  # what describes it, its key, and what it was found to say
    ids: frozenset[str]
    keys: frozenset[str]
    steps: int  # places that it takes in its container


def unless_drawn(name: str, inputs: Hashable, draw: Callable[[], object]) -> None:
    """Draw a part of the page; or, where this reader's last run drew it in the same place of the same `inputs` and its
    controls say the same, send what that run sent.

    `inputs` is all that `draw` and the callbacks of its controls read, other than what these controls say.
    """
    ctx, cursor = get_script_run_ctx(), get_dg_singleton_instance().main_dg._active_dg._cursor
    if ctx is None or cursor is None:
        draw()
        return
    thread = ThreadState.get()
    where = (cursor.root_container, cursor.parent_path, cursor.index)
    of = (inputs, where, thread.fragment_id, thread.active_script_hash)
    memory: dict[str, Drawn] = st.session_state.setdefault(AGAIN, {})
    before = memory.get(name)
    if before is not None and before.of == of and _says_the_same(ctx, before):
        _send(ctx, before)
        for _ in range(before.steps):
            cursor.lock_element()
        return
    shared = ctx.shared
    ids, keys = shared.widget_ids_this_run.snapshot(), shared.widget_user_keys_this_run.snapshot()
    memory.pop(name, None)  # also where the run breaks off
    with noted() as messages, _registered(ctx) as controls:
        draw()
    memory[name] = Drawn(
        of,
        tuple(messages),
        tuple(controls),
        shared.widget_ids_this_run.snapshot() - ids,
        shared.widget_user_keys_this_run.snapshot() - keys,
        cursor.index - where[2],
    )


@contextmanager
def _registered(ctx: ScriptRunContext) -> Iterator[list[tuple[Any, str | None, Any]]]:
    """The controls that this run registers within it."""
    found, register = list[tuple[Any, str | None, Any]](), ctx.session_state.register_widget

    def note(metadata: Any, key: str | None) -> Any:
        result = register(metadata, key)
        found.append((metadata, key, result))
        return result

    vars(ctx.session_state)["register_widget"] = note
    try:
        yield found
    finally:
        del vars(ctx.session_state)["register_widget"]


def _says_the_same(ctx: ScriptRunContext, before: Drawn) -> bool:
    """Register the controls, without which Streamlit would forget them; whether they say what they said then."""
    register = ctx.session_state.register_widget
    return all(register(metadata, key) == result for metadata, key, result in before.controls)


def _send(ctx: ScriptRunContext, before: Drawn) -> None:
    for one in before.ids:
        ctx.shared.widget_ids_this_run.check_and_add(one)
    for key in before.keys:
        ctx.shared.widget_user_keys_this_run.check_and_add(key)
    for message in before.messages:
        ctx.enqueue(message)
