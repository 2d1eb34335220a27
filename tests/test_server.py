"""The server as it stands on the network: what it answers, what it refuses, and what nobody can do to it."""

import asyncio
import hashlib
import os
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Queue
from types import SimpleNamespace
from unittest.mock import MagicMock
from urllib.parse import urlencode

import pytest
from pages.parts.serve.limits import Limits
from pages.parts.serve.uploads import Uploads
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from websockets.exceptions import ConnectionClosed, InvalidStatus

from benchmarks.wire import socket_to
from mha_core import ModelError
from pages.parts.frame.request import models
from pages.parts.frame.state import LINK_CHARS
from pages.parts.picture.shared import font_addresses, library, library_address
from pages.parts.serve import server, streamlit_private
from pages.parts.serve.guard import HEADERS, Guard, LimitedSocket, classify_frame

LIMIT = 512 * 1024


def in_a_loop(work):
    """The result of a coroutine, in a thread of its own: a browser under test keeps this one's loop running."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


def stream(app, **options):
    return socket_to(app.url, **{"origin": None, **options})


def rerun(query: str = "") -> bytes:
    message = BackMsg()
    message.rerun_script.query_string = query
    return message.SerializeToString()


def clear_cache() -> bytes:
    return BackMsg(clear_cache=True).SerializeToString()


def put_file(app, session: str, name: str, size: int) -> int:
    path = f"{app.url}/_stcore/upload_file/{session}/{name}"
    request = urllib.request.Request(path, data=b"x" * size, method="PUT")  # noqa: S310 - our own server
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return answer.status
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code


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


def test_it_is_healthy_and_ready(app_server):
    assert app_server.get("/_stcore/health")[::2] == (200, "ok")
    assert app_server.get("/ready")[::2] == (200, "ready")


@pytest.mark.parametrize("path", ["/", "/compare", "/_stcore/health", "/_stcore/metrics", "/ready"])
def test_every_answer_carries_the_security_headers(app_server, path):
    headers = app_server.get(path)[1]
    assert {name: headers.get(name.lower()) for name in HEADERS} == HEADERS


@pytest.mark.parametrize(
    "path",
    ["/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent/mcp", "/_stcore/script-health-check"],
)
def test_routes_the_app_has_no_use_for_are_closed(app_server, path):
    assert app_server.get(path)[0] == 404
    assert app_server.get("/nested" + path)[0] == 404


def test_a_socket_from_a_foreign_page_is_refused(app_server):
    with pytest.raises(InvalidStatus, match="403"), stream(app_server, origin="http://elsewhere.example"):
        pass


def test_a_frame_over_the_limit_closes_the_socket_and_nothing_else(app_server):
    with stream(app_server) as socket:
        socket.send(rerun("x" * LIMIT))
        with pytest.raises(ConnectionClosed) as closed:
            drain(socket)
        assert closed.value.rcvd.code == 1009
    assert app_server.healthy()


def test_a_long_text_that_must_be_answered_still_fits(app_server):
    assert classify_frame(rerun("\N{GRINNING FACE}" * 100_000), LIMIT) == (0, True)


@pytest.mark.parametrize(("frame", "code"), [("text", 1003), (b"\xff\xff", 1002)])
def test_what_is_no_message_of_ours_closes_the_socket(app_server, frame, code):
    with stream(app_server) as socket:
        socket.send(frame)
        with pytest.raises(ConnectionClosed) as closed:
            drain(socket)
        assert closed.value.rcvd.code == code


def drain(socket):
    while True:
        socket.recv(timeout=30)


@pytest.mark.parametrize(
    "kind", ["clear_cache", "load_git_info", "set_run_on_save", "debug_shutdown_runtime"]
)
def test_messages_that_act_on_everybody_are_dropped(kind):
    frame = BackMsg(**{kind: True}).SerializeToString()
    assert classify_frame(frame, LIMIT) == (0, False)


def test_nobody_can_have_files_written_on_the_server():
    message = BackMsg()
    message.backend_operation_request.install_skills.SetInParent()
    assert classify_frame(message.SerializeToString(), LIMIT) == (0, False)


def test_an_upload_without_a_session_is_refused(app_server):
    assert put_file(app_server, "no-session", "file", 10) in {400, 403}


class Files:
    def __init__(self, held):
        self.file_storage = held


@pytest.mark.parametrize(("files", "full"), [(0, False), (3, False), (4, True)])
def test_a_session_holds_only_so_many_files(monkeypatch, files, full):
    held = {"mine": {str(i): type("File", (), {"data": b"x"}) for i in range(files)}}
    runtime = type("Runtime", (), {"uploaded_file_mgr": Files(held)})
    monkeypatch.setattr(streamlit_private.Runtime, "instance", lambda: runtime)
    assert Uploads(Limits()).are_full("mine") is full


def test_all_sessions_together_hold_only_so_many_bytes(monkeypatch):
    held = {"theirs": {"0": type("File", (), {"data": b"x" * 1024**2})}}
    runtime = type("Runtime", (), {"uploaded_file_mgr": Files(held), "is_active_session": lambda _: True})
    monkeypatch.setattr(streamlit_private.Runtime, "instance", lambda: runtime)
    assert Uploads(Limits(upload_mb=1)).are_full("mine")
    held["theirs"]["0"].data = b"x" * (1024**2 - 1)
    assert not Uploads(Limits(upload_mb=1)).are_full("mine")


def test_who_has_left_gives_up_the_room_when_it_is_wanted(monkeypatch):
    file = type("File", (), {"data": b"x" * 1024**2})
    held = {"here": {"0": file}, "left": {"0": file}}
    manager = MemoryUploadedFileManager("/")
    manager.file_storage = held
    runtime = type(
        "Runtime", (), {"uploaded_file_mgr": manager, "is_active_session": lambda one: one == "here"}
    )
    monkeypatch.setattr(streamlit_private.Runtime, "instance", lambda: runtime)
    assert not Uploads(Limits(upload_mb=3)).are_full("mine")
    assert set(held) == {"here", "left"}  # there is room: nobody loses anything
    assert not Uploads(Limits(upload_mb=2)).are_full("mine")
    assert set(held) == {"here"}


def test_files_that_are_still_on_their_way_take_up_room(monkeypatch):
    runtime = type("Runtime", (), {"uploaded_file_mgr": Files({}), "is_active_session": lambda _: True})
    monkeypatch.setattr(streamlit_private.Runtime, "instance", lambda: runtime)
    uploads = Uploads(Limits(files_per_session=2, upload_mb=5))
    with uploads.arriving("mine"), uploads.arriving("theirs"):
        assert not uploads.are_full("mine")
        with uploads.arriving("mine"):
            assert uploads.are_full("mine")
            assert uploads.are_full("others")  # 6 MB of 5 may come
    assert not uploads.are_full("mine")
    assert not uploads.on_their_way


def line(*, rate: float, burst: float, send=None) -> LimitedSocket:
    """One guarded socket whose client sends reruns without a pause."""

    async def receive():
        await asyncio.sleep(0)
        return {"type": "websocket.receive", "bytes": rerun()}

    return LimitedSocket(Guard(None, limits=Limits(runs_per_second=rate, runs_at_once=burst)), receive, send)


async def heard(guarded: LimitedSocket, seconds: float) -> int:
    count = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                await guarded.receive()
                count += 1
    return count


def test_a_flood_is_read_at_its_share():
    assert 5 <= in_a_loop(heard(line(rate=20, burst=5), seconds=0.5)) <= 16


def test_a_client_that_does_not_read_is_not_heard():
    async def silent_client():
        blocked = asyncio.Event()
        guarded = line(rate=1000, burst=1000, send=lambda _message: blocked.wait())
        sending = asyncio.create_task(guarded.send({"type": "websocket.send", "bytes": b"x"}))
        await asyncio.sleep(0)
        meanwhile = await heard(guarded, seconds=0.2)
        blocked.set()
        await sending
        return meanwhile, await heard(guarded, seconds=0.1)

    meanwhile, afterwards = in_a_loop(silent_client())
    assert meanwhile == 0 < afterwards


def test_only_so_many_sockets_are_open_at_once():
    async def one_too_many():
        sent = []

        async def nothing():
            return {"type": "websocket.connect"}

        async def send(message):
            sent.append(message)

        await Guard(None, limits=Limits(sockets=0))(scope("websocket"), nothing, send)
        return sent

    assert in_a_loop(one_too_many()) == [{"type": "websocket.close", "code": 1013}]


def scope(kind: str, **more: object) -> dict:
    return {"type": kind, "path": "/_stcore/stream", "headers": [], "method": "GET", **more}


async def connecting():
    return {"type": "websocket.connect"}


async def unsent(_message):
    """What is sent here goes nowhere."""


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_more_visitors_than_there_are_places_all_get_in_one_after_another(ends):
    let_in, visitors = [], Limits().sockets + 1

    async def page(_scope, _receive, _send):
        let_in.append(1)
        if ends == "badly":
            raise OSError("gone")

    async def visits():
        door = Guard(page)
        for _ in range(visitors):
            with suppress(OSError):
                await door(scope("websocket"), connecting, unsent)

    in_a_loop(visits())
    assert len(let_in) == visitors


@pytest.mark.parametrize(("path", "open_"), [
    ("/_stcore/bidi-components/x", False), ("/_stcore/metrics", False), ("/deep/_stcore/agent", False),
    ("/_stcore/health", True), ("/_stcore/upload_file/a/b", True), ("/inside", True),
])  # fmt: skip
def test_the_door_has_no_use_for_other_routes(path, open_):
    let_in = []

    async def page(_scope, _receive, _send):
        let_in.append(path)

    in_a_loop(Guard(page)(scope("http", path=path), connecting, unsent))
    assert bool(let_in) is open_


def test_a_place_that_one_visitor_leaves_is_the_next_ones():
    async def three_visits():
        sent, leave = [], asyncio.Event()

        async def send(message):
            sent.append(message)

        async def page(_scope, _receive, _send):
            await leave.wait()

        door = Guard(page, limits=Limits(sockets=2))
        inside = [asyncio.create_task(door(scope("websocket"), connecting, send)) for _ in range(2)]
        await asyncio.sleep(0)
        await door(scope("websocket"), connecting, send)
        refused = list(sent)
        leave.set()
        await asyncio.gather(*inside)
        await door(scope("websocket"), connecting, send)
        return refused, sent

    refused, sent = in_a_loop(three_visits())
    assert refused == sent == [{"type": "websocket.close", "code": 1013}]


async def headers_over(scheme: str) -> dict[str, str]:
    sent = []

    async def page(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"server", b"x")]})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        sent.append(message)

    await Guard(page)(scope("http", path="/", scheme=scheme), connecting, send)
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_only_a_visit_over_https_is_told_to_stay_there():
    secure, plain = (in_a_loop(headers_over(scheme)) for scheme in ("https", "http"))
    assert "max-age=31536000" in secure["strict-transport-security"]
    assert "strict-transport-security" not in plain
    assert secure["x-frame-options"] == plain["x-frame-options"] == "SAMEORIGIN"


def test_the_messages_that_the_pages_send_get_through():
    message = BackMsg()
    message.backend_operation_request.dataframe_chunk.SetInParent()
    assert classify_frame(message.SerializeToString(), LIMIT) == (0, True)
    for kind in ("stop_script", "app_heartbeat"):
        assert classify_frame(BackMsg(**{kind: True}).SerializeToString(), LIMIT) == (0, True)
    assert classify_frame(b"x" * (LIMIT + 1), LIMIT) == (1009, False)
    just = rerun("x" * (LIMIT - 100))
    assert classify_frame(just, len(just)) == (0, True)
    assert classify_frame(just, len(just) - 1) == (1009, False)


def test_after_a_frame_that_closes_the_socket_nothing_more_is_sent():
    async def closing():
        sent = []

        async def frame():
            return {"type": "websocket.receive", "text": "x"}

        async def send(message):
            sent.append(message)

        guarded = LimitedSocket(Guard(None), frame, send)
        seen = await guarded.receive()
        await guarded.send({"type": "websocket.send", "bytes": b"late"})
        return seen, sent

    seen, sent = in_a_loop(closing())
    assert seen == {"type": "websocket.disconnect", "code": 1003}
    assert sent == [{"type": "websocket.close", "code": 1003}]


def test_files_of_others_fill_no_place_of_mine(monkeypatch):
    held = {"theirs": {str(i): type("File", (), {"data": b"x"}) for i in range(8)}}
    runtime = type("Runtime", (), {"uploaded_file_mgr": Files(held)})
    monkeypatch.setattr(streamlit_private.Runtime, "instance", lambda: runtime)
    assert not Uploads(Limits()).are_full("mine")
    assert Uploads(Limits()).are_full("theirs")


def test_as_many_files_are_open_at_once_as_the_machine_allows():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        server.raise_file_limit()
        raised = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert raised == (server.FILES_OPEN if hard == resource.RLIM_INFINITY else min(server.FILES_OPEN, hard))


def test_the_embedded_model_passes_its_proof(model):
    server.self_test(model)


def test_a_model_whose_rows_do_not_add_up_fails_its_proof(model, monkeypatch):
    import mha_core

    record = mha_core.trace(server.SELF_TEST_SENTENCE, model)
    broken = record.weights.copy()
    broken[5, 11, 4] *= 0.9
    false = SimpleNamespace(tokens=record.tokens, weights=broken)
    monkeypatch.setattr(mha_core, "trace", lambda _text, _model: false)
    with pytest.raises(ModelError, match=r"rows sum to 0\.9000 to 1\.0000"):
        server.self_test(model)


@pytest.fixture
def streamlit_left_alone(monkeypatch):
    """A server that starts changes Streamlit for the whole process, and other tests ask for Streamlit's own."""
    for name in ("controls", "links", "loop", "names", "private", "state"):
        monkeypatch.setattr(server, f"streamlit_{name}", MagicMock(**{"missing_parts.return_value": []}))
    for name in ("ignore_forged_values", "make_discreet", "use_one_thread", "free_at_once"):
        monkeypatch.setattr(server, name, lambda: None)
    monkeypatch.setattr(server.sys, "setswitchinterval", lambda _: None)


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_told_and_the_server_starts(monkeypatch, streamlit_left_alone):
    import mha_core

    def damaged():
        raise ModelError("It is damaged.")

    monkeypatch.setattr(mha_core, "load_model", damaged)
    monkeypatch.setattr(server.gc, "freeze", lambda: None)
    assert server.warm_up() == ["It is damaged."]


def test_a_model_that_looks_elsewhere_fails_its_proof():
    import mha_core

    with pytest.raises(ModelError, match=r"failed its test: head 4-2 gives"):
        server.self_test(mha_core.load_model("minilm", trained=False))


def test_a_link_with_the_longest_texts_it_can_hold_opens(app_server):
    text = urlencode(dict.fromkeys(("text", "pair", "text2"), "\N{GRINNING FACE}" * LINK_CHARS))
    assert len(text) > 140_000
    assert app_server.get(f"/compare?{text}")[0] == 200


def options(monkeypatch, **said):
    """Settings of Streamlit, whose dots are two underscores here."""
    known, values = config.get_option, {name.replace("__", "."): value for name, value in said.items()}
    for where in (config, server.st):
        monkeypatch.setattr(where, "get_option", lambda name: values[name] if name in values else known(name))


@pytest.fixture
def started(monkeypatch, capsys):
    """`started(server__address="0.0.0.0")`: what a server with these options prints, and opens in a browser."""
    monkeypatch.setenv(
        "HEADSCOPE_ALLOW_HUB", os.environ.get("HEADSCOPE_ALLOW_HUB", "")
    )  # which the start sets
    monkeypatch.setattr(server, "warm_up", list)  # no problems
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)

    def start(**settings):
        opened = Queue()
        options(monkeypatch, **{"server__port": 8600, "server__headless": False, **settings})
        monkeypatch.setattr(streamlit_private, "open_page", opened.put)

        async def live():
            async with server.settings()["lifespan"](MagicMock()):
                pass

        in_a_loop(live())
        said = capsys.readouterr().out
        try:
            return said, opened.get(timeout=0.2)
        except Empty:
            return said, None

    return start


@pytest.mark.parametrize(("address", "may"), [("::", "0"), ("localhost", "1")])
@pytest.mark.parametrize("said", ["", " ", None])
def test_readers_from_elsewhere_fetch_no_models_unless_the_owner_says_so(
    monkeypatch, started, said, address, may
):
    monkeypatch.setenv("HEADSCOPE_ALLOW_HUB", said or "")
    if said is None:
        monkeypatch.delenv("HEADSCOPE_ALLOW_HUB")
    started(server__address=address, server__headless=True)
    assert os.environ["HEADSCOPE_ALLOW_HUB"] == may
    assert ("bert-base-uncased" in models()) == (may == "1")


def test_what_the_owner_says_of_the_hub_stays(monkeypatch, started):
    monkeypatch.setenv("HEADSCOPE_ALLOW_HUB", "1")
    started(server__address="::", server__headless=True)
    assert os.environ["HEADSCOPE_ALLOW_HUB"] == "1"
