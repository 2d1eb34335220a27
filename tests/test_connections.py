"""How long a connection may take, and what the server writes down of it: by a clock and a loop of our own."""

import logging
from types import SimpleNamespace

import pytest

from pages.parts.serve import logs
from pages.parts.serve.logs import AT_MOST, MINUTE, Discreet, make_discreet
from pages.parts.serve.patience import impatient
from pages.parts.serve.readers import Readers


class Loop:
    """Keeps what is to be called later, until it is cancelled."""

    def __init__(self):
        self.later = []

    def call_later(self, seconds, act):
        wanted = (seconds, act)
        self.later.append(wanted)
        return SimpleNamespace(cancel=lambda: self.later.remove(wanted))


class Plain:
    """What is used of uvicorn's class: a transport, a loop, and the request that is under way."""

    cycle = None

    def __init__(self):
        self.loop = Loop()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        pass

    def on_response_complete(self):
        pass


class Transport:
    """As asyncio's own, which read 256 kB at once."""

    max_size = 256 * 1024
    closing = False

    def get_protocol(self):
        return self.protocol

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True


@pytest.fixture
def connection():
    made = impatient(Plain, 10, 120)()
    transport = Transport()
    transport.protocol = made
    made.connection_made(transport)
    return made


def waits(connection):
    return [seconds for seconds, _ in connection.loop.later]


def test_a_head_and_a_body_have_each_their_time_and_an_answer_as_long_as_it_takes(connection):
    assert waits(connection) == [10]
    connection.cycle = SimpleNamespace(response_complete=False, more_body=True)
    connection.data_received(b"half of it")
    assert waits(connection) == [120]
    connection.cycle.more_body = False
    connection.data_received(b"the rest")
    assert waits(connection) == [], "the answer is being made"
    connection.cycle.response_complete = True
    connection.data_received(b"GET")
    assert waits(connection) == [10]
    (_, act) = connection.loop.later[0]
    act()
    assert connection.transport.closing


def test_a_web_socket_is_no_slow_request_and_a_flood_is_read_in_pieces(connection):
    assert connection.transport.max_size == 16 * 1024
    connection.transport.protocol = object()  # the web socket's own
    connection.data_received(b"upgraded")
    assert waits(connection) == []


def entry(line: int = 1, said: str = "said", error: BaseException | None = None) -> logging.LogRecord:
    found = error and (type(error), error, error.__traceback__)
    return logging.LogRecord("streamlit", logging.ERROR, "a.py", line, said, (), found)


def test_a_place_writes_ten_entries_a_minute_and_again_in_the_next(monkeypatch):
    now = 100.0
    monkeypatch.setattr(logs, "time", SimpleNamespace(monotonic=lambda: now))
    discreet = Discreet()
    assert [discreet.filter(entry()) for _ in range(AT_MOST + 1)] == [True] * AT_MOST + [False]
    assert discreet.filter(entry(line=2)), "another place"
    now += MINUTE + 1
    assert discreet.filter(entry())


def test_of_an_error_its_place_and_kind_are_written_and_not_what_it_says():
    said = str(1234 * 5678)  # the line of the code is written too
    try:
        raise ValueError(said)
    except ValueError as error:
        written = entry(error=error)
    assert Discreet().filter(written)
    assert written.exc_text.endswith("ValueError")
    assert "test_connections.py" in written.exc_text
    assert said not in logging.Formatter().format(written)


def test_all_loggers_below_the_names_share_one_filter(monkeypatch):
    below = logging.getLogger("streamlit.headscope.test_connections")
    other = logging.getLogger("streamlit_of_another_kind")
    for _ in range(2):
        make_discreet()
    (one,) = [found for found in logging.getLogger("uvicorn").filters if isinstance(found, Discreet)]
    assert below.filters == [one]
    assert other.filters == []


def test_a_reader_goes_first_while_served_and_nobody_once_that_is_over():
    readers = Readers(rest=0)
    assert not readers.first
    with readers.served():
        assert readers.first
        with readers.served():
            assert readers.first
        assert readers.first
        with readers.waiting():
            assert not readers.first, "somebody needs what is computed behind the pages"
        assert readers.first
    assert not readers.first
