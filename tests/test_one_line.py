"""What takes one line: from and to torch's own layer, many strings, hooks, heads taken away, models of one's own."""

import numpy as np
import pytest
import torch
from bert_folders import random_bert, write
from torch import nn

from mha_core import InputError, MultiHeadAttention, SizeError, hidden_states, load_model, trace
from mha_core.causal import ScaleHeads, ablate, next_words, patch, trace_with_interventions
from mha_core.models import load

TEXT = "The animal didn't sit."


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    write(folder, random_bert("BertForMaskedLM"))
    return folder


@pytest.fixture
def folder(written, monkeypatch):
    monkeypatch.setattr(load, "_LOADED", {})
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


# Many texts, hooks, heads taken away


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
    with pytest.raises(SizeError):
        trace(TEXT, model, hook=lambda *_: torch.zeros(1))
    with pytest.raises(InputError):
        trace(TEXT, model, hook="look")


def test_heads_are_taken_away_and_patched_by_their_names(folder):
    model = load_model(folder, device="cpu")
    gates = np.ones((3, 5))
    gates[0, 1] = gates[1, 4] = 0
    record = ablate(TEXT, model, "1-2,2-5")
    np.testing.assert_allclose(record.weights, trace(TEXT, model, gates=gates).weights, atol=1e-6)
    assert record.interventions == (ScaleHeads(((0, 1), (1, 4))),)
    masked = model.tokenizer.encode("The [MASK].")
    assert next_words(masked, model, record.interventions, k=2) != next_words(masked, model, k=2)
    source = "The street didn't sit."
    every = ",".join(f"1-{head}" for head in range(1, 6))
    patched = patch(source, TEXT, model, every)
    np.testing.assert_allclose(patched.weights[0], trace(TEXT, model).weights[0], atol=1e-6)
    np.testing.assert_array_equal(
        patched.weights, trace_with_interventions(patched.tokens, model, patched.interventions).weights
    )
    assert np.abs(patched.weights[1] - trace(TEXT, model).weights[1]).max() > 1e-4
    with pytest.raises(InputError):
        ablate(TEXT, model, "4-1")
    with pytest.raises(InputError):
        patch("It", TEXT, model, "1-1")
