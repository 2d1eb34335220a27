"""Decoders against transformers' own: every weight and state within 1e-5, the scores of the next token within 1e-4."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from bert_folders import change_config
from decoder_folders import SIZES, random_decoder, write_decoder

from mha_core import (
    ModelError,
    embedding,
    hidden_states,
    load_model,
    trace,
    trace_many,
    trace_tokens,
)
from mha_core.engine.rotary import Stretch, frequencies
from mha_core.models.families import llama
from mha_core.models.prediction import next_logits

transformers = pytest.importorskip("transformers")
TOLERANCE = 1e-5
TEXTS = ("the cat it", "it", "Zoë’s 1,5 €")
EVERY = [(kind, which) for kind in SIZES for which in range(3)]


def loaded(folder, kind, which=0, **options):
    theirs = write_decoder(folder, random_decoder(kind, which, **options))
    return theirs, load_model(str(folder), device="cpu")


def seen_by(theirs, batch):
    """What transformers gives: weights (layer, batch, ...), states (layer + 1, batch, ...) and logits."""
    longest = max(map(len, batch))
    ids, real = (torch.zeros(len(batch), longest, dtype=torch.long) for _ in range(2))
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)], real[row, : len(tokens)] = torch.tensor(tokens.ids), 1
    with torch.no_grad():
        output = theirs(ids, attention_mask=real, output_attentions=True, output_hidden_states=True)
    return tuple(
        part.numpy()
        for part in (torch.stack(output.attentions), torch.stack(output.hidden_states), output.logits)
    )


@pytest.mark.parametrize(("kind", "which"), EVERY)
def test_a_random_decoder_of_odd_sizes_gives_transformers_weights_states_and_scores(kind, which, tmp_path):
    theirs, model = loaded(tmp_path, kind, which)
    batch = [model.tokenizer.encode(text) for text in TEXTS]
    weights, states, logits = seen_by(theirs, batch)
    for row, (tokens, ours) in enumerate(zip(batch, trace_many(batch, model), strict=True)):
        n = len(tokens)
        np.testing.assert_allclose(ours, weights[:, row, :, :n, :n], atol=TOLERANCE)
        np.testing.assert_allclose(trace_tokens(tokens, model).weights, ours, atol=TOLERANCE)
        # transformers gives the last state after the final norm; ours before it, as it leaves the layer.
        np.testing.assert_allclose(
            hidden_states(tokens, model)[:-1], states[:-1, row, :n], atol=TOLERANCE, rtol=TOLERANCE
        )
        normed = model.encoder.finish(torch.from_numpy(hidden_states(tokens, model)[-1].copy()))
        np.testing.assert_allclose(normed.detach(), states[-1, row, :n], atol=TOLERANCE, rtol=TOLERANCE)
        mean = states[-1, row, :n].mean(axis=0)
        np.testing.assert_allclose(embedding(tokens, model), mean, atol=TOLERANCE, rtol=TOLERANCE)
        np.testing.assert_allclose(next_logits(tokens, model), logits[row, :n], atol=1e-4)


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
def test_a_variant_that_nothing_computes_is_refused_by_name(kind, change, tmp_path):
    write_decoder(tmp_path, random_decoder(kind))
    change_config(tmp_path, **change)
    with pytest.raises(ModelError) as caught:
        load_model(str(tmp_path), device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("gpt2", {"scale_attn_weights": False}),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
        ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 100.0}}),
    ],
)
def test_a_variant_that_the_engine_does_not_compute_is_computed_by_transformers(kind, change, tmp_path):
    write_decoder(tmp_path, random_decoder(kind))
    change_config(tmp_path, **change)
    record = trace("the cat sat on the mat", load_model(str(tmp_path), device="cpu"))
    assert record.model.computed_by.startswith("transformers ")
    theirs = transformers.AutoModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = theirs(torch.tensor([record.tokens.ids]), output_attentions=True).attentions
    np.testing.assert_allclose(record.weights, torch.cat(expected).numpy(), atol=1e-6)


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def stretch_of(parameters):
    names = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    return Stretch(*(parameters[name] for name in names))


@pytest.mark.parametrize("rope_theta", [{}, {"rope_theta": 500.0}])
@pytest.mark.parametrize(
    ("scaling", "parameters"),
    [
        (None, {"rope_type": "default", "rope_theta": 7.0}),
        (LLAMA3 | {"original_max_position_embeddings": 32}, None),
        (None, LLAMA3 | {"original_max_position_embeddings": 32, "rope_theta": 9.0}),
        ({}, {"rope_theta": 9.0}),
        ({"type": "default", "rope_theta": 7.0}, {"rope_type": "default", "rope_theta": 9.0}),
        ({"rope_type": "default"}, LLAMA3 | {"original_max_position_embeddings": 16, "rope_theta": 9.0}),
        (LLAMA3 | {"original_max_position_embeddings": 32}, {"rope_type": "default", "rope_theta": 9.0}),
    ],
)
def test_how_positions_turn_is_read_as_transformers_reads_it(scaling, parameters, rope_theta):
    """Older configs say it in rope_scaling, newer ones in rope_parameters, and some in both."""
    sizes = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    raw = sizes | {"intermediate_size": 8} | rope_theta
    raw |= {"rope_scaling": scaling} if scaling is not None else {}
    raw |= {"rope_parameters": parameters} if parameters is not None else {}
    theirs = transformers.LlamaConfig(**deepcopy(raw)).rope_parameters
    found = llama.read_config(raw, "m")
    assert found.theta == theirs["rope_theta"]
    assert found.stretch == (stretch_of(theirs) if theirs["rope_type"] == "llama3" else None)


@pytest.mark.parametrize(("d_k", "factor"), [(64, 32.0), (128, 8.0)])
def test_every_pair_of_a_stretched_model_turns_as_fast_as_in_transformers(d_k, factor):
    """With Llama 3's own numbers, where pairs of all three kinds are: kept, stretched and between."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    said = LLAMA3 | {"factor": factor, "original_max_position_embeddings": 8192, "rope_theta": 5e5}
    config = transformers.LlamaConfig(
        hidden_size=2 * d_k, num_attention_heads=2, max_position_embeddings=131072, rope_parameters=said
    )
    theirs, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    torch.testing.assert_close(frequencies(d_k, 5e5, stretch_of(said)), theirs, rtol=1e-6, atol=0)
