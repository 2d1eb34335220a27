"""A hub on this machine that serves the files of one folder as huggingface_hub asks for them."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 1_000  # bytes from which a file is known by its SHA-256
LAST = 20_000  # bytes of a larger file that wait for `seen`


class FakeHub:
    """`name` is the one model there is; `paths` were requested; files in `changed` arrive damaged.

    The end of a large file is sent when `seen`, where it is set to an event, has happened."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.paths, self.changed, self.seen = [], (), None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                hub.answer(self, has_body=False)

            def do_GET(self):
                hub.answer(self, has_body=True)

            def log_message(self, *_):
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request, has_body):
        path = unquote(urlsplit(request.path).path).strip("/")
        self.paths.append(path)
        files = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        status, content, headers, name = 200, b"{}", {}, path.rpartition("/")[2]
        if path.startswith(f"{self.name}/resolve/{COMMIT}/") and name in files:
            content = files[name]
            headers = {
                "ETag": f'"{etag(content)}"',
                "X-Repo-Commit": COMMIT,
                "X-Linked-Size": str(len(content)),
            }
            if name in self.changed:
                content = content[:-1] + bytes([content[-1] ^ 1])
        elif path in (f"api/models/{self.name}", f"api/models/{self.name}/revision/main"):
            content = json.dumps({"id": self.name, "sha": COMMIT, "siblings": []}).encode()
        elif path == f"api/models/{self.name}/tree/{COMMIT}":
            content = json.dumps([entry(*file) for file in files.items()]).encode()
        else:
            status, headers = 404, {"X-Error-Code": "RepoNotFound"}
        request.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            request.send_header(key, value)
        request.end_headers()
        if has_body:
            request.wfile.write(content[:-LAST])
            if len(content) > LAST and self.seen is not None:
                self.seen.wait(30)
            request.wfile.write(content[-LAST:])


def etag(content):
    if len(content) >= LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


def entry(name, content):
    large = {"lfs": {"oid": etag(content), "size": len(content), "pointerSize": 1}}
    return {"type": "file", "path": name, "size": len(content), "oid": "0" * 40} | (
        large if len(content) >= LARGE else {}
    )
