"""The shelf: one load for all, devices and precisions by name, the hub's cache, and no network without an end."""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from bert_folders import write

from mha_core import InputError, ModelError, Unavailable, hub, load_model, models, trace

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch):
    monkeypatch.setattr(models, "_LOADED", {})


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "bert")
    return tmp_path / "bert"


def test_the_embedded_model_is_the_one_it_should_be(model):
    assert (model.n_layers, model.n_heads, model.d_model, model.d_k, model.max_tokens) == (
        6,
        12,
        384,
        32,
        512,
    )
    assert model.digest == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert model.n_parameters == sum(p.numel() for p in model.encoder.parameters()) > 22_000_000
    assert model.masked_head is None
    assert model.trained
    assert not any(p.requires_grad for p in model.encoder.parameters())


@pytest.mark.slow
def test_importing_and_tracing_the_embedded_model_imports_no_large_library():
    script = (
        "import sys, mha_core\n"
        "record = mha_core.trace('it was tired', mha_core.load_model('minilm', device='cpu'))\n"
        "heavy = {'transformers', 'sentence_transformers', 'streamlit', 'plotly', 'pandas', 'sklearn', 'scipy'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}), record.weights.shape)\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "[] (6, 12, 5, 5)"
    assert done.stderr == ""


def test_many_threads_at_once_load_once(folder, monkeypatch):
    loads, found = [], []
    load = models._load
    monkeypatch.setattr(models, "_load", lambda *a: loads.append(a) or load(*a))
    threads = [
        threading.Thread(target=lambda: found.append(load_model(str(folder), device="cpu"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert all(model is found[0] for model in found)


@pytest.mark.parametrize(
    "name",
    ["a b", "../../etc/passwd", "/etc/passwd", "a/b/c", "http://169.254.169.254/", "a\0b", "x" * 5000, "~nobody0/x",
     "", ".", "-rf", "a..b/c", "é/ü", "a/" + "b" * 200],
)  # fmt: skip
@pytest.mark.parametrize("local", [True, False])
def test_a_name_that_is_none_is_refused_before_any_network(name, local, monkeypatch):
    monkeypatch.setattr("mha_core.loading.from_hub", lambda *_: pytest.fail("the network was asked"))
    with pytest.raises(InputError if name not in (".",) or not local else ModelError) as caught:
        load_model(name, local=local, device="cpu")
    assert len(str(caught.value)) < 200


# The hub


@pytest.fixture
def cache(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(hub._AWAY, "until", 0.0)
    monkeypatch.setattr(hub, "_FAILED", {})
    for key in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(key, raising=False)
    return tmp_path / "hub"


def cached(cache, name, source):
    """A model as huggingface_hub keeps it: blobs under their digests, a snapshot of links, a reference."""
    repository = cache / ("models--" + name.replace("/", "--"))
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    for folder in ("blobs", "refs"):
        (repository / folder).mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    for file in source.iterdir():
        blob = repository / "blobs" / hashlib.sha256(file.read_bytes()).hexdigest()
        shutil.copy(file, blob)
        (snapshot / file.name).symlink_to(os.path.relpath(blob, snapshot))
    return repository


def test_a_model_in_the_hubs_cache_is_read_without_a_network(cache, folder):
    cached(cache, "someone/tiny-bert", folder)
    model = load_model("someone/tiny-bert", device="cpu")
    assert model.title == "someone/tiny-bert"
    assert (
        abs(
            trace("it was", model).weights - trace("it was", load_model(str(folder), device="cpu")).weights
        ).max()
        == 0
    )


def test_a_hub_that_cannot_be_reached_is_given_up_within_seconds(cache, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    asked = []

    def unreachable(address, timeout=None, **_):
        asked.append((address, timeout))
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", unreachable)
    start = time.monotonic()
    with pytest.raises(Unavailable):
        load_model("bert-base-uncased", device="cpu")
    assert time.monotonic() - start < 4
    assert len(asked) == 1
    assert asked[0][1] <= 5
    with pytest.raises(Unavailable):
        load_model("bert-large-uncased", device="cpu")
    assert len(asked) == 1  # for a minute nobody waits again
    monkeypatch.setitem(hub._AWAY, "until", time.monotonic() - 1)
    with pytest.raises(Unavailable):
        load_model("bert-base-cased", device="cpu")
    assert len(asked) == 2
