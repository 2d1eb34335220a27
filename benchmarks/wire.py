"""What the benchmarks of the server share: a reader without a browser, over the web socket that a browser uses."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
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


def socket_to(url: str) -> AbstractContextManager[ClientConnection]:
    """A new connection to the server at this address, as a browser opens it."""
    return connect(stream_of(url), subprotocols=["streamlit"], origin=url, max_size=None, open_timeout=60)


def rerun(page: str = "", **query: str) -> bytes:
    """What a browser sends to open a link."""
    message = BackMsg()
    message.rerun_script.query_string, message.rerun_script.page_name = urlencode(query), page
    return message.SerializeToString()


def visit(url: str, page: str = "", **query: str) -> Iterator[ForwardMsg]:
    """Open a page by its link: what the server says until its run is over."""
    with socket_to(url) as stream:
        stream.send(rerun(page, **query))
        answer = ForwardMsg()
        while answer.WhichOneof("type") != "script_finished":
            answer = ForwardMsg.FromString(stream.recv(timeout=120))
            yield answer


def wait_for(url: str, **query: str) -> None:
    """The same, for those who only wait."""
    for _ in visit(url, **query):
        pass


def megabytes(process: int) -> int:
    """The resident memory of a process, 0 where the system does not tell."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0) // 1000
