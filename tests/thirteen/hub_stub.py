"""A model hub on this machine that serves one small model well, or in one of the ways in which hubs fail."""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = "model.safetensors"
WAYS = ("right", "silent", "refusing", "cut", "stalling", "damaged")
PIECE = 256 * 1024


class Hub(ThreadingHTTPServer):
    """`trial/<way>` is the model's name; `slow` seconds pass between two pieces of a file."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.slow = 0.0
        self.asked: Counter[tuple[str, str]] = Counter()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Who went away in the middle is no error here."""


class Answers(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *_: object) -> None:
        """Nothing is said."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        self.close_connection = True
        path = self.path.partition("?")[0].strip("/").split("/")  # trial/right/resolve/main/config.json
        way, file = (path[1], path[-1]) if len(path) == 5 else ("", "")
        if way == "silent":
            self.server.over.wait(300)
            return
        if way == "refusing":
            self.head(503, 0)
            return
        content = self.server.files.get(file)
        if content is None or way not in WAYS:
            self.head(404, 0, {"X-Error-Code": "EntryNotFound"})
            return
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        size = hashlib.sha256 if file == WEIGHTS else hashlib.sha1
        named = {"ETag": f'"{size(content).hexdigest()}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if start:
            named["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.head(206 if start else 200, len(content) - start, named)
        if body:
            with suppress(OSError):
                self.send_file(way, file, content, start)

    def head(self, status: int, length: int, named: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(length), "Connection": "close", **(named or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def send_file(self, way: str, file: str, content: bytes, start: int) -> None:
        self.server.asked[way, file] += 1
        if way == "damaged" and file == WEIGHTS:
            content = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        half = len(content) // 2
        for at in range(start, len(content), PIECE):
            if file == WEIGHTS and at + PIECE > half > start:
                if way == "cut" and self.server.asked[way, file] <= 2:
                    return
                if way == "stalling":
                    self.server.over.wait(300)
                    return
            self.wfile.write(content[at : at + PIECE])
            if self.server.slow and self.server.over.wait(self.server.slow):
                return


@contextmanager
def hub(folder: Path) -> Iterator[Hub]:
    """A hub with the model of this folder."""
    with Hub(folder) as one:
        serving = threading.Thread(target=one.serve_forever, daemon=True)
        serving.start()
        try:
            yield one
        finally:
            one.over.set()
            one.shutdown()
            serving.join()
            time.sleep(0.1)
