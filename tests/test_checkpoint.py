"""Damaged and foreign model folders: each is refused in one sentence, or does no harm."""

import hashlib
import os
import time

import numpy as np
import pytest
import torch
from bert_folders import change_config, change_weights, embedded_folder, write

from mha_core import ModelError, load_model, trace
from mha_core.models import load
from mha_core.models.checkpoint import check_digest
from mha_core.models.model_list import EMBEDDED_DIGESTS
from mha_core.models.weights import load_encoder, read_config

TEXT = "The animal didn't cross the street because it was too tired."


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "bert")
    return tmp_path / "bert"


def overwrite(path, at, new):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(new)


def cut(path, n_bytes):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - n_bytes)


def without_one(tensors):
    return {k: v for k, v in tensors.items() if k != "encoder.layer.1.attention.self.key.weight"}


def with_nan(tensors):
    tensors["encoder.layer.2.output.dense.weight"][3, 5] = float("nan")
    return tensors


def with_other_shape(tensors):
    name = "encoder.layer.0.attention.output.dense.weight"
    return {**tensors, name: tensors[name][:, :-1]}


WEIGHTS = "model.safetensors"
# What befalls the toy model's folder stands in acceptance/test_damaged.py: missing, cut and pickled files.
DAMAGES = {
    "weights empty": lambda f: (f / WEIGHTS).write_bytes(b""),
    "a byte of the header flipped": lambda f: overwrite(f / WEIGHTS, 7, b"\x7f"),
    "a tensor of another shape": lambda f: change_weights(f, with_other_shape),
    "tokenizer cut": lambda f: cut(f / "tokenizer.json", 1000),
    "a tensor missing": lambda f: change_weights(f, without_one),
    "weights in fp16": lambda f: change_weights(f, lambda t: {k: v.half() for k, v in t.items()}),
    "a number that is none": lambda f: change_weights(f, with_nan),
    "config with fewer layers": lambda f: change_config(f, num_hidden_layers=2),
    "config with more layers": lambda f: change_config(f, num_hidden_layers=7),
    "tokenizer and vocabulary gone": lambda f: [
        p.unlink() for p in (*f.glob("tokenizer*"), *f.glob("vocab.txt"))
    ],
    "code to run named in the config": lambda f: change_config(f, auto_map={"AutoModel": "evil.Model"}),
}


HARMLESS = ("weights in fp16", "code to run named in the config")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_any_single_flipped_bit_of_the_embedded_model_is_found(name, tmp_path):
    wanted = EMBEDDED_DIGESTS[name]
    content = bytearray((embedded_folder() / name).read_bytes())
    content[np.random.default_rng(1).integers(len(content))] ^= 8
    (tmp_path / name).write_bytes(content)
    check_digest(embedded_folder() / name, wanted)
    with pytest.raises(ModelError):
        check_digest(tmp_path / name, wanted)


@pytest.mark.parametrize("name", sorted(DAMAGES.keys() - set(HARMLESS)))
def test_a_damaged_folder_is_refused_in_one_sentence(name, folder):
    DAMAGES[name](folder)
    with pytest.raises(ModelError) as caught:
        load_model(str(folder), device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", HARMLESS)
def test_a_folder_in_half_precision_or_naming_code_is_read_without_harm(name, folder):
    before = trace(TEXT, load_model(str(folder), device="cpu")).weights
    load._LOADED.clear()
    (folder / "evil.py").write_text("raise SystemExit('this code ran')")
    DAMAGES[name](folder)
    after = trace(TEXT, load_model(str(folder), device="cpu")).weights
    np.testing.assert_allclose(after, before, atol=2e-2)


# Other things in a folder


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "deberta"},
        {"model_type": "gpt2"},
        {"model_type": None, "architectures": ["LlamaForCausalLM"]},
        {"model_type": None, "architectures": [1]},
        {"model_type": None, "architectures": None},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"add_cross_attention": True},
        {"hidden_size": ...},
        {"hidden_size": 16},
        {"hidden_size": "wide"},
        {"vocab_size": float("inf")},
        {"num_hidden_layers": -1},
        {"hidden_act": "swish9"},
        {"max_position_embeddings": 3},
        {"vocab_size": 1000},
        {"num_hidden_layers": 10**9},
        {"num_attention_heads": 300, "hidden_size": 300},
        {"hidden_size": 20_000},
        {"vocab_size": 10**12},
        {"intermediate_size": 131_072, "hidden_size": 10_000, "num_hidden_layers": 100},
        {"num_attention_heads": 5.0},
        {"num_attention_heads": True},
        {"num_attention_heads": "1_2"},
        {"num_attention_heads": "\u0661\u0662"},
        {"layer_norm_eps": float("inf")},
        {"layer_norm_eps": 0.001},
        {"layer_norm_eps": 0},
    ],
)
def test_a_config_that_cannot_be_is_refused_before_anything_is_built(change, folder):
    change_config(folder, **change)
    started = time.process_time()
    with pytest.raises(ModelError):
        load_model(str(folder), device="cpu")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [],
        lambda lines: ["", *lines],
        lambda lines: [*lines[:2000], lines[5], *lines[2001:]],
        lambda lines: lines[:15_000],
    ],
)
def test_a_damaged_vocabulary_is_refused(change, folder):
    (folder / "tokenizer.json").unlink()
    lines = change((embedded_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines())
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ModelError):
        load_model(str(folder), device="cpu")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_pipe_a_device_and_a_flood_are_refused_at_once(name, folder):
    path = folder / name
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.touch()):
        path.unlink()
        make(path)
        if path.is_file():
            os.truncate(path, 10_000_000_000)
        started = time.process_time()
        with pytest.raises(ModelError):
            load_model(str(folder), device="cpu")
        assert time.process_time() - started < 2, "not read for its digest either"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_is_compared_with_its_own_sums(name, folder):
    names = ("config.json", "model.safetensors", "tokenizer.json")
    sums = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()} *{n}\n" for n in names]
    (folder / "SHA256SUMS").write_text("".join(sums))
    assert load_model(str(folder), device="cpu").pinned
    load._LOADED.clear()
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError):
        load_model(str(folder), device="cpu")


def test_tensors_that_the_config_does_not_account_for_are_refused_unless_no_attention_depends_on_them(folder):
    change_weights(
        folder,
        lambda t: {
            **t,
            "classifier.weight": torch.zeros(2, 15),
            "embeddings.position_ids": torch.zeros(1, 37),
        },
    )
    load_encoder(folder, read_config(folder))
    change_weights(folder, lambda t: {**t, "adapter.weight": torch.zeros(3)})
    with pytest.raises(ModelError):
        load_encoder(folder, read_config(folder))
