"""What the benchmarks of the server share: a reader without a browser, over the web socket that a browser uses."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

NOUNS = (
    "dog",
    "cat",
    "bird",
    "tree",
    "river",
    "house",
    "child",
    "king",
    "apple",
    "letter",
    "train",
    "garden",
)


def stream_of(url: str) -> str:
    """Where the server at this address is talked to."""
    return url.replace("http", "ws") + "/_stcore/stream"


def socket_to(url: str, *protocols: str, **options: Any) -> AbstractContextManager[ClientConnection]:
    """A new connection to the server at this address, as a browser opens it; `options`: what is otherwise."""
    usual: dict[str, Any] = {"origin": url, "max_size": None, "open_timeout": 60}
    return connect(stream_of(url), subprotocols=["streamlit", *protocols], **usual | options)


def rerun(page: str = "", **query: str) -> bytes:
    """What a browser sends to open a link."""
    message = BackMsg()
    message.rerun_script.query_string, message.rerun_script.page_name = urlencode(query), page
    return message.SerializeToString()


def visit(url: str, page: str = "", **query: str) -> Iterator[ForwardMsg]:
    """Open a page by its link: what the server says until its run is over."""
    with socket_to(url) as stream:
        stream.send(rerun(page, **query))
        yield from until_over(stream)


def until_over(stream: ClientConnection, seconds: float = 120) -> Iterator[ForwardMsg]:
    """What the server says until the run that was asked for is over. Raises TimeoutError when it says nothing."""
    answer = ForwardMsg()
    while answer.WhichOneof("type") != "script_finished":
        answer = ForwardMsg.FromString(stream.recv(timeout=seconds))
        yield answer


def p95(seconds: Iterable[float]) -> float:
    """What 19 of 20 stay under."""
    found = sorted(seconds)
    return found[int(0.95 * len(found))]


def megabytes(process: int) -> int:
    """The resident memory of a process, 0 where the system does not tell."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0) // 1000


@contextmanager
def highest(process: int) -> Iterator[Callable[[], int]]:
    """The most memory a process has had, in MB, looked at ten times a second."""
    most, over = [megabytes(process)], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            most[0] = max(most[0], megabytes(process))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield lambda: most[0]
    finally:
        over.set()
        watcher.join()
