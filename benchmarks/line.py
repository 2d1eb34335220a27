"""A reader's web socket that computes next to nothing while it waits: what comes is kept as it is, and read later.

A class sits on machines of its own. Where its readers run beside the server that is measured, what they compute
while the clock runs is taken from it.
"""

import socket
import time
from types import TracebackType
from urllib.parse import urlsplit

from tests.sending import handshake

PIECE = 1 << 16
CLOSE, PING, PONG, WHOLE = 0x8, 0x9, 0xA, 0x80
HASH, METADATA, FINISHED = 0x0A, 0x12, 0x30  # what opens a field of a ForwardMsg; the last: a run is over


def is_over(frame: bytes) -> bool:
    """Whether a message says that a run is over: its first field behind the hash and metadata, if there are any."""
    at = 0
    while at < len(frame) and frame[at] in (HASH, METADATA):
        length, shift = 0, 0
        while True:
            at += 1
            length |= (frame[at] & 0x7F) << shift
            shift += 7
            if not frame[at] & 0x80:
                break
        at += length + 1
    return at < len(frame) and frame[at] == FINISHED


class Line:
    """A connection as a browser opens it. Raises OSError where the server refuses or closes it."""

    def __init__(self, url: str, seconds: float = 120) -> None:
        there, self._came = urlsplit(url), bytearray()
        self._socket = socket.create_connection((there.hostname, there.port), timeout=seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._seconds = seconds
        try:
            self._socket.sendall(handshake(there.netloc, f"Origin: {url}"))
            while b"\r\n\r\n" not in self._came:
                self._more()
            head, _, rest = bytes(self._came).partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 101 "):
                raise ConnectionRefusedError(head.decode("latin-1").partition("\r\n")[0])
        except OSError:
            self._socket.close()
            raise
        self._came = bytearray(rest)

    def __enter__(self) -> "Line":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, message: bytes, opcode: int = 2) -> None:
        """One message, masked with zeros."""
        n = len(message)
        size = (
            bytes([0x80 | n])
            if n < 126
            else b"\xfe" + n.to_bytes(2)
            if n < 1 << 16
            else b"\xff" + n.to_bytes(8)
        )
        self._socket.sendall(bytes([WHOLE | opcode]) + size + bytes(4) + message)

    def recv(self, timeout: float | None = None) -> bytes:
        """The next message. Raises TimeoutError."""
        until = time.monotonic() + (self._seconds if timeout is None else timeout)
        while (message := self._next()) is None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the server said nothing")
            self._socket.settimeout(left)
            self._more()
        return message

    def run(self) -> list[bytes]:
        """All that comes until the run that was asked for is over."""
        said = [self.recv()]
        while not is_over(said[-1]):
            said.append(self.recv())
        return said

    def _more(self) -> None:
        piece = self._socket.recv(PIECE)
        if not piece:
            raise ConnectionResetError("the server closed the connection")
        self._came += piece

    def _next(self) -> bytes | None:
        """The first message of what came, if it is here to its end; pings are answered."""
        while len(self._came) >= 2:
            first, n, at = self._came[0], self._came[1], 2
            if n > 125:
                at += 2 if n == 126 else 8
                if len(self._came) < at:
                    return None
                n = int.from_bytes(self._came[2:at])
            if len(self._came) < at + n:
                return None
            message = bytes(self._came[at : at + n])
            del self._came[: at + n]
            if not first & WHOLE:
                raise ConnectionError("a message came in pieces")
            if first & 0xF == CLOSE:
                raise ConnectionResetError("the server closed the connection")
            if first & 0xF == PING:
                self.send(message, PONG)
            elif first & 0xF != PONG:
                return message
        return None
