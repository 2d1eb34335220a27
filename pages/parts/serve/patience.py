"""How long a connection may take to say what it wants. uvicorn waits for ever for a request that was begun, and each
such connection holds an open file; and it takes apart all that has come in one go, while nobody else is served.

In: the class that reads HTTP. Out: one that closes what does not come to its end, and reads in pieces.
"""

import asyncio
from typing import Any

PIECE = 16 * 1024  # bytes that are read at once; asyncio reads 256 kB, thousands of messages of a flood


def impatient(protocol: type[Any], head_seconds: float, body_seconds: float) -> type[Any]:
    """The same protocol of uvicorn (h11 or httptools), for which a request's head has to be here in `head_seconds`,
    from the connection's first moment or the request's first byte, and its body `body_seconds` after that."""

    class Impatient(protocol):  # type: ignore[misc]
        deadline: asyncio.TimerHandle | None = None
        awaited = ""

        def connection_made(self, transport: asyncio.Transport) -> None:
            if hasattr(transport, "max_size"):  # asyncio's own transports have it
                transport.max_size = PIECE
            super().connection_made(transport)
            self.set_deadline()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.set_deadline()

        def connection_lost(self, reason: Exception | None) -> None:
            self.wait_for("")
            super().connection_lost(reason)

        def set_deadline(self) -> None:
            """Begin to wait for what is missing now; more bytes of the same do not buy more time."""
            request = self.cycle
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                self.wait_for("")  # a web socket now, which the guard watches
            elif request is None or request.response_complete:
                self.wait_for("head")
            else:
                self.wait_for("body" if request.more_body else "")

        def wait_for(self, what: str) -> None:
            if what == self.awaited:
                return
            self.awaited = what
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None
            if what:
                seconds = head_seconds if what == "head" else body_seconds
                self.deadline = self.loop.call_later(seconds, self.transport.close)

        def on_response_complete(self) -> None:
            # What waits now is uvicorn's own time between two requests, or a request that was sent along.
            self.wait_for("")
            super().on_response_complete()

    return Impatient
