"""Models of the hub: their size first, then only what is read of them, with progress, an end, and a compared digest."""

import functools
import hashlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import huggingface_hub
import pytest
from bert_folders import random_bert, write

from mha_core import ModelError, Unavailable, load_model, trace
from mha_core.models import hub, load
from mha_core.models.load import must_be_fetched

NAME = "someone/tiny-bert"
EXTRAS = ("pytorch_model.bin", "modeling_evil.py", "README.md", "model.onnx")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 1_000  # bytes from which a file is known by its SHA-256
LAST = 20_000  # bytes of a larger file that wait for `seen`


class FakeHub:
    """A hub on this machine that serves the files of a folder as huggingface_hub asks for them.

    `name` is the one model there is; `paths` were requested; files in `changed` arrive damaged. The end of a large file
    is sent when `seen`, where it is set to an event, has happened.
    """

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.paths, self.changed, self.seen = [], (), None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                hub.answer(self)

            def do_HEAD(self):
                self.do_GET()

            def log_message(self, *_):
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        path = unquote(urlsplit(request.path).path).strip("/")
        self.paths.append(path)
        files = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        status, content, headers, name = 200, b"{}", {}, path.rpartition("/")[2]
        if path.startswith(f"{self.name}/resolve/{COMMIT}/") and name in files:
            content = files[name]
            headers = {"ETag": f'"{etag(content)}"', "X-Repo-Commit": COMMIT}
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
        if request.command == "GET":
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
    file = {"type": "file", "path": name, "size": len(content), "oid": "0" * 40}
    return file | large if len(content) >= LARGE else file


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A hub with one model, and an empty cache."""
    write(tmp_path / "published")
    for name in EXTRAS:
        (tmp_path / "published" / name).write_bytes(b"x" * 2_000)
    fake = FakeHub(NAME, tmp_path / "published")
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, fake.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", fake.url)
    options = {"endpoint": fake.url, "cache_dir": tmp_path / "hub", "token": False}
    real = huggingface_hub.snapshot_download
    monkeypatch.setattr(huggingface_hub, "snapshot_download", functools.partial(real, **options))
    monkeypatch.setitem(hub._AWAY, "until", 0.0)
    monkeypatch.setattr(load, "_LOADED", {})
    for key in hub.PROXIES:
        monkeypatch.delenv(key, raising=False)
    hub.size_of.cache_clear()
    yield fake
    fake.close()


def test_a_model_is_asked_its_size_fetched_with_progress_and_then_read_from_the_cache(served):
    assert must_be_fetched(NAME)
    assert served.paths == []
    wanted = sum(file.stat().st_size for file in served.folder.iterdir() if file.name not in EXTRAS)
    assert hub.size_of(NAME) == wanted
    assert must_be_fetched(NAME), "nothing was fetched unasked"
    calls, served.seen = [], threading.Event()

    def progress(name, so_far, total):
        calls.append((threading.current_thread(), name, so_far, total))
        if 0 < so_far < total:
            served.seen.set()

    model = load_model(NAME, device="cpu", progress=progress)
    assert {(thread, name) for thread, name, *_ in calls} == {(threading.main_thread(), NAME)}
    sizes = [so_far for *_, so_far, _ in calls]
    assert sizes == sorted(sizes)
    assert served.seen.is_set(), "a part is told before the whole"
    assert calls[-1][2:] == (wanted, wanted)
    assert not [path for path in served.paths if path.endswith(EXTRAS)]
    assert model.title == NAME
    expected = trace("it was", load_model(served.folder, device="cpu")).weights
    assert abs(trace("it was", model).weights - expected).max() == 0
    served.paths.clear()
    assert not must_be_fetched(NAME)
    load_model(NAME, device="cpu", shared=False)
    assert served.paths == []


def test_a_caller_who_raises_ends_the_fetch(served):
    served.seen = threading.Event()

    class Left(Exception):
        pass

    def leave(_name, so_far, _total):
        if so_far:
            raise Left

    with pytest.raises(Left):
        load_model(NAME, device="cpu", progress=leave)
    served.seen.set()  # only now the rest is sent
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join(10)
    assert must_be_fetched(NAME), "what was still coming was not kept"


def test_a_large_file_that_arrives_damaged_is_refused_and_fetched_again(served):
    served.changed = ("model.safetensors",)
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        load_model(NAME, device="cpu")
    assert must_be_fetched(NAME)
    served.changed = ()
    assert load_model(NAME, device="cpu").title == NAME


def test_a_model_in_parts_is_here_when_every_part_is(served, tmp_path, monkeypatch):
    write(tmp_path / "parts", random_bert(), max_shard_size="200KB")
    monkeypatch.setattr(served, "folder", tmp_path / "parts")
    load_model(NAME, device="cpu")
    part = next((tmp_path / "hub").rglob("snapshots/*/model-00002-*"))
    part.unlink()
    assert must_be_fetched(NAME)
    load_model(NAME, device="cpu", shared=False)


def test_what_the_hub_does_not_have_is_said(served):
    for ask in (load_model, hub.size_of):
        with pytest.raises(Unavailable, match="someone/nothing"):
            ask("someone/nothing")


def test_a_hub_that_cannot_be_reached_is_given_up_within_a_second(served, monkeypatch):
    addresses, over = [], threading.Event()

    def unreachable(address, timeout=None, **_):
        addresses.append(address)
        over.wait(30)  # a name server that does not answer knows no timeout

    monkeypatch.setattr(socket, "create_connection", unreachable)
    assert hub.HUB_SECONDS <= 1
    monkeypatch.setattr(hub, "HUB_SECONDS", 0.1)
    for name in ("bert-base-uncased", "bert-large-uncased"):
        with pytest.raises(Unavailable, match=name):
            load_model(name, device="cpu")
    assert len(addresses) == 1, "for a minute nobody waits again"
    monkeypatch.setitem(hub._AWAY, "until", time.monotonic() - 1)
    with pytest.raises(Unavailable):
        hub.size_of("bert-base-cased")
    assert len(addresses) == 2
    over.set()


def test_nobody_is_asked_where_the_owner_forbids_it(served, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(Unavailable):
        load_model(NAME, device="cpu")
    assert served.paths == []
