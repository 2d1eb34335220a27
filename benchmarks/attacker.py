"""Somebody who attacks the app from one address; benchmarks/flood.py starts this beside a class and ends it by SIGTERM.

    python benchmarks/attacker.py idle|header|body|frames|large|reruns URL ADDRESS

What became of the connections is printed at the end, in a line.
"""

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # as pytest does

from benchmarks.line import is_over  # noqa: E402
from benchmarks.wire import rerun  # noqa: E402
from tests.sending import handshake  # noqa: E402

CONNECTIONS, SOCKETS, LARGE = 500, 50, 10
Attack = Callable[["Attacker", int], Awaitable[None]]


class Attacker:
    """Connections from one address, and what became of them."""

    def __init__(self, url: str, source: str) -> None:
        there = urlsplit(url)
        self.url, self.host, self.port, self.source = url, str(there.hostname), there.port, source
        self.netloc, self.became = there.netloc, Counter[str]()

    async def again(self, attack: Attack, number: int) -> None:
        """One connection after the other, for as long as this process is left alone."""
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                await attack(self, number)
            await asyncio.sleep(0.2)

    @contextmanager
    def counted(self, writer: asyncio.StreamWriter) -> Iterator[None]:
        """Count a connection while it is used, and close it."""
        self.became["opened"] += 1
        try:
            yield
        finally:
            self.became["closed by the server"] += 1
            writer.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection that has said nothing yet."""
        return await asyncio.open_connection(self.host, self.port, local_addr=(self.source, 0))

    async def upgraded(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A web socket; ConnectionError where it is refused."""
        reader, writer = await self.connect()
        writer.write(handshake(self.netloc, f"Origin: {self.url}"))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head:
            self.became["web sockets refused"] += 1
            writer.close()
            raise ConnectionRefusedError(head.split(b"\r\n")[0].decode())
        self.became["web sockets opened"] += 1
        return reader, writer


async def idle(attacker: Attacker, number: int) -> None:
    """Connect and say nothing."""
    reader, writer = await attacker.connect()
    with attacker.counted(writer):
        await reader.read()


async def header(attacker: Attacker, number: int) -> None:
    """One header that never ends."""
    _, writer = await attacker.connect()
    with attacker.counted(writer):
        writer.write(f"GET / HTTP/1.1\r\nHost: {attacker.netloc}\r\nX-Long: ".encode())
        while True:
            writer.write(b"a" * 1024)
            await writer.drain()
            attacker.became["kB sent"] += 1
            await asyncio.sleep(0.1)


async def body(attacker: Attacker, number: int) -> None:
    """A file of 50 MB."""
    reader, writer = await attacker.connect()
    with attacker.counted(writer):
        path = f"/_stcore/upload_file/someone/{number}"
        head = f"PUT {path} HTTP/1.1\r\nHost: {attacker.netloc}\r\nContent-Length: 50000000\r\n\r\n"
        writer.write(head.encode())
        for _ in range(50_000_000 // 50_000):
            writer.write(bytes(50_000))
            await writer.drain()
            attacker.became["kB sent"] += 50
        await reader.read()


async def frames(attacker: Attacker, number: int) -> None:
    """A web socket with a message whose end never comes."""
    _, writer = await attacker.upgraded()
    with attacker.counted(writer):
        writer.write(b"\x82\xfe\x7d\x00" + bytes(4))  # 32,000 bytes are announced
        while True:
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.5)


async def large(attacker: Attacker, number: int) -> None:
    """A web socket with a message of 45 MB, all of it but the end."""
    reader, writer = await attacker.upgraded()
    with attacker.counted(writer):
        writer.write(b"\x82\xff" + (45_000_000).to_bytes(8) + bytes(4))
        for _ in range(440):
            writer.write(bytes(100_000))
            await writer.drain()
            attacker.became["kB sent"] += 100
        await reader.read()


async def reruns(attacker: Attacker, number: int) -> None:
    """A web socket that asks for page after page as fast as they are taken."""
    reader, writer = await attacker.upgraded()
    with attacker.counted(writer):
        reading = asyncio.create_task(count_answers(attacker, reader))
        try:
            while not reading.done():
                asked = rerun(text=f"Flood {number} {attacker.became['pages asked']}")
                writer.write(bytes([0x82, 0x80 | len(asked)]) + bytes(4) + asked)
                await writer.drain()
                attacker.became["pages asked"] += 1
                await asyncio.sleep(0)
        finally:
            reading.cancel()


async def count_answers(attacker: Attacker, reader: asyncio.StreamReader) -> None:
    """Read whatever comes; pages that are over are counted."""
    while True:
        _, n = await reader.readexactly(2)
        if n > 125:
            n = int.from_bytes(await reader.readexactly(2 if n == 126 else 8))
        if is_over(await reader.readexactly(n)):
            attacker.became["pages got"] += 1


ATTACKS: dict[str, tuple[Attack, int]] = {
    "idle": (idle, CONNECTIONS),
    "header": (header, SOCKETS),
    "body": (body, SOCKETS),
    "frames": (frames, CONNECTIONS),
    "large": (large, LARGE),
    "reruns": (reruns, SOCKETS),
}


async def attack_until_told(name: str, url: str, source: str) -> None:
    """All connections at once, until SIGTERM; then a line that says what became of them."""
    attack, count = ATTACKS[name]
    attacker, over = Attacker(url, source), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    running = [asyncio.create_task(attacker.again(attack, number)) for number in range(count)]
    await over.wait()
    print(", ".join(f"{what} {number:,}" for what, number in attacker.became.items()), flush=True)
    for one in running:
        one.cancel()


if __name__ == "__main__":
    os.nice(19)
    asyncio.run(attack_until_told(*sys.argv[1:]))
