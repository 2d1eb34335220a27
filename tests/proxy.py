"""A small proxy before several servers, as `docs/compose.yaml` has Caddy: it keeps a reader on one by a cookie, or, to
see what breaks without that, hands one connection after another to the next."""

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.cookies import SimpleCookie

COOKIE = "headscope_replica"


class Proxy:
    """One request or one web socket a connection; `sticky` keeps who brings the cookie on his server, if it is up."""

    def __init__(self, ports: Sequence[int], sticky: bool) -> None:
        self.ports, self.sticky = ports, sticky
        self.turns = itertools.cycle(ports)

    async def serve(self) -> None:
        server = await asyncio.start_server(self.connection, "127.0.0.1", 0)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        async with server:
            await server.serve_forever()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            cookies = SimpleCookie(next((x[7:] for x in lines if x.lower().startswith("cookie:")), ""))
            kept = int(cookies[COOKIE].value) if self.sticky and COOKIE in cookies else 0
            up, down, port = await self.open(kept)
            if not any(line.lower().startswith("upgrade:") for line in lines):
                lines = [line for line in lines if not line.lower().startswith("connection:")]
                lines.insert(1, "Connection: close")
            if not any(line.lower().startswith("x-forwarded-for:") for line in lines):
                lines.insert(1, f"X-Forwarded-For: {writer.get_extra_info('peername')[0]}")
            down.write("\r\n".join(lines).encode("latin-1"))
            asked = asyncio.create_task(pipe(reader, down))
            writer.write(await up.readuntil(b"\r\n"))
            if port != kept:
                writer.write(f"Set-Cookie: {COOKIE}={port}; Path=/\r\n".encode())
            await asyncio.gather(asked, pipe(up, writer))
        writer.close()

    async def open(self, kept: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, int]:
        """The server that the reader had, or another one that answers."""
        for attempt in range(len(self.ports) + 1):
            port = kept if kept and not attempt else next(self.turns)
            with suppress(OSError):
                return *await asyncio.open_connection("127.0.0.1", port), port
        raise OSError("no server answers")


async def pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    target.close()


@contextmanager
def proxy(ports: Sequence[int], *, sticky: bool) -> Iterator[str]:
    """The address of a proxy before these ports of this machine, in a process of its own."""
    command = [sys.executable, __file__, "sticky" if sticky else "round", *map(str, ports)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise OSError("the proxy says nothing")
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(Proxy([int(port) for port in sys.argv[2:]], sys.argv[1] == "sticky").serve())
