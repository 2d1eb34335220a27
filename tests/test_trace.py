"""Tracing: the golden numbers, details that add up, gates as arguments, many texts as one by one, nothing kept."""

from types import SimpleNamespace

import numpy as np
import pytest

from mha_core import InputError, SizeError, layer_details, load_model, trace, trace_tokens
from mha_core.heads.survey import Options, TextItem, stream_corpus

TIRED = "The animal didn't cross the street because it was too tired."


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize(("limit", "stop_after"), [(None, None), (4, None), (None, 2)])
def test_a_survey_feeds_each_text_its_own_weights_once_and_counts_those_that_were_cut(
    batch_size, limit, stop_after
):
    toy = load_model("classroom", device="cpu")
    texts = [
        "It rained.",
        TIRED,
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
            trace(TIRED, model, gates=gates)


@pytest.mark.parametrize("layer", [0, 3, 5])
def test_the_details_of_a_layer_are_those_of_the_gated_run_and_add_up(layer, model):
    """Without gates test_inside_by_numpy.py computes them anew."""
    tokens = model.tokenizer.encode(TIRED)
    gates = np.random.default_rng(0).random((6, 12)).astype(np.float32)
    d, close = layer_details(tokens, model, layer, gates=gates), {"atol": 2e-5, "rtol": 1e-4}
    np.testing.assert_array_equal(d.weights, trace_tokens(tokens, model, gates=gates).weights[layer])
    np.testing.assert_allclose(d.context, gates[layer][:, None, None] * (d.weights @ d.v), **close)
    np.testing.assert_allclose(d.contributions, d.context @ d.projections.W_o, **close)
    np.testing.assert_allclose(d.output, d.contributions.sum(0) + d.projections.b_o, **close)
    norm = model.encoder.layer(layer).attention_norm
    summed = d.x + d.output
    z = (summed - summed.mean(-1, keepdims=True)) / np.sqrt(summed.var(-1, keepdims=True) + norm.eps)
    np.testing.assert_allclose(d.residual, z * norm.weight.numpy() + norm.bias.numpy(), **close)
    assert not d.contributions.flags.writeable
