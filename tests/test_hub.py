"""Models of the hub: their size first, then only what is read of them, with progress, an end, and a compared digest."""

import functools
import shutil
import socket
import threading
import time

import huggingface_hub
import pytest
from bert_folders import embedded_folder, random_bert, write
from fake_hub import FakeHub

from mha_core import ModelError, Unavailable, load_model, trace
from mha_core.models import hub, load
from mha_core.models.load import must_be_fetched

NAME = "someone/tiny-bert"
EXTRAS = ("pytorch_model.bin", "modeling_evil.py", "README.md", "model.onnx")


@pytest.fixture
def there(tmp_path, monkeypatch):
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


def test_a_model_is_asked_its_size_fetched_with_progress_and_then_read_from_the_cache(there):
    assert must_be_fetched(NAME)
    assert there.paths == []
    wanted = sum(file.stat().st_size for file in there.folder.iterdir() if file.name not in EXTRAS)
    assert hub.size_of(NAME) == wanted
    assert must_be_fetched(NAME), "nothing was fetched unasked"
    calls, there.seen = [], threading.Event()

    def progress(name, so_far, total):
        calls.append((threading.current_thread(), name, so_far, total))
        if 0 < so_far < total:
            there.seen.set()

    model = load_model(NAME, device="cpu", progress=progress)
    assert {(thread, name) for thread, name, *_ in calls} == {(threading.main_thread(), NAME)}
    sizes = [so_far for *_, so_far, _ in calls]
    assert sizes == sorted(sizes)
    assert there.seen.is_set(), "a part is told before the whole"
    assert calls[-1][2:] == (wanted, wanted)
    assert not [path for path in there.paths if path.endswith(EXTRAS)]
    assert model.title == NAME
    expected = trace("it was", load_model(there.folder, device="cpu")).weights
    assert abs(trace("it was", model).weights - expected).max() == 0
    there.paths.clear()
    assert not must_be_fetched(NAME)
    load_model(NAME, device="cpu", shared=False)
    assert there.paths == []


def test_a_caller_who_raises_ends_the_fetch(there):
    there.seen = threading.Event()

    class Left(Exception):
        pass

    def leave(_name, so_far, _total):
        if so_far:
            raise Left

    with pytest.raises(Left):
        load_model(NAME, device="cpu", progress=leave)
    there.seen.set()  # only now the rest is sent
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join(10)
    assert must_be_fetched(NAME), "what was still coming was not kept"


def test_a_large_file_that_arrives_damaged_is_refused_and_fetched_again(there):
    there.changed = ("model.safetensors",)
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        load_model(NAME, device="cpu")
    assert must_be_fetched(NAME)
    there.changed = ()
    assert load_model(NAME, device="cpu").title == NAME


def test_a_model_in_parts_is_here_when_every_part_is(there, tmp_path, monkeypatch):
    write(tmp_path / "parts", random_bert(), max_shard_size="200KB")
    monkeypatch.setattr(there, "folder", tmp_path / "parts")
    load_model(NAME, device="cpu")
    part = next((tmp_path / "hub").rglob("snapshots/*/model-00002-*"))
    part.unlink()
    assert must_be_fetched(NAME)
    load_model(NAME, device="cpu", shared=False)


def test_what_the_hub_does_not_have_is_said(there, tmp_path, monkeypatch):
    for ask in (load_model, hub.size_of):
        with pytest.raises(Unavailable, match="someone/nothing"):
            ask("someone/nothing")
    (tmp_path / "pickles").mkdir()
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(embedded_folder() / name, tmp_path / "pickles")
    monkeypatch.setattr(there, "folder", tmp_path / "pickles")
    with pytest.raises(ModelError, match="safetensors"):
        load_model(NAME, device="cpu")


def test_a_hub_that_cannot_be_reached_is_given_up_within_a_second(there, monkeypatch):
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


def test_nobody_is_asked_where_the_owner_forbids_it(there, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(Unavailable):
        load_model(NAME, device="cpu")
    assert there.paths == []
