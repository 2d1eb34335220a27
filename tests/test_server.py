"""The server as it stands on the network: what it answers, what it refuses, and what it says of its model."""

import asyncio
import base64
import hashlib
import io
import logging
import os
import re
import runpy
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from statistics import median
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import streamlit as st
from websockets.exceptions import InvalidStatus

import mha_core
from benchmarks.served import highest, megabytes, socket_to
from mha_core import ModelError, Unavailable, load_model, trace
from mha_core.cli.app import listen
from pages.parts.frame import loading
from pages.parts.frame.request import models as offered
from pages.parts.picture.shared import font_addresses, library, library_address
from pages.parts.serve import guard, server, store
from pages.parts.serve.cache import MAX_CHARS
from pages.parts.serve.guard import HEADERS, Guard, is_page, unknown_page
from pages.parts.serve.store import limit_bytes
from tests.sending import begun_message, put

HOST = (b"host", b"class.example:8501")


def in_a_loop(work):
    """The result of a coroutine, in a thread of its own: a browser under test keeps this one's loop running."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


@pytest.mark.parametrize(("path", "status", "says"), [
    ("/", 200, "<script>"), ("/compare", 200, "<script>"),
    (f"/compare?text={'word+' * (MAX_CHARS // 5)}", 200, "<script>"),
    ("/_stcore/health", 200, "ok"), ("/ready", 200, "ready"), ("/_stcore/metrics", 404, ""), ("/shared/no", 404, ""),
], ids=lambda value: str(value)[:30])  # fmt: skip
def test_every_answer_carries_the_security_headers(app_server, path, status, says):
    answered, headers, text = app_server.get(path)
    assert (answered, says in text) == (status, True)
    for name in HEADERS.keys() - {"Content-Security-Policy"}:
        assert headers.get(name.lower()) == HEADERS[name]
    policy = headers["content-security-policy"].split("; ")
    scripts = next(part for part in policy if "script-src" in part)
    served = re.findall("<script>(.*?)</script>", text, re.S)
    assert re.findall("'sha256-(.*?)'", scripts) == [
        base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in served
    ]
    assert "unsafe-inline" not in scripts


def test_a_page_that_a_browser_has_is_sent_again_with_its_policy(app_server):
    """ "Not modified" would replace the policy that it has by one without its scripts."""
    headers = app_server.get("/")[1]
    asks = {"Accept": "text/html", "If-None-Match": headers["etag"], "Accept-Encoding": "gzip"}
    status, again, _ = app_server.get("/", headers=asks)
    assert (status, again["content-security-policy"]) == (200, headers["content-security-policy"])


def test_what_never_changes_is_a_file_with_its_digest_which_browsers_keep(app_server):
    address = library_address()
    status, headers, text = app_server.get(address.removeprefix("."))
    assert (status, text) == (200, library().decode())
    assert headers["content-type"].startswith("text/javascript")
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert hashlib.blake2b(text.encode(), digest_size=6).hexdigest() in address
    for font in font_addresses().values():
        with urllib.request.urlopen(app_server.url + font.removeprefix(".")) as answer:  # noqa: S310
            assert answer.read()[:4] == b"wOF2"
    assert app_server.get(address.replace("library", "librarx").removeprefix("."))[0] == 404


def test_routes_that_the_app_has_no_use_for_are_closed_and_the_path_of_a_page_is_not_the_servers(app_server):
    for route in ("metrics", "agent/openapi.json", "agent/mcp", "script-health-check"):
        for base in ("", "/nested"):
            assert app_server.get(f"{base}/_stcore/{route}")[0] == 404
    for route in ("health", "host-config"):
        assert app_server.get(f"/compare/_stcore/{route}")[0] == 300, "neither a yes nor an error"


def test_messages_that_are_too_large_and_never_end_cost_nothing(app_server):
    before = megabytes(app_server.process.pid)
    with ExitStack() as sockets, highest(app_server.process.pid) as most:
        for _ in range(10):
            sockets.enter_context(begun_message(app_server, 45_000_000, 44_000_000))
        time.sleep(0.5)
    assert most() - before < 100
    assert app_server.healthy()


def test_answers_on_a_kept_connection_come_at_once(app_server):
    def seconds(line):
        began = time.perf_counter()
        line.request("GET", "/_stcore/health")
        line.getresponse().read()
        return time.perf_counter() - began

    with closing(HTTPConnection("127.0.0.1", app_server.port)) as line:
        seconds(line)
        assert median(seconds(line) for _ in range(5)) < 0.02


def test_a_socket_from_a_foreign_page_is_refused(app_server):
    refused = pytest.raises(InvalidStatus, match="403")
    with refused, socket_to(app_server.url, origin="http://elsewhere.example"):
        pass
    with socket_to(app_server.url, origin=app_server.url):
        assert app_server.healthy()


def test_no_file_is_taken_whatever_its_size(app_server):
    for size in (1, 4_000_000):
        assert put(app_server, "no-session", "file", b"x" * size) == 404
    assert app_server.healthy()


@pytest.mark.parametrize("path", [
    "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.git/config", "/.streamlit/config.toml", "/app.py",
    "/pages/../pyproject.toml", "/static/../../pyproject.toml", "/media/../../pyproject.toml",
    "/shared/../pyproject.toml", "/shared/%2e%2e%2fpyproject.toml",
])  # fmt: skip
def test_no_file_of_the_server_is_given_away(app_server, path):
    answer = app_server.get(path)[2]
    assert not any(word in answer for word in ("root:", "[core]", "st.App", "[project]", "[server]"))


async def visit(door, kind, headers=(), **more):
    """Everything that is sent to one connection."""
    sent = []

    async def receive():
        return {"type": f"{kind}.connect"}

    async def send(message):
        sent.append(message)

    requested = {"type": kind, "path": "/_stcore/stream", "method": "GET", "headers": [*headers, HOST]}
    await door(requested | more, receive, send)
    return sent


@pytest.mark.parametrize(("header", "value", "is_let_in"), [
    ("origin", None, True), ("origin", b"http://class.example:8501", True),
    ("origin", b"https://CLASS.example:8501", True), ("origin", b"https://school.example", True),
    ("origin", b"https://school.example.evil", False), ("origin", b"http://class.example", False),
    ("origin", b"http://elsewhere.example:8501", False), ("origin", b"null", False), ("origin", b"http://[", False),
    ("origin", b"", False),
    ("host", b"class.example:8501", True), ("host", b"CLASS.example", True), ("host", b"a.school.example", True),
    ("host", b"school.example", False), ("host", b"class.example.evil", False), ("host", b"127.0.0.1:8501", False),
])  # fmt: skip
def test_only_pages_and_names_of_this_server_and_those_the_owner_names_open_a_socket(
    monkeypatch, header, value, is_let_in
):
    heard = []

    async def page(requested, _receive, _send):
        heard.append(dict(requested["headers"]))

    monkeypatch.setattr("streamlit.get_option", lambda _: ["https://School.example/"])
    monkeypatch.setenv("STREAMLIT_SERVER_ALLOWED_HOSTS", "class.example *.school.example")
    headers = () if value is None else ((header.encode(), value),)
    sent = in_a_loop(visit(Guard(page), "websocket", headers))
    assert bool(heard) == is_let_in
    if header == "origin":
        assert sent == ([] if is_let_in else [{"type": "websocket.close", "code": 1008}])
    # Streamlit has nothing left to ask anybody about.
    assert all(b"origin" not in requested for requested in heard)


def test_only_a_visit_over_https_is_told_to_stay_there():
    async def page(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    secure, plain = (
        {name for name, _ in in_a_loop(visit(Guard(page), "http", path="/", scheme=scheme))[0]["headers"]}
        for scheme in ("https", "http")
    )
    assert secure - plain == {b"strict-transport-security"}


@pytest.mark.parametrize(
    ("addresses", "messages", "gap", "waited"),
    [
        (["10.0.0.1"], 8, 0, []),
        (["10.0.0.1"], 10, 0, [10.0, 10.0]),
        (["10.0.0.1"], 40, 0.2, []),
        (["10.0.0.1"], 20, 0.125, [10.0]),  # of 8 at once, each takes 1 and 0.625 come back
        (["10.0.0.1"] * 12, 8, 0, []),
        (["10.0.0.1"] * 14, 8, 0, pytest.approx([i / 25 for i in range(1, 13)])),
        ([f"10.0.0.{i}" for i in range(14)], 8, 0, []),
    ],
)
def test_browsers_of_one_address_share_its_pace_and_no_other_address_waits(
    monkeypatch, addresses, messages, gap, waited
):
    seconds, everyone, clock = [], None, [100.0]
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    async def sleep(length):
        seconds.append(length)
        clock[0] += length if len(addresses) == 1 else 0  # several wait at the same time

    async def page(_scope, receive, _send):
        for _ in range(messages):
            await receive()
            clock[0] += gap
        await everyone.wait()

    async def all_at_once():
        nonlocal everyone
        door, everyone = Guard(page), asyncio.Barrier(len(addresses))
        monkeypatch.setattr(asyncio, "sleep", sleep)
        clients = zip(addresses, range(len(addresses)), strict=True)
        await asyncio.gather(*(visit(door, "websocket", client=client) for client in clients))

    in_a_loop(all_at_once())
    assert sorted(seconds) == waited


def test_a_taken_port_is_passed_over_unless_it_was_named():
    with listen("localhost", None) as first, listen("localhost", None) as second:
        ports = [each.getsockname()[1] for each in (first, second)]
        assert 8501 <= ports[0] < ports[1]
        with pytest.raises(Unavailable, match=rf"port {ports[0]}: Address already in use"):
            listen("localhost", ports[0])


@pytest.mark.parametrize("address", ["203.0.113.9", "no.such.host.invalid", "x" * 300])
def test_an_address_that_is_not_this_machines_is_refused_in_a_sentence(address):
    with pytest.raises(Unavailable, match=r"^Cannot listen at '.{4,60}', port 0: .+\.$"):
        listen(address, 0)


def test_a_setting_that_cannot_be_read_stops_the_start():
    assert limit_bytes({}) == 400_000_000
    assert limit_bytes({"HEADSCOPE_STORE_MB": " 40 "}) == 40_000_000
    for wrong in ("0", "-3", "many", "1.5", "\N{ARABIC-INDIC DIGIT THREE}", "9" * 5000):
        with pytest.raises(SystemExit, match=r"HEADSCOPE_STORE_MB is .* a whole number"):
            limit_bytes({"HEADSCOPE_STORE_MB": wrong})
    server.check_switches({"HEADSCOPE_ALLOW_HUB": "1"})
    for name in ("HEADSCOPE_ALLOW_HUB", "HEADSCOPE_ALLOW_FOLDERS", "HEADSCOPE_ALLOW_ANY_MODEL"):
        with pytest.raises(SystemExit, match=f"{name} is 'no'.*it takes 1 or 0"):
            server.check_switches({name: "no"})


@pytest.mark.parametrize(("message", "address", "may"), [
    (None, "::", "0"), ("", "localhost", "1"), (" ", "::", "0"), ("1", "::", "1"),
])  # fmt: skip
def test_readers_from_elsewhere_fetch_no_models_unless_the_owner_says_so(monkeypatch, message, address, may):
    monkeypatch.setenv("HEADSCOPE_ALLOW_HUB", message or "")
    monkeypatch.setattr(server, "warm_up", list)  # no problems
    options = {"server.address": address, "server.headless": True}
    monkeypatch.setattr("streamlit.get_option", options.get)

    async def live():
        async with server.settings()["lifespan"](MagicMock()):
            pass

    in_a_loop(live())
    assert os.environ["HEADSCOPE_ALLOW_HUB"] == may
    assert ("bert-base-uncased" in offered()) == (may == "1")


def test_the_embedded_model_passes_its_proof_and_others_fail_it(model, monkeypatch):
    loading.self_test(model)
    with pytest.raises(ModelError, match=r"failed its test: head 4-2 gives"):
        loading.self_test(load_model("minilm", trained=False))
    record = trace(loading.SELF_TEST_SENTENCE, model)
    broken = record.weights.copy()
    broken[5, 11, 4] *= 0.9
    monkeypatch.setattr(loading, "trace", lambda *_: SimpleNamespace(tokens=record.tokens, weights=broken))
    with pytest.raises(ModelError, match=r"rows sum to 0\.9000 to 1\.0000"):
        loading.self_test(model)


def test_ready_says_why_it_is_not_and_the_store_is_as_large_as_it_was_set(monkeypatch):
    def damaged():
        raise ModelError("It is damaged.")

    for name in ("make_discreet", "spare_the_machine"):  # they change the whole process
        monkeypatch.setattr(server, name, list)
    monkeypatch.setattr(mha_core, "load_model", damaged)
    monkeypatch.setenv("HEADSCOPE_ALLOW_HUB", "0")
    monkeypatch.setenv("HEADSCOPE_STORE_MB", "7")
    settings = server.settings()
    (ready,) = (route.endpoint for route in settings["routes"] if route.path == "/ready")

    async def answers():
        before = await ready(None)
        async with settings["lifespan"](MagicMock()):
            return before, await ready(None)

    before, after = in_a_loop(answers())
    assert (before.status_code, after.status_code, after.body) == (503, 503, b"It is damaged.")
    assert runpy.run_path(store.__file__)["STORE"].limit == 7_000_000


def test_the_log_says_where_and_never_what():
    answer, written = logging.getLogRecordFactory(), io.StringIO()
    logger = logging.Logger("streamlit.test_server", logging.INFO)
    logger.addHandler(logging.StreamHandler(written))
    server.make_discreet.__wrapped__()
    try:
        logger.info("Session with id %s is already connected!", "abc")
        try:
            raise ValueError("the reader's own words")
        except ValueError:
            logger.exception("Uncaught app execution")
    finally:
        logging.setLogRecordFactory(answer)
    text = written.getvalue()
    assert "abc" not in text
    assert "own words" not in text.replace('raise ValueError("the reader\'s own words")', "")
    assert "ValueError" in text
    assert "test_server.py" in text


@pytest.mark.parametrize(("base", "home"), [("", "/"), ("lab/heads", "/lab/heads/")])
def test_an_unknown_page_leads_to_every_page_also_below_a_path(monkeypatch, base, home):
    monkeypatch.setattr(st, "get_option", lambda _: base)
    page = unknown_page(f"{home}<script>")
    assert "<script>" not in page
    paths = re.findall('href="([^"]*)"', page)
    assert {home, f"{home}compare", f"{home}training"} <= set(paths)
    assert all(address.startswith(home) for address in paths)
    paths += [f"{home}{path}" for path in ("training/", "ready", "favicon.png", "_stcore/health")]
    others = [f"{home}{path}" for path in ("foo", "compare/foo", "Roles", "compare/_stcore/health")]
    assert [path for path in paths + others if is_page(path)] == paths
