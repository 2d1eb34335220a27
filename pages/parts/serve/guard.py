"""What stands between the network and Streamlit.

In: every connection to the server. Out: the same connection, with the security headers on each answer,
without the routes and messages the app has no use for, and slowed down where one client asks for more than
its share. Streamlit alone takes from anybody a frame of two bytes that empties every cache, and floods.
"""

import asyncio
import time

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.parts.serve import streamlit_private
from pages.parts.serve.streamlit_private import message_kind

CONTENT_POLICY = (
    "default-src 'self'; "
    # The one inline script of Streamlit 1.67's own page: `window.prerenderReady = false`.
    "script-src 'self' 'wasm-unsafe-eval' blob: 'sha256-THxz9J9+wf7rhwR2YkXJoSZ13UCmYyC+3lNDv2+8ugA='; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "frame-src 'self' blob: data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    # A link to a view carries the reader's sentence: no other site is told where its visitor came from.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
CORE = "/_stcore/"
OPEN_ROUTES = ("health", "host-config", "stream", "upload_file/")
OPERATION = "backend_operation_request"
MESSAGES = streamlit_private.KINDS - {OPERATION}

TOO_MUCH, NOT_OURS, UNREADABLE, FULL = 1009, 1003, 1002, 1013


class TokenBucket:
    """`rate` tokens a second, `burst` at once; `take` waits until there is one."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self.left, self.last = burst, time.monotonic()

    async def take(self) -> None:
        now = time.monotonic()
        self.left = min(self.burst, self.left + (now - self.last) * self.rate)
        self.last = now
        self.left -= 1
        if self.left < 0:
            await asyncio.sleep(-self.left / self.rate)


class Guard:
    """ASGI middleware in front of Streamlit. Limits are per socket: a whole class may share one address."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        sockets: int = 120,
        frame_bytes: int = 512 * 1024,  # a text of 100,000 characters must arrive to be answered
        frames_per_second: float = 10.0,
        frames_at_once: float = 30.0,
        files_per_session: int = 8,
        upload_bytes: int = 64 * 1024**2,
    ) -> None:
        self.app = app
        self.sockets, self.open = sockets, 0
        self.frame_bytes = frame_bytes
        self.frames_per_second, self.frames_at_once = frames_per_second, frames_at_once
        self.files_per_session, self.upload_bytes = files_per_session, upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.http(scope, receive, with_headers(scope, send))
        elif scope["type"] == "websocket":
            await self.websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def http(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, core, route = scope["path"].partition(CORE)
        if core and not route.startswith(OPEN_ROUTES):
            await PlainTextResponse("not found", 404)(scope, receive, send)
        elif scope["method"] == "PUT" and self.uploads_are_full(route):
            await PlainTextResponse("too many files", 413)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def uploads_are_full(self, route: str) -> bool:
        stored = streamlit_private.uploads()
        session = route.removeprefix("upload_file/").partition("/")[0]
        held = sum(len(file.data) for files in list(stored.values()) for file in list(files.values()))
        return len(stored.get(session, ())) >= self.files_per_session or held >= self.upload_bytes

    async def websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.open >= self.sockets:
            await receive()
            await send({"type": "websocket.close", "code": FULL})
            return
        self.open += 1
        try:
            socket = LimitedSocket(self, receive, send)
            await self.app(scope, socket.receive, socket.send)
        finally:
            self.open -= 1


class LimitedSocket:
    """One socket: what comes in is weighed and read at its pace, what goes out is as Streamlit sent it."""

    def __init__(self, guard: Guard, receive: Receive, send: Send) -> None:
        self.guard = guard
        self.network_receive, self.network_send = receive, send
        self.share = TokenBucket(guard.frames_per_second, guard.frames_at_once)
        self.closed = False
        self.drained = asyncio.Event()
        self.drained.set()

    async def receive(self) -> Message:
        while True:
            message = await self.network_receive()
            if message["type"] != "websocket.receive":
                return message
            code, wanted = classify_frame(message.get("bytes"), self.guard.frame_bytes)
            if code:
                await self.send({"type": "websocket.close", "code": code})
                self.closed = True
                return {"type": "websocket.disconnect", "code": code}
            # Who sends too fast is read more slowly: the network holds the rest back and nothing is lost. Who
            # does not read the answers is not heard, or they would pile up in this process.
            await self.share.take()
            await self.drained.wait()
            if wanted:
                return message

    async def send(self, message: Message) -> None:
        if self.closed:
            return
        self.drained.clear()
        try:
            await self.network_send(message)
        finally:
            self.drained.set()


def classify_frame(frame: bytes | None, frame_bytes: int) -> tuple[int, bool]:
    """The code to close the socket with, 0 for a good frame, and whether it is a message that the pages send.

    Messages that clear caches, write files or stop the server are never wanted.
    """
    if frame is None:
        return NOT_OURS, False
    if len(frame) > frame_bytes:
        return TOO_MUCH, False
    try:
        kind, operation = message_kind(frame)
    except ValueError:
        return UNREADABLE, False
    return 0, operation in streamlit_private.OPERATIONS if kind == OPERATION else kind in MESSAGES


def with_headers(scope: Scope, send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            if scope.get("scheme") == "https":
                headers["Strict-Transport-Security"] = "max-age=31536000"
        await send(message)

    return send_with_headers
