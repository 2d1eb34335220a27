"""Decoders against transformers' own: every weight and state within 1e-5, the scores of the next token within 1e-4,
of a whole text, a padded one and one that goes on token by token; what follows from the scores."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from bert_folders import change_config
from decoder_folders import SIZES, random_decoder, shared_model, write_decoder

from mha_core import InputError, embedding, hidden_states, load_model, trace, trace_many, trace_tokens
from mha_core.engine import kv_cache
from mha_core.engine.rotary import frequencies
from mha_core.models.extended_record import begin, extended, sample_token
from mha_core.models.families import llama
from mha_core.models.prediction import next_logits

transformers = pytest.importorskip("transformers")
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}
TEXTS = ("the cat it is", "it", "Zoë’s 1,5 €")


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("kind", SIZES)
def test_a_random_decoder_of_odd_sizes_gives_transformers_numbers_whole_padded_and_by_steps(
    kind, which, monkeypatch
):
    theirs, model = shared_model(kind, which)
    batch = [model.tokenizer.encode(text) for text in TEXTS]
    for tokens, padded in zip(batch, trace_many(batch, model), strict=True):
        with torch.no_grad():
            output = theirs(torch.tensor([tokens.ids]), output_attentions=True, output_hidden_states=True)
        weights, states = torch.cat(output.attentions).numpy(), torch.cat(output.hidden_states).numpy()
        np.testing.assert_allclose(padded, weights, atol=1e-5)
        np.testing.assert_allclose(trace_tokens(tokens, model).weights, weights, atol=1e-5)
        # transformers gives the last state after the final norm; ours before it, as it leaves the layer.
        own = hidden_states(tokens, model)
        np.testing.assert_allclose(own[:-1], states[:-1], **TOLERANCE)
        normed = model.encoder.finish(torch.from_numpy(own[-1].copy())).detach()
        np.testing.assert_allclose(normed, states[-1], **TOLERANCE)
        np.testing.assert_allclose(embedding(tokens, model), states[-1].mean(axis=0), **TOLERANCE)
        logits = output.logits[0].numpy()
        np.testing.assert_allclose(next_logits(tokens, model), logits, atol=1e-4)
        for spare in (1, 64) if len(tokens) > 3 else ():
            monkeypatch.setattr(kv_cache, "SPARE", spare)
            record, state = begin(model.tokenizer.from_ids(tokens.ids[:3]), model)
            assert state.weights.size == 0, "the state holds on to no weights"
            np.testing.assert_allclose(state.logits, logits[2], atol=1e-4)
            for n in range(4, len(tokens) + 1):
                step, longer = state.step(tokens.ids[n - 1]), model.tokenizer.from_ids(tokens.ids[:n])
                assert (step.n, step.weights.shape) == (n, (model.n_layers, model.n_heads, n))
                np.testing.assert_allclose(step.logits, logits[n - 1], atol=1e-4)
                record = extended(record, longer, [step.weights])
                np.testing.assert_allclose(record.weights, weights[:, :, :n, :n], atol=1e-5)
                assert record.tokens == longer
            whole = trace_tokens(longer, model)
            assert (record.model, dict(record.versions)) == (whole.model, dict(whole.versions))
            assert not record.weights.flags.writeable
            state.max_tokens = len(tokens)
            with pytest.raises(InputError, match="full"):
                state.step(tokens.ids[0])


def test_grouped_queries_keep_a_cache_of_their_share(tmp_path):
    for groups in (6, 3, 1):
        write_decoder(tmp_path, random_decoder("llama", 1, num_key_value_heads=groups))
        model = load_model(str(tmp_path), device="cpu", shared=False)
        state = model.start(model.tokenizer.encode(TEXTS[0]))
        per_token = 2 * 3 * groups * 10 * 4
        assert state.n_bytes == per_token * len(state.ids)
        assert state.held_bytes - state.weights.nbytes == per_token * min(41, len(state.ids) + 64)


def test_without_a_temperature_the_likeliest_token_is_chosen():
    model = shared_model("llama")[1]
    logits = np.zeros(model.tokenizer.vocab_size + 3, np.float32)
    logits[5], logits[-1] = 1, 9  # the last stands for no token: embeddings may be more than tokens
    assert sample_token(logits, model) == 5
    assert all(sample_token(logits, model, 1.5, 3, place) < model.tokenizer.vocab_size for place in range(50))


def test_a_draw_follows_from_seed_and_place_and_keeps_the_probabilities():
    model = shared_model("llama")[1]
    logits = np.full(model.tokenizer.vocab_size, -50, np.float32)
    logits[[3, 7]] = np.log([0.2, 0.8])

    def draws(seed, temperature=1.0):
        return np.array([sample_token(logits, model, temperature, seed, place) for place in range(800)])

    first = draws(1)
    assert (first == draws(1)).all()
    assert (first != draws(2)).any()
    assert set(first) == {3, 7}
    assert abs((first == 7).mean() - 0.8) < 0.05
    # exp(logit / 0.5) squares the probabilities: .64 / (.64 + .04)
    assert abs((draws(1, 0.5) == 7).mean() - 0.941) < 0.03


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
LLAMA3 |= {"original_max_position_embeddings": 32}


@pytest.mark.parametrize("rope_theta", [{}, {"rope_theta": 500.0}])
@pytest.mark.parametrize(
    ("scaling", "parameters"),
    [
        (None, {"rope_type": "default", "rope_theta": 7.0}),
        (LLAMA3, None),
        (None, LLAMA3 | {"rope_theta": 9.0}),
        (None, LLAMA3 | {"original_max_position_embeddings": 8192, "rope_theta": 5e5}),
        ({}, {"rope_theta": 9.0}),
        ({"type": "default", "rope_theta": 7.0}, {"rope_type": "default", "rope_theta": 9.0}),
        ({"rope_type": "default"}, LLAMA3 | {"original_max_position_embeddings": 16, "rope_theta": 9.0}),
        (LLAMA3, {"rope_type": "default", "rope_theta": 9.0}),
    ],
)
def test_every_pair_turns_as_fast_as_transformers_reads_it(scaling, parameters, rope_theta):
    """Older configs say it in rope_scaling, newer ones in rope_parameters, and some in both. Of 32 pairs some are kept,
    some stretched and some between."""
    raw = {"hidden_size": 64, "num_attention_heads": 1, "num_hidden_layers": 1, "vocab_size": 9, **rope_theta}
    raw |= {"rope_scaling": scaling} if scaling is not None else {}
    raw |= {"rope_parameters": parameters} if parameters is not None else {}
    config = transformers.LlamaConfig(**deepcopy(raw))
    expected = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(config).inv_freq
    ours = llama.read_config(raw | {"intermediate_size": 8}, "m")
    torch.testing.assert_close(frequencies(64, ours.theta, ours.stretch), expected, rtol=1e-6, atol=0)
