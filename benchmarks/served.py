"""The running app as benchmarks use it: started, opened in a browser, or read over the web socket that a browser uses.

In: a checkout. Out: a server, a browser, or a `Reader`, a tab that draws nothing and keeps the messages it is sent.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "tests")) if path not in sys.path]  # as pytest does

from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: E402
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: E402
from websockets.sync.client import ClientConnection, connect  # noqa: E402

from tests.running import AppServer, start_app  # noqa: E402

NOUNS = (
    "dog", "cat", "bird", "tree", "river", "house", "child", "king", "apple", "letter", "train", "garden",
)  # fmt: skip
BOX = "text"  # the key of the box for a sentence, and its name in the address
DRAWN = ".headscope[data-arrived-ms]"


@contextmanager
def chromium(*first: str) -> Iterator[Any]:
    """Start a headless Chromium under Playwright, one of the names `first` before others."""
    from playwright.sync_api import sync_playwright

    from tests.conftest import CHROMIUM_ARGS, find_chromium

    with sync_playwright() as playwright:
        path = find_chromium(playwright.chromium.executable_path, *first)
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        try:
            yield browser
        finally:
            browser.close()


def socket_to(url: str, **options: Any) -> AbstractContextManager[ClientConnection]:
    """Open a connection to the server at this address as a browser does; `options` replace the usual ones."""
    usual = {"origin": url, "max_size": None, "open_timeout": 60, "compression": None}
    return connect(
        url.replace("http", "ws") + "/_stcore/stream", subprotocols=["streamlit"], **usual | options
    )


def rerun(**query: str) -> bytes:
    """Return the message with which a browser opens a link."""
    message = BackMsg()
    message.rerun_script.query_string = urlencode(query)
    return message.SerializeToString()


def until_over(socket: ClientConnection, seconds: float = 120) -> list[bytes]:
    """Return the messages until a run is over. Raises TimeoutError after so many seconds without one."""
    frames = [socket.recv(timeout=seconds)]
    while ForwardMsg.FromString(frames[-1]).WhichOneof("type") != "script_finished":
        frames.append(socket.recv(timeout=seconds))
    return frames


@dataclass
class Reader:
    """A tab without a browser: it knows the elements it was sent, and which messages it has."""

    socket: ClientConnection
    query: str
    ids: dict[str, str] = field(default_factory=dict)
    fragments: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    hashes: set[str] = field(default_factory=set)
    page_hash: str = ""
    is_waiting: bool = False  # a part of the page runs every few seconds until something is known

    def ask(self, fragment: str = "") -> None:
        """Run the page, or the fragment in which a widget stands, with the texts of all boxes."""
        message = BackMsg()
        run = message.rerun_script
        run.fragment_id = self.fragments.get(fragment, "")
        run.query_string, run.page_script_hash = self.query, self.page_hash
        run.cached_message_hashes.extend(self.hashes)
        for name, text in self.texts.items():
            run.widget_states.widgets.add(id=name).string_value = text
        self.socket.send(message.SerializeToString())

    def open(self) -> None:
        """Run the page and read it."""
        self.is_waiting = False
        self.ask()
        self.take(until_over(self.socket))

    def type_sentence(self, text: str) -> None:
        """Type into the box, which is bound to the address, and press Enter."""
        self.texts[self.ids[BOX]] = text
        self.query = urlencode({**dict(parse_qsl(self.query)), BOX: text})
        self.ask(BOX)

    def take(self, frames: Iterable[bytes]) -> None:
        """Read messages: a later one of the reader's says which it has."""
        for message in map(ForwardMsg.FromString, frames):
            kind = message.WhichOneof("type")
            if message.metadata.cacheable:
                self.hashes.add(message.hash)
            if kind == "new_session":
                self.page_hash = message.new_session.page_script_hash
            elif kind == "auto_rerun":
                self.is_waiting |= message.auto_rerun.interval < 60
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "text_input":
                box = message.delta.new_element.text_input
                name = box.id.split("-", 2)[-1]  # an id ends with the widget's key: $$ID-<hash>-<key>
                self.ids[name], self.fragments[name] = box.id, message.delta.fragment_id
                self.texts.setdefault(box.id, box.value or box.default)


@contextmanager
def running_app(cwd: Path = ROOT, **settings: str) -> Iterator[AppServer]:
    """Start a checkout's app, and wait until its heads' roles are known; stop it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        app = start_app(Path(folder) / "app.log", cwd=cwd, **settings)
        try:
            with reader(app.url) as tab:
                while tab.is_waiting:
                    time.sleep(1)
                    tab.open()
            yield app
        finally:
            app.stop()


@contextmanager
def reader(url: str) -> Iterator[Reader]:
    """Open the first page."""
    with socket_to(url) as socket:
        tab = Reader(socket, urlencode({BOX: "The first visit pays for what is made once."}))
        tab.open()
        yield tab


def p95(seconds: Iterable[float]) -> float:
    """Return what 19 of 20 stay under."""
    ordered = sorted(seconds)
    return ordered[int(0.95 * len(ordered))]


def megabytes(process: int) -> int:
    """Return the resident memory of a process, 0 where the system does not tell."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0) // 1000


@contextmanager
def highest(process: int) -> Iterator[Callable[[], int]]:
    """Watch the most memory of a process, in MB, ten times a second."""
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


def print_row(*cells: object) -> None:
    """Print a row of a Markdown table as soon as it is measured."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_head(*names: str) -> None:
    """Print the head of a Markdown table."""
    print_row(*names)
    print("|---" * len(names) + "|")
