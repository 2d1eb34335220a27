"""How what runs of pages say goes through the event loop to the browsers: a few at a time, not one by one.

Streamlit wakes the loop for every message of a run, goes around it for every message that is sent, and sends each by
itself. Each of these lets go of the interpreter and has to wait for it again, beside runs that hold it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import cache, partial
from threading import Lock
from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from streamlit.runtime import runtime as runtime_module
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

PARCEL = 0.006  # seconds in which what a page's run says is gathered
BUNDLE = 32  # messages that go out before the event loop does anything else
JOINED = 64 * 1024  # bytes that wait for others at most


def parts() -> dict[str, bool]:
    """What is needed of Streamlit here, by name, and whether it is there."""
    return {
        "AppSession._call_soon_on_event_loop": hasattr(AppSession, "_call_soon_on_event_loop"),
        "AppSession.request_rerun": hasattr(AppSession, "request_rerun"),
        "ForwardMsgQueue._queue": {"_queue", "_delta_index_map"} <= set(ForwardMsgQueue().__dict__),
        "ForwardMsgQueue.clear": "fragment_ids_this_run" in ForwardMsgQueue.clear.__code__.co_varnames,
        "AppSession._event_loop": "_event_loop" in AppSession.__init__.__code__.co_names,
        "AppSession._message_enqueued_callback": "_message_enqueued_callback"
        in AppSession.__init__.__code__.co_names,
        "Runtime._loop_coroutine": {"asyncio", "sleep"} <= set(Runtime._loop_coroutine.__code__.co_names)
        and getattr(runtime_module, "asyncio", None) is not None,
    }


class Parcels:
    """What runs of pages say, handed to the event loop a few milliseconds' worth at a time, in the order it was said.

    Streamlit wakes the loop for each of some fifty messages of a run, and both threads then wait for one another.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waking = AppSession._call_soon_on_event_loop

    def hand_over(self, session: AppSession, callback: Callable[[], None]) -> None:
        """In place of `AppSession._call_soon_on_event_loop`."""
        with self._lock:
            waiting: deque[Callable[[], None]] = session.__dict__.setdefault("_parcel", deque())
            session.__dict__.setdefault("_wake", session._message_enqueued_callback)
            waiting.append(callback)
            if len(waiting) > 1:
                return
        loop = session._event_loop

        def wait() -> None:
            loop.call_later(PARCEL, self._unpack, session)

        self._waking(session, wait)

    def hear(self, session: AppSession) -> None:
        """Have the event loop, which this must be, take all that was said at once."""
        opened = self._unpack(session)
        while opened:
            self._next(opened)

    def _unpack(self, session: AppSession) -> "deque[Callable[[], None]]":
        with self._lock:
            waiting: deque[Callable[[], None]] = session.__dict__.setdefault("_parcel", deque())
            opened: deque[Callable[[], None]] = session.__dict__.setdefault("_opened", deque())
            parcel = list(waiting)
            waiting.clear()
        if parcel:
            parcel = [partial(_let_sleep, session), *parcel, partial(_wake, session)]
        opened.extend(parcel)
        for _ in parcel:  # each by itself: one that raises stops no other
            session._event_loop.call_soon(self._next, opened)
        return opened

    def _next(self, opened: "deque[Callable[[], None]]") -> None:
        if opened:
            opened.popleft()()


def _let_sleep(session: AppSession) -> None:
    """No message of a parcel wakes the loop, which is awake, through a pipe to itself: that is done at its end."""
    session._message_enqueued_callback = None


def _wake(session: AppSession) -> None:
    session._message_enqueued_callback = session.__dict__["_wake"]
    if session._message_enqueued_callback is not None:
        session._message_enqueued_callback()


@cache
def hand_over_in_parcels() -> None:
    """From now on; before the first visitor.

    What a run said is heard before its reader's next request is: that starts another run, and Streamlit ignores what it
    hears of one before, be it the whole page. A reader who presses something in the moment in which a page is finished
    would then lack that page, and the next part of it would have no place.
    """
    parcels, request = Parcels(), AppSession.request_rerun

    def hand_over(session: AppSession, callback: Callable[[], None]) -> None:
        parcels.hand_over(session, callback)

    def request_rerun(session: AppSession, client_state: ClientState | None) -> None:
        if _is_here(session._event_loop):
            parcels.hear(session)
        request(session, client_state)

    AppSession._call_soon_on_event_loop = hand_over  # type: ignore[method-assign, assignment]
    AppSession.request_rerun = request_rerun  # type: ignore[method-assign, assignment]


@cache
def send_whole_pages() -> None:
    """From now on; before the first visitor.

    A part of a page that runs again makes what it said before needless, and Streamlit takes that out of what waits to
    be sent. Of a page that is finished but not sent yet it must not: the browser would clear that part away as one
    that the page no longer has, and the new one would then take the place of what stands below it.
    """
    clear = ForwardMsgQueue.clear

    def keep_whole_page(
        queue: ForwardMsgQueue,
        retain_lifecycle_msgs: bool = False,
        fragment_ids_this_run: list[str] | None = None,
    ) -> None:
        if fragment_ids_this_run and any(_ends_page(message) for message in queue._queue):
            queue._delta_index_map = {}  # what is said from now on is not put in the place of anything said before
        else:
            clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)

    ForwardMsgQueue.clear = keep_whole_page  # type: ignore[method-assign, assignment]


def _ends_page(message: ForwardMsg) -> bool:
    return (
        message.WhichOneof("type") == "script_finished"
        and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
    )


def _is_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether this thread runs that event loop now."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


class Ticks:
    """asyncio, as the loop sees it that sends: it waits a tick after every `BUNDLE` messages, not after each one.

    Streamlit would go around the whole event loop for each of some thirty messages of a run.
    """

    def __init__(self) -> None:
        self._sent = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        """In place of `asyncio.sleep`."""
        self._sent += 1
        if seconds or self._sent >= BUNDLE:
            self._sent = 0
            await asyncio.sleep(seconds)


@cache
def send_in_bundles() -> None:
    """From now on; before the first visitor."""
    vars(runtime_module)["asyncio"] = Ticks()


class Joined:
    """A transport that sends what is written in one tick of the event loop in one go, when the tick is over."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Hold it; so much that its writer should pause goes at once, for that is the transport's to say."""
        self._held.append(data)
        self._size += len(data)
        if self._size > JOINED:
            self.flush()
        elif len(self._held) == 1:
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what is held."""
        held, self._held, self._size = self._held, [], 0
        if held:
            self._transport.write(b"".join(held))

    def close(self) -> None:
        """What was written before goes first."""
        self.flush()
        self._transport.close()


def joining(protocol: type[Any]) -> type[Any]:
    """The same protocol of uvicorn for web sockets, over a transport that joins what is written."""

    class Joining(protocol):  # type: ignore[misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(Joined(transport, self.loop))

    return Joining
