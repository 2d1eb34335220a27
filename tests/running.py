"""The app in a process of its own, as `make run` starts it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

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
    sink: "subprocess.Popen[bytes] | None" = None

    def get(self, path: str, timeout: float = 10.0) -> tuple[int, dict[str, str], str]:
        """Status, headers (names in lower case) and body of a GET, also of a refusal."""
        request = urllib.request.Request(self.url + path)  # noqa: S310 - our own server
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310
                return (
                    answer.status,
                    {k.lower(): v for k, v in answer.headers.items()},
                    answer.read().decode(),
                )
        except urllib.error.HTTPError as refusal:
            with refusal:
                headers = {k.lower(): v for k, v in refusal.headers.items()}
                return refusal.code, headers, refusal.read().decode()

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
        status = self.process.wait()
        if self.sink is not None:
            self.sink.wait()
        return status


def write_nothing(process: int) -> None:
    """Let this process write to no file from now on."""
    import resource  # not on Windows

    resource.prlimit(process, resource.RLIMIT_FSIZE, (0, 0))


def start_app(
    log: Path,
    *,
    port: int | None = None,
    address: str = "127.0.0.1",
    cwd: Path = ROOT,
    can_write: bool = True,
    **env: str,
) -> AppServer:
    """Start the app of the checkout at `cwd` as `make run` does, and return once its health check answers ok.

    With `can_write=False` no file takes a single byte of it, wherever it is; what it says goes through a pipe.
    """
    port = port or unused_port()
    command = [sys.executable, "-m", "mha_core", "app", "--no-browser"]
    command += ["--port", str(port), "--address", address]
    settings = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **env}
    sink = None
    with log.open("wb") as file:
        out: IO[bytes] = file
        if not can_write:
            sink = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file, start_new_session=True)
            out = cast("IO[bytes]", sink.stdin)
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **settings},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        if not can_write:
            out.close()
            write_nothing(process.pid)
    server = AppServer(f"http://127.0.0.1:{port}", port, process, log, sink)
    deadline = time.monotonic() + START_SECONDS
    while not server.healthy():
        if process.poll() is not None or time.monotonic() > deadline:
            status = server.stop(grace=0)
            pytest.fail(f"the app did not start (exit status {status}):\n{server.output()[-4000:]}")
        time.sleep(0.1)
    return server
