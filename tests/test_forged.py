"""Values of controls that no browser of ours sends, and connections that never say what they want."""

import asyncio
import socket
import threading
import time

import pytest
import uvicorn
from pages.parts.serve.forged import ignore_forged_values
from pages.parts.serve.streamlit_private import limit_waiting
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import WStates

from benchmarks.wire import socket_to, until_over

OFFERED = ["one", "two"]


def states(kind, value, sent_as, offered=None):
    """A session's values with a single control that sends `kind`, and what arrived for it."""
    ignore_forged_values()
    found = WStates()
    found.set_widget_metadata(WidgetMetadata(
        "box", deserializer=lambda said: {"one": 1, "two": 2}.get(said, said), serializer=str, value_type=kind,
        formatted_options=offered,
    ))  # fmt: skip
    state = WidgetState(id="box")
    if sent_as.endswith("array_value"):
        getattr(state, sent_as).data.extend(value)
    else:
        setattr(state, sent_as, value)
    found.set_widget_from_proto(state)
    return found


@pytest.mark.parametrize(("kind", "value", "sent_as", "read"), [
    ("string_value", "a text", "string_value", "a text"),
    ("string_value", "", "string_value", ""),
    ("string_value", 3.0, "double_value", None),
    ("string_value", [1], "int_array_value", None),
    ("double_value", "3", "string_value", None),
    ("bool_value", 1, "int_value", None),
    ("double_value", 3.0, "double_value", 3.0),
])  # fmt: skip
def test_only_the_kind_that_a_control_sends_is_read(kind, value, sent_as, read):
    assert states(kind, value, sent_as).get("box") == read


@pytest.mark.parametrize(("value", "read"), [("two", 2), ("²", None), ("", None)])
def test_of_a_list_only_what_it_offers_is_read(value, read):
    assert states("string_value", value, "string_value", OFFERED).get("box") == read
    assert states("string_value", value, "string_value").get("box") == (read or value)


def test_what_cannot_be_read_counts_as_not_sent():
    found = states("int_value", 7, "int_value")
    found.set_widget_metadata(WidgetMetadata("box", ["only"].__getitem__, str, "int_value"))
    assert found.get("box") is None


class Session:
    """One reader's connection; `run` sends values and returns the texts in the boxes and the exceptions shown."""

    def __init__(self, stream):
        self.stream, self.boxes = stream, {}

    def run(self, name="", **value):
        asked = BackMsg()
        asked.rerun_script.query_string = "text=The+first+one+stays"
        if name:
            asked.rerun_script.widget_states.widgets.add(id=name, **value)
        self.stream.send(asked.SerializeToString())
        raised = []
        for answer in until_over(self.stream):
            element = answer.delta.new_element
            if element.WhichOneof("type") == "text_input":
                self.boxes[element.text_input.id.rpartition("-")[2]] = element.text_input
            if element.WhichOneof("type") == "exception":
                raised.append(element.exception.message)
        return raised


@pytest.mark.slow
def test_a_session_goes_on_after_a_forged_value(app_server):
    with socket_to(app_server.url) as stream:
        reader = Session(stream)
        assert reader.run() == []
        box = reader.boxes["text"].id
        assert reader.run(box, double_value=float("inf")) == []
        assert reader.run(box, bool_value=True) == []
        assert reader.boxes["text"].value == "The first one stays"
        assert reader.run(box, string_value="And a new one is read") == []
        assert reader.boxes["text"].value == "And a new one is read"


async def page(_scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


class Hand:
    """What uvicorn hands to an application at its start: a method of something that knows the settings."""

    def __init__(self, config):
        self.config = config

    def receive(self):
        """Nothing comes."""


@pytest.fixture(scope="module")
def hasty_server():
    """The port of a server that waits 0.3 s for a request's head and 1.6 s for its body."""
    config = uvicorn.Config(page, port=0, log_level="error", lifespan="off", timeout_keep_alive=5)
    config.load()
    assert limit_waiting(Hand(config).receive, 0.3, 1.6)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def said(port, *parts):
    """What was answered to a request that comes in parts, one each 0.2 s, and how long the connection lasted."""
    start, answer = time.monotonic(), b""
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.settimeout(4)
        try:
            for part in parts:
                line.sendall(part)
                time.sleep(0.2)
            while got := line.recv(4096):
                answer += got
        except (ConnectionError, TimeoutError):
            pass
    return answer[:15], time.monotonic() - start


@pytest.mark.parametrize("parts", [
    (b"",), (b"GET / HTTP/1.1\r\nHo",), (b"GET / HT", b"TP/1.1\r\n", *9 * (b"A: b\r\n",)),
])  # fmt: skip
def test_a_request_that_is_not_asked_to_its_end_is_closed(hasty_server, parts):
    answer, seconds = said(hasty_server, *parts)
    assert answer == b""
    assert seconds < 1.5  # more bytes of the same head buy no time


def test_a_second_request_begun_on_the_same_connection_is_closed_too(hasty_server):
    answer, seconds = said(hasty_server, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHo")
    assert answer == b"HTTP/1.1 200 OK"
    assert seconds < 2


def test_another_server_is_left_alone():
    assert not limit_waiting(asyncio.sleep, 1, 1)
