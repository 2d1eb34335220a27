"""On an accelerator: the same numbers as on the CPU, to its rounding. Skipped where there is none."""

import numpy as np
import pytest
import torch

from mha_core import layer_details, load_model, trace, trace_many

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
