"""The layer: its laws, torch.nn.MultiheadAttention and the slow double beside it, its sizes, its refusals."""

import numpy as np
import pytest
import reference
import torch
from torch import nn

from mha_core import InputError, MultiHeadAttention, SizeError

B, N_Q, N_K, D, H = 2, 5, 7, 12, 6


def make(*sizes, seed=0, **options):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(*(sizes or (D, H)), **options)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer.eval()


def inputs(*shapes, dtype=torch.float32, seed=1):
    generator = torch.Generator().manual_seed(seed)
    found = [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]
    return found[0] if len(found) == 1 else found


KINDS = {
    "multi-head": {},
    "grouped": {"n_kv_heads": 2},
    "multi-query": {"n_kv_heads": 1},
    "widths of its own": {"d_k": 5, "d_v": 7},
    "without bias": {"bias": False},
}


# Laws


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_layer_gives_what_the_slow_double_gives(kind):
    layer = make(**KINDS[kind])
    query, key, value = inputs((B, N_Q, D), (B, N_K, D), (B, N_K, D))
    mask = torch.rand(H, N_Q, N_K) > 0.3
    output, weights = layer(query, key, value, mask, is_causal=True)
    assert weights.shape == (B, H, N_Q, N_K)
    for member in range(B):
        expected, expected_weights = reference.layer(
            layer,
            *(x[member].double().numpy() for x in (query, key, value)),
            may_look=mask.numpy(),
            is_causal=True,
        )
        np.testing.assert_allclose(output[member].detach(), expected, atol=1e-5)
        np.testing.assert_allclose(weights[member].detach(), expected_weights, atol=1e-6)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("gradients", [True, False])
def test_a_query_that_may_look_at_nothing_gives_the_bias_alone(need_weights, gradients):
    layer, x = make(), inputs((B, N_Q, D)).requires_grad_(gradients)
    mask = torch.ones(N_Q, N_Q, dtype=torch.bool)
    mask[3] = False
    with torch.set_grad_enabled(gradients):
        output, _ = layer(x, mask=mask, need_weights=need_weights)
    torch.testing.assert_close(output[:, 3], layer.W_o.bias.expand(B, D))
    if gradients:
        output.sum().backward()
        assert all(p.grad.isfinite().all() for p in layer.parameters())
        assert x.grad.isfinite().all()


# Details and gates


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_the_heads_contribute_sums_with_the_bias_to_the_output(kind):
    layer, x = make(**KINDS[kind]), inputs((B, N_Q, D))
    output, details = layer(x, details=True)
    bias = 0 if layer.W_o.bias is None else layer.W_o.bias
    torch.testing.assert_close(details.contributions.sum(1) + bias, output)
    assert torch.equal(details.output, output)
    plain_output, plain_weights = layer(x)
    torch.testing.assert_close(plain_output, output)
    torch.testing.assert_close(plain_weights, details.weights)


# Masks and refusals


@pytest.mark.parametrize(
    "arguments",
    [
        (13, 6),
        (12, 6, 4),
        (12, 6, 12),
        (0, 6),
        (12, 0),
        (12, -3),
        (12, 6, 0),
        (12, 6, None, 0),
        (12, 6, None, 5, -1),
        (13, 6, None, 5),
        (5, 6),
    ],
)
def test_impossible_sizes_are_refused_with_their_numbers(arguments):
    with pytest.raises(SizeError):
        MultiHeadAttention(*arguments)


def test_inputs_that_do_not_fit_are_refused_with_their_numbers():
    layer = make()
    x, y = inputs((B, N_Q, D), (B, N_K, D))
    cases = [
        (x[..., :11],),
        (x, y[..., :7]),
        (x, y, y[..., :7]),
        (x[0, 0],),
        (x[None],),
        (x, y[:1]),
        (x, y[0]),
        (x[:1], y),
        (x, y, y[:, :4]),
    ]
    for arguments in cases:
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
            pairs = zip(exported(query=x, is_causal=is_causal), layer(x, is_causal=is_causal), strict=True)
            assert all(torch.allclose(theirs, ours, atol=1e-6) for theirs, ours in pairs)
