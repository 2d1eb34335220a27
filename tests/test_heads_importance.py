"""Beyond raw weights: value norms, rollout, flow, gradients; and what switching a head off changes."""

import numpy as np
import pytest
import torch
from bert_folders import random_bert, write

from mha_core import load_model
from mha_core.heads.measures import importance
from mha_core.heads.measures.block import block_parts, value_outputs
from mha_core.heads.measures.gradient import gradient_weights
from mha_core.models.trace import every_layer_details, hidden_states

SENTENCE = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def tokens(model):
    return model.tokenizer.encode(SENTENCE)


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


def test_what_comes_through_a_block_adds_up_to_what_the_block_gives(model, tokens):
    """LayerNorm of the sum less beta and less what the output's bias becomes, for every token and layer."""
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
