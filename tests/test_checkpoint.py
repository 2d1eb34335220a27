"""Damaged and foreign model folders: each is refused in one sentence, or does no harm."""

import hashlib
import os
import time

import numpy as np
import pytest
import torch
from bert_folders import change_config, change_weights, embedded_folder, write
from decoder_folders import random_decoder, write_decoder

from mha_core import ModelError, load_model, trace
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


def without_one(tensors):
    return {k: v for k, v in tensors.items() if k != "encoder.layer.1.attention.self.key.weight"}


def with_nan(tensors):
    tensors["encoder.layer.2.output.dense.weight"][3, 5] = float("nan")
    return tensors


def with_other_shape(tensors):
    name = "encoder.layer.0.attention.output.dense.weight"
    return {**tensors, name: tensors[name][:, :-1]}


def only_vocabulary(folder, change):
    """Leave the words as the only file of the tokenizer, changed."""
    (folder / "tokenizer.json").unlink()
    lines = change((embedded_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines())
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def flood(path):
    path.touch()
    os.truncate(path, 10_000_000_000)


def replaced(name, make):
    def damage(folder):
        (folder / name).unlink()
        make(folder / name)

    return damage


WEIGHTS = "model.safetensors"
# What befalls the toy model's folder stands in acceptance/test_damaged.py: missing, cut and pickled files.
DAMAGES = {
    "weights empty": lambda f: (f / WEIGHTS).write_bytes(b""),
    "a byte of the header flipped": lambda f: overwrite(f / WEIGHTS, 7, b"\x7f"),
    "a tensor of another shape": lambda f: change_weights(f, with_other_shape),
    "tokenizer cut": lambda f: os.truncate(f / "tokenizer.json", 100_000),
    "a tensor missing": lambda f: change_weights(f, without_one),
    "a number that is none": lambda f: change_weights(f, with_nan),
    "config with fewer layers": lambda f: change_config(f, num_hidden_layers=2),
    "config with more layers": lambda f: change_config(f, num_hidden_layers=7),
    "tokenizer and vocabulary gone": lambda f: (f / "tokenizer.json").unlink(),
    "no word": lambda f: only_vocabulary(f, lambda lines: []),
    "an empty word": lambda f: only_vocabulary(f, lambda lines: ["", *lines]),
    "a word twice": lambda f: only_vocabulary(f, lambda lines: [*lines[:2000], lines[5], *lines[2001:]]),
    "half of the words": lambda f: only_vocabulary(f, lambda lines: lines[:15_000]),
} | {
    f"{name} as a {kind}": replaced(name, make)
    for name in ("config.json", "tokenizer.json")
    for kind, make in (("pipe", os.mkfifo), ("device", lambda p: p.symlink_to("/dev/zero")), ("flood", flood))
}


def refused_at_once(folder):
    started = time.process_time()
    with pytest.raises(ModelError) as caught:
        load_model(str(folder), device="cpu")
    assert "\n" not in str(caught.value)
    assert time.process_time() - started < 2, "before anything is built, or read for its digest"


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_folder_is_refused_in_one_sentence(name, folder):
    DAMAGES[name](folder)
    refused_at_once(folder)


def test_a_folder_in_half_precision_or_naming_code_is_read_without_harm(folder):
    before = trace(TEXT, load_model(str(folder), device="cpu")).weights
    (folder / "evil.py").write_text("raise SystemExit('this code ran')")
    change_config(folder, auto_map={"AutoModel": "evil.Model"})
    np.testing.assert_array_equal(trace(TEXT, load_model(str(folder), device="cpu")).weights, before)
    change_weights(folder, lambda tensors: {name: tensor.half() for name, tensor in tensors.items()})
    np.testing.assert_allclose(trace(TEXT, load_model(str(folder), device="cpu")).weights, before, atol=2e-2)


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
    refused_at_once(folder)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("gpt2", {"add_cross_attention": True}),
        ("gpt2", {"n_head": 4}),
        ("llama", {"rope_scaling": {"rope_type": "yarn"}, "rope_parameters": ...}),
        ("llama", {"rope_parameters": {"rope_type": "llama3"}}),
        ("llama", {"head_dim": 5}),
        ("llama", {"num_key_value_heads": 3}),
        ("llama", {"num_key_value_heads": 5}),
    ],
)
def test_a_decoder_that_nothing_computes_is_refused(kind, change, tmp_path):
    write_decoder(tmp_path, random_decoder(kind))
    change_config(tmp_path, **change)
    refused_at_once(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_is_compared_with_its_own_sums(name, folder):
    names = ("config.json", "model.safetensors", "tokenizer.json")
    sums = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()} *{n}\n" for n in names]
    (folder / "SHA256SUMS").write_text("".join(sums))
    assert load_model(str(folder), device="cpu").pinned
    overwrite(folder / name, (folder / name).stat().st_size - 2, b"\0")
    with pytest.raises(ModelError):
        load_model(str(folder), device="cpu")


def test_tensors_that_the_config_does_not_account_for_are_refused_unless_no_attention_depends_on_them(folder):
    harmless = {"classifier.weight": torch.zeros(2, 15), "embeddings.position_ids": torch.zeros(1, 37)}
    change_weights(folder, lambda tensors: tensors | harmless)
    load_encoder(folder, read_config(folder))
    change_weights(folder, lambda tensors: tensors | {"adapter.weight": torch.zeros(3)})
    with pytest.raises(ModelError):
        load_encoder(folder, read_config(folder))
