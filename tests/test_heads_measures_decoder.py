"""Beyond raw weights in decoders: value norms with grouped keys, rollout and flow under the causal mask, gradients."""

import numpy as np
import pytest
import torch

from mha_core import hidden_states, load_model, trace_tokens
from mha_core.heads.measures import importance
from mha_core.heads.measures.gradient import gradient_weights
from mha_core.heads.measures.value import value_norms
from mha_core.models.trace import every_layer_details
from tests.decoder_folders import random_decoder, write_decoder

TEXT = "the cat it the"
KINDS = [("gpt2", 0), ("gpt2", 2), ("llama", 0), ("llama", 1), ("llama", 2)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def pair(request, tmp_path_factory):
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("decoder")
    theirs = write_decoder(folder, random_decoder(*request.param))
    return load_model(str(folder), device="cpu"), theirs


def value_matrices(theirs, layer):
    """W_v (d_model, wide), b_v and W_o (wide, d_model) of a layer, out of transformers' own modules."""
    if theirs.config.model_type == "gpt2":
        attention, d = theirs.transformer.h[layer].attn, theirs.config.n_embd
        W, b = attention.c_attn.weight[:, 2 * d :], attention.c_attn.bias[2 * d :]
        return W, b, attention.c_proj.weight, theirs.transformer.h[layer].ln_1
    attention = theirs.model.layers[layer].self_attn
    bias = attention.v_proj.bias
    W = attention.v_proj.weight.T
    b = torch.zeros(W.shape[1]) if bias is None else bias
    return W, b, attention.o_proj.weight.T, theirs.model.layers[layer].input_layernorm


def test_value_norms_are_those_of_a_slow_count_with_grouped_values(pair):
    model, theirs = pair
    tokens = model.tokenizer.encode(TEXT)
    states = hidden_states(tokens, model)
    weights = trace_tokens(tokens, model).weights
    group = model.n_heads // model.n_kv_heads
    for layer, details in enumerate(every_layer_details(tokens, model)):
        W_v, b_v, W_o, norm = (part for part in value_matrices(theirs, layer))
        with torch.no_grad():
            x = norm(torch.tensor(np.array(states[layer]))).numpy()
        W_v, b_v, W_o = (part.detach().numpy() for part in (W_v, b_v, W_o))
        found, width = value_norms(details), model.d_k
        for head in range(model.n_heads):
            shared = slice(head // group * width, (head // group + 1) * width)
            own = slice(head * width, (head + 1) * width)
            for query in range(len(tokens)):
                for key in range(len(tokens)):
                    brought = (x[key] @ W_v[:, shared] + b_v[shared]) @ W_o[own]
                    expected = np.linalg.norm(weights[layer, head, query, key] * brought)
                    assert found[head, query, key] == pytest.approx(expected, rel=2e-3, abs=2e-4)


@pytest.mark.parametrize("key", ["value", "residual", "rollout", "gradient"])
def test_no_measure_shows_anything_of_what_comes_later(pair, key):
    model, _ = pair
    tokens = model.tokenizer.encode("the cat")
    found = importance(tokens, model, key).weights
    assert np.abs(np.triu(found, 1)).max() == 0
    sums = found.sum(-1)
    np.testing.assert_allclose(sums, 1, atol=1e-4)


def test_a_decoders_gradient_is_the_one_transformers_takes_of_its_next_token(pair):
    model, theirs = pair
    tokens = model.tokenizer.encode(TEXT)
    for parameter in theirs.parameters():
        parameter.requires_grad_(True)
    output = theirs(torch.tensor([tokens.ids]), output_attentions=True)
    gradients = torch.autograd.grad(output.logits[0, -1].max(), output.attentions)
    expected = [(w * g).clamp(min=0)[0] for w, g in zip(output.attentions, gradients, strict=True)]
    found = gradient_weights(tokens, model)
    for layer, theirs_of_layer in enumerate(expected):
        scale = float(theirs_of_layer.detach().abs().max()) + 1e-6
        np.testing.assert_allclose(
            found[layer] / scale, np.tril(theirs_of_layer.detach().numpy()) / scale, atol=2e-4
        )
    assert (found[0] > 0).any()
    assert all(not p.requires_grad and p.grad is None for p in model.encoder.parameters())
