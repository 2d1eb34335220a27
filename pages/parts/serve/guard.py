"""What stands between the network and Streamlit.

In: every connection to the server. Out: the same connection, with the security headers on each answer,
without the routes and messages the app has no use for, and slowed down where one client asks for more than
its share. Streamlit alone takes from anybody a frame of two bytes that empties every cache, and floods.
"""

import asyncio
import logging
import time
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.parts.serve import streamlit_private
from pages.parts.serve.limits import Limits
from pages.parts.serve.pace import CALM_AGAIN, HURRIED, AtWork, Crossing, Share, Taken, TokenBucket
from pages.parts.serve.streamlit_private import ends_a_run, message_kind
from pages.parts.serve.uploads import Uploads

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

LOG = logging.getLogger("streamlit.headscope")
TOO_MUCH, NOT_OURS, UNREADABLE, FOREIGN, FULL = 1009, 1003, 1002, 1008, 1013
FRAME_BYTES = 512 * 1024  # a text of 100,000 characters must arrive to be answered
HEAD_BYTES = 256 * 1024  # three texts of 4,000 characters, each of which is twelve in an address at most
# An address is forgotten once nothing of it is left and its share is full again.
FORGOTTEN_AFTER = 60.0
FULL_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5"><title>HeadScope is full</title></head>
<body style="font: 18px/1.5 Georgia, serif; max-width: 34em; margin: 15vh auto; padding: 0 1.5em">
<h1 style="font-size: 1.4em">All places are taken</h1>
<p>As many readers as this server takes are here already. This page tries again every five seconds and opens by
itself as soon as there is room.</p></body></html>
"""


class Address:
    """What one address holds: how many sockets, and its share of messages."""

    def __init__(self, limits: Limits) -> None:
        self.sockets = 0
        self.share = Share(limits.address_runs_per_second, limits.address_runs_at_once)


class Guard:
    """ASGI middleware in front of Streamlit. A whole class may share one address, so most limits are per socket."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits | None = None,
        origins: Collection[str] = (),
        frame_bytes: int = FRAME_BYTES,
    ) -> None:
        self.app = app
        self.limits = limits or Limits()
        self.origins = origins
        self.frame_bytes = frame_bytes
        self.open = 0
        self.uploads = Uploads(self.limits)
        self.addresses: dict[str, Address] = {}
        self.at_work = AtWork()
        self.crossing = Crossing(others=self.at_work)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.http(scope, receive, with_headers(scope, send))
        elif scope["type"] == "websocket":
            await self.websocket(scope, receive, send)
        else:
            if not streamlit_private.limit_incoming(receive, 2 * self.frame_bytes):
                LOG.warning(
                    "This server weighs a message only once all of it is here; uvicorn would stop it earlier."
                )
            if not streamlit_private.take_long_heads(receive, HEAD_BYTES):
                LOG.warning("This server may refuse the links of long texts.")
            if not streamlit_private.limit_waiting(
                receive, self.limits.request_seconds, self.limits.upload_seconds
            ):
                LOG.warning("This server waits as long as it takes for requests that were begun.")
            if not streamlit_private.join_writes(receive):
                LOG.warning("This server sends every message to a browser by itself, which costs more.")
            streamlit_private.hide_server(receive)
            await self.app(scope, receive, send)

    async def http(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, core, route = scope["path"].partition(CORE)
        if core and not route.startswith(OPEN_ROUTES):
            await PlainTextResponse("not found", 404)(scope, receive, send)
        elif is_ambiguous(scope):
            refused = PlainTextResponse("a request with two lengths", 400, {"Connection": "close"})
            await refused(scope, receive, send)
        elif scope["method"] == "PUT":
            await self.upload(route.removeprefix("upload_file/").partition("/")[0], scope, receive, send)
        elif (
            not core
            and self.is_full(scope)
            and Headers(scope=scope).get("accept", "").startswith("text/html")
        ):
            await HTMLResponse(FULL_PAGE, 503, {"Retry-After": "5"})(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def upload(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """A reader's file, if there is room for it."""
        if self.uploads.are_full(session):
            await PlainTextResponse("too many files", 413)(scope, receive, send)
            return
        with self.uploads.arriving(session):
            await self.app(scope, receive, send)

    def is_full(self, scope: Scope) -> bool:
        """Whether there is no place for another socket, for anybody or for this address."""
        here = self.addresses.get(address_of(scope))
        return self.open >= self.limits.sockets or (
            here is not None and here.sockets >= self.limits.sockets_per_address
        )

    async def websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        foreign = self.is_foreign(scope)
        if foreign or self.is_full(scope):
            await receive()
            await send({"type": "websocket.close", "code": FOREIGN if foreign else FULL})
            return
        self.forget()
        here = self.addresses.setdefault(address_of(scope), Address(self.limits))
        self.open += 1
        here.sockets += 1
        socket = LimitedSocket(self, receive, send, here.share)
        try:
            await self.app(same_origin(scope), socket.receive, socket.send)
        finally:
            self.at_work.ends(socket)
            self.crossing.gone(socket)
            self.open -= 1
            here.sockets -= 1

    def is_foreign(self, scope: Scope) -> bool:
        """Whether a page of another origin asks, and one that the owner does not allow. Who sends no Origin is no
        browser. Streamlit would ask an address outside for this server's own before it refused."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is None or host_of(origin) == headers.get("host", "").lower() != "":
            return False
        return origin.lower() not in self.origins

    def forget(self) -> None:
        """Addresses that nobody uses and whose share has filled up again."""
        now = time.monotonic()
        for name, one in list(self.addresses.items()):
            if not one.sockets and now - one.share.last > FORGOTTEN_AFTER:
                del self.addresses[name]


def address_of(scope: Scope) -> str:
    """Who asks, as the network or a proxy on this machine says."""
    return str((scope.get("client") or ("",))[0])


def host_of(origin: str) -> str:
    """The host of an origin, with its port; empty where there is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # a bracket that is not closed
        return ""


def same_origin(scope: Scope) -> Scope:
    """The same without the header Origin, which has been checked."""
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0].lower() != b"origin"]}


def is_ambiguous(scope: Scope) -> bool:
    """Whether a request says twice how long it is. A proxy that believes the other one of the two takes its end for
    somebody else's request (RFC 9112, section 6.1)."""
    return {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in scope["headers"]}


class LimitedSocket:
    """One socket: what comes in is weighed and read at its pace, what goes out is as Streamlit sent it."""

    def __init__(
        self, guard: Guard, receive: Receive, send: Send, address_share: Share | None = None
    ) -> None:
        self.guard = guard
        self.network_receive, self.network_send = receive, send
        self.share = TokenBucket(guard.limits.runs_per_second, guard.limits.runs_at_once)
        self.address_share = address_share
        self.taken = Taken()
        self.calm_from = 0.0
        self.closed = self.connected = self.has_spoken = False
        self.drained = asyncio.Event()
        self.drained.set()

    async def receive(self) -> Message:
        while True:
            message = await self.next_message()
            if message["type"] != "websocket.receive":
                return message
            code, wanted = classify_frame(message.get("bytes"), self.guard.frame_bytes)
            if code:
                await self.send({"type": "websocket.close", "code": code})
                self.closed = True
                return {"type": "websocket.disconnect", "code": code}
            await self.in_time()
            # Who does not read the answers is not heard, or they would pile up in this process.
            await self.drained.wait()
            if wanted:
                self.has_spoken = True
                return message

    async def in_time(self) -> None:
        """Wait until this message may be heard; who has sent too many hurries, and passes with all who do."""
        hurries = await self.share.take()
        since = time.monotonic()
        if self.address_share is not None:
            await self.address_share.take(self.taken.now)
        self.taken.more()
        if hurries or time.monotonic() - since > HURRIED:
            self.calm_from = time.monotonic() + CALM_AGAIN
        if time.monotonic() < self.calm_from:
            await self.guard.crossing.cross(self)
        else:
            self.guard.at_work.begins(self)

    async def next_message(self) -> Message:
        """The next one; a socket that says nothing in its first seconds takes a place for nothing, and is closed."""
        if not self.connected or self.has_spoken:
            self.connected = True  # the first message says that there is a socket
            return await self.network_receive()
        try:
            return await asyncio.wait_for(self.network_receive(), self.guard.limits.silent_seconds)
        except TimeoutError:
            await self.send({"type": "websocket.close", "code": FULL})
            self.closed = True
            return {"type": "websocket.disconnect", "code": FULL}

    async def send(self, message: Message) -> None:
        if self.closed:
            return
        self.drained.clear()
        try:
            await self.network_send(message)
        finally:
            self.drained.set()
        if ends_a_run(message.get("bytes")):
            self.guard.at_work.ends(self)
            self.guard.crossing.over(self)


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
