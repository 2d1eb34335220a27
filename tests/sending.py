"""What is sent to the app by hand: a file, as a page of it sends one (a form, with the token that is a cookie and a
header), and the words that open a web socket."""

import socket
from contextlib import closing, suppress
from http.client import HTTPConnection

from tests.conftest import AppServer

BOUNDARY = "headscope"


def put(app: AppServer, session: str, name: str, content: bytes) -> int:
    """The status that a file of this session is answered with; a refusal may come before the file is sent."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="f.txt"\r\n\r\n'.encode()
    body = head + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    with closing(HTTPConnection("127.0.0.1", app.port, timeout=60)) as line:
        line.putrequest("PUT", f"/_stcore/upload_file/{session}/{name}")
        kind = f"multipart/form-data; boundary={BOUNDARY}"
        for key, value in {"Content-Type": kind, "Content-Length": str(len(body)), **token(app)}.items():
            line.putheader(key, value)
        line.endheaders()
        with suppress(BrokenPipeError, ConnectionResetError):
            line.send(body)
        return line.getresponse().status


def token(app: AppServer) -> dict[str, str]:
    """What shows that a form comes from a page of this server."""
    cookie = app.get("/_stcore/health")[1].get("set-cookie", "")
    value = cookie.partition("_streamlit_xsrf=")[2].partition(";")[0]
    return {"Cookie": f"_streamlit_xsrf={value}", "X-Xsrftoken": value}


def handshake(host: str, *headers: str) -> bytes:
    """What asks for a web socket."""
    return "\r\n".join([
        "GET /_stcore/stream HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: streamlit", *headers, "\r\n",
    ]).encode()  # fmt: skip


def begun_message(app: AppServer, size: int, sent: int) -> socket.socket:
    """A web socket over which one message of `size` bytes was begun, and so many bytes of it sent or refused."""
    line = socket.create_connection(("127.0.0.1", app.port), timeout=30)
    line.sendall(handshake(f"127.0.0.1:{app.port}", f"Origin: {app.url}"))
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += line.recv(4096)
    with suppress(BrokenPipeError, ConnectionResetError):
        line.sendall(b"\x82\xff" + size.to_bytes(8) + bytes(4) + bytes(sent))
    return line
