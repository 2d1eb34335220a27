"""A reader with one tab and no browser: it asks over the web socket that a browser uses, and keeps what it was sent."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from benchmarks.wire import socket_to

INTERNAL = "$$STREAMLIT_INTERNAL_KEY"
BOX = "text"  # the key of the box for a sentence, and its name in the address
VIEW = "headscope_view"
Asked = tuple[Any, ...]  # the component that asks, and its event
QUIET = 0.25  # seconds without a message after which a step is over


@dataclass
class Reader:
    """A tab without a browser: it knows the elements it was sent, and which messages it has."""

    socket: Any
    path: str = ""
    query: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    sent: list[tuple[str, int]] = field(default_factory=list)
    hashes: set[str] = field(default_factory=set)
    page_hash: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    number: int = 0
    is_waiting: bool = False  # a part of the page runs every few seconds until something is known

    def ask(self, part: str = "", trigger: dict[str, Any] | None = None) -> None:
        """Let the page run, or the part of it in which a component stands, with what the controls say; `trigger` is an
        event of that component."""
        from streamlit.proto.BackMsg_pb2 import BackMsg

        message = BackMsg()
        run = message.rerun_script
        run.fragment_id = self.parts.get(part, "")
        run.query_string, run.page_script_hash = self.query, self.page_hash
        run.cached_message_hashes.extend(self.hashes)
        for name, value in self.states.items():
            state = run.widget_states.widgets.add(id=name)
            if isinstance(value, str):
                state.string_value = value
            else:
                state.json_value = json.dumps(value)
        if trigger:
            state = run.widget_states.widgets.add(id=f"{INTERNAL}_{self.ids[part]}__events")
            state.json_trigger_value = json.dumps(trigger)
        self.socket.send(message.SerializeToString())

    def hear(self, quiet: float = QUIET) -> None:
        """Read until the run is over, and then until nothing has come for so many seconds."""
        self.sent, finished = [], False
        while quiet or not finished:
            try:
                frame = self.socket.recv(timeout=quiet if finished else 60)
            except TimeoutError:
                return
            kind = self.take(frame)
            finished = kind == "script_finished" or (finished and kind != "new_session")

    def take(self, frame: bytes) -> str:
        """One message of the server; what kind it is."""
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        message = ForwardMsg.FromString(frame)
        kind = str(message.WhichOneof("type"))
        if kind == "delta":
            kind = str(message.delta.WhichOneof("type"))
            if kind == "new_element":
                kind = str(message.delta.new_element.WhichOneof("type"))
        self.sent.append((kind, len(frame)))
        self._learn(message, kind)
        return kind

    def _learn(self, message: Any, kind: str) -> None:
        if message.metadata.cacheable:
            self.hashes.add(message.hash)
        if kind == "new_session":
            self.page_hash = message.new_session.page_script_hash
        elif kind == "auto_rerun":
            self.is_waiting |= message.auto_rerun.interval < 60
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind in ("text_input", "bidi_component"):
            element = getattr(message.delta.new_element, kind)
            # A widget is known by its key, which ends its id: $$ID-<hash>-<key>.
            name = element.id.split("-", 2)[-1] if kind == "text_input" else element.component_name
            self.ids[name], self.parts[name] = element.id, message.delta.fragment_id
            if kind == "text_input":
                self.states.setdefault(element.id, element.value or element.default)
            elif element.component_name.endswith("view"):
                data = json.loads(element.mixed.json if element.HasField("mixed") else element.json)
                self.number = data.get("rest", data).get("n", 0)


@contextmanager
def reader(server: Any, connect: Callable[[str], Any] = socket_to) -> Iterator[Reader]:
    """A reader who has opened the first page; `connect`: how the socket to an address is opened."""
    with connect(server.url) as socket:
        one = Reader(socket, query=urlencode({"text": "The first visit pays for what is made once."}))
        for _ in range(60):  # until the heads' roles are known
            one.is_waiting = False
            one.ask()
            one.hear()
            if not one.is_waiting:
                break
            time.sleep(1)
        yield one


def sentence(one: Reader, text: str) -> Asked:
    """Typed into the box, and in the address, as a browser has it where the box is bound to it."""
    one.states[one.ids[BOX]] = text
    one.query = urlencode({**dict(parse_qsl(one.query)), BOX: text})
    return (BOX,)


def head(one: Reader, number: int) -> Asked:
    """As the picture says it: a state, which stays."""
    chosen = {"head": [number // 12 % 6, number % 12], "pins": [], "to": None, "n": one.number}
    one.states[one.ids[VIEW]] = {"selection": chosen}
    return (VIEW,)
