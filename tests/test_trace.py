"""Tracing: the golden numbers, details that add up, gates as arguments, many texts as one by one, nothing kept."""

import hashlib
import sys
import threading

import numpy as np
import pytest
import torch
from bert_folders import random_bert, write

from mha_core import (
    InputError,
    SizeError,
    embedding,
    every_layer_details,
    hidden_states,
    layer_details,
    load_model,
    models,
    predict_masked,
    trace,
    trace_many,
    trace_tokens,
)

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
TEXTS = (TIRED, "It rained.", WIDE, "a " * 40, "Dogs bark; cats, on the whole, don't.", "Yes")


def digest(model):
    found = hashlib.sha256()
    for name, tensor in model.encoder.state_dict().items():
        found.update(name.encode() + tensor.float().cpu().numpy().tobytes())
    return found.hexdigest()


# Golden numbers


@pytest.mark.parametrize(("text", "weight"), [(TIRED, 0.677), (WIDE, 0.281)])
def test_head_4_2_looks_from_it_at_animal_when_tired_and_less_when_wide(text, weight, model):
    grid = trace(text, model).grid()
    (it,), (animal,) = grid.find("it"), grid.find("animal")
    assert grid.weights[3, 1, it, animal] == pytest.approx(weight, abs=5e-4)


def test_head_1_3_looks_at_the_previous_token(model):
    weights = trace(TIRED, model).weights[0, 2]
    previous = np.diagonal(weights, offset=-1)
    assert previous.mean() > 0.9
    assert (previous[1:] > 0.9).all()


# Laws


def test_rows_sum_to_one_in_every_head(model):
    for text in TEXTS:
        np.testing.assert_allclose(trace(text, model).weights.sum(-1), 1, atol=1e-5)


@pytest.mark.slow
def test_many_texts_give_what_each_gives_alone_in_the_order_given(model):
    tokens = [model.tokenizer.encode(text) for text in TEXTS]
    for size in (1, 2, 32):
        together = list(trace_many(iter(tokens), model, batch_size=size))
        assert len(together) == len(TEXTS)
        for one, other in zip(tokens, together, strict=True):
            np.testing.assert_allclose(trace_tokens(one, model).weights, other, atol=1e-5)
            assert not other.flags.writeable


def test_many_texts_take_gates_too_and_an_empty_run_gives_nothing(model):
    gates = np.ones((6, 12), dtype=np.float32)
    gates[0, 2] = 0
    tokens = [model.tokenizer.encode(text) for text in TEXTS[:3]]
    for one, other in zip(tokens, trace_many(tokens, model, gates=gates), strict=True):
        np.testing.assert_allclose(trace_tokens(one, model, gates=gates).weights, other, atol=1e-5)
    assert list(trace_many([], model)) == []
    with pytest.raises(InputError, match="batch of 0"):
        list(trace_many(tokens, model, batch_size=0))


def test_texts_are_drawn_a_window_at_a_time(model):
    drawn = []

    def endless():
        while True:
            drawn.append(1)
            yield tokens

    tokens = model.tokenizer.encode("It rained.")
    found = trace_many(endless(), model, batch_size=2)
    assert next(found).shape == (6, 12, 5, 5)
    assert len(drawn) == 16


def test_a_switched_off_head_changes_no_weights_of_its_own_and_earlier_layers(model):
    gates = np.ones((6, 12))
    gates[2, 8] = 0
    plain, gated = trace(TIRED, model), trace(TIRED, model, gates=gates)
    np.testing.assert_array_equal(plain.weights[:3], gated.weights[:3])
    assert np.abs(plain.weights[3:] - gated.weights[3:]).max((1, 2, 3)).min() > 1e-3
    np.testing.assert_array_equal(gated.gates, gates)
    np.testing.assert_array_equal(trace(TIRED, model, gates=np.ones((6, 12))).weights, plain.weights)


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        (np.ones((12, 6)), r"\(12, 6\) were given; MiniLM has 6 layers of 12 heads"),
        (np.ones(12), "6 layers of 12 heads"),
        ([[1.0, 2.0], [1.0]], "one number for every head"),
        ("off", "one number for every head"),
        (np.full((6, 12), np.nan), "not a finite number"),
        (np.full((6, 12), np.inf), "not a finite number"),
    ],
)
def test_gates_that_do_not_fit_are_refused(gates, message, model):
    with pytest.raises((SizeError, InputError), match=message):
        trace(TIRED, model, gates=gates)


@pytest.mark.slow
def test_a_shared_model_is_the_same_after_every_kind_of_call(model):
    before = digest(model)
    names = {id(m): set(vars(m)) for m in model.encoder.modules()}
    tokens = model.tokenizer.encode(TIRED)
    trace(TIRED, model, gates=np.zeros((6, 12)))
    layer_details(tokens, model, 2, gates=np.zeros((6, 12)))
    hidden_states(tokens, model)
    embedding(tokens, model)
    list(trace_many([tokens] * 3, model))
    assert digest(model) == before
    assert {id(m): set(vars(m)) for m in model.encoder.modules()} == names


@pytest.mark.slow
def test_many_readers_at_once_see_only_their_own(model):
    gates = [None] + [np.where(np.arange(72).reshape(6, 12) == 7 * i, 0.0, 1.0) for i in range(1, 6)]
    expected = [trace(text, model, gates=gate).weights for text, gate in zip(TEXTS, gates, strict=True)]
    wrong = []

    def read(i):
        for _ in range(8):
            if not np.array_equal(trace(TEXTS[i], model, gates=gates[i]).weights, expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(len(TEXTS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Details


@pytest.mark.parametrize("layer", [0, 3, 5])
@pytest.mark.parametrize("gated", [False, True])
def test_the_details_of_a_layer_add_up(layer, gated, model):
    tokens = model.tokenizer.encode(TIRED)
    gates = np.random.default_rng(0).random((6, 12)).astype(np.float32) if gated else None
    d = layer_details(tokens, model, layer, gates=gates)
    n, close = len(tokens), {"atol": 2e-5, "rtol": 1e-4}
    assert d.x.shape == d.output.shape == d.residual.shape == d.hidden.shape == (n, 384)
    assert d.projections.W_q.shape == d.projections.W_k.shape == d.projections.W_v.shape == (12, 384, 32)
    assert d.projections.W_o.shape == (12, 32, 384)
    assert d.contributions.shape == (12, n, 384)
    for projected, W, b in (
        (d.q, d.projections.W_q, d.projections.b_q),
        (d.k, d.projections.W_k, d.projections.b_k),
        (d.v, d.projections.W_v, d.projections.b_v),
    ):
        np.testing.assert_allclose(projected, d.x @ W + b[:, None], **close)
    np.testing.assert_allclose(d.scores, d.q @ d.k.transpose(0, 2, 1) / np.sqrt(32), **close)
    exps = np.exp(d.scores - d.scores.max(-1, keepdims=True))
    np.testing.assert_allclose(d.weights, exps / exps.sum(-1, keepdims=True), **close)
    factor = np.ones((12, 1, 1)) if gates is None else gates[layer][:, None, None]
    np.testing.assert_allclose(d.context, factor * (d.weights @ d.v), **close)
    np.testing.assert_allclose(d.contributions, d.context @ d.projections.W_o, **close)
    np.testing.assert_allclose(d.output, d.contributions.sum(0) + d.projections.b_o, **close)
    norm = model.encoder.layer(layer).attention_norm
    summed = d.x + d.output
    z = (summed - summed.mean(-1, keepdims=True)) / np.sqrt(summed.var(-1, keepdims=True) + norm.eps)
    np.testing.assert_allclose(d.residual, z * norm.weight.numpy() + norm.bias.numpy(), **close)
    np.testing.assert_array_equal(d.weights, trace_tokens(tokens, model, gates=gates).weights[layer])
    assert not d.contributions.flags.writeable


def test_the_states_between_layers_are_those_that_the_details_begin_and_end_with(model):
    tokens = model.tokenizer.encode(TIRED)
    states = hidden_states(tokens, model)
    assert states.shape == (7, len(tokens), 384)
    details = layer_details(tokens, model, 2)
    np.testing.assert_allclose(states[2], details.x, atol=1e-5)
    np.testing.assert_allclose(states[3], details.hidden, atol=1e-5)


@pytest.mark.parametrize("layer", [-1, 6])
def test_a_layer_that_is_not_there_is_refused(layer, model):
    with pytest.raises(InputError, match=f"Layer {layer + 1} was asked for; MiniLM has 6"):
        layer_details(model.tokenizer.encode("it"), model, layer)


def test_the_embedding_is_the_mean_of_the_last_states_and_gates_move_it(model):
    tokens = model.tokenizer.encode(TIRED)
    vector = embedding(tokens, model)
    np.testing.assert_allclose(vector, hidden_states(tokens, model)[-1].mean(0), atol=1e-6)
    gates = np.ones((6, 12))
    gates[5, 5] = 0
    moved = embedding(tokens, model, gates=gates)
    cosine = vector @ moved / np.linalg.norm(vector) / np.linalg.norm(moved)
    assert 0.8 < cosine < 0.999


# Pairs and predictions


def test_a_pair_is_traced_with_its_segments(model):
    record = trace("It was tired.", model, pair="The animal.")
    assert record.tokens.segments == (0,) * 6 + (1,) * 4
    without = trace_tokens(model.tokenizer.encode("It was tired. The animal."), model)
    assert record.weights.shape[-1] == len(without.tokens) + 1


def test_a_model_of_single_texts_refuses_a_pair(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_LOADED", {})
    write(tmp_path / "bert", random_bert(type_vocab_size=1))
    single = load_model(str(tmp_path / "bert"), device="cpu")
    assert trace("It rained.", single).n_layers == 3
    with pytest.raises(InputError, match="takes no pair"):
        trace("It rained.", single, pair="All day.")


@pytest.mark.slow
def test_predictions_need_a_head_a_mask_and_a_number(model, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="MiniLM has no head for predicting"):
        predict_masked("a [MASK]", model)
    monkeypatch.setattr(models, "_LOADED", {})
    write(tmp_path / "bert", random_bert("BertForMaskedLM"))
    bert = load_model(str(tmp_path / "bert"), device="cpu")
    with pytest.raises(InputError, match=r"There is no \[MASK\]"):
        predict_masked("a b", bert)
    for k in (0, 30523):
        with pytest.raises(InputError, match=f"{k} guesses were asked for; give 1 to 30522"):
            predict_masked("a [MASK]", bert, k=k)
    (guesses,) = predict_masked("a [MASK] b", bert, k=30522)
    assert sum(p for _, p in guesses) == pytest.approx(1, abs=1e-3)
    assert [p for _, p in guesses] == sorted((p for _, p in guesses), reverse=True)
    assert load_model(str(tmp_path / "bert"), device="cpu", trained=False).masked_head is None


@pytest.mark.slow
def test_what_fills_a_mask_is_a_piece_even_where_the_embeddings_are_padded(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_LOADED", {})
    padded = random_bert("BertForMaskedLM", vocab_size=30528)
    with torch.no_grad():
        padded.cls.predictions.bias[30522:] = 100
    write(tmp_path / "bert", padded)
    bert = load_model(str(tmp_path / "bert"), device="cpu")
    (guesses,) = predict_masked("a [MASK] b", bert, k=30522)
    assert len({name for name, _ in guesses}) == 30522
    assert "None" not in {name for name, _ in guesses}
    assert sum(p for _, p in guesses) == pytest.approx(1, abs=1e-3)


def test_a_trace_asks_for_no_gradient(model):
    assert torch.is_grad_enabled()
    trace("It rained.", model)
    assert torch.is_grad_enabled()


def test_long_texts_are_taken_few_at_a_time(model, monkeypatch):
    trace_module = sys.modules["mha_core.trace"]  # the name in the package is the function
    tokens = [model.tokenizer.encode("word " * n) for n in (30, 3, 28, 29, 4, 27)]
    monkeypatch.setattr(trace_module, "HELD_BYTES", 4 * model.n_layers * model.n_heads * 2 * 32**2)
    sizes = []
    real = trace_module.run
    monkeypatch.setattr(
        trace_module, "run", lambda batch, *a, **k: sizes.append(len(batch)) or real(batch, *a, **k)
    )
    found = list(trace_many(tokens, model))
    assert max(sizes) == 3
    assert sum(sizes) == len(tokens)
    for one, weights in zip(tokens, found, strict=True):
        assert np.abs(weights - trace_tokens(one, model).weights).max() < 1e-5


def test_the_details_of_every_layer_are_those_of_each_layer_asked_for_alone(model):
    tokens = model.tokenizer.encode("Rain fell.", "It stopped.")
    together = list(every_layer_details(tokens, model))
    assert len(together) == model.n_layers
    for layer, found in enumerate(together):
        alone = layer_details(tokens, model, layer)
        for name in ("x", "v", "scores", "weights", "contributions", "output", "hidden"):
            assert np.abs(getattr(found, name) - getattr(alone, name)).max() < 1e-5, (layer, name)


def test_what_is_kept_of_one_layer_does_not_keep_the_others_alive(model):
    tokens = model.tokenizer.encode("The lamp was lit because it was late.")
    for array in vars(layer_details(tokens, model, 3)).values():
        base = array
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        if isinstance(base, torch.Tensor):
            assert base.untyped_storage().nbytes() <= 2 * array.nbytes
