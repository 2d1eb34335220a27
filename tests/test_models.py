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
from types import SimpleNamespace

import pytest
import torch
from bert_folders import random_bert, write
from filelock import FileLock

from mha_core import (
    InputError,
    ModelError,
    Unavailable,
    choose_device,
    choose_precision,
    hub,
    load_model,
    models,
    shelf,
    trace,
)

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


def test_the_shelf_begins_with_the_embedded_model_and_names_each_once():
    entries = shelf()
    assert [entry.embedded for entry in entries] == sorted(
        (entry.embedded for entry in entries), reverse=True
    )
    assert len({entry.name for entry in entries}) == len(entries)
    assert {"minilm", "bert-base-uncased", "bert-large-uncased", "bert-base-multilingual-cased"} <= {
        entry.name for entry in entries
    }


@pytest.mark.long
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


def test_a_model_is_loaded_once_and_shared(folder):
    assert load_model(str(folder), device="cpu") is load_model(str(folder), device="cpu")
    assert load_model(str(folder), device="cpu", dtype="float64") is not load_model(str(folder), device="cpu")


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


def test_a_model_that_is_here_does_not_wait_for_anothers_download(folder, monkeypatch):
    here = load_model(str(folder), device="cpu")
    started, release = threading.Event(), threading.Event()

    def slow(*_):
        started.set()
        release.wait(20)
        raise Unavailable("gone")

    monkeypatch.setattr(models, "_load", slow)

    def fetch():
        with pytest.raises(Unavailable):
            load_model("some/model", device="cpu")

    downloading = threading.Thread(target=fetch)
    downloading.start()
    assert started.wait(10)
    found = []
    reader = threading.Thread(target=lambda: found.append(load_model(str(folder), device="cpu")))
    reader.start()
    reader.join(5)
    release.set()
    downloading.join()
    assert found == [here]


def test_the_untrained_twin_has_the_shape_and_other_numbers(folder):
    trained, twin = (load_model(str(folder), device="cpu", trained=t) for t in (True, False))
    other = load_model(str(folder), device="cpu", trained=False, seed=1)
    assert (twin.n_layers, twin.n_heads, twin.n_parameters) == (
        trained.n_layers,
        trained.n_heads,
        trained.n_parameters,
    )
    assert not twin.trained
    assert twin.title == "bert, untrained"
    assert (twin.digest, other.digest) == ("untrained, seed 0", "untrained, seed 1")
    one, two, three = (trace("it was", m).weights for m in (trained, twin, other))
    assert abs(one - two).max() > 0.01
    assert abs(two - three).max() > 1e-4


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_a_precision_by_name_is_that_of_every_parameter(dtype, folder):
    model = load_model(str(folder), device="cpu", dtype=dtype)
    assert {str(p.dtype) for p in model.encoder.parameters()} == {f"torch.{dtype}"}
    assert trace("it was", model).weights.shape == (3, 5, 4, 4)
    assert load_model(str(folder), device="cpu").dtype == torch.float32


def test_devices_and_precisions_that_are_not_here_are_refused():
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type in ("cpu", "cuda", "mps")
    assert choose_device("cpu:0") == torch.device("cpu", 0)
    for name in ("tpu", "", "cuda:x", "CPU", "cpu:", "cpu:²", "cpu:-1"):
        with pytest.raises(InputError, match="There is no device"):
            choose_device(name)
    for name in ("cpu:1", "cpu:999", f"cpu:{10**30}"):  # torch takes 999 for -25
        with pytest.raises(InputError, match="counted from 0; this machine has 1"):
            choose_device(name)
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="this machine has none"):
            choose_device("cuda")
    assert choose_precision(None, torch.device("cpu")) == torch.float32
    with pytest.raises(InputError, match="There is no precision 'int8'"):
        choose_precision("int8", torch.device("cpu"))
    with pytest.raises(InputError, match="MPS devices have no float64"):
        choose_precision("float64", torch.device("mps"))


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


def test_folders_are_refused_where_readers_only_name_models(folder, monkeypatch):
    load_model(str(folder), device="cpu")
    with pytest.raises(InputError, match="There is no model"):
        load_model(str(folder), local=False, device="cpu")
    monkeypatch.chdir(folder.parent)
    load_model("bert", device="cpu")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Unavailable):
        load_model("bert", local=False, device="cpu")


def test_a_home_folder_is_found_by_its_tilde(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert load_model("~/bert", device="cpu").title == "bert"


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


def test_a_damaged_blob_is_refused(cache, folder):
    repository = cached(cache, "someone/tiny-bert", folder)
    blob = (repository / "snapshots" / COMMIT / "model.safetensors").resolve()
    with blob.open("r+b") as file:
        file.seek(blob.stat().st_size - 100)
        file.write(b"\x00\x11")
    with pytest.raises(Unavailable, match="cannot be reached"):  # it is not used, and would be fetched anew
        load_model("someone/tiny-bert", device="cpu")
    assert not blob.exists()


def test_a_damaged_blob_is_fetched_again_and_given_up_the_second_time(cache, folder, monkeypatch):
    repository = cached(cache, "someone/tiny-bert", folder)
    link = repository / "snapshots" / COMMIT / "model.safetensors"
    blob = link.resolve()
    whole, fetched = blob.read_bytes(), []

    def fetch(_name, file, _progress):
        path = repository / "snapshots" / COMMIT / file
        if file == "model.safetensors" and not path.exists():
            fetched.append(file)
            blob.write_bytes(whole if good else whole[:-1] + b"\x00\x11")
            link.symlink_to(os.path.relpath(blob, link.parent))
        return path

    monkeypatch.setattr(hub, "_hub_file", fetch)
    blob.write_bytes(whole + b"x")
    good = True
    load_model("someone/tiny-bert", device="cpu")
    assert fetched == ["model.safetensors"]
    models._LOADED.clear()
    blob.write_bytes(whole + b"x")
    good = False
    with pytest.raises(ModelError, match=r"model.safetensors of 'someone/tiny-bert' arrived damaged twice"):
        load_model("someone/tiny-bert", device="cpu")
    assert not blob.exists()


@pytest.mark.slow
def test_a_fetch_that_never_ends_is_given_up_in_time_and_holds_no_other_model_up(cache, folder, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HEADSCOPE_HUB_SECONDS", "1.5")
    begun, told, release = threading.Event(), [], threading.Event()

    def stalls(_name, tell):
        tell("model.safetensors", 1, 10)
        begun.set()
        release.wait(20)

    monkeypatch.setattr(hub, "_all_files", stalls)
    problems = []

    def ask():
        try:
            load_model(
                "some/model", device="cpu", progress=lambda *news: told.append((threading.get_ident(), news))
            )
        except Unavailable as problem:
            problems.append(str(problem))

    asking = threading.Thread(target=ask)
    start = time.monotonic()
    asking.start()
    assert begun.wait(5)
    load_model(str(folder), device="cpu")  # another model
    assert asking.is_alive()
    asking.join(10)
    release.set()
    assert 1 < time.monotonic() - start < 8
    assert problems == [
        "'some/model' did not arrive within 2 seconds; ask again to go on, or set HEADSCOPE_HUB_SECONDS."
    ]
    assert told == [(asking.ident, ("model.safetensors", 1, 10))]  # said where a page can draw it
    monkeypatch.setenv("HEADSCOPE_HUB_SECONDS", "soon")
    with pytest.raises(InputError, match="HEADSCOPE_HUB_SECONDS is 'soon'"):
        hub.fetch_seconds()


def test_the_time_that_a_model_had_is_said_in_whole_seconds():
    with pytest.raises(Unavailable, match="'some/model' did not arrive within 1 second; ask"):
        hub._within(0.01, "some/model", lambda _: time.sleep(0.3), None)


def test_what_killed_fetches_left_is_removed_and_what_another_writes_stays(cache):
    blobs = cache / "models--some--model" / "blobs"
    blobs.mkdir(parents=True)
    old, new, kept = blobs / "a.incomplete", blobs / "b.incomplete", blobs / ("0" * 64)
    for file in (old, new, kept):
        file.write_bytes(b"x")
    hours_ago = time.time() - 7200
    for file in (old, kept):
        os.utime(file, (hours_ago, hours_ago))
    hub.remove_unfinished("some/model")
    assert (old.exists(), new.exists(), kept.exists()) == (False, True, True)


def test_whether_a_fetch_was_killed_is_known_from_the_lock_that_it_held(cache):
    blobs, locks = cache / "models--some--model" / "blobs", cache / ".locks" / "models--some--model"
    for folder in (blobs, locks):
        folder.mkdir(parents=True)
    killed, running = (blobs / f"{name * 64}.1f2e3d4c.incomplete" for name in "ab")
    for part in (killed, running):
        part.write_bytes(b"x")
        (locks / f"{part.name.partition('.')[0]}.lock").touch()
    with FileLock(locks / f"{'b' * 64}.lock"):
        hub.remove_unfinished("some/model")
        assert (killed.exists(), running.exists()) == (False, True)
    hub.remove_unfinished("some/model")
    assert not running.exists()


@pytest.mark.parametrize("damaged", [False, True])
def test_shards_in_the_hubs_cache_are_read_and_compared_too(damaged, cache, tmp_path):
    write(tmp_path / "parts", random_bert(), max_shard_size="200KB")
    repository = cached(cache, "someone/parts", tmp_path / "parts")
    missing = repository / ".no_exist" / COMMIT
    missing.mkdir(parents=True)
    (missing / "model.safetensors").touch()
    if damaged:
        shard = sorted((repository / "snapshots" / COMMIT).glob("*.safetensors"))[1].resolve()
        with shard.open("r+b") as file:
            file.seek(shard.stat().st_size - 3)
            file.write(b"\x42")
        with pytest.raises(Unavailable, match="cannot be reached"):
            load_model("someone/parts", device="cpu")
        assert not shard.exists()
    else:
        assert load_model("someone/parts", device="cpu").n_layers == 3


def test_a_model_of_which_a_shard_is_missing_has_to_be_fetched(cache, tmp_path):
    write(tmp_path / "parts", random_bert(), max_shard_size="200KB")
    repository = cached(cache, "someone/parts", tmp_path / "parts")
    assert not models.must_be_fetched("someone/parts")
    sorted((repository / "snapshots" / COMMIT).glob("*.safetensors"))[-1].unlink()
    assert models.must_be_fetched("someone/parts")
    write(tmp_path / "whole", random_bert())
    cached(cache, "someone/whole", tmp_path / "whole")
    assert not models.must_be_fetched("someone/whole")


def test_a_model_known_to_have_no_tokenizer_json_is_read_by_its_vocabulary(cache, tmp_path):
    write(tmp_path / "old", tokenizer=("vocab.txt", "tokenizer_config.json"))
    repository = cached(cache, "someone/old", tmp_path / "old")
    missing = repository / ".no_exist" / COMMIT
    missing.mkdir(parents=True)
    (missing / "tokenizer.json").touch()
    assert load_model("someone/old", device="cpu").tokenizer.encode("tired").ids == (101, 5458, 102)


def test_a_foreign_model_from_the_hub_is_called_by_its_name(cache, folder):
    (folder / "config.json").write_text('{"model_type": "t5"}')
    cached(cache, "someone/t5-tiny", folder)
    with pytest.raises(ModelError, match="'someone/t5-tiny' is t5; supported are the model types bert"):
        load_model("someone/t5-tiny", device="cpu")


def test_offline_the_sentence_says_what_to_do_at_once(cache):
    start = time.monotonic()
    with pytest.raises(
        Unavailable, match=r"connect once to fetch it, give a folder .* the embedded model 'minilm'"
    ):
        load_model("bert-base-uncased", device="cpu")
    assert time.monotonic() - start < 4


def test_a_hub_that_cannot_be_reached_is_given_up_within_seconds(cache, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    asked = []

    def unreachable(address, timeout=None, **_):
        asked.append((address, timeout))
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", unreachable)
    start = time.monotonic()
    with pytest.raises(Unavailable, match="model hub cannot be reached"):
        load_model("bert-base-uncased", device="cpu")
    assert time.monotonic() - start < 4
    assert len(asked) == 1
    assert asked[0][1] <= 5
    with pytest.raises(Unavailable, match="model hub cannot be reached"):
        load_model("bert-large-uncased", device="cpu")
    assert len(asked) == 1  # for a minute nobody waits again
    monkeypatch.setitem(hub._AWAY, "until", time.monotonic() - 1)
    with pytest.raises(Unavailable, match="model hub cannot be reached"):
        load_model("bert-base-cased", device="cpu")
    assert len(asked) == 2


def test_a_fetch_that_failed_is_not_begun_again_by_the_same_page(cache, monkeypatch):
    begun = []

    def stalls(name, _tell):
        begun.append(name)
        raise Unavailable("It did not arrive.")

    monkeypatch.setattr(hub, "_all_files", stalls)
    for name in ("some/model", "some/model", "another/model"):
        with pytest.raises(Unavailable, match="It did not arrive"):
            hub.from_hub(name, None)
    assert begun == ["some/model", "another/model"]
    later = time.monotonic() + 6
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(Unavailable):
        hub.from_hub("some/model", None)
    assert begun == ["some/model", "another/model", "some/model"]
    assert set(hub._FAILED) == {"some/model"}


class Stub:
    """huggingface_hub's download, replaced by an answer."""

    def __init__(self, answer):
        self.answer = answer

    def __call__(self, name, file, **options):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(name, file, **options)


@pytest.mark.parametrize("kind", ["missing", "broken", "disk", "gone"])
def test_what_goes_wrong_on_the_way_is_one_sentence(kind, cache, monkeypatch):
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    class Broken(HfHubHTTPError.__bases__[0]):
        """What the HTTP library raises in the middle of a download; not all libraries derive it from OSError."""

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(hub, "_hub_answers", lambda: True)
    response = SimpleNamespace(headers={}, request=None, status_code=404)
    answer, message = {
        "missing": (RepositoryNotFoundError("no", response=response), "The hub has no model 'some/model'"),
        "broken": (Broken("slow"), "could not be fetched: the connection broke"),
        "disk": (OSError(28, "No space left on device"), "could not be fetched: No space left on device"),
        "gone": (LocalEntryNotFoundError("cold"), "cannot be reached"),
    }[kind]
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", Stub(answer))
    with pytest.raises(Unavailable, match=message):
        load_model("some/model", device="cpu")


def test_progress_is_told_in_bytes_and_draws_nothing(cache, folder, monkeypatch, capsys):
    import huggingface_hub

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(hub, "_hub_answers", lambda: True)
    told = []

    def fetch(name, file, tqdm_class=None, **_):
        if not (folder / file).exists():
            raise huggingface_hub.errors.EntryNotFoundError(file)
        if tqdm_class is not None:
            with tqdm_class(total=10, unit="B", desc=file) as bar:
                bar.update(4)
                bar.update(6)
        return str(folder / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", Stub(fetch))
    load_model("some/model", device="cpu", progress=lambda *news: told.append(news))
    assert [news for news in told if news[0] == "model.safetensors"] == [
        ("model.safetensors", 4, 10), ("model.safetensors", 10, 10)
    ]  # fmt: skip
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_models_unused_for_longest_are_let_go_and_the_embedded_ones_stay(tmp_path, monkeypatch):
    for name in "abc":
        write(tmp_path / name)
    one = load_model(str(tmp_path / "a"), device="cpu").n_bytes
    models._LOADED.clear()
    monkeypatch.setattr(models, "MOST_BYTES", 2 * one)
    stays = load_model("minilm", device="cpu")
    loaded = {name: load_model(str(tmp_path / name), device="cpu") for name in "ab"}
    assert load_model(str(tmp_path / "a"), device="cpu") is loaded["a"]
    load_model(str(tmp_path / "c"), device="cpu")
    assert load_model(str(tmp_path / "a"), device="cpu") is loaded["a"]
    assert load_model("minilm", device="cpu") is stays
    assert {key[0] for key in models._LOADED} == {"minilm", str(tmp_path / "a"), str(tmp_path / "c")}
    monkeypatch.setattr(models, "MOST_BYTES", 0)
    assert load_model(str(tmp_path / "b"), device="cpu").name == str(tmp_path / "b")
    assert {key[0] for key in models._LOADED} == {"minilm", str(tmp_path / "b")}


def test_a_name_of_300_characters_gets_a_sentence():
    with pytest.raises(InputError, match="There is no model 'aaaa"):
        load_model("a" * 300)
