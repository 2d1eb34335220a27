"""What is sent to the app by hand: a file, as a page of it sends one (a form, with the token that is a cookie and a
header), and the words that open a web socket."""

import urllib.error
import urllib.request

from tests.conftest import AppServer

BOUNDARY = "headscope"


def put(app: AppServer, session: str, name: str, content: bytes) -> int:
    """The status that a file of this session is answered with."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="f.txt"\r\n\r\n'.encode()
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{app.url}/_stcore/upload_file/{session}/{name}",
        data=head + content + f"\r\n--{BOUNDARY}--\r\n".encode(),
        method="PUT",
        headers={"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", **token(app)},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code


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
