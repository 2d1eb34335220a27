"""The layer: its laws, torch.nn.MultiheadAttention and the slow double beside it, its sizes, its refusals."""

import copy
import io
import math
import pickle

import numpy as np
import pytest
import reference
import torch
from safetensors.torch import load, save
from torch import nn

from mha_core import AttentionDetails, InputError, MultiHeadAttention, SizeError

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


def copied(layer, **options):
    """Another layer with the same numbers in it."""
    other = MultiHeadAttention(layer.d_model, layer.n_heads, **options)
    other.load_state_dict(layer.state_dict())
    return other.eval()


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


def test_grouped_queries_with_as_many_key_heads_as_heads_are_multi_head():
    layer, x = make(), inputs((B, N_Q, D))
    grouped = copied(layer, n_kv_heads=H)
    for one, other in zip(layer(x), grouped(x), strict=True):
        assert torch.equal(one, other)


def test_multi_query_is_multi_head_with_one_key_head_repeated():
    shared, x = make(n_kv_heads=1), inputs((B, N_Q, D))
    whole = MultiHeadAttention(D, H)
    state = shared.state_dict()
    for name in ("W_k", "W_v"):
        state[f"{name}.weight"] = state[f"{name}.weight"].repeat(H, 1)
        state[f"{name}.bias"] = state[f"{name}.bias"].repeat(H)
    whole.load_state_dict(state)
    for one, other in zip(shared(x), whole(x), strict=True):
        torch.testing.assert_close(one, other)


def test_cross_attention_on_itself_is_self_attention():
    layer, x = make(), inputs((B, N_Q, D))
    for arguments in ((x, x), (x, x, x)):
        for one, other in zip(layer(x), layer(*arguments), strict=True):
            assert torch.equal(one, other)


def test_a_value_of_its_own_changes_what_is_mixed_and_not_who_looks():
    layer = make()
    query, key, value = inputs((B, N_Q, D), (B, N_K, D), (B, N_K, D))
    output, weights = layer(query, key)
    other_output, other_weights = layer(query, key, value)
    assert torch.equal(weights, other_weights)
    assert not torch.allclose(output, other_output)


class Halved:
    """A change that halves the weights, and keeps what the heads mixed by them."""

    rewrites_weights = True

    def weights(self, weights):
        return weights / 2

    def context(self, context):
        self.mixed = context
        return context + 1


def test_a_change_is_of_what_is_mixed_by_the_new_weights_after_the_gate():
    layer, x, change = make(), inputs((B, N_Q, D)), Halved()
    gates = torch.arange(H) / 2
    plain, _ = layer(x, gates=gates, details=True)
    _, details = layer(x, details=True)
    output, weights = layer(x, gates=gates, change=change)
    torch.testing.assert_close(weights, details.weights / 2)
    torch.testing.assert_close(change.mixed, details.context / 2 * gates[:, None, None])
    whole = (change.mixed + 1).transpose(1, 2).flatten(2)
    torch.testing.assert_close(output, layer.W_o(whole))
    assert not torch.allclose(output, plain)


def test_permuting_the_tokens_permutes_output_and_weights():
    layer, x = make(), inputs((B, N_Q, D))
    order = torch.tensor([3, 0, 4, 1, 2])
    output, weights = layer(x)
    permuted_output, permuted_weights = layer(x[:, order])
    torch.testing.assert_close(permuted_output, output[:, order])
    torch.testing.assert_close(permuted_weights, weights[:, :, order][..., order])


def test_the_future_cannot_reach_the_past():
    layer, x = make(), inputs((B, N_Q, D))
    changed = x.clone()
    changed[:, 3:] += 9.0
    before, after = layer(x, is_causal=True)[0], layer(changed, is_causal=True)[0]
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_members_of_a_batch_do_not_see_each_other():
    layer, x = make(), inputs((B, N_Q, D))
    output, weights = layer(x)
    for member in range(B):
        alone = layer(x[member])
        torch.testing.assert_close(alone[0], output[member])
        torch.testing.assert_close(alone[1], weights[member])
        assert alone[1].shape == (H, N_Q, N_Q)


def test_without_weights_the_output_is_the_same():
    layer = make(n_kv_heads=2)
    query, key = inputs((B, N_Q, D), (B, N_K, D))
    mask = torch.zeros(N_Q, N_K, dtype=torch.bool)
    mask[:3, 2:] = True
    output, _ = layer(query, key, mask=mask, is_causal=True)
    fused, nothing = layer(query, key, mask=mask, is_causal=True, need_weights=False)
    torch.testing.assert_close(fused, output)
    assert nothing is None


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


def test_every_detail_is_what_its_name_says():
    layer = make(n_kv_heads=2, d_k=5, d_v=7)
    query, key = inputs((B, N_Q, D), (B, N_K, D))
    _, d = layer(query, key, is_causal=True, details=True)
    assert isinstance(d, AttentionDetails)
    assert d.q.shape == (B, H, N_Q, 5)
    assert d.k.shape == (B, 2, N_K, 5)
    assert d.v.shape == (B, 2, N_K, 7)
    assert d.contributions.shape == (B, H, N_Q, D)
    torch.testing.assert_close(d.q, layer.W_q(query).view(B, N_Q, H, 5).transpose(1, 2))
    every_k, every_v = (x.repeat_interleave(3, dim=1) for x in (d.k, d.v))
    torch.testing.assert_close(d.scores, d.q @ every_k.transpose(-1, -2) / math.sqrt(5))
    hidden = ~torch.ones(N_Q, N_K, dtype=torch.bool).tril()
    torch.testing.assert_close(d.weights, d.scores.masked_fill(hidden, -math.inf).softmax(-1))
    torch.testing.assert_close(d.context, d.weights @ every_v)
    for head in range(H):
        part = layer.W_o.weight[:, 7 * head : 7 * head + 7]
        torch.testing.assert_close(d.contributions[:, head], d.context[:, head] @ part.T)


def test_details_come_with_the_weights_even_if_these_were_declined():
    _, details = make()(inputs((B, N_Q, D)), need_weights=False, details=True)
    assert details.weights.shape == (B, H, N_Q, N_Q)


def test_details_of_unbatched_input_lack_the_batch():
    _, details = make()(inputs((N_Q, D)), details=True)
    assert details.q.shape == (H, N_Q, 2)
    assert details.contributions.shape == (H, N_Q, D)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_gate_of_zero_equals_cutting_the_heads_slice_out_of_w_o(need_weights):
    layer, x = make(d_v=7), inputs((B, N_Q, D))
    gates = torch.tensor([1.0, 1, 0, 1, 1, 1])
    cut = copied(layer, d_v=7)
    with torch.no_grad():
        cut.W_o.weight[:, 14:21] = 0
    torch.testing.assert_close(layer(x, gates=gates, need_weights=need_weights)[0], cut(x)[0])
    assert not torch.allclose(layer(x)[0], cut(x)[0])


def test_gates_scale_contributions_and_never_weights():
    layer, x = make(), inputs((B, N_Q, D))
    gates = torch.tensor([0.0, 0.5, 1.0, 2.0, -1.0, 1.0])
    _, plain = layer(x, details=True)
    output, gated = layer(x, gates=gates, details=True)
    assert torch.equal(gated.weights, plain.weights)
    torch.testing.assert_close(gated.contributions, plain.contributions * gates[:, None, None])
    torch.testing.assert_close(gated.contributions.sum(1) + layer.W_o.bias, output)
    torch.testing.assert_close(layer(x, gates=torch.ones(H))[0], plain.output)


def test_each_member_of_a_batch_can_have_gates_of_its_own():
    layer, x = make(), inputs((B, N_Q, D))
    gates = torch.rand(B, H)
    output, _ = layer(x, gates=gates)
    for member in range(B):
        torch.testing.assert_close(output[member], layer(x[member], gates=gates[member])[0])


def test_gates_carry_gradient():
    gates = torch.ones(H, requires_grad=True)
    layer, x = make(), inputs((B, N_Q, D))
    _, details = layer(x, details=True)
    output, _ = layer(x, gates=gates)
    (gradient,) = torch.autograd.grad(output.sum(), gates)
    torch.testing.assert_close(gradient, details.contributions.sum((0, 2, 3)))


def test_a_call_leaves_nothing_on_the_module():
    layer, x = make(dropout=0.3), inputs((B, N_Q, D))
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    names = set(vars(layer))
    layer.train()(x, is_causal=True, gates=torch.zeros(H), details=True)
    layer.eval()(x, gates=torch.zeros(H))
    assert set(vars(layer)) == names
    assert all(torch.equal(before[name], value) for name, value in layer.state_dict().items())


# torch.nn.MultiheadAttention


def torchs_own(layer, dtype):
    theirs = nn.MultiheadAttention(D, H, batch_first=True, dtype=dtype).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.W_q.weight, layer.W_k.weight, layer.W_v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([layer.W_q.bias, layer.W_k.bias, layer.W_v.bias]))
        theirs.out_proj.weight.copy_(layer.W_o.weight)
        theirs.out_proj.bias.copy_(layer.W_o.bias)
    return theirs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("is_causal", [False, True])
def test_torchs_own_layer_gives_the_same_with_gradients(dtype, is_causal):
    layer = make().to(dtype)
    theirs = torchs_own(layer, dtype)
    query, key, value = inputs((B, N_Q, D), (B, N_K, D), (B, N_K, D), dtype=dtype)
    query.requires_grad_()
    mask = torch.ones(N_Q, N_K, dtype=torch.bool).tril() if is_causal else None
    output, weights = layer(query, key, value, is_causal=is_causal)
    expected, expected_weights = theirs(
        query, key, value, attn_mask=None if mask is None else ~mask, average_attn_weights=False
    )
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights, expected_weights)
    ours = torch.autograd.grad(
        output.pow(2).sum(), (query, layer.W_q.weight, layer.W_v.bias, layer.W_o.weight)
    )
    gradients = torch.autograd.grad(
        expected.pow(2).sum(), (query, theirs.in_proj_weight, theirs.in_proj_bias, theirs.out_proj.weight)
    )
    torch.testing.assert_close(ours[0], gradients[0], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(ours[1], gradients[1][:D], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(ours[2], gradients[2][2 * D :], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(ours[3], gradients[3], atol=1e-4, rtol=1e-4)


def test_gradients_are_those_of_finite_differences():
    layer = make(4, 2, n_kv_heads=1).double()
    x = inputs((1, 3, 4), dtype=torch.float64).requires_grad_()
    gates = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, gates: layer(x, is_causal=True, gates=gates), (x, gates))


# The module in all its forms


def test_its_names_and_sizes_are_the_fields_own():
    layer = MultiHeadAttention(12, 6, n_kv_heads=3, d_k=5, d_v=7)
    sizes = {name: (child.in_features, child.out_features) for name, child in layer.named_children()}
    assert sizes == {"W_q": (12, 30), "W_k": (12, 15), "W_v": (12, 21), "W_o": (42, 12)}
    assert all(type(child) is nn.Linear and child.bias is not None for child in layer.children())


def test_without_bias_there_are_four_times_d_model_squared_parameters():
    assert sum(p.numel() for p in MultiHeadAttention(12, 3, bias=False).parameters()) == 4 * 12**2
    assert sum(p.numel() for p in MultiHeadAttention(12, 3).parameters()) == 4 * 12**2 + 4 * 12


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("need_weights", [True, False])
def test_it_works_in_every_floating_type(dtype, need_weights):
    layer, x = make(), inputs((B, N_Q, D))
    expected, _ = layer(x)
    output, weights = layer.to(dtype)(x.to(dtype), gates=torch.ones(H), need_weights=need_weights)
    assert output.dtype == dtype
    assert weights is None or weights.dtype == dtype
    torch.testing.assert_close(output.float(), expected, atol=0.2, rtol=0.1)
    assert layer(x.to(dtype), details=True)[1].contributions.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_it_works_under_autocast(dtype):
    layer, x = make(), inputs((B, N_Q, D))
    expected, _ = layer(x)
    with torch.autocast("cpu", dtype=dtype):
        output, details = layer(x, details=True, gates=torch.ones(H))
        output.float().sum().backward()
    assert output.dtype == dtype
    torch.testing.assert_close(output.float(), expected, atol=0.2, rtol=0.1)
    torch.testing.assert_close(
        details.contributions.sum(1).float() + layer.W_o.bias, output.float(), atol=0.2, rtol=0.1
    )
    assert details.contributions.dtype == torch.float32
    assert layer.W_q.weight.grad.isfinite().all()


def test_under_autocast_the_details_stay_in_fp32():
    layer, x = make(d_v=7), inputs((B, N_Q, D))
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        _, details = layer(x, details=True)
    assert details.contributions.dtype == torch.float32
    for head in range(H):
        part = layer.W_o.weight[:, 7 * head : 7 * head + 7]
        expected = details.context[:, head].float() @ part.T
        torch.testing.assert_close(details.contributions[:, head], expected.detach())


def test_it_works_on_the_meta_device():
    layer = make(n_kv_heads=2).to("meta")
    output, details = layer(torch.empty(B, N_Q, D, device="meta"), details=True)
    assert output.shape == (B, N_Q, D)
    assert details.weights.shape == (B, H, N_Q, N_Q)
    assert output.is_meta


# Torch's advice to those who run its compiler on that Python.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")
@pytest.mark.parametrize("need_weights", [True, False])
def test_it_compiles_in_one_graph_and_gives_the_same(need_weights):
    torch._dynamo.reset()
    layer, x = make(n_kv_heads=2), inputs((B, N_Q, D))
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    output, weights = compiled(x, is_causal=True, need_weights=need_weights, gates=torch.ones(H))
    expected, expected_weights = layer(x, is_causal=True, need_weights=need_weights)
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights, expected_weights)


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "torch.save", "safetensors"])
def test_a_copy_gives_the_same_and_is_free_of_the_first(way):
    layer, x = make(n_kv_heads=2, bias=False), inputs((B, N_Q, D))
    if way == "deepcopy":
        other = copy.deepcopy(layer)
    elif way == "pickle":
        other = pickle.loads(pickle.dumps(layer))  # noqa: S301 - our own bytes
    else:
        other = MultiHeadAttention(D, H, n_kv_heads=2, bias=False).eval()
        if way == "safetensors":
            state = load(save(layer.state_dict()))
        else:
            buffer = io.BytesIO()
            torch.save(layer.state_dict(), buffer)
            state = torch.load(io.BytesIO(buffer.getvalue()))
        other.load_state_dict(state)
    expected = layer(x)[0].detach().clone()
    torch.testing.assert_close(other(x)[0], expected)
    with torch.no_grad():
        layer.W_v.weight.zero_()
    torch.testing.assert_close(other(x)[0], expected)


def test_dropout_only_acts_in_training():
    layer, x = make(dropout=0.5), inputs((B, N_Q, D))
    assert torch.equal(layer(x)[0], layer(x)[0])
    calm, calm_weights = layer(x)
    output, weights = layer.train()(x)
    assert not torch.allclose(output, calm)
    torch.testing.assert_close(weights, calm_weights)


# Masks and refusals


def test_a_mask_of_three_axes_is_one_for_each_head():
    layer, x = make(12, 3), inputs((3, N_Q, 12))
    mask = torch.ones(3, N_Q, N_Q, dtype=torch.bool)
    mask[1, :, 2:] = False
    _, weights = layer(x, mask=mask)
    assert (weights[:, 1, :, 2:] == 0).all()
    assert (weights[:, [0, 2]] > 0).all()


def test_a_mask_of_the_batch_hides_padding_for_its_member_alone():
    layer, x = make(), inputs((B, N_Q, D))
    real = torch.tensor([[True] * 5, [True, True, True, False, False]])
    output, weights = layer(x, mask=real[:, None, None, :])
    assert (weights[1, :, :, 3:] == 0).all()
    assert (weights[0] > 0).all()
    torch.testing.assert_close(output[1, :3], layer(x[1, :3])[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((13, 6), r"d_model = 13 cannot be split into 6 heads .* 2.17"),
        ((12, 6, 4), "6 query heads cannot be shared evenly by 4"),
        ((12, 6, 12), "6 query heads cannot be shared evenly by 12"),
        ((0, 6), "d_model is 0"),
        ((12, 0), "n_heads is 0"),
        ((12, -3), "n_heads is -3"),
        ((12, 6, 0), "n_kv_heads is 0"),
        ((12, 6, None, 0), "d_k is 0"),
        ((12, 6, None, 5, -1), "d_v is -1"),
        ((13, 6, None, 5), "d_model = 13 cannot be split"),
        ((5, 6), "d_model = 5 cannot be split into 6"),
    ],
)
def test_impossible_sizes_are_refused_with_their_numbers(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(*arguments)


def test_odd_widths_are_possible_when_they_are_given():
    layer = MultiHeadAttention(13, 6, d_k=5, d_v=2)
    assert layer(torch.randn(3, 13))[0].shape == (3, 13)


@pytest.mark.parametrize("dropout", [-0.01, 1.5, math.nan])
def test_a_dropout_that_is_no_probability_is_refused(dropout):
    with pytest.raises(ValueError, match="from 0 to 1"):
        MultiHeadAttention(12, 6, dropout=dropout)


def test_inputs_that_do_not_fit_are_refused_with_their_numbers():
    layer = make()
    x, y = inputs((B, N_Q, D), (B, N_K, D))
    cases = [
        ((x[..., :11],), "query is 11 wide; this layer takes d_model = 12"),
        ((x, y[..., :7]), "key is 7 wide"),
        ((x, y, y[..., :7]), "value is 7 wide"),
        ((x[0, 0],), "query has 1 axes"),
        ((x[None],), "query has 4 axes"),
        ((x, y[:1]), r"Query \(2, 5, 12\), key \(1, 7, 12\)"),
        ((x, y[0]), "same batch size"),
        ((x[:1], y), "same batch size"),
        ((x, y, y[:, :4]), "7 keys and 4 values"),
    ]
    for arguments, message in cases:
        with pytest.raises(SizeError, match=message):
            layer(*arguments)
    with pytest.raises(InputError, match="value was given without a key"):
        layer(x, None, y)


def test_gates_and_masks_that_do_not_fit_are_refused_with_their_numbers():
    layer, x = make(), inputs((B, N_Q, D))
    for shape in ((H + 1,), (1,), (B + 1, H), (B, H, 1), ()):
        with pytest.raises(SizeError, match=r"each of its 6 heads"):
            layer(x, gates=torch.ones(shape))
    with pytest.raises(SizeError, match="does not broadcast"):
        layer(x, mask=torch.ones(B, N_Q, N_Q, dtype=torch.bool))
    with pytest.raises(SizeError, match="does not broadcast"):
        layer(x[0], mask=torch.ones(B, H, N_Q, N_Q, dtype=torch.bool))
