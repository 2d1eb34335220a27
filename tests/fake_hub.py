"""A hub on this machine that serves the files of one folder as huggingface_hub asks for them."""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 1_000  # bytes from which a file is known by its SHA-256
PIECE = 20_000


class FakeHub:
    """`name` is the one model there is; `asked` are the paths; a file takes `seconds`; `changed` ones are damaged.

    Of a file in several pieces the last is sent when `seen`, where it is set to an event, has happened."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.asked, self.seconds, self.changed, self.seen = [], 0.0, (), None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                hub.answer(self, body=False)

            def do_GET(self):
                hub.answer(self, body=True)

            def log_message(self, *_):
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request, body):
        path = unquote(urlsplit(request.path).path).strip("/")
        self.asked.append(path)
        files = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        if path.startswith(f"{self.name}/resolve/{COMMIT}/") and path.rpartition("/")[2] in files:
            self.send_file(request, path.rpartition("/")[2], files, body)
        elif path in (f"api/models/{self.name}", f"api/models/{self.name}/revision/main"):
            send(request, 200, json.dumps({"id": self.name, "sha": COMMIT, "siblings": []}).encode())
        elif path == f"api/models/{self.name}/tree/{COMMIT}":
            send(request, 200, json.dumps([entry(*file) for file in files.items()]).encode())
        else:
            send(request, 404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def send_file(self, request, name, files, body):
        content = files[name]
        headers = {"ETag": f'"{etag(content)}"', "X-Repo-Commit": COMMIT, "X-Linked-Size": str(len(content))}
        if name in self.changed:
            content = content[:-1] + bytes([content[-1] ^ 1])
        send(request, 200, content if body else None, headers, len(content), self.seconds, self.seen)


def etag(content):
    if len(content) >= LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


def entry(name, content):
    found = {"type": "file", "path": name, "size": len(content), "oid": "0" * 40}
    large = {"oid": etag(content), "size": len(content), "pointerSize": 1}
    return found | ({"lfs": large} if len(content) >= LARGE else {})


def send(request, status, content, headers=(), length=None, seconds=0.0, seen=None):
    request.send_response(status)
    for key, value in dict(headers).items():
        request.send_header(key, value)
    request.send_header("Content-Length", str(len(content or b"") if length is None else length))
    request.end_headers()
    for at in range(0, len(content or b""), PIECE):
        if seen is not None and at and at + PIECE >= len(content):
            seen.wait(30)
        request.wfile.write(content[at : at + PIECE])
        time.sleep(seconds * PIECE / max(len(content), PIECE))
