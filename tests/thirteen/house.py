"""What the thirteen trials share: a server of their own, readers with an open page, and what a process has in use."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: E402
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: E402
from websockets.sync.client import ClientConnection  # noqa: E402

from benchmarks.wire import NOUNS, socket_to, until_over  # noqa: E402
from tests.conftest import AppServer, start_app  # noqa: E402

T = TypeVar("T")


class Outcome(NamedTuple):
    """Whether the criterion was met, and what was measured."""

    held: bool
    said: str


@dataclass
class Seen:
    """What one run brought to a reader's page."""

    boxes: dict[str, Any] = field(default_factory=dict)
    buttons: dict[str, str] = field(default_factory=dict)
    prose: list[str] = field(default_factory=list)
    drawn: list[Any] = field(default_factory=list)
    link: str = ""
    raised: int = 0
    session: str = ""

    def take(self, answer: ForwardMsg) -> None:
        """One message of the server."""
        element = answer.delta.new_element
        kind, part = answer.WhichOneof("type"), element.WhichOneof("type")
        if kind == "page_info_changed":
            self.link = answer.page_info_changed.query_string
        elif kind == "new_session":
            self.session = answer.new_session.initialize.session_id
        elif part == "text_input":
            self.boxes[element.text_input.id.rpartition("-")[2]] = element.text_input
        elif part == "button":
            self.buttons[element.button.label] = element.button.id
        elif part == "html":
            self.prose.append(element.html.body)
        elif part == "exception":
            self.raised += 1
        elif part == "bidi_component":
            self.drawn.append(element.bidi_component)

    def shows(self, text: str) -> bool:
        """Whether this sentence is in the box and drawn; the words of a record are those of the text."""
        record = next((one for one in self.drawn if one.component_name == "headscope_record"), None)
        box = self.boxes.get("text")
        return box is not None and box.value == text and record is not None and not self.raised


class Reader:
    """One browser tab: it keeps the texts of its boxes and its link, whatever becomes of the server."""

    def __init__(self, app: AppServer, page: str = "", **query: str) -> None:
        self.app, self.page, self.query = app, page, query
        self.box, self.typed = "", ""

    def __enter__(self) -> "Reader":
        self.connection = self.connect()
        self.stream = self.connection.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.__exit__(kind, error, trace)

    def connect(self) -> AbstractContextManager[ClientConnection]:
        """A socket to the server."""
        return socket_to(self.app.url)

    def send(self, press: str = "") -> None:
        """Ask for a run with what stands in the boxes; `press` is the button that was pressed."""
        asked = BackMsg()
        run = asked.rerun_script
        run.query_string = "&".join(f"{key}={value.replace(' ', '+')}" for key, value in self.query.items())
        run.page_name = self.page
        if self.box and self.typed:
            run.widget_states.widgets.add(id=self.box, string_value=self.typed)
        if press:
            run.widget_states.widgets.add(id=press, trigger_value=True)
        self.stream.send(asked.SerializeToString())

    def receive(self, seconds: float = 120) -> Seen:
        """What comes until the run is over."""
        seen = Seen()
        for answer in until_over(self.stream, seconds):
            seen.take(answer)
        if "text" in seen.boxes:
            self.box = seen.boxes["text"].id
        return seen

    def run(self, text: str = "", press: str = "", seconds: float = 120) -> Seen:
        """Type a text, or open the page as it is."""
        self.typed = text or self.typed
        self.send(press)
        return self.receive(seconds)


@contextmanager
def server(folder: Path, **options: Any) -> Iterator[AppServer]:
    """A fresh one."""
    app = start_app(folder / "server.log", **options)
    try:
        wait_until(lambda: app.get("/ready")[0] in (200, 503) and app.get("/ready")[2] != LOADING)
        yield app
    finally:
        app.stop()


LOADING = "the model is being loaded"


@contextmanager
def folder() -> Iterator[Path]:
    """A place for what a trial writes."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def wait_until(there: Callable[[], bool], seconds: float = 120) -> float:
    """How long it took; raises TimeoutError."""
    start = time.monotonic()
    while True:
        try:
            if there():
                return time.monotonic() - start
        except OSError:
            pass
        if time.monotonic() - start > seconds:
            raise TimeoutError(f"nothing after {seconds:.0f} s")
        time.sleep(0.05)


def sentence(*tags: object) -> str:
    """A new one."""
    a, b = (NOUNS[crc32(repr((turn, *tags)).encode()) % len(NOUNS)] for turn in range(2))
    return f"The {a} of reader {' '.join(map(str, tags))} saw the {b} because it was late."


def together(work: Callable[[int], T], n: int) -> list[T]:
    """The same by n readers at once."""
    with ThreadPoolExecutor(n) as many:
        return list(many.map(work, range(n)))


def descriptors(process: int) -> int:
    """Files and sockets that a process has open, 0 where the system does not tell."""
    place = Path(f"/proc/{process}/fd")
    return len(list(place.iterdir())) if place.is_dir() else 0


@contextmanager
def flooding(app: AppServer, sockets: int) -> Iterator[Callable[[], int]]:
    """So many sockets of one client that sends without a pause, from its tenth answered run on; how many there are."""
    with folder() as place:
        answered = place / "answered"
        answered.touch()
        flood = "import asyncio, pathlib, sys; from benchmarks.flood import main; "
        flood += "asyncio.run(main(sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])))"
        process = subprocess.Popen(
            [sys.executable, "-c", flood, app.url, str(sockets), str(answered)],
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: answered.stat().st_size >= 10)
            yield lambda: answered.stat().st_size
        finally:
            process.kill()
            process.wait()
