"""Each setting of the operating page at another value than its default, on a server that runs: it does what it says."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from test_hostile import raw
from thirteen.house import Reader
from websockets.exceptions import ConnectionClosed, InvalidStatus

from benchmarks.wire import rerun, socket_to
from running import start_app
from tests.sending import put

pytestmark = pytest.mark.slow
SCHOOL = "https://school.example"
SETTINGS = {
    "HEADSCOPE_SOCKETS": "3", "HEADSCOPE_SOCKETS_PER_ADDRESS": "2", "HEADSCOPE_RUNS_PER_SECOND": "1",
    "HEADSCOPE_RUNS_AT_ONCE": "2", "HEADSCOPE_ADDRESS_RUNS_PER_SECOND": "1", "HEADSCOPE_ADDRESS_RUNS_AT_ONCE": "3",
    "HEADSCOPE_SILENT_SECONDS": "1", "HEADSCOPE_REQUEST_SECONDS": "1", "HEADSCOPE_UPLOAD_SECONDS": "2",
    "HEADSCOPE_FILES_PER_SESSION": "2", "HEADSCOPE_UPLOAD_MB": "3", "HEADSCOPE_STORE_MB": "50",
    "HEADSCOPE_ORIGINS": SCHOOL, "HEADSCOPE_ALLOW_HUB": "0", "HEADSCOPE_LAYOUT": "rows",
}  # fmt: skip


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """A server of whose settings none is its default."""
    one = start_app(tmp_path_factory.mktemp("settings") / "log", known=True, **SETTINGS)
    yield one
    one.stop()


def opened(app, address, origin=None):
    """A socket of somebody at this address, as a proxy on this machine says it."""
    seen_by_a_proxy = {"X-Forwarded-For": address}
    return socket_to(app.url, origin=origin or app.url, additional_headers=seen_by_a_proxy, close_timeout=0.2)


class Tab(Reader):
    """An open page of somebody at an address."""

    def __init__(self, app, address, **query):
        super().__init__(app, **query)
        self.address = address

    def connect(self):
        return opened(self.app, self.address)

    def until_shown(self, *texts):
        """Type these without waiting, and wait for the last one."""
        for self.typed in texts:
            self.send()
        while not self.receive(60).shows(texts[-1]):
            pass


def test_places_of_all_and_of_one_address(app):
    with ExitStack() as stack:
        for address in ("192.0.2.1", "192.0.2.1"):
            stack.enter_context(opened(app, address)).send(rerun())
        with pytest.raises(InvalidStatus, match="403"), opened(app, "192.0.2.1"):
            pass
        stack.enter_context(opened(app, "192.0.2.2")).send(rerun())
        with pytest.raises(InvalidStatus, match="403"), opened(app, "192.0.2.3"):
            pass
        page = raw(app, b"GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nConnection: close\r\n\r\n")
        assert page.startswith(b"HTTP/1.1 503")
        assert b"All places are taken" in page


@pytest.mark.long
def test_a_tab_and_an_address_are_read_at_the_pace_that_is_set(app):
    with Tab(app, "192.0.2.11") as one:
        one.run()
        time.sleep(2.2)  # both are there again
        start = time.monotonic()
        one.until_shown(*(f"Turn {turn} of a tab." for turn in range(3)))
        assert time.monotonic() - start > 0.7  # the third of two at once
    with Tab(app, "192.0.2.12") as one, Tab(app, "192.0.2.12") as two:
        for tab in (one, two):
            tab.run()
        time.sleep(3.2)
        start = time.monotonic()
        with ThreadPoolExecutor(2) as both:
            list(
                both.map(
                    lambda tab: tab.until_shown("Turn 0 of two tabs.", "Turn 1 of two tabs."), (one, two)
                )
            )
        assert time.monotonic() - start > 0.7  # the fourth of three at once


@pytest.mark.long
def test_who_does_not_say_what_is_wanted_is_closed_in_time(app):
    start = time.monotonic()
    with opened(app, "192.0.2.21") as silent, pytest.raises(ConnectionClosed) as closed:
        silent.recv(timeout=20)
    assert closed.value.rcvd.code == 1013
    assert 0.8 < time.monotonic() - start < 8
    for asked, seconds in ((b"GET / HT", 1), (b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na", 2)):
        start = time.monotonic()
        raw(app, asked, seconds=20)
        assert time.monotonic() - start < seconds + 6


def test_files_of_a_reader_and_of_all(app):
    with Tab(app, "192.0.2.31") as one, Tab(app, "192.0.2.32") as two:
        mine, others = (tab.run().session for tab in (one, two))
        content = bytes(1_400_000)
        codes = [put(app, mine, name, content) for name in "abc"]
        assert codes == [204, 204, 413]  # the third of two
        assert put(app, others, "d", content) == 204  # less than 3 MB are here
        assert put(app, others, "e", content) == 413


def test_pages_of_an_origin_that_is_named_and_a_hub_that_is_not_allowed(app):
    with Tab(app, "192.0.2.41", model="bert-base-uncased") as tab:
        seen = tab.run()
        assert "Fetch it" not in seen.buttons
        assert any("hs-notice" in one and "bert-base-uncased" in one for one in seen.prose)
    with opened(app, "192.0.2.42", origin=SCHOOL):
        pass
    with (
        pytest.raises(InvalidStatus, match="403"),
        opened(app, "192.0.2.43", origin="https://elsewhere.example"),
    ):
        pass
