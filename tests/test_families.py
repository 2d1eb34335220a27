"""Decoders against transformers' own: every weight and state within 1e-5, the scores of the next token within 1e-4."""

import dataclasses
from copy import deepcopy

import numpy as np
import pytest
import torch
from bert_folders import change_config, change_weights
from decoder_folders import SIZES, byte_tokenizer, random_decoder, write_decoder

from mha_core import (
    InputError,
    ModelError,
    SizeError,
    embedding,
    hidden_states,
    layer_details,
    load_model,
    predict_next,
    trace,
    trace_many,
    trace_tokens,
)
from mha_core.checkpoints import read_config
from mha_core.families import FAMILIES, llama
from mha_core.prediction import next_logits
from mha_core.rotary import Stretch, frequencies

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


def test_what_the_settings_of_a_gpt2_leave_out_is_what_transformers_takes(tmp_path):
    loaded(tmp_path, "gpt2")
    left_out = ("activation_function", "layer_norm_epsilon", "n_positions", "n_inner")
    change_config(tmp_path, **dict.fromkeys(left_out, ...))
    ours, theirs = read_config(tmp_path), transformers.GPT2Config()
    assert (ours.activation, ours.norm_eps, ours.max_positions, ours.d_ff) == (
        theirs.activation_function,
        theirs.layer_norm_epsilon,
        theirs.n_positions,
        4 * ours.d_model,
    )


@pytest.mark.parametrize("kind", SIZES)
def test_the_future_cannot_reach_the_past(kind, tmp_path):
    _, model = loaded(tmp_path, kind)
    tokens = model.tokenizer.encode(TEXTS[2])
    weights = trace_tokens(tokens, model).weights
    assert (np.triu(weights, 1) == 0).all()
    shorter = trace_tokens(model.tokenizer.encode(TEXTS[2][:4]), model).weights
    n = shorter.shape[-1]
    np.testing.assert_allclose(weights[:, :, :n, :n], shorter, atol=1e-5)


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("bare", [False, True])
def test_a_checkpoint_without_a_head_predicts_by_its_embeddings_where_they_are_tied(kind, bare, tmp_path):
    _, model = loaded(tmp_path, kind, bare=bare, tie_word_embeddings=True)
    word = model.encoder.embeddings.word.weight
    assert model.next_head.weight.data_ptr() == word.data_ptr()
    assert model.n_bytes == 4 * model.n_parameters


def test_an_untied_decoder_without_a_head_shows_its_attention_and_predicts_nothing(tmp_path):
    _, model = loaded(tmp_path, "llama", bare=True)
    tokens = model.tokenizer.encode("the")
    assert trace_tokens(tokens, model).weights.shape[:2] == (3, 5)
    with pytest.raises(InputError, match="predicts no next word"):
        predict_next(tokens, model)
    with pytest.raises(InputError, match="predicts no next word"):
        model.start(tokens)


def test_an_encoder_predicts_no_next_word(model):
    with pytest.raises(InputError, match="MiniLM predicts no next word; a decoder such as SmolLM2 does"):
        predict_next(model.tokenizer.encode("it"), model)


@pytest.mark.parametrize(("kind", "which"), EVERY)
def test_details_hold_together_by_hand(kind, which, tmp_path):
    _, model = loaded(tmp_path, kind, which)
    tokens = model.tokenizer.encode(TEXTS[0])
    for layer in range(model.n_layers):
        d = layer_details(tokens, model, layer)
        before = (d.q, d.k) if d.q_unrotated is None else (d.q_unrotated, d.k_unrotated)
        for found, name in zip((*before, d.v), "qkv", strict=True):
            W, b = (getattr(d.projections, f"{letter}_{name}") for letter in "Wb")
            np.testing.assert_allclose(found, d.x @ W + (0 if b is None else b[:, None]), atol=1e-4)
        b_o = 0 if d.projections.b_o is None else d.projections.b_o
        group = model.n_heads // model.n_kv_heads
        keys, values = np.repeat(d.k, group, 0), np.repeat(d.v, group, 0)
        scores = d.q @ keys.transpose(0, 2, 1) / np.sqrt(model.d_k)
        np.testing.assert_allclose(d.scores, scores, atol=1e-4)
        np.testing.assert_allclose(d.context, d.weights @ values, atol=1e-4)
        np.testing.assert_allclose(d.contributions.sum(0) + b_o, d.output, atol=1e-4)
        np.testing.assert_allclose(d.stream + d.output, d.residual, atol=1e-5)


def test_rotated_pairs_keep_their_length_and_turn_by_their_position(tmp_path):
    _, model = loaded(tmp_path, "llama")
    d = layer_details(model.tokenizer.encode("it it it"), model, 0)
    half = model.d_k // 2
    for before, after in ((d.q_unrotated, d.q), (d.k_unrotated, d.k)):
        old, new = (x[..., :half] + 1j * x[..., half:] for x in (before, after))
        angles = np.arange(len(d.x))[:, None] / 1e5 ** (np.arange(half) * 2 / model.d_k)
        np.testing.assert_allclose(new, old * np.exp(1j * angles), atol=1e-5)


@pytest.mark.parametrize("kind", SIZES)
def test_a_gate_silences_a_head_of_a_decoder(kind, tmp_path):
    _, model = loaded(tmp_path, kind)
    gates = np.ones((model.n_layers, model.n_heads))
    gates[1, 2] = 0
    plain, gated = trace(TEXTS[0], model), trace(TEXTS[0], model, gates=gates)
    np.testing.assert_allclose(plain.weights[:2], gated.weights[:2], atol=2e-6)
    assert np.abs(plain.weights[2:] - gated.weights[2:]).max() > 1e-4
    assert (layer_details(plain.tokens, model, 1, gates=gates).context[2] == 0).all()


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("gpt2", {"scale_attn_weights": False}, "scales its attention in another way"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scales its attention in another way"),
        ("gpt2", {"add_cross_attention": True}, "cross-attention"),
        ("gpt2", {"n_head": 4}, "cannot be split into 4 heads"),
        ("llama", {"rope_scaling": {"rope_type": "yarn"}, "rope_parameters": ...}, "positions by 'yarn'"),
        ("llama", {"rope_parameters": {"rope_type": "llama3"}}, "does not say its factor"),
        ("llama", {"head_dim": 5}, "Heads of width 5 cannot be rotated"),
        ("llama", {"num_key_value_heads": 3}, "cannot share 3 key heads"),
        ("llama", {"num_key_value_heads": 5}, r"layers.0.attention.W_k.weight' of shape \(6, 30\)"),
    ],
)
def test_a_variant_that_is_not_supported_is_refused_by_name(kind, change, message, tmp_path):
    write_decoder(tmp_path, random_decoder(kind))
    change_config(tmp_path, **change)
    with pytest.raises(ModelError, match=message) as caught:
        load_model(str(tmp_path), device="cpu")
    assert "\n" not in str(caught.value)


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


def test_the_sizes_of_a_gguf_file_are_those_of_its_metadata_and_a_stretched_one_is_refused():
    metadata = {"general.architecture": "llama"} | {
        f"llama.{key}": value
        for key, value in {
            "embedding_length": 12, "attention.head_count": 6, "attention.head_count_kv": 2, "block_count": 3,
            "feed_forward_length": 20, "context_length": 64, "attention.layer_norm_rms_epsilon": 1e-5,
            "rope.freq_base": 500.0,
        }.items()
    }  # fmt: skip
    shapes = {"token_embd.weight": (30, 12)}
    found = llama.read_gguf_config(metadata, shapes)
    assert (found.vocab_size, found.d_model, found.n_layers, found.d_ff) == (30, 12, 3, 20)
    assert (found.n_heads, found.n_kv_heads, found.d_k, found.max_positions) == (6, 2, 2, 64)
    assert (found.norm_eps, found.theta, found.tied) == (1e-5, 500.0, True)
    assert not llama.read_gguf_config(metadata, shapes | {"output.weight": (30, 12)}).tied
    said = "stretches its rotary positions; supported are plain ones in a GGUF file"
    for more, also in (
        ({"llama.rope.scaling.type": "linear"}, {}),
        ({}, {"rope_freqs.weight": (1,)}),
    ):
        with pytest.raises(ModelError, match=said):
            llama.read_gguf_config(metadata | more, shapes | also)


def test_a_tensor_that_the_config_does_not_account_for_is_refused(tmp_path):
    write_decoder(tmp_path, random_decoder("gpt2"))
    change_weights(tmp_path, lambda t: {**t, "transformer.h.0.adapter.weight": torch.zeros(3)})
    with pytest.raises(ModelError, match=r"such as 'h.0.adapter.weight'"):
        load_model(str(tmp_path), device="cpu")


def test_the_registry_finds_each_family_by_the_type_that_its_sizes_name():
    for name, family in FAMILIES.items():
        assert family.model_type == name
    assert {family.predicts for family in FAMILIES.values()} == {"mask", "next"}


def test_the_untrained_twin_of_a_tied_decoder_predicts_too(tmp_path):
    write_decoder(tmp_path, random_decoder("gpt2"))
    twin = load_model(str(tmp_path), device="cpu", trained=False)
    best = predict_next(twin.tokenizer.encode("the"), twin, k=3)
    assert len(best) == 3
    assert best[0].probability < 0.1


def test_sizes_of_groups_that_do_not_fit_are_refused(tmp_path):
    _, model = loaded(tmp_path, "llama")
    with pytest.raises(SizeError, match="5 query heads cannot share 2 key heads"):
        dataclasses.replace(model.config, n_kv_heads=2)


def test_a_decoders_texts_are_cut_at_its_positions_and_say_so(tmp_path):
    write_decoder(tmp_path, random_decoder("gpt2"), byte_tokenizer())
    model = load_model(str(tmp_path), device="cpu")
    tokens = model.tokenizer.encode("a" * 50)
    assert (model.max_tokens, len(tokens), tokens.n_cut) == (37, 37, 13)
