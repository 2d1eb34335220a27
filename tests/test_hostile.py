"""What strangers try on a server that runs: requests of two lengths or without end, files by the dozen, sessions."""

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from benchmarks.wire import rerun, socket_to, until_over
from tests.sending import handshake, put

pytestmark = pytest.mark.slow


def raw(app, *parts, seconds=2.0):
    """All that is answered on one connection to these bytes, each part sent after a first answer to the one before."""
    answer = b""
    with socket.create_connection(("127.0.0.1", app.port)) as line:
        line.settimeout(seconds)
        try:
            for i, part in enumerate(parts):
                if i:
                    answer += line.recv(65_536)
                line.sendall(part)
            while got := line.recv(65_536):
                answer += got
        except (ConnectionError, TimeoutError):
            pass
    return answer


@contextmanager
def session(app, *protocols):
    """An open page: its socket and the name of its session."""
    with socket_to(app.url, *protocols, origin=None) as stream:
        stream.send(rerun())
        for answer in until_over(stream):
            if answer.WhichOneof("type") == "new_session":
                name = answer.new_session.initialize.session_id
        yield stream, name


@pytest.mark.parametrize("lengths", [
    "Content-Length: 4\r\nTransfer-Encoding: chunked", "transfer-encoding: CHUNKED\r\ncontent-length: 5",
    "Content-Length: 4\r\nContent-Length: 5", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
])  # fmt: skip
def test_a_request_of_two_lengths_is_refused_and_nothing_after_it_is_read(app_server, lengths):
    hidden = b"GET /ready HTTP/1.1\r\nHost: hidden\r\n\r\n"
    answer = raw(
        app_server, f"POST /ready HTTP/1.1\r\nHost: a\r\n{lengths}\r\n\r\n0\r\n\r\n".encode() + hidden
    )
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"ready" not in answer


def test_messages_are_not_unpacked(app_server):
    """A few bytes that grow to a hundred megabytes: nothing compressed is agreed on, and nothing taken."""
    with session(app_server) as (stream, _):
        assert "Sec-WebSocket-Extensions" not in stream.response.headers
    packed = b"\xc2\x84" + bytes(4) + b"\x62\x00\x00\x00"  # a bit says that it is compressed
    asked = handshake("127.0.0.1", "Sec-WebSocket-Extensions: permessage-deflate")
    answer = raw(app_server, asked, packed).partition(b"\r\n\r\n")[2]
    assert answer[:1] + answer[2:4] == b"\x88\x03\xea"  # closed, 1002


def test_of_many_files_at_once_only_so_many_are_kept(app_server):
    with session(app_server) as (_, name), ThreadPoolExecutor(30) as many:
        codes = list(many.map(lambda i: put(app_server, name, f"file-{i}", b"x" * 200_000), range(30)))
    assert codes.count(204) == 4
    assert set(codes) == {204, 413}


def test_the_name_of_a_session_is_in_no_log(app_server):
    with session(app_server) as (_, name), session(app_server, "xsrf", name):
        assert name
    with session(app_server, "xsrf", name):
        assert name not in app_server.output()


@pytest.mark.parametrize("path", [
    "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.git/config", "/.streamlit/config.toml", "/app.py",
    "/pages/../pyproject.toml", "//etc/passwd", "/static/../../pyproject.toml", "/component/x/../../pyproject.toml",
    "/media/../../pyproject.toml", "/_stcore/upload_file/../../etc/passwd", "/app/static/../app.py",
])  # fmt: skip
def test_no_file_of_the_server_is_given_away(app_server, path):
    for verb in ("GET", "POST", "PUT", "DELETE", "TRACE"):
        request = f"{verb} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        answer = raw(app_server, request.encode(), seconds=10)
        assert answer.startswith(b"HTTP/1.1 ")
        assert not any(word in answer for word in (b"root:", b"[core]", b"st.App", b"[project]", b"[server]"))
