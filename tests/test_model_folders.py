"""Folders that a stranger made: bounded, read as they stand or refused in one sentence, and pinned."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from bert_folders import change_config, change_weights, embedded_folder, write

from mha_core import cli, embedded, load_model, models, trace
from mha_core.errors import ModelError
from mha_core.model_files import joint_digest

TEXT = "Time flies like an arrow"
ROOT = Path(__file__).parent.parent


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_LOADED", {})
    write(tmp_path / "bert")
    return tmp_path / "bert"


def refused(folder, match, **options):
    with pytest.raises(ModelError, match=match) as problem:
        load_model(str(folder), device="cpu", **options)
    assert "\n" not in str(problem.value)
    assert len(str(problem.value)) < 400


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_hidden_layers": 20_000}, "n_layers is 20000; it must be from 1 to 200"),
        ({"num_hidden_layers": 10**9}, "n_layers is 1000000000"),
        ({"num_attention_heads": 300, "hidden_size": 300}, "n_heads is 300; .* 1 to 256"),
        ({"hidden_size": 20_000}, "d_model is 20000"),
        ({"vocab_size": 10**9}, "vocab_size is 1000000000"),
        ({"vocab_size": 10**12}, "vocab_size is 1000000000000, which is no whole number"),
        (
            {"intermediate_size": 131_072, "hidden_size": 10_000, "num_hidden_layers": 100},
            "weights would take",
        ),
        ({"num_attention_heads": 12.7}, "num_attention_heads is 12.7, which is no whole number"),
        ({"num_attention_heads": 5.0}, "num_attention_heads is 5.0"),
        ({"num_attention_heads": True}, "num_attention_heads is True"),
        ({"num_attention_heads": "1_2"}, "num_attention_heads is '1_2'"),
        ({"num_attention_heads": "\u0661\u0662"}, r"num_attention_heads is '\\u0661"),
        ({"layer_norm_eps": float("inf")}, "layer_norm_eps is inf"),
        ({"layer_norm_eps": 1.0}, "epsilon is 1.0; it must be above 0 and below 0.001"),
        ({"layer_norm_eps": 0.001}, "epsilon is 0.001"),
        ({"layer_norm_eps": 0}, "epsilon is 0.0"),
        ({"hidden_act": "\x1b[31m\n"}, r"'\\x1b\[31m\\n'"),
        ({"model_type": 7, "architectures": 7}, "of no named architecture"),
        ({"model_type": "\x1b[31m"}, r"is '\\x1b\[31m'; supported"),
    ],
)
def test_sizes_have_limits_and_numbers_are_numbers(change, said, folder):
    change_config(folder, **change)
    started = time.monotonic()
    refused(folder, said)
    assert time.monotonic() - started < 2, "refused before anything is built"


def test_an_untrained_twin_has_a_largest_size(folder):
    change_config(folder, hidden_size=4000, intermediate_size=16_000, num_hidden_layers=50)
    refused(folder, "would take .* bytes; at most 4,000,000,000 are made", trained=False)


def test_a_name_that_stands_twice_is_refused(folder):
    path = folder / "config.json"
    path.write_text(path.read_text().replace("{", '{"num_hidden_layers": 3,', 1))
    refused(folder, "says 'num_hidden_layers' twice")


@pytest.mark.parametrize("old", ["embeddings.word_embeddings.weight", "embeddings.LayerNorm.weight"])
def test_a_tensor_under_two_names_is_refused(old, folder):
    new = old.replace("LayerNorm.weight", "LayerNorm.gamma") if "LayerNorm" in old else f"bert.{old}"
    change_weights(folder, lambda t: {**t, new: t[old] + 1})
    refused(folder, f"hold '{old}' twice")


def test_numbers_of_eight_bits_are_refused(folder):
    name = "embeddings.LayerNorm.weight"
    change_weights(folder, lambda t: {**t, name: t[name].to(torch.float8_e4m3fn)})
    refused(folder, "'embeddings.norm.weight' as float8_e4m3fn")


def test_a_tensors_strange_name_is_spelled_out(folder):
    change_weights(folder, lambda t: {**t, "\x1b[31m\n": torch.zeros(1)})
    refused(folder, r"such as '\\x1b\[31m\\n'")


def test_a_folders_strange_name_is_spelled_out(tmp_path):
    (tmp_path / "a\x1b\nb").mkdir()
    refused(tmp_path / "a\x1b\nb", "'a\ufffd\ufffdb' has no config.json")


@pytest.mark.slow
def test_a_piece_beyond_the_embeddings_is_refused(folder):
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"]["the"] = 30_522
    path.write_text(json.dumps(content))
    refused(folder, "piece 30,522 .* embeddings for 30,522")


def vocabulary(folder) -> list[str]:
    (folder / "tokenizer.json").unlink()
    return (embedded_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [], "line 1 is empty"),
        (lambda lines: ["", *lines], "line 1 is empty or stands twice"),
        (lambda lines: [*lines[:2000], lines[5], *lines[2001:]], "line 2,001 is empty or stands twice"),
        (lambda lines: lines[:15_000], "embeddings for 30,522 pieces and a tokenizer of 15,000"),
    ],
)
def test_a_damaged_vocabulary_is_refused(change, said, folder):
    lines = change(vocabulary(folder))
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    refused(folder, said)


def test_a_panic_of_the_tokenizer_library_is_a_sentence(folder):
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"}
    path.write_text(json.dumps(content))
    refused(folder, "tokenizer files of 'bert' cannot be read")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors.index.json"])
def test_a_pipe_a_device_and_a_flood_are_refused_at_once(name, folder):
    if name.endswith("index.json"):
        (folder / "model.safetensors").unlink()
    path = folder / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    refused(folder, "no ordinary file|has no model.safetensors")
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(folder, "no ordinary file|has no model.safetensors")
    path.unlink()
    with path.open("wb") as file:
        file.truncate(10_000_000_000)
    refused(folder, r"has 10,000,000,000 bytes; at most [\d,]+ are read")


def test_an_index_of_brackets_is_refused(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text("[" * 100_000)
    refused(folder, "is damaged: it is not JSON")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_the_systems_reason_is_told(name, folder, monkeypatch):
    if os.geteuid() == 0:  # who may read everything is refused by hand

        def no(*arguments, **options):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_bytes", no)
        monkeypatch.setattr("mha_core.model_files.FastTokenizer.from_file", no, raising=False)
        if name != "config.json":
            pytest.skip("only another user is kept from this file")
    (folder / name).chmod(0)
    refused(folder, "cannot be read: Permission denied")


# Digests


def sums(folder) -> str:
    names = ("config.json", "model.safetensors", "tokenizer.json")
    return "".join(f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names)


def test_every_files_digest_is_known_and_one_digest_pins_them(folder, capsys):
    model = load_model(str(folder), device="cpu")
    assert "".join(f"{digest}  {name}\n" for name, digest in model.files) == sums(folder)
    pin = hashlib.sha256(sums(folder).encode()).hexdigest()
    assert (model.files_digest, model.pinned, model.info.pinned) == (pin, False, False)
    assert load_model(str(folder), device="cpu", sha256=pin.upper()).pinned
    refused(folder, "not those asked for: together they have SHA-256 .* expected 0000", sha256="0" * 64)
    assert (
        cli.main(["trace", TEXT, "--model", str(folder), "--format", "json", "--layer", "1", "--head", "1"])
        == 0
    )
    printed = capsys.readouterr()
    details = json.loads(printed.out)["model_details"]
    assert (details["files"], details["pinned"]) == (dict(model.files), False)
    assert f"--sha256 {pin} pins them" in printed.err
    assert cli.main(["trace", TEXT, "--model", str(folder), "--sha256", pin]) == 0
    assert capsys.readouterr().err == ""
    assert (
        cli.main(["heads", "similarity", "--limit", "2", "--model", str(folder), "--sha256", "0" * 64]) == 2
    )
    assert cli.main(["trace", TEXT, "--model", str(folder), "--sha256", "0" * 64]) == 2


def test_the_embedded_model_is_pinned():
    model = load_model(device="cpu")
    assert (dict(model.files), model.pinned) == (embedded.EMBEDDED_DIGESTS, True)
    assert model.files_digest == joint_digest(embedded.EMBEDDED_DIGESTS)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_is_compared_with_its_own_sums(name, folder):
    (folder / "SHA256SUMS").write_text(sums(folder).replace("  ", " *"))
    assert load_model(str(folder), device="cpu").pinned
    models._LOADED.clear()
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(content)
    refused(folder, f"{name} of 'bert' is not the file it should be|cannot be read|not JSON")


def test_sums_may_be_written_in_capitals(folder):
    lines = [line.split("  ") for line in sums(folder).splitlines()]
    (folder / "SHA256SUMS").write_text("".join(f"{digest.upper()}  {name}\n" for digest, name in lines))
    assert load_model(str(folder), device="cpu").pinned


def test_sums_that_leave_a_file_out_or_are_none_are_refused(folder):
    (folder / "SHA256SUMS").write_text(sums(folder).split("\n", 1)[1])
    refused(folder, "config.json of 'bert' is not the file it should be .*does not name it")
    (folder / "SHA256SUMS").write_text("rubbish\n")
    refused(folder, "SHA256SUMS of 'bert' is not what sha256sum writes")


# The modes that a caller may be in


MODES = {
    "inference mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "no gradients": torch.no_grad,
    "another device": lambda: torch.device("meta"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODES)
def test_loaded_and_traced_in_any_mode_the_numbers_are_the_same(name, monkeypatch):
    expected = trace(TEXT, load_model(device="cpu")).weights
    monkeypatch.setattr(models, "_LOADED", {})
    with MODES[name]():
        model = load_model(device="cpu")
        inside = trace(TEXT, model).weights
    np.testing.assert_array_equal(inside, expected)
    np.testing.assert_array_equal(trace(TEXT, model).weights, expected)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_the_default_type_of_numbers_changes_none(dtype, monkeypatch):
    expected = trace(TEXT, load_model(device="cpu")).weights
    monkeypatch.setattr(models, "_LOADED", {})
    torch.set_default_dtype(dtype)
    try:
        found = trace(TEXT, load_model(device="cpu")).weights
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_array_equal(found, expected)


def test_threads_give_the_same_numbers():
    model = load_model(device="cpu")
    expected, found = trace(TEXT, model).weights, []
    threads = [threading.Thread(target=lambda: found.append(trace(TEXT, model).weights)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.array_equal(weights, expected) for weights in found)


CHILD = """
import multiprocessing, sys, numpy as np, torch
torch.set_num_threads(1)
from mha_core import load_model, trace
def weights(_):
    torch.set_num_threads(1)
    return trace("Time flies", load_model(device="cpu")).weights
if __name__ == "__main__":
    here = weights(0)
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        there = pool.map_async(weights, [0]).get(timeout=60)[0]
    print(np.array_equal(here, there))
"""


@pytest.mark.long
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_child_process_gives_the_same_numbers(way, tmp_path):
    (tmp_path / "child.py").write_text(CHILD)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "child.py"), way],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "True", done.stderr
