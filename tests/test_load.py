"""Names to models: one load for all, kept up to a limit, and configs read as transformers reads them."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from bert_folders import change_config, write

from mha_core import InputError, ModelError, load_model
from mha_core.models import load
from mha_core.models.weights import config_of


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


def config(kind, **changes):
    """A config.json that says no more than it has to."""
    sizes = {
        "distilbert": {"dim": 8, "n_layers": 2, "n_heads": 2},
        "gpt2": {"n_embd": 8, "n_layer": 2, "n_head": 2},
    }
    usual = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    return {"model_type": kind, "vocab_size": 9} | sizes.get(kind, usual) | changes


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
    ours, theirs = config_of(config(kind), "m"), transformers.AutoConfig.for_model(**config(kind))
    for name, names in NAMES.items():
        expected = next((value for each in names if (value := getattr(theirs, each, None)) is not None), None)
        if name == "max_positions" and "roberta" in kind:
            expected -= theirs.pad_token_id + 1
        if hasattr(ours, name) and expected is not None:
            assert getattr(ours, name) == expected, name
    if kind == "llama":
        assert ours.theta == theirs.rope_parameters["rope_theta"]


@pytest.mark.parametrize("missing", ["theta", "max_positions"])
def test_a_classroom_config_says_how_its_positions_are_read(missing):
    raw = {"model_type": "classroom", "vocab_size": 9, "d_model": 8, "n_layers": 1, "n_heads": 2, "d_ff": 8}
    raw |= {"max_positions": 5, "theta": 10.0, "turning": 1, "windows": [0]}
    assert config_of(raw, "m").theta == 10.0
    with pytest.raises(ModelError, match=missing):
        config_of({name: value for name, value in raw.items() if name != missing}, "m")


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
