"""The app in a process of its own, as `make run` starts it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 240.0  # a cold start takes 4 to 12 s; a busy machine with two cores takes several times that


def unused_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class AppServer:
    """The app in a process of its own: `url` without a closing slash, and the file its output goes to."""

    url: str
    port: int
    process: "subprocess.Popen[bytes]"
    log: Path

    def get(
        self, path: str, timeout: float = 10.0, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], str]:
        """Status, headers (names in lower case) and body of a GET, also of a refusal."""
        request = urllib.request.Request(self.url + path, headers=headers or {})  # noqa: S310 - our own server
        try:
            answer = urllib.request.urlopen(request, timeout=timeout)  # noqa: S310
        except urllib.error.HTTPError as refusal:
            answer = refusal
        with answer:
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read().decode()

    def healthy(self) -> bool:
        try:
            return self.get("/_stcore/health", timeout=2)[2].strip() == "ok"
        except OSError:
            return False

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self, grace: float = 10.0) -> int:
        """SIGTERM to the process group, SIGKILL after `grace` seconds; the exit status."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(grace)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()


def start_app(
    log: Path, *, port: int | None = None, address: str = "127.0.0.1", cwd: Path = ROOT, **env: str
) -> AppServer:
    """Start the app of the checkout at `cwd` as `make run` does, and return once its health check answers ok."""
    port = port or unused_port()
    command = [sys.executable, "-m", "mha_core", "app", "--no-browser"]
    command += ["--port", str(port), "--address", address]
    settings = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **env}
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **settings},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = AppServer(f"http://127.0.0.1:{port}", port, process, log)
    deadline = time.monotonic() + START_SECONDS
    while not server.healthy():
        if process.poll() is not None or time.monotonic() > deadline:
            status = server.stop(grace=0)
            pytest.fail(f"the app did not start (exit status {status}):\n{server.output()[-4000:]}")
        time.sleep(0.1)
    return server


@dataclass
class Host:
    """A host that serves the files of a folder and nothing else, and the paths that it was asked for."""

    url: str
    requests: list[str]
    stop: Callable[[], None]


@contextmanager
def hosted(folder: Path) -> Iterator[Host]:
    requests: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            requests.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()

        def stop() -> None:
            server.shutdown()
            server.server_close()

        yield Host(f"http://127.0.0.1:{server.server_port}", requests, stop)
        stop()
