"""One client with many sockets that sends reruns on each without a pause.

    python benchmarks/flood.py URL SOCKETS [FILE]

The file grows by a byte with every run that it has got an answer to. It stands for a machine elsewhere, so it leaves
this one's processor to the server wherever it can.
"""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: E402
from websockets.asyncio.client import ClientConnection, connect  # noqa: E402
from websockets.exceptions import WebSocketException  # noqa: E402

from benchmarks.wire import rerun, stream_of  # noqa: E402

SHORT = 200  # bytes, which the message that a run is over has at most


async def one(url: str, number: int, answered: Path | None) -> None:
    """One socket: it sends as fast as it is read, reads what comes, and comes again when it is closed."""
    address, turn = stream_of(url), 0
    while True:
        with suppress(OSError, WebSocketException):
            async with connect(address, subprotocols=["streamlit"], origin=url, max_size=None) as stream:  # type: ignore[arg-type, list-item]
                reading = asyncio.create_task(read(stream, answered))
                try:
                    while True:
                        await stream.send(rerun("", text=f"Flood {number} {turn}"))
                        turn += 1
                finally:
                    reading.cancel()
        await asyncio.sleep(1)


async def read(stream: ClientConnection, answered: Path | None) -> None:
    """Whatever comes; the runs that are over are counted."""
    with suppress(WebSocketException):
        async for said in stream:
            if answered is not None and len(said) < SHORT and is_over(said):
                with answered.open("ab") as file:
                    file.write(b".")


def is_over(said: str | bytes) -> bool:
    """Whether a message says that a run is over."""
    return isinstance(said, bytes) and ForwardMsg.FromString(said).WhichOneof("type") == "script_finished"


async def main(url: str, sockets: int, answered: Path | None = None) -> None:
    """All of them, until somebody ends this process."""
    await asyncio.gather(*(one(url, number, answered) for number in range(sockets)))


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(19)
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), *map(Path, sys.argv[3:4])))
