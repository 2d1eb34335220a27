"""Beyond raw weights, in encoders and decoders: value norms, rollout, flow and gradients."""

import numpy as np
import pytest
import torch

from mha_core import hidden_states, load_model, trace_tokens
from mha_core.heads.measures import importance
from mha_core.heads.measures.block import block_parts, value_outputs
from mha_core.heads.measures.gradient import gradient_weights
from mha_core.heads.measures.value import value_norms
from mha_core.models.trace import every_layer_details
from tests.bert_folders import random_bert, write
from tests.decoder_folders import random_decoder, write_decoder
from tests.test_atlas import values_and_output

TEXT = "the cat it the"
KINDS = [("gpt2", 0), ("gpt2", 2), ("llama", 0), ("llama", 1), ("llama", 2)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def pair(request, tmp_path_factory):
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("decoder")
    theirs = write_decoder(folder, random_decoder(*request.param))
    return load_model(str(folder), device="cpu"), theirs


def test_value_norms_are_those_of_a_slow_count_with_grouped_values(pair):
    model, theirs = pair
    tokens = model.tokenizer.encode(TEXT)
    states, weights = hidden_states(tokens, model), trace_tokens(tokens, model).weights
    group, width = model.n_heads // model.n_kv_heads, model.d_k
    for layer, details in enumerate(every_layer_details(tokens, model)):
        with torch.no_grad():
            parts = values_and_output(theirs, layer, torch.tensor(np.array(states[layer])))
        values, W_o = (part.detach().numpy() for part in parts)
        measured = value_norms(details)
        for head, query, key in np.ndindex(model.n_heads, len(tokens), len(tokens)):
            shared, own = (slice(h * width, (h + 1) * width) for h in (head // group, head))
            brought = weights[layer, head, query, key] * (values[key, shared] @ W_o[own])
            assert measured[head, query, key] == pytest.approx(np.linalg.norm(brought), rel=2e-3, abs=2e-4)


@pytest.mark.parametrize("key", ["value", "residual", "rollout", "gradient"])
def test_no_measure_shows_anything_of_what_comes_later(pair, key):
    model, _ = pair
    tokens = model.tokenizer.encode("the cat")
    measured = importance(tokens, model, key).weights
    assert np.abs(np.triu(measured, 1)).max() == 0
    np.testing.assert_allclose(measured.sum(-1), 1, atol=1e-4)


def test_a_decoders_gradient_is_the_one_transformers_takes_of_its_next_token(pair):
    model, theirs = pair
    tokens = model.tokenizer.encode(TEXT)
    for parameter in theirs.parameters():
        parameter.requires_grad_(True)
    output = theirs(torch.tensor([tokens.ids]), output_attentions=True)
    gradients = torch.autograd.grad(output.logits[0, -1].max(), output.attentions)
    expected = [(w * g).clamp(min=0)[0] for w, g in zip(output.attentions, gradients, strict=True)]
    measured = gradient_weights(tokens, model)
    for layer, theirs_of_layer in enumerate(each.detach().numpy() for each in expected):
        scale = abs(theirs_of_layer).max() + 1e-6
        np.testing.assert_allclose(measured[layer] / scale, np.tril(theirs_of_layer) / scale, atol=2e-4)
    assert (measured[0] > 0).any()
    assert all(not p.requires_grad and p.grad is None for p in model.encoder.parameters())


# Encoders


@pytest.mark.slow
def test_gradient_weights_are_those_of_transformers_at_the_first_mask(model, tmp_path):
    """Attention times its gradient where that is positive, out of transformers' own graph (Chefer, equation 5)."""
    tokens = model.tokenizer.encode("The [MASK] sat on [MASK].", "It rained.")
    ids, segments = torch.tensor([tokens.ids]), torch.tensor([tokens.segments])
    for seed in range(20):
        theirs = random_bert("BertForMaskedLM", seed)
        output = theirs(ids, token_type_ids=segments, output_attentions=True)
        first, last = output.logits[ids == model.tokenizer.mask_id].amax(dim=-1)
        if last > first:  # so that another mask, or all of them, would give another answer
            break
    assert last > first
    gradients = torch.autograd.grad(first, output.attentions)
    products = np.array(
        [(a * g)[0].detach().numpy() for a, g in zip(output.attentions, gradients, strict=True)]
    )
    assert products.min() < -1e-4
    write(tmp_path, theirs)
    ours = load_model(str(tmp_path), device="cpu")
    np.testing.assert_allclose(gradient_weights(tokens, ours), np.maximum(products, 0), atol=1e-5, rtol=1e-3)


def test_what_comes_through_a_block_adds_up_to_what_the_block_gives(model):
    """LayerNorm of the sum less beta and less what the output's bias becomes, for every token and layer."""
    tokens = model.tokenizer.encode("The animal didn't cross the street because it was too tired.")
    states = hidden_states(tokens, model)
    drawn = importance(tokens, model, "residual").weights[:, 0]
    for layer, run in enumerate(every_layer_details(tokens, model)):
        block, x = model.encoder.layer(layer), states[layer].copy()
        norm, bias = block.attention_norm, run.projections.b_o
        whole = torch.from_numpy(x + run.output)
        given = block.residual(torch.from_numpy(x), torch.from_numpy(run.output.copy())).detach().numpy()
        deviation = torch.sqrt(whole.var(-1, unbiased=False, keepdim=True) + norm.eps).numpy()
        gamma, beta = norm.weight.detach().numpy(), norm.bias.detach().numpy()
        expected = given - beta - gamma * (bias - bias.mean()) / deviation
        values = value_outputs(run)
        parts = np.stack([block_parts(run, values, block, query) for query in range(len(tokens))])
        np.testing.assert_allclose(parts.sum(1), expected, atol=2e-4)
        lengths = np.linalg.norm(parts, axis=-1)
        np.testing.assert_allclose(drawn[layer], lengths / lengths.sum(-1, keepdims=True), atol=1e-5)
