"""The record: frozen, refusing to be born wrong, words by Clark's rule; surveys of texts, gates, details."""

import copy
import dataclasses
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mha_core import (
    HeadScopeError,
    InputError,
    SizeError,
    layer_details,
    load_model,
    record_from_weights,
    trace,
    trace_tokens,
)
from mha_core.heads.survey import Options, TextItem, stream_corpus

CLASSIC = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def record(model):
    return trace(CLASSIC, model)


def test_it_cannot_be_changed(record):
    own = dataclasses.replace(record, weights=record.weights.copy())
    for arrays in (record, own, record.grid()):
        with pytest.raises(ValueError, match="read-only"):
            arrays.weights[0, 0, 0, 0] = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            arrays.weights = None
    with pytest.raises(TypeError):
        record.versions["torch"] = "0"


def test_weights_that_are_no_attention_are_refused(record):
    weights = record.weights.copy()
    weights[3, 1, 2] = [-0.5, 1.5, *[0] * (len(record.tokens) - 2)]
    with pytest.raises(HeadScopeError):
        dataclasses.replace(record, weights=weights)


@pytest.mark.parametrize("words", [False, True])
def test_special_tokens_shown_hidden_and_renormalised(words, record):
    shown, hidden, divided = (record.grid(words, how) for how in ("shown", "hidden", "renormalised"))
    words_alone = [i for i, unit in enumerate(shown.units) if not unit.special]
    assert len(shown) - len(hidden) == 2
    assert hidden.labels == divided.labels == tuple(shown.labels[i] for i in words_alone)
    np.testing.assert_array_equal(hidden.weights, shown.weights[:, :, words_alone][:, :, :, words_alone])
    assert (hidden.weights.sum(-1) < 1 + 1e-6).all()
    assert hidden.weights.sum(-1).min() < 0.1
    np.testing.assert_allclose(divided.weights.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(
        divided.weights * hidden.weights.sum(-1, keepdims=True), hidden.weights, atol=1e-6
    )


def test_words_and_pieces_are_found_by_their_spelling(record):
    assert record.grid().find("THE") == (1, 7)
    assert record.grid(words=True).find(" didn't ") == (3,)
    assert record.grid().find("cat") == ()
    assert record.grid().find("[CLS]") == (0,)


@pytest.mark.parametrize(
    "copied",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy],  # noqa: S301
    ids=["pickle", "deep", "copy"],
)
def test_copies_of_records_grids_and_heads_are_equal_and_frozen(record, model, copied):
    gated = trace(CLASSIC, model, gates=np.ones((6, 12)))
    cross = record_from_weights(np.full((1, 2, 1, 4), 0.25), ["it"], keys=list("abcd"))
    for original in (record, gated, record.grid(words=True), record["4-2"], cross):
        np.testing.assert_array_equal(copied(original).weights, original.weights)
        with pytest.raises(ValueError, match="read-only"):
            copied(original).weights[...] = 0
    other = copied(gated)
    assert (other.model, other.tokens, other.versions) == (gated.model, gated.tokens, gated.versions)
    with pytest.raises(TypeError):
        other.versions["torch"] = "0"
    with pytest.raises(ValueError, match="read-only"):
        other.gates[0] = 0


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize(("limit", "stop_after"), [(None, None), (4, None), (None, 2)])
def test_a_survey_feeds_each_text_its_own_weights_once_and_counts_those_that_were_cut(
    batch_size, limit, stop_after
):
    toy = load_model("classroom", device="cpu")
    texts = [
        "It rained.",
        CLASSIC,
        "a " * 40,
        "so " * 600,
        "Dogs bark; cats, on the whole, don't.",
        "no " * 700,
    ]
    items, fed = [TextItem(toy.tokenizer.encode(text)) for text in texts], []
    log = SimpleNamespace(add=lambda weights, item: fed.append((weights, item)))
    options = Options(batch_size, limit, stop=lambda: len(fed) == stop_after)
    done = stream_corpus(iter(items), toy, [log], options)
    assert done.n_texts == len(fed) == len({id(item) for _, item in fed}) == (stop_after or limit or 6)
    assert done.stopped == (stop_after is not None)
    assert done.n_cut == sum(item.tokens.n_cut > 0 for _, item in fed)
    assert {id(item) for _, item in fed} <= {id(item) for item in items[:limit]}
    for weights, item in fed:
        assert not weights.flags.writeable
        if not item.tokens.n_cut:
            np.testing.assert_allclose(weights, trace_tokens(item.tokens, toy).weights, atol=1e-5)


def test_gates_that_do_not_fit_are_refused(model):
    wrong = (np.full((6, 12), value) for value in (np.nan, np.inf))
    for gates in (np.ones((12, 6)), np.ones(12), [[1.0, 2.0], [1.0]], "off", *wrong):
        with pytest.raises((SizeError, InputError)):
            trace(CLASSIC, model, gates=gates)


@pytest.mark.parametrize("layer", [0, 3, 5])
def test_the_details_of_a_layer_are_those_of_the_gated_run_and_add_up(layer, model):
    tokens = model.tokenizer.encode(CLASSIC)
    gates = np.random.default_rng(0).random((6, 12)).astype(np.float32)
    d, close = layer_details(tokens, model, layer, gates=gates), {"atol": 2e-5, "rtol": 1e-4}
    np.testing.assert_array_equal(d.weights, trace_tokens(tokens, model, gates=gates).weights[layer])
    np.testing.assert_allclose(d.context, gates[layer][:, None, None] * (d.weights @ d.v), **close)
    np.testing.assert_allclose(d.contributions, d.context @ d.projections.W_o, **close)
    np.testing.assert_allclose(d.output, d.contributions.sum(0) + d.projections.b_o, **close)
    norm = model.encoder.layer(layer).attention_norm
    np.testing.assert_allclose(d.residual, norm(torch.from_numpy(d.x + d.output)), **close)
    assert not d.contributions.flags.writeable
