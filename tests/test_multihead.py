"""The layer: torch.nn.MultiheadAttention and the slow double beside it, its sizes, its refusals."""

import numpy as np
import pytest
import reference
import torch
from torch import nn

from mha_core import InputError, MultiHeadAttention, SizeError

B, N_Q, N_K, D, H = 2, 5, 7, 12, 6


def inputs(*shapes):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator) for shape in shapes]


KINDS = {
    "multi-head": {},
    "grouped": {"n_kv_heads": 2},
    "multi-query": {"n_kv_heads": 1},
    "widths of its own": {"d_k": 5, "d_v": 7},
    "without bias": {"bias": False},
}


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("kind", list(KINDS))
def test_the_layer_gives_what_the_slow_double_gives_with_or_without_weights_and_details(kind, gradients):
    torch.manual_seed(0)
    layer = MultiHeadAttention(D, H, **KINDS[kind]).eval()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    texts = inputs((B, N_Q, D), (B, N_K, D), (B, N_K, D))
    mask = torch.rand(H, N_Q, N_K) > 0.3
    mask[:, 3] = False  # a query that may look at nothing
    with torch.set_grad_enabled(gradients):
        output, weights = layer(*texts, mask, is_causal=True)
        alone, _ = layer(*texts, mask, is_causal=True, need_weights=False)
        _, details = layer(*texts, mask, is_causal=True, details=True)
    assert weights.shape == (B, H, N_Q, N_K)
    for member in range(B):
        expected, expected_weights = reference.layer(
            layer, *(x[member].double().numpy() for x in texts), may_look=mask.numpy(), is_causal=True
        )
        for result in (output, alone, details.output):
            np.testing.assert_allclose(result[member].detach(), expected, atol=1e-5)
        for result in (weights, details.weights):
            np.testing.assert_allclose(result[member].detach(), expected_weights, atol=1e-6)
    bias = 0 if layer.W_o.bias is None else layer.W_o.bias
    torch.testing.assert_close(details.contributions.sum(1) + bias, output)
    if gradients:
        output.sum().backward()
        assert all(p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize(("d_model", "n_heads", "bias"), [(15, 5, True), (22, 1, False), (21, 7, True)])
def test_weights_of_torchs_own_layer_give_its_outputs_and_weights_with_masks_turned_round(
    d_model, n_heads, bias
):
    torch.manual_seed(d_model)
    theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.4)
    ours = MultiHeadAttention.from_torch(theirs)
    assert not ours.training
    x, memory = torch.randn(2, 6, d_model), torch.randn(2, 4, d_model)
    may_not = torch.rand(6, 4) > 0.7
    may_not[:, 0] = False
    padding = torch.tensor([[False] * 4, [False, False, False, True]])
    for layer in (theirs, ours.to_torch()):
        expected = layer(
            x, memory, memory, attn_mask=may_not, key_padding_mask=padding, average_attn_weights=False
        )
        result = ours(x, memory, mask=~may_not & ~padding[:, None, None, :])
        torch.testing.assert_close(tuple(result), expected, atol=1e-5, rtol=1e-5)
    theirs.in_proj_weight.data.zero_()
    assert ours.W_q.weight.abs().max() > 0, "copied"


def test_sizes_and_inputs_that_do_not_fit_are_refused():
    for sizes in (
        (13, 6), (12, 6, 4), (12, 6, 12), (0, 6), (12, 0), (12, -3), (12, 6, 0), (12, 6, None, 0),
        (12, 6, None, 5, -1), (13, 6, None, 5), (5, 6),
    ):  # fmt: skip
        with pytest.raises(SizeError):
            MultiHeadAttention(*sizes)
    layer, (x, y) = MultiHeadAttention(D, H), inputs((B, N_Q, D), (B, N_K, D))
    for arguments in (
        (x[..., :11],), (x, y[..., :7]), (x, y, y[..., :7]), (x[0, 0],), (x[None],), (x, y[:1]), (x, y[0]), (x[:1], y),
        (x, y, y[:, :4]),
    ):  # fmt: skip
        with pytest.raises(SizeError):
            layer(*arguments)
    with pytest.raises(InputError):
        layer(x, None, y)


@pytest.mark.slow
@pytest.mark.parametrize(("n_kv_heads", "is_causal"), [(4, False), (2, True)])
def test_an_exported_layer_takes_texts_of_any_length(n_kv_heads, is_causal):
    layer = MultiHeadAttention(16, 4, n_kv_heads).eval()
    length = {"query": {1: torch.export.Dim("n")}, "is_causal": None}
    with torch.no_grad():
        given = {"query": torch.randn(2, 7, 16), "is_causal": is_causal}
        exported = torch.export.export(layer, (), given, dynamic_shapes=length).module()
        for n in (3, 300):
            x = torch.randn(2, n, 16)
            results = [each(query=x, is_causal=is_causal) for each in (exported, layer)]
            torch.testing.assert_close(*map(tuple, results), atol=1e-6, rtol=0)
