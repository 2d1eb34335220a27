"""What stands between the network and Streamlit: security headers, closed routes, and who is heard at which pace.

Limits on connections, requests, sizes and slow clients are a proxy's (`docs/deploy.md`); a message on an open socket
is no request to it. A client may ask Streamlit to clear its caches: nothing of ours is in them.
"""

import asyncio
import base64
import hashlib
import html
import os
import re
import time
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mha_core.cli.app import HOSTS, ORIGINS
from mha_core.display_names import visible
from pages.parts.frame.page_text import quoted
from pages.parts.frame.pages import PAGES
from pages.parts.picture import shared

NO_PAGES = ("_stcore", "app", "component", "media", "ready", "static", shared.FOLDER)
STYLE = "body{font:1.1rem/1.5 Georgia,serif;max-width:36rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}"
CONTENT_POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
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
OPEN_ROUTES = ("health", "host-config", "stream")
INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.S)
# A page is answered whole: neither compressed nor "not modified", or its scripts could not be read here.
PARTIAL = (b"accept-encoding", b"if-none-match", b"if-modified-since")
# Messages a second of one browser, how many at once, and seconds that one more waits; the same of an address' browsers.
OF_ONE, OF_AN_ADDRESS = (5.0, 8.0, 10.0), (25.0, 100.0, 0.0)


class RateLimiter:
    """So many messages a second; whoever sends more waits, and nothing is lost."""

    def __init__(self, a_second: float, at_once: float, penalty: float) -> None:
        self._a_second, self._at_once, self._penalty = a_second, at_once, penalty
        self._room, self._last = at_once, time.monotonic()

    async def take(self) -> None:
        """Wait until one more may be heard."""
        last, self._last = self._last, time.monotonic()
        self._room = min(self._at_once, self._room + (self._last - last) * self._a_second) - 1
        if self._room < 0:
            await asyncio.sleep(self._penalty or -self._room / self._a_second)
        if self._penalty:
            self._room, self._last = max(self._room, 0.0), time.monotonic()


class Guard:
    """ASGI middleware in front of Streamlit."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        # A host may be named in Streamlit's settings, too, and Streamlit checks that itself.
        hosts = os.environ.get(HOSTS, "").split() or ["*"]
        self.socket = TrustedHostMiddleware(app, hosts, www_redirect=False)
        self.addresses: WeakValueDictionary[str, RateLimiter] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.answer(scope)(scope, receive, with_headers(scope, send))
        elif scope["type"] == "websocket" and is_foreign(Headers(scope=scope)):
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "websocket":
            # The origin has been checked: Streamlit would ask an address outside for this server's own to do so.
            headers = [pair for pair in scope["headers"] if pair[0].lower() != b"origin"]
            await self.socket({**scope, "headers": headers}, self.paced(scope, receive), send)
        else:
            await self.app(scope, receive, send)

    def answer(self, scope: Scope) -> ASGIApp:
        """Return what answers a request: Streamlit, or a refusal."""
        base, core, route = scope["path"].partition("/_stcore/")
        if not core:
            if "text/html" in Headers(scope=scope).get("accept", ""):
                scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in PARTIAL]
            return self.app
        if not route.startswith(OPEN_ROUTES):
            return PlainTextResponse("not found", 404)
        if base.strip("/") != (st.get_option("server.baseUrlPath") or "").strip("/"):
            # A browser asks whether a page's path is the server's. Any answer but 200 is no; 404 fills its console.
            return PlainTextResponse("elsewhere", 300)
        return self.app

    def paced(self, scope: Scope, receive: Receive) -> Receive:
        """Return `receive` at the pace of this browser and its address."""
        address = str((scope.get("client") or ("",))[0])
        limiters = RateLimiter(*OF_ONE), self.addresses.setdefault(address, RateLimiter(*OF_AN_ADDRESS))

        async def in_time() -> Message:
            message = await receive()
            for limiter in limiters:
                await limiter.take()
            return message

        return in_time


def is_foreign(headers: Headers) -> bool:
    """Return whether a page of another origin asks that `server.corsAllowedOrigins` does not name. Who sends no Origin
    is no browser."""
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        host = urlsplit(origin).netloc.lower()
    except ValueError:  # a bracket that is not closed
        return True
    if host and host == headers.get("host", "").lower():
        return False
    allowed = [*(st.get_option("server.corsAllowedOrigins") or ()), *os.environ.get(ORIGINS, "").split()]
    return origin.lower() not in {str(name).lower().rstrip("/") for name in allowed}


def with_headers(scope: Scope, send: Send) -> Send:
    """Return `send` with the security headers on every answer; the inline scripts of a page may run."""
    begun: list[Message] = []
    page = bytearray()

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            if scope.get("scheme") == "https":
                headers["Strict-Transport-Security"] = "max-age=31536000"
            if headers.get("content-type", "").startswith("text/html") and scope["method"] == "GET":
                begun.append(message)
                return
        elif begun:
            page.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            headers = MutableHeaders(scope=begun[0])
            headers["Content-Security-Policy"] = policy(bytes(page))
            await send(begun.pop())
            message = {"type": "http.response.body", "body": bytes(page)}
        await send(message)

    return send_with_headers


def policy(page: bytes) -> str:
    """Return the content policy that lets exactly the inline scripts of this page run."""
    digests = (hashlib.sha256(script).digest() for script in INLINE_SCRIPT.findall(page))
    hashes = "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return CONTENT_POLICY.replace("script-src 'self'", f"script-src 'self'{hashes}")


class UnknownPage:
    """ASGI middleware: an address that is no page gets 404 and the pages that there are.

    Streamlit would open the first page.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an unknown page; hand everything else on."""
        opens = scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")
        answer = (
            HTMLResponse(unknown_page(scope["path"]), 404)
            if opens and not is_page(scope["path"])
            else self.app
        )
        await answer(scope, receive, send)


def is_page(path: str) -> bool:
    """Return whether a path is a page of the app, or an address that is of no page at all."""
    name = path.strip("/").removeprefix(str(st.get_option("server.baseUrlPath")).strip("/")).strip("/")
    return name in {"", *(page.name for page in PAGES)} or name.split("/")[0] in NO_PAGES or "." in name


def unknown_page(path: str) -> str:
    """Return the page that says so, with links to all pages."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    home = f"/{base}/" if base else "/"
    links = " · ".join(
        f'<a href="{home}{page.address.removeprefix("./")}">{html.escape(page.title)}</a>' for page in PAGES
    )
    name = html.escape(quoted(visible(path)))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>No such page · HeadScope</title><style>{STYLE}</style><h1>No such page</h1>"
        f"<p>HeadScope has no page {name}. Choose one of these:</p><p>{links}</p>"
    )
