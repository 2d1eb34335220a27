"""The guard against foreign pages, floods and full rooms, without a server; and what is sent to it by a real socket."""

import asyncio
import io
import logging
import os
import socket as sockets
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from pages.parts.serve.limits import Limits, check_the_rest, limits, origins, setting
from pages.parts.serve.logs import AT_MOST, Discreet
from running import start_app
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.parts.serve.guard import Guard
from tests.sending import handshake

HOST = (b"host", b"class.example:8501")


def in_a_loop(work):
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


def scope(kind="websocket", headers=(), client="10.0.0.1", path="/_stcore/stream"):
    return {"type": kind, "path": path, "method": "GET", "headers": [HOST, *headers], "client": (client, 1)}


async def visit(door, asked, frames=()):
    """Everything that was sent to one connection which then says `frames` and leaves."""
    sent, said = [], [{"type": "websocket.connect"}, *frames, {"type": "websocket.disconnect", "code": 1000}]

    async def receive():
        return said.pop(0)

    async def send(message):
        sent.append(message)

    await door(asked, receive, send)
    return sent


def page_that_hears(heard):
    async def page(asked, receive, send):
        heard.append(dict(asked["headers"]))
        while (await receive())["type"] != "websocket.disconnect":
            pass

    return page


@pytest.mark.parametrize(
    ("origin", "let_in"),
    [
        (None, True),
        (b"http://class.example:8501", True),
        (b"https://CLASS.example:8501", True),
        (b"https://school.example", True),
        (b"https://school.example.evil", False),
        (b"http://class.example", False),
        (b"http://elsewhere.example:8501", False),
        (b"null", False),
        (b"http://[", False),
        (b"", False),
    ],
)
def test_only_pages_of_this_server_and_those_the_owner_names_open_a_socket(origin, let_in):
    heard = []
    door = Guard(page_that_hears(heard), origins={"https://school.example"})
    headers = () if origin is None else ((b"origin", origin),)
    sent = in_a_loop(visit(door, scope(headers=headers)))
    assert (bool(heard), sent) == (
        (True, []) if let_in else (False, [{"type": "websocket.close", "code": 1008}])
    )
    # Streamlit has nothing left to ask anybody about.
    assert all(b"origin" not in asked for asked in heard)


async def crowd(door, addresses):
    """As many sockets as there are addresses, all open at once: the code each was refused with, 0 for none."""
    leave, codes = asyncio.Event(), dict[int, int]()

    async def one(i, address):
        codes[i] = 0
        first = [{"type": "websocket.connect"}]

        async def receive():
            if first:
                return first.pop()
            await leave.wait()
            return {"type": "websocket.disconnect", "code": 1000}

        async def send(message):
            codes[i] = message["code"]

        await door(scope(client=address), receive, send)

    tasks = [asyncio.create_task(one(i, address)) for i, address in enumerate(addresses)]
    await asyncio.sleep(0.05)
    seen = [codes[i] for i in range(len(addresses))]
    full = door.is_full(scope(client="10.0.0.9"))
    leave.set()
    await asyncio.gather(*tasks)
    return seen, full


def test_one_address_leaves_places_for_others():
    door = Guard(page_that_hears([]), limits=Limits(sockets=4, sockets_per_address=2))
    seen, full = in_a_loop(crowd(door, ["a", "a", "a", "b"]))
    assert (seen, full) == ([0, 0, 1013, 0], False)
    seen, full = in_a_loop(crowd(door, ["a", "b", "c", "d", "e"]))
    assert (seen, full) == ([0, 0, 0, 0, 1013], True)
    assert door.open == 0
    assert not any(one.sockets for one in door.addresses.values())


def test_who_says_nothing_at_first_gives_up_the_place():
    async def silent(first):
        door = Guard(None, limits=Limits(silent_seconds=0.05))
        seen, sent = [], []

        async def page(_asked, receive, _send):
            while not seen or seen[-1] != "websocket.disconnect":
                seen.append((await receive())["type"])

        async def receive():
            if first:
                return first.pop(0)
            await asyncio.sleep(0.2)
            return {"type": "websocket.disconnect", "code": 1000}

        async def send(message):
            sent.append(message)

        door.app = page
        await door(scope(), receive, send)
        return seen, sent

    rerun = BackMsg()
    rerun.rerun_script.query_string = ""
    frame = {"type": "websocket.receive", "bytes": rerun.SerializeToString()}
    seen, sent = in_a_loop(silent([{"type": "websocket.connect"}]))
    assert seen == ["websocket.connect", "websocket.disconnect"]
    assert sent == [{"type": "websocket.close", "code": 1013}]
    seen, sent = in_a_loop(silent([{"type": "websocket.connect"}, frame]))
    assert seen == ["websocket.connect", "websocket.receive", "websocket.disconnect"]
    assert sent == []


def test_the_sockets_of_one_address_share_what_it_may_ask():
    async def flood(n):
        door = Guard(None, limits=Limits(address_runs_per_second=50, address_runs_at_once=10))
        rerun = BackMsg()
        rerun.rerun_script.query_string = ""
        heard = []

        async def page(_asked, receive, _send):
            while True:
                heard.append(await receive())

        async def receive():
            await asyncio.sleep(0)
            return {"type": "websocket.receive", "bytes": rerun.SerializeToString()}

        door.app = page
        tasks = [asyncio.create_task(door(scope(client=f"10.0.0.{i % n}"), receive, None)) for i in range(8)]
        await asyncio.sleep(0.4)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(heard)

    alone, apart = in_a_loop(flood(1)), in_a_loop(flood(8))
    assert 10 <= alone <= 40
    assert apart >= 4 * alone


def test_limits_are_the_owners_and_a_mistake_stops_the_start():
    assert limits({}) == Limits()
    assert limits({setting("sockets"): " 40 "}) == Limits(sockets=40, sockets_per_address=30)
    assert limits({setting("sockets"): "0999999999"}).sockets == 999_999_999
    assert limits({setting("sockets"): "1"}) == Limits(sockets=1, sockets_per_address=1)
    assert limits({setting("silent_seconds"): "1"}) == Limits(), "which is no owner's"
    for wrong in ("0", "-3", "many", "1.5", "\N{ARABIC-INDIC DIGIT THREE}", "1000000000", "9" * 5000):
        with pytest.raises(SystemExit, match=r"HEADSCOPE_SOCKETS is .* a whole number"):
            limits({"HEADSCOPE_SOCKETS": wrong})
    found = origins({"HEADSCOPE_ORIGINS": "https://A.example/, http://b:1"})
    assert found == {"https://a.example", "http://b:1"}
    # As browsers write it: the port of https itself is left out.
    found = origins({"HEADSCOPE_ORIGINS": "https://a.example:443 http://b:80/ http://c:443 http://[::1]:80"})
    assert found == {"https://a.example", "http://b", "http://c:443", "http://[::1]"}
    never_asked = ("https://a?b", "https://a#b", "https://b@a", "https://*.a.example", "http://[")
    for wrong in ("a.example", "ftp://a", "https://a/b", "https://", *never_asked):
        with pytest.raises(SystemExit, match="written like"):
            origins({"HEADSCOPE_ORIGINS": wrong})


@pytest.mark.parametrize(("name", "wrong", "told"), [
    ("HEADSCOPE_ALLOW_FOLDERS", "no", "it takes 1 or 0"),
    ("HEADSCOPE_ALLOW_HUB", "true", "it takes 1 or 0"),
])  # fmt: skip
def test_what_is_read_only_later_stops_the_start_too(monkeypatch, name, wrong, told):
    check_the_rest()
    monkeypatch.setenv(name, wrong)
    with pytest.raises(SystemExit, match=f"{name} is '{wrong}'.*{told}"):
        check_the_rest()


def test_the_log_says_where_and_never_what():
    written = io.StringIO()
    logger = logging.Logger("streamlit.test_guard", logging.INFO)
    logger.addFilter(Discreet())
    logger.addHandler(logging.StreamHandler(written))
    logger.info("Session with id %s is already connected!", "abc")
    try:
        raise ValueError("the reader's own words")
    except ValueError:
        logger.exception("Uncaught app execution")
    for i in range(3 * AT_MOST):
        logger.warning("again %d", i)
    text = written.getvalue()
    assert "abc" not in text
    assert "own words" not in text.replace('raise ValueError("the reader\'s own words")', "")
    assert "ValueError" in text
    assert "test_guard.py" in text
    assert text.count("again") == AT_MOST
    assert "left out" in text


class Proxy:
    """A proxy that takes every connection and never answers; `asked` is what was said to it first."""

    def __init__(self):
        self.listener = sockets.create_server(("127.0.0.1", 0))
        self.asked, self.open = [], []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            self.asked.append(connection.recv(200))


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory):
    """The app on a machine whose every way out is a proxy that swallows, listening as the container does."""
    proxy = Proxy()
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    log = tmp_path_factory.mktemp("cut-off") / "log"
    env = {
        **dict.fromkeys(names, proxy.url),
        "no_proxy": "127.0.0.1,localhost",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    app = start_app(log, address="0.0.0.0", **env)  # noqa: S104 - as the container does
    yield app, proxy
    app.stop()
    proxy.listener.close()


@pytest.mark.slow
def test_a_frame_that_is_too_long_is_refused_while_it_arrives(cut_off):
    app, _ = cut_off
    with sockets.create_connection(("127.0.0.1", app.port), timeout=20) as line:
        line.sendall(handshake(f"127.0.0.1:{app.port}"))
        assert b" 101 " in line.recv(4096)
        # The head of a frame of 40 MB, and nothing of it.
        line.sendall(struct.pack("!BBQ", 0x82, 0x80 | 127, 40_000_000) + os.urandom(4))
        answer = b""
        while len(answer) < 4:
            answer += line.recv(4096)
        assert answer[0] == 0x88  # close
        assert struct.unpack("!H", answer[2:4]) == (1009,)
