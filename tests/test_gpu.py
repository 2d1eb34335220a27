"""On an accelerator: the same numbers as on the CPU, to its rounding. Skipped where there is none."""

import numpy as np
import pytest
import torch

from mha_core import MultiHeadAttention, layer_details, load_model, trace, trace_many
from mha_core import scaled_dot_product_attention as sdpa

DEVICE = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else None
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE is None, reason="needs a CUDA or MPS device, and this machine has none"),
]
TEXTS = ("The animal didn't cross the street because it was too tired.", "It rained.", "a " * 90)


def test_every_head_of_the_embedded_model_is_what_it_is_on_the_cpu():
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("h_kv", [6, 2, 1])
def test_attention_with_dead_rows_is_what_it_is_on_the_cpu(dtype, need_weights, h_kv):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, h, n, d, dtype=dtype) for h, n, d in ((6, 37, 8), (h_kv, 41, 8), (h_kv, 41, 8)))
    mask = torch.rand(37, 41) > 0.4
    mask[5] = False
    expected, _ = sdpa(q.float(), k.float(), v.float(), mask, True)
    q, k, v = (x.to(DEVICE).requires_grad_() for x in (q, k, v))
    context, weights = sdpa(q, k, v, mask.to(DEVICE), True, need_weights=need_weights)
    assert context.dtype == dtype
    assert (context[:, :, 5] == 0).all()
    assert weights is None or (weights[:, :, 5] == 0).all()
    torch.testing.assert_close(
        context.float().cpu(), expected, atol=2e-2 if dtype != torch.float32 else 1e-4, rtol=2e-2
    )
    assert all(g.isfinite().all() for g in torch.autograd.grad(context.float().sum(), (q, k, v)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_layer_works_under_autocast(dtype):
    layer = MultiHeadAttention(24, 6, n_kv_heads=3).to(DEVICE)
    x = torch.randn(2, 11, 24, device=DEVICE)
    with torch.autocast(DEVICE, dtype=dtype):
        output, weights = layer(x, is_causal=True)
    torch.testing.assert_close(output.float(), layer(x, is_causal=True)[0], atol=3e-2, rtol=3e-2)
    torch.testing.assert_close(
        weights.float().sum(-1), torch.ones(2, 6, 11, device=DEVICE), atol=2e-2, rtol=0
    )
