"""Somebody who attacks the app from one address; benchmarks/flood.py starts this beside a class and ends it by SIGTERM.

    python benchmarks/attacker.py idle|header|body|frames|large|reruns URL ADDRESS

What became of the connections is printed at the end, in a line.
"""

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, repeat
from urllib.parse import urlsplit

from served import rerun
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.sending import handshake


@dataclass(frozen=True)
class Attack:
    """Connections at once; each sends `first` and then `pieces`, with `pause` seconds after each, and then listens.

    `is_socket`: all of it on a web socket. `first` may name the {host} and the {number} of its connection.
    """

    n_connections: int
    is_socket: bool
    first: bytes = b""
    piece: bytes = b""
    n_pieces: int | None = 0  # None: without end
    pause: float = 0.0

    def pieces(self, number: int) -> Iterator[bytes]:
        """Yield what connection `number` sends after `first`."""
        return repeat(self.piece) if self.n_pieces is None else repeat(self.piece, self.n_pieces)


class Reruns(Attack):
    """Web sockets that ask for page after page as fast as they are taken."""

    def pieces(self, number: int) -> Iterator[bytes]:
        """Yield messages, each with a text of its own."""
        for turn in count():
            message = rerun(text=f"Flood {number} {turn}")
            yield bytes([0x82, 0x80 | len(message)]) + bytes(4) + message


BODY = b"PUT /_stcore/upload_file/someone/%d HTTP/1.1\r\nHost: %s\r\nContent-Length: 50000000\r\n\r\n"
ATTACKS = {
    "idle": Attack(500, False),
    "header": Attack(50, False, b"GET /%d HTTP/1.1\r\nHost: %s\r\nX-Long: ", b"a" * 1024, None, 0.1),
    "body": Attack(50, False, BODY, bytes(50_000), 1000),
    # Of a message of 32,000 bytes a byte at a time; of one of 45 MB all but the end.
    "frames": Attack(500, True, b"\x82\xfe\x7d\x00" + bytes(4), b"a", None, 0.5),
    "large": Attack(10, True, b"\x82\xff" + (45_000_000).to_bytes(8) + bytes(4), bytes(100_000), 440),
    "reruns": Reruns(50, True),
}


async def connect_again(attack: Attack, number: int, url: str, source: str, became: Counter[str]) -> None:
    """Make one connection after the other, for as long as this process is left alone."""
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            await connect(attack, number, url, source, became)
        await asyncio.sleep(0.2)


async def connect(attack: Attack, number: int, url: str, source: str, became: Counter[str]) -> None:
    """Attack by one connection, until the server closes it. Raises OSError."""
    server = urlsplit(url)
    reader, writer = await asyncio.open_connection(server.hostname, server.port, local_addr=(source, 0))
    became["opened"] += 1
    try:
        if attack.is_socket:
            writer.write(handshake(server.netloc, f"Origin: {url}"))
            if b" 101 " not in await reader.readuntil(b"\r\n\r\n"):
                became["web sockets refused"] += 1
                return
        writer.write(
            attack.first % (number, server.netloc.encode()) if b"%d" in attack.first else attack.first
        )
        listening = asyncio.create_task(listen(reader, attack.is_socket, became))
        try:
            for piece in attack.pieces(number):
                if listening.done():
                    break
                writer.write(piece)
                await writer.drain()
                became["bytes sent"] += len(piece)
                await asyncio.sleep(attack.pause)
            await listening
        finally:
            listening.cancel()
    finally:
        became["closed by the server"] += 1
        writer.close()


async def listen(reader: asyncio.StreamReader, is_socket: bool, became: Counter[str]) -> None:
    """Read until the server closes; on a web socket count the pages that are over."""
    if not is_socket:
        await reader.read()
    while is_socket:
        _, n = await reader.readexactly(2)
        if n > 125:
            n = int.from_bytes(await reader.readexactly(2 if n == 126 else 8))
        message = ForwardMsg.FromString(await reader.readexactly(n))
        became["pages got"] += message.WhichOneof("type") == "script_finished"


async def attack_until_stopped(name: str, url: str, source: str) -> None:
    """Make all connections at once, until SIGTERM; then print what became of them."""
    attack, became, over = ATTACKS[name], Counter[str](), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    running = [
        asyncio.create_task(connect_again(attack, number, url, source, became))
        for number in range(attack.n_connections)
    ]
    await over.wait()
    print(", ".join(f"{event} {number:,}" for event, number in became.items() if number), flush=True)
    for task in running:
        task.cancel()


if __name__ == "__main__":
    os.nice(19)
    asyncio.run(attack_until_stopped(*sys.argv[1:]))
