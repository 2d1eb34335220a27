"""Scaled dot-product attention and its layer: their laws, torch's own beside them, every sentence of their contract.

Sizes are small and all different, so that a swapped axis cannot pass.
"""

import math

import numpy as np
import pytest
import reference
import torch
import torch.nn.functional as F
from torch import nn

from mha_core import InputError, MultiHeadAttention, SizeError, causal_mask
from mha_core import scaled_dot_product_attention as sdpa

B, H, N_Q, N_K, D_K, D_V, D = 2, 6, 5, 7, 3, 11, 12
PATHS = ("in place", "textbook", "fused", "fused with gradients")


def qkv(*, h_kv=H, n_q=N_Q, n_k=N_K, batch=(B,), dtype=torch.float32, size=1.0):
    generator = torch.Generator().manual_seed(0)
    shapes = ((*batch, H, n_q, D_K), (*batch, h_kv, n_k, D_K), (*batch, h_kv, n_k, D_V))
    return [(size * torch.randn(s, generator=generator, dtype=torch.float64)).to(dtype) for s in shapes]


def by_path(path, q, k, v, mask=None, is_causal=False, **options):
    """The same call through each of the ways that the function can take."""
    if "gradients" in path or path == "textbook":
        q = q.clone().requires_grad_()
    return sdpa(q, k, v, mask, is_causal, need_weights="fused" not in path, **options)


def masks():
    generator = torch.Generator().manual_seed(5)
    allowed = torch.rand(B, H, N_Q, N_K, generator=generator) > 0.4
    added = torch.randn(N_Q, N_K, generator=generator)
    some_off = added.clone()
    some_off[1, 2] = some_off[0, 1] = -math.inf
    least = torch.zeros(B, 1, 1, N_K)
    least[..., -1] = torch.finfo(torch.float32).min
    return {
        "none": None,
        "bool": allowed,
        "bool of keys": allowed[:, :1, :1],
        "bool of heads": allowed[0],
        "float": added,
        "float with -inf": some_off,
        "float with the least number": least,
        "one row": added[0],
        "a single truth": torch.tensor(True),
    }


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", list(masks()))
def test_masks_of_every_kind_give_what_the_slow_double_gives(name, is_causal, path):
    q, k, v = qkv(h_kv=2)
    mask = masks()[name]
    context, weights = by_path(path, q, k, v, mask, is_causal)
    whole = None if mask is None else mask.expand(B, H, N_Q, N_K).numpy()
    is_bool = whole is not None and whole.dtype == bool
    for member in range(B):
        expected_context, expected_weights = reference.attend(
            *(x[member].double().numpy() for x in (q, k, v)),
            may_look=whole[member] if is_bool else None,
            added=whole[member].astype(float) if whole is not None and not is_bool else None,
            is_causal=is_causal,
        )
        np.testing.assert_allclose(context[member].detach(), expected_context, atol=1e-5)
        if weights is not None:
            np.testing.assert_allclose(weights[member].detach(), expected_weights, atol=1e-6)
    assert (weights is None) == ("fused" in path)


@pytest.mark.slow
@pytest.mark.parametrize(("h_kv", "is_causal"), [(6, False), (2, True)])
def test_gradients_are_those_of_finite_differences(h_kv, is_causal):
    q, k, v = (x.requires_grad_() for x in qkv(h_kv=h_kv, batch=(), n_q=2, n_k=3, dtype=torch.float64))
    mask = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    dead = torch.tensor([[True, False, True], [False, False, False]])
    assert torch.autograd.gradcheck(lambda *x: sdpa(*x, is_causal=is_causal), (q, k, v, mask))
    assert torch.autograd.gradcheck(lambda *x: sdpa(*x, dead, is_causal), (q, k, v))


def dead_row_masks():
    low = torch.zeros(N_Q, N_K)
    low[2] = -math.inf
    later = torch.ones(N_Q, N_K, dtype=torch.bool)
    later[:3, :3] = False
    return {
        "by minus infinity": (low, False, [2]),
        "by mask and causality together": (later, True, [0, 1, 2]),
        "everywhere": (torch.zeros(1, N_K, dtype=torch.bool), False, list(range(N_Q))),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("why", list(dead_row_masks()))
def test_a_query_that_may_look_at_nothing_gives_zeros_and_finite_gradients(why, path, dtype):
    mask, is_causal, dead = dead_row_masks()[why]
    q, k, v = qkv(dtype=dtype)
    needs_gradients = path in ("textbook", "fused with gradients")
    q.requires_grad_(needs_gradients)
    mask = mask if mask.dtype == torch.bool else mask.to(dtype)
    context, weights = by_path(path, q, k, v, mask, is_causal)
    alive = [i for i in range(N_Q) if i not in dead]
    assert context.isfinite().all()
    assert (context[:, :, dead] == 0).all()
    assert (context[:, :, alive].abs().sum(-1) > 0).all()
    if weights is not None:
        assert (weights[:, :, dead] == 0).all()
        sums = weights[:, :, alive].float().sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=0.02, rtol=0)
    if needs_gradients:
        (gradient,) = torch.autograd.grad(
            context.pow(2).sum() + (0 if weights is None else weights[..., 0].sum()), q
        )
        assert gradient.isfinite().all()
        assert (gradient[:, :, dead] == 0).all()


@pytest.mark.parametrize(("n_q", "n_k"), [(611, 547), (256, 256), (300, 300)])
@pytest.mark.parametrize("h_kv", [6, 2])
def test_a_long_causal_text_gives_what_torch_gives(h_kv, n_q, n_k):
    q, k, v = qkv(batch=(1,), h_kv=h_kv, n_q=n_q, n_k=n_k)
    allowed, mask, room = causal_mask(n_q, n_k), None, torch.full((1, H, n_q, n_k), 7.0)
    if n_q != n_k:  # squares without a mask are computed in strips
        mask = torch.rand(n_q, n_k, generator=torch.Generator().manual_seed(3)) > 0.3
        mask[300] = False
        allowed = allowed & mask
    context, weights = sdpa(q, k, v, mask, True, out=room)
    alive = allowed.any(-1)
    expected = F.scaled_dot_product_attention(q, k, v, allowed | ~alive[:, None], enable_gqa=True)
    torch.testing.assert_close(context[:, :, alive], expected[:, :, alive], atol=1e-5, rtol=1e-4)
    assert (context[:, :, ~alive] == 0).all()
    assert weights is room
    assert (weights[:, :, ~allowed] == 0).all()
    every_v = v.repeat_interleave(H // h_kv, dim=1)
    torch.testing.assert_close(weights @ every_v, context, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("n", [7, 300])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_dropout_acts_in_training_alone_on_what_is_mixed(path, is_causal, n):
    q, k, v = qkv(n_q=n, n_k=n)
    mixed, weights = by_path(path, q, k, v, is_causal=is_causal, dropout_p=1.0)
    assert mixed.abs().sum() > 0
    mixed, same = by_path(path, q, k, v, is_causal=is_causal, dropout_p=1.0, training=True)
    assert not mixed.any()
    assert same is None or torch.allclose(same, weights, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mask_name", ["none", "float with the least number"])
def test_scores_beyond_fp16s_range_stay_finite(dtype, path, mask_name):
    q, k, v = qkv(dtype=dtype, size=300.0)  # scores to about 1e5, above 65,504
    assert (q.double() @ k.double().transpose(-1, -2)).abs().max() > 70_000
    context, weights = by_path(path, q, k, v, masks()[mask_name])
    assert context.isfinite().all()
    assert weights is None or weights.isfinite().all()


def test_a_room_that_weights_do_not_fit_in_is_refused():
    q, k, v = qkv()
    for room in (torch.empty(B, H, N_K, N_Q), torch.empty(B, H, N_K, N_Q).transpose(-1, -2)):
        with pytest.raises(SizeError):
            sdpa(q, k, v, out=room)
    with pytest.raises(InputError):
        sdpa(q.requires_grad_(), k, v, out=torch.empty(B, H, N_Q, N_K))


@pytest.mark.parametrize("need_weights", [True, False])
def test_what_does_not_fit_is_refused(need_weights):
    q, k, v = qkv()
    for arguments in (
        (q[0, 0], k, v), (q, k[:1], v[:1]), (q[:1], k, v), (q, k, v[0]), (q[..., :2], k, v),
        (q[..., :0], k[..., :0], v), (q, k[:, :, :4], v), (q, k[:, :4], v[:, :4]), (q, k[:, :3], v[:, :2]),
        (q, k[:, :0], v[:, :0]), (q[:, :0], k, v), (q[:, :3], k, v),
    ):  # fmt: skip
        with pytest.raises(SizeError):
            sdpa(*arguments, need_weights=need_weights)
    for dtype in (torch.int64, torch.uint8, torch.int32):
        with pytest.raises(TypeError):
            sdpa(q, k, v, torch.ones(N_Q, N_K, dtype=dtype), need_weights=need_weights)
    for p in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="dropout"):
            sdpa(q, k, v, dropout_p=p, need_weights=need_weights)


# The layer


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
