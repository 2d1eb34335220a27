"""What takes one line: from and to torch's own layer, many strings, hooks, heads taken away, models of one's own."""

import copy
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from bert_folders import change_weights, random_bert, write
from torch import nn

from mha_core import (
    InputError,
    ModelError,
    MultiHeadAttention,
    SizeError,
    hidden_states,
    load_model,
    models,
    predict_masked,
    predict_next,
    trace,
    trace_many,
)
from mha_core.experiments import Factor, MeanOutput, ablate, changes, next_words, patch, trace_changed
from mha_core.heads.ranking import rank_job
from mha_core.heads.survey import Options

TEXT = "The animal didn't sit."


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    write(folder, random_bert("BertForMaskedLM"))
    return folder


@pytest.fixture
def folder(written, monkeypatch):
    monkeypatch.setattr(models, "_LOADED", {})
    return written


# Torch's own layer


@pytest.mark.parametrize(("d_model", "n_heads", "bias"), [(15, 5, True), (22, 1, False), (21, 7, True)])
def test_weights_of_torchs_own_layer_give_its_outputs_and_weights_with_masks_turned_round(
    d_model, n_heads, bias
):
    torch.manual_seed(d_model)
    theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.4)
    ours = MultiHeadAttention.from_torch(theirs)
    assert not ours.training
    x, memory = torch.randn(2, 6, d_model), torch.randn(2, 4, d_model)
    may_not = torch.rand(6, 4) > 0.7
    may_not[:, 0] = False
    padding = torch.tensor([[False] * 4, [False, False, False, True]])
    for layer in (theirs, ours.to_torch()):
        expected, weights = layer(
            x, memory, memory, attn_mask=may_not, key_padding_mask=padding, average_attn_weights=False
        )
        found, seen = ours(x, memory, mask=~may_not & ~padding[:, None, None, :])
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(seen, weights, atol=1e-6, rtol=1e-5)
    theirs.in_proj_weight.data.zero_()
    assert ours.W_q.weight.abs().max() > 0, "copied"


def test_layers_of_torch_that_ours_is_not_are_refused_in_a_sentence():
    for theirs, message in (
        (nn.MultiheadAttention(12, 3, kdim=7), "Its keys are 7 and its values 12 wide"),
        (nn.MultiheadAttention(12, 3, add_bias_kv=True), "adds a key of its own"),
        (nn.MultiheadAttention(12, 3, add_zero_attn=True), "adds a key of its own"),
        (nn.Linear(3, 3), "Linear was given"),
    ):
        with pytest.raises((SizeError, InputError), match=message):
            MultiHeadAttention.from_torch(theirs)
    with pytest.raises(SizeError, match="6 query heads share 3 key heads"):
        MultiHeadAttention(12, 6, 3).to_torch()
    with pytest.raises(SizeError, match="Heads of width 5 and 4"):
        MultiHeadAttention(12, 3, d_k=5).to_torch()


# Many texts, hooks, heads taken away


@pytest.mark.slow
def test_a_thousand_strings_are_traced_with_progress_and_equal_one_at_a_time(folder):
    model = load_model(folder, device="cpu")
    texts = [f"The animal{' sat' * (i % 7)}." for i in range(1000)]
    told = []
    found = list(trace_many(texts, model, progress=lambda done, total: told.append((done, total))))
    assert len(found) == 1000
    assert told[-1] == (1000, 1000)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    for i in (0, 3, 998):
        np.testing.assert_allclose(found[i], trace(texts[i], model).weights, atol=1e-6)
    told.clear()
    list(trace_many(iter(texts[:3]), model, progress=lambda *both: told.append(both)))
    assert told == [(3, None)]


def test_a_hook_reads_states_weights_and_contexts_and_leaves_the_run_as_it_is(folder):
    model, seen = load_model(folder, device="cpu"), {}

    def look(name, layer, tensor):
        seen[name, layer] = tensor.clone().numpy()

    plain, record = trace(TEXT, model), trace(TEXT, model, hook=look)
    np.testing.assert_allclose(record.weights, plain.weights, atol=1e-6)
    assert record.interventions == ()
    states = hidden_states(TEXT, model)
    assert set(seen) == {("state", i) for i in range(4)} | {
        (n, i) for n in ("weights", "context") for i in range(3)
    }
    for i in range(4):
        np.testing.assert_allclose(seen["state", i][0], states[i], atol=1e-5)
    for i in range(3):
        np.testing.assert_allclose(seen["weights", i][0], plain.weights[i], atol=1e-6)
        assert seen["context", i].shape == (1, 5, len(plain.tokens), 3)


def test_a_hook_changes_what_it_returns_and_the_record_says_so(folder):
    model = load_model(folder, device="cpu")

    def silence(name, layer, tensor):
        if (name, layer) != ("context", 1):
            return None
        changed = tensor.clone()
        changed[:, 2] = 0
        return changed

    record = trace(TEXT, model, hook=silence)
    np.testing.assert_allclose(record.weights, ablate(TEXT, model, "2-3").weights, atol=1e-6)
    assert record.interventions == ("hook silence",)
    with pytest.raises(SizeError, match=r"The hook gave \(1,\) for the state of layer 0"):
        trace(TEXT, model, hook=lambda *_: torch.zeros(1))
    with pytest.raises(InputError, match="A hook is a function"):
        trace(TEXT, model, hook="look")


def test_heads_are_taken_away_and_patched_by_their_names(folder):
    model = load_model(folder, device="cpu")
    gates = np.ones((3, 5))
    gates[0, 1] = gates[1, 4] = 0
    record = ablate(TEXT, model, "1-2,2-5")
    np.testing.assert_allclose(record.weights, trace(TEXT, model, gates=gates).weights, atol=1e-6)
    assert record.interventions == (Factor(((0, 1), (1, 4))),)
    masked = model.tokenizer.encode("The [MASK].")
    assert next_words(masked, model, record.interventions, k=2) != next_words(masked, model, k=2)
    source = "The street didn't sit."
    every = ",".join(f"1-{head}" for head in range(1, 6))
    patched = patch(source, TEXT, model, every)
    np.testing.assert_allclose(patched.weights[0], trace(TEXT, model).weights[0], atol=1e-6)
    np.testing.assert_array_equal(
        patched.weights, trace_changed(patched.tokens, model, patched.interventions).weights
    )
    assert np.abs(patched.weights[1] - trace(TEXT, model).weights[1]).max() > 1e-4
    with pytest.raises(InputError, match="There is no head 4-1"):
        ablate(TEXT, model, "4-1")
    with pytest.raises(InputError, match="both need the same number"):
        patch("It", TEXT, model, "1-1")


def test_heads_are_doubled_or_give_their_mean_in_one_line(folder, monkeypatch):
    model = load_model(folder, device="cpu")
    gates = np.ones((3, 5))
    for factor in (2.0, 0.0):
        gates[0, 1] = gates[1, 4] = factor
        expected = trace(TEXT, model, gates=gates).weights
        record = ablate(TEXT, model, "1-2,2-5", factor=factor)
        assert record.interventions == (Factor(((0, 1), (1, 4)), factor),)
        np.testing.assert_allclose(record.weights, expected, atol=1e-6)
    for mean in (0.0, 1.0):
        means = torch.full((3, 5, model.config.d_k), mean)
        monkeypatch.setattr(changes, "mean_contexts", lambda _, means=means: means)
        record = ablate(TEXT, model, "1-2,2-5", mean=True)
        assert record.interventions == (MeanOutput(((0, 1), (1, 4))),)
        assert np.allclose(record.weights, expected, atol=1e-6) == (mean == 0.0), (
            "a mean of 0 takes them away"
        )


@pytest.mark.long
def test_heads_are_ranked_by_a_job_with_baseline_and_verdict(model):
    found = rank_job("previous", model, Options(limit=30))
    assert len(found) == 72
    assert found[0].score == max(one.score for one in found) > 0.9
    assert (found[0].name, found[0].n) == ("1-3", 30)
    with pytest.raises(InputError, match="'juggling' is no job of MiniLM's heads; choose previous"):
        rank_job("juggling", model, Options(limit=3))


# Models of one's own


def test_a_folder_whose_weights_changed_is_loaded_anew(folder, tmp_path):
    folder = shutil.copytree(folder, tmp_path / "changed")
    first = load_model(folder, device="cpu")
    assert load_model(folder, device="cpu") is first
    before = trace(TEXT, first).weights
    state = (folder / "model.safetensors").stat()
    change_weights(folder, lambda tensors: {name: tensor * 1.5 for name, tensor in tensors.items()})
    os.utime(folder / "model.safetensors", ns=(state.st_atime_ns, state.st_mtime_ns))
    second = load_model(folder, device="cpu")
    assert second is not first
    assert second.digest != first.digest
    assert np.abs(trace(TEXT, second).weights - before).max() > 1e-3
    assert [model is second for model in models._LOADED.values()] == [True], "the old one is let go"


def test_an_unshared_model_can_be_changed_and_nobody_else_sees_it(folder):
    shared, own = load_model(folder, device="cpu"), load_model(folder, device="cpu", shared=False)
    before = trace(TEXT, shared).weights
    np.testing.assert_allclose(trace(TEXT, own).weights, before, atol=1e-6)
    own.encoder.layer(0).attention.W_q.weight.data.zero_()
    assert np.abs(trace(TEXT, own).weights[0] - before[0]).max() > 1e-3
    np.testing.assert_array_equal(trace(TEXT, shared).weights, before)
    assert load_model(folder, device="cpu") is shared


def test_a_model_in_another_type_is_another_one_with_the_same_numbers(folder):
    model = load_model(folder, device="cpu")
    double = model.to("cpu", "float64")
    assert model.to("cpu") is model
    assert double.to("cpu") is double, "its type stays what it is"
    assert (double.dtype, model.dtype) == (torch.float64, torch.float32)
    np.testing.assert_allclose(trace(TEXT, double).weights, trace(TEXT, model).weights, atol=1e-5)
    assert predict_masked("The [MASK].", double)[0][0][0] == predict_masked("The [MASK].", model)[0][0][0]
    with pytest.raises(InputError, match="There is no device 'abacus'"):
        model.to("abacus")


# Wrong kinds


@pytest.mark.parametrize("text", [b"It", 3, None, ["It"], ("It",)])
def test_what_is_no_text_is_refused_in_a_sentence(folder, text):
    model = load_model(folder, device="cpu")
    for call in (
        lambda: trace(text, model),
        lambda: trace("It", model, pair=text) if text is not None else trace(text, model),
        lambda: list(trace_many([text], model)),
        lambda: predict_masked(text, model),
        lambda: predict_next(text, model),
    ):
        with pytest.raises(InputError, match="A text is asked for and"):
            call()


def test_other_wrong_kinds_are_refused_in_a_sentence(folder):
    model = load_model(folder, device="cpu")
    for call, message in (
        (lambda: list(trace_many("It sat", model)), "Many texts are a list of them"),
        (lambda: trace("It", "minilm"), "the name 'minilm' was given; load_model"),
        (lambda: trace("It", None), "NoneType was given"),
        (lambda: load_model(b"minilm"), "by its name or folder; bytes was given"),
        (lambda: model.tokenizer.encode_words("It sat"), "list of words; one text was given"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert load_model(Path(folder), device="cpu") is model
    assert issubclass(ModelError, ValueError)


def test_a_model_is_copied_and_pickled(folder):
    model = load_model(folder, device="cpu")
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301
        np.testing.assert_allclose(trace(TEXT, other).weights, trace(TEXT, model).weights, atol=1e-6)
