"""Names to models: one load for all, configs read as transformers reads them, and what is damaged is refused."""

import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import torch
from bert_folders import change_config, change_weights, embedded_folder, write
from decoder_folders import random_decoder, write_decoder

from mha_core import InputError, ModelError, load_model
from mha_core.models import load
from mha_core.models.weights import config_of, load_encoder, read_config


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch):
    monkeypatch.setattr(load, "_LOADED", {})


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "bert")
    return tmp_path / "bert"


@pytest.mark.slow
def test_importing_and_tracing_the_embedded_model_imports_no_large_library():
    script = (
        "import sys, mha_core\n"
        "record = mha_core.trace('it was tired', mha_core.load_model('minilm', device='cpu'))\n"
        "heavy = {'transformers', 'sentence_transformers', 'streamlit', 'plotly', 'pandas', 'sklearn', 'scipy'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}), record.weights.shape)\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert (result.stdout, result.stderr) == ("[] (6, 12, 5, 5)\n", "")


def test_many_threads_at_once_load_once(folder, monkeypatch):
    calls, real = [], load._load
    monkeypatch.setattr(load, "_load", lambda *a: calls.append(a) or real(*a))
    with ThreadPoolExecutor(8) as pool:
        models = [*pool.map(partial(load_model, device="cpu"), [str(folder)] * 8)]
    assert len(calls) == 1
    assert all(model is models[0] for model in models)


@pytest.mark.parametrize(
    "name",
    ["a b", "../../etc/passwd", "/etc/passwd", "a/b/c", "http://169.254.169.254/", "a\0b", "x" * 5000, "~nobody0/x",
     "", ".", "-rf", "a..b/c", "é/ü", "a/" + "b" * 200],
)  # fmt: skip
@pytest.mark.parametrize("local", [True, False])
def test_a_name_that_is_none_is_refused_before_any_network(name, local, monkeypatch):
    monkeypatch.setattr("mha_core.models.load.fetch", lambda *_: pytest.fail("the network was asked"))
    with pytest.raises(InputError if name not in (".",) or not local else ModelError) as caught:
        load_model(name, local=local, device="cpu")
    assert len(str(caught.value)) < 200


NEEDED = {  # what a config.json has to say
    "distilbert": {"dim": 8, "n_layers": 2, "n_heads": 2},
    "gpt2": {"n_embd": 8, "n_layer": 2, "n_head": 2},
}
USUAL = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
NAMES = {  # ours, and what transformers calls it, of which a family has one
    "max_positions": ("max_position_embeddings", "n_positions"),
    "norm_eps": ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps"),
    "activation": ("hidden_act", "activation_function", "activation"),
    "d_ff": ("intermediate_size", "hidden_dim"),
    "n_segments": ("type_vocab_size",),
    "n_kv_heads": ("num_key_value_heads",),
    "tied": ("tie_word_embeddings",),
    "d_embedding": ("embedding_size",),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "distilbert", "electra", "roberta", "xlm-roberta", "gpt2", "llama"])
def test_what_a_config_leaves_out_is_what_transformers_takes(kind):
    transformers = pytest.importorskip("transformers")
    config = {"model_type": kind, "vocab_size": 9} | NEEDED.get(kind, USUAL)
    ours, theirs = config_of(config, "m"), transformers.AutoConfig.for_model(**config)
    for name, names in NAMES.items():
        expected = next((value for each in names if (value := getattr(theirs, each, None)) is not None), None)
        if name == "max_positions" and "roberta" in kind:
            expected -= theirs.pad_token_id + 1
        if hasattr(ours, name) and expected is not None:
            assert getattr(ours, name) == expected, name
    if kind == "llama":
        assert ours.theta == theirs.rope_parameters["rope_theta"]


def test_a_folder_that_changed_is_loaded_anew_and_others_are_shared_and_pinned_by_their_digest(folder):
    first = load_model(folder, device="cpu")
    assert load_model(str(folder), device="cpu") is first
    assert load_model(folder, device="cpu", shared=False) is not first
    change_config(folder, max_position_embeddings=29)
    with pytest.raises(ModelError):  # its weights do not fit that
        load_model(folder, device="cpu")
    change_config(folder, max_position_embeddings=37)
    again = load_model(folder, device="cpu")
    assert again is not first
    assert (again.digest, again.pinned) == (first.digest, False)
    assert load_model(folder, device="cpu", sha256=again.files_digest.upper()).pinned
    with pytest.raises(ModelError):
        load_model(folder, device="cpu", sha256=again.files_digest[::-1])


def test_of_large_models_those_unused_for_longest_go(tmp_path, monkeypatch):
    a, b, c = (tmp_path / name for name in "abc")
    for each in (a, b, c):
        write(each)
    open_ = partial(load_model, device="cpu")
    first, second = open_(a), open_(b)
    monkeypatch.setattr(load, "MAX_BYTES", 2 * first.n_bytes)
    assert open_(a) is first
    open_(c)
    assert open_(a) is first
    assert open_(b) is not second


def overwrite(path, start, new):
    with path.open("r+b") as file:
        file.seek(start)
        file.write(new)


def with_nan(tensors):
    tensors["encoder.layer.2.output.dense.weight"][3, 5] = float("nan")
    return tensors


def only_vocabulary(folder, change):
    """Leave the words as the only file of the tokenizer, changed."""
    (folder / "tokenizer.json").unlink()
    lines = change((embedded_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines())
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def flood(path):
    path.touch()
    os.truncate(path, 10_000_000_000)


# acceptance/test_damaged.py has those of the toy model: missing, cut and pickled files, tensors and sizes.
DAMAGES = {
    "tokenizer cut": lambda f: os.truncate(f / "tokenizer.json", 100_000),
    "a number that is none": lambda f: change_weights(f, with_nan),
    "config with fewer layers": lambda f: change_config(f, num_hidden_layers=2),
    "tokenizer and vocabulary gone": lambda f: (f / "tokenizer.json").unlink(),
    "an empty word": lambda f: only_vocabulary(f, lambda lines: [*lines[:2000], "", *lines[2001:]]),
    "a word twice": lambda f: only_vocabulary(f, lambda lines: [*lines[:2000], lines[5], *lines[2001:]]),
    "half of the words": lambda f: only_vocabulary(f, lambda lines: lines[:15_000]),
} | {
    f"{name} as a {kind}": lambda f, name=name, make=make: ((f / name).unlink(), make(f / name))
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


def test_a_folder_that_names_code_is_read_without_it(folder):
    (folder / "evil.py").write_text("raise SystemExit('this code ran')")
    change_config(folder, auto_map={"AutoModel": "evil.Model"})
    assert load_model(str(folder), device="cpu").n_layers == 3


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "deberta"},
        {"model_type": None, "architectures": [1]},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"add_cross_attention": True},
        {"hidden_size": "wide"},
        {"vocab_size": float("inf")},
        {"hidden_act": "swish9"},
        {"num_attention_heads": 300, "hidden_size": 300},
        {"vocab_size": 10**12},
        {"intermediate_size": 131_072, "hidden_size": 10_000, "num_hidden_layers": 100},
        {"num_attention_heads": 5.0},
        {"num_attention_heads": True},
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
        ("llama", {"rope_scaling": {"rope_type": "yarn"}, "rope_parameters": ...}),
        ("llama", {"rope_parameters": {"rope_type": "llama3"}}),
        ("llama", {"head_dim": 5}),
        ("llama", {"num_key_value_heads": 3}),
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
