"""Packed linear layers: the same numbers as plain ones, and the plain way wherever packing does not fit."""

import copy
import math
import mmap
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import mha_core
from mha_core import (
    EncoderConfig,
    ModelError,
    PackedLinear,
    SizeError,
    layouts,
    multihead,
    pack,
    self_attention,
)
from mha_core import memory as memory_module
from mha_core import packed as packed_module
from mha_core.families import bert as encoder_module
from mha_core.families.family import NextHead
from mha_core.self_attention import attend_to_itself

NEEDS_OPERATORS = pytest.mark.skipif(
    not layouts.packing_works(), reason="this torch lacks oneDNN's operators"
)


OF_ONEDNN = [pytest.param(name, marks=NEEDS_OPERATORS) for name in ("columns", "onednn")]


@pytest.fixture(autouse=True, params=["panels", *OF_ONEDNN])
def layout(request, monkeypatch):
    """Every test is held for all ways in which a matrix can lie; 12 of 36 columns make a panel here."""
    monkeypatch.setattr(layouts, "NARROWEST", 9)
    monkeypatch.setattr(layouts, "WIDTH", 12)
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, request.param)
    return request.param


def pair(bias=True):
    torch.manual_seed(0)
    plain = nn.Linear(13, 36, bias=bias)
    return plain, PackedLinear(copy.deepcopy(plain))


def is_reordered(linear):
    kept = linear._parameters["weight"]
    if linear.layout == "panels":
        return kept.shape == (3, 13, 12)
    return kept.is_mkldnn if linear.layout == "onednn" else kept.shape == (36, 13) and kept.stride(0) == 1


@pytest.fixture
def calls(monkeypatch):
    """How often the packed way was taken."""
    taken = []
    run = PackedLinear._run

    def counted(self, *arguments, **named):
        taken.append(arguments)
        return run(self, *arguments, **named)

    monkeypatch.setattr(PackedLinear, "_run", counted)
    return taken


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(13,), (1, 13), (2, 5, 13), (2, 3, 5, 13)])
def test_packed_gives_what_plain_gives(bias, shape, calls):
    plain, packed = pair(bias)
    x = torch.randn(shape)
    torch.testing.assert_close(packed(x), plain(x), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(packed.gelu(x), F.gelu(plain(x)), atol=1e-5, rtol=1e-5)
    assert len(calls) == 2


def test_rows_that_do_not_lie_together_in_memory_are_read_right(calls):
    plain, packed = pair()
    x = torch.randn(13, 7, 5).permute(2, 1, 0)
    torch.testing.assert_close(packed(x), plain(x), atol=1e-5, rtol=1e-5)
    assert calls


def test_without_the_operators_the_plain_way_gives_the_same(monkeypatch, calls):
    plain, _ = pair()
    monkeypatch.setattr(layouts, "packing_works", lambda: False)
    monkeypatch.setattr(packed_module, "packing_works", lambda: False)
    assert layouts.layout_for() != "onednn"
    packed = PackedLinear(plain, "onednn")
    x = torch.randn(5, 13)
    torch.testing.assert_close(packed(x), plain(x))
    torch.testing.assert_close(packed.gelu(x), F.gelu(plain(x)))
    assert not calls


@pytest.mark.parametrize(("plain", "gelu"), [(0.01, 0.01), (0.01, 0.0), (0.0, 0.01)])
def test_operators_that_give_wrong_numbers_are_not_used(plain, gelu, monkeypatch):
    class Wrong:
        def _reorder_linear_weight(self, weight):
            return weight

        def _linear_pointwise(self, x, weight, bias, activation, *_):
            result = F.linear(x, weight, bias)
            return F.gelu(result) + gelu if activation == "gelu" else result + plain

    monkeypatch.setattr(torch.ops, "mkldnn", Wrong())
    assert not layouts.packing_works.__wrapped__()
    monkeypatch.setattr(torch.ops, "mkldnn", object())
    assert not layouts.packing_works.__wrapped__()


def test_a_large_matrix_beside_columns_lies_in_the_order_of_onednn(layout, monkeypatch):
    if layout != "columns":
        pytest.skip("columns alone are left for it")
    monkeypatch.setattr(packed_module, "LARGE", 13 * 36)
    plain, packed = pair()
    assert packed._parameters["weight"].is_mkldnn
    small = PackedLinear(nn.Linear(13, 35))
    assert not small._parameters["weight"].is_mkldnn
    x = torch.randn(5, 13)
    torch.testing.assert_close(packed(x), plain(x), atol=1e-5, rtol=1e-5)
    plain, packed = attention()
    for mine, theirs in zip(packed(x[None]), plain(x[None]), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("bias", [False, True])
def test_a_head_that_predicts_the_next_token_gives_what_its_matrix_says(bias, layout, monkeypatch):
    torch.manual_seed(0)
    head, taken = NextHead(13, 36, bias=bias).requires_grad_(requires_grad=False), []
    monkeypatch.setattr(
        packed_module, "times_packed", lambda *given: taken.append(given) or layouts.times_packed(*given)
    )
    x = torch.randn(2, 5, 13)
    expected = x.double() @ head.weight.double().T + (head.bias.double() if bias else 0)
    torch.testing.assert_close(head(x), expected.float(), atol=1e-5, rtol=1e-5)
    assert len(taken) == (layout != "panels" and not bias)
    x.requires_grad_()
    torch.testing.assert_close(head(x), expected.float(), atol=1e-5, rtol=1e-5)
    assert head(x).requires_grad
    head.requires_grad_()
    assert head(x.detach()).requires_grad
    assert len(taken) == (layout != "panels" and not bias), "gradients go torch's own way"
    head.double()
    torch.testing.assert_close(head(x.double()), expected, atol=1e-5, rtol=1e-5)


def test_what_is_packed_while_it_trains_drops_nothing_out():
    plain, _ = pair()
    x = torch.randn(5, 13)
    packed = pack(nn.Sequential(copy.deepcopy(plain), nn.Dropout(0.5)).train())
    torch.testing.assert_close(packed(x), plain(x).detach(), atol=1e-5, rtol=1e-5)


def test_what_packing_does_not_fit_takes_the_plain_way(calls):
    plain, packed = pair()
    x = torch.randn(5, 13)
    for other in (x.clone().requires_grad_(), torch.empty(0, 13)):
        torch.testing.assert_close(packed(other), plain(other))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert packed(x).dtype == torch.bfloat16
    packed.double()
    torch.testing.assert_close(packed(x.double()), plain.double()(x.double()))
    packed.to("meta")
    assert packed(x.to("meta")).shape == (5, 36)
    assert not calls


def test_gradients_pass_through_it_to_its_input():
    plain, packed = pair()
    x = torch.randn(5, 13, requires_grad=True)
    ours = torch.autograd.grad(packed(x).pow(2).sum(), x)
    theirs = torch.autograd.grad(plain(x).pow(2).sum(), x)
    torch.testing.assert_close(ours, theirs)


def test_weights_loaded_since_are_the_ones_that_count():
    plain, packed = pair()
    x = torch.randn(5, 13)
    packed(x)
    other = pair()[0]
    with torch.no_grad():
        other.weight[3] = 2.0
        other.bias[1] = -5.0
    packed.load_state_dict(other.state_dict())
    torch.testing.assert_close(packed(x), other(x), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(packed(x), plain(x))
    assert is_reordered(packed)


def test_the_plain_weight_is_given_back_to_the_last_bit_and_cannot_be_changed_unnoticed():
    plain, packed = pair()
    assert torch.equal(packed.weight, plain.weight)
    assert torch.equal(packed.state_dict()["weight"], plain.weight)
    with torch.no_grad(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        packed.weight.view(13, 36)[3] = 2.0


def add_one(layer):
    layer.weight += 1


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda layer: layer.weight.data.zero_(),
        lambda layer: layer.weight.data.__setitem__(3, 2.0),
        lambda layer: layer.weight.__setitem__(3, 2.0),
        lambda layer: layer.weight.mul_(2),
        lambda layer: nn.init.normal_(layer.weight),
        lambda layer: setattr(layer.weight, "data", torch.zeros(36, 13)),
        add_one,
    ],
)
def test_a_packed_weight_refuses_every_change_that_would_change_nothing(change, grad):
    plain, packed = pair()
    x = torch.randn(5, 13)
    with torch.set_grad_enabled(grad), pytest.raises(ModelError, match="changing it would change nothing"):
        change(packed)
    torch.testing.assert_close(packed(x), plain(x), atol=1e-5, rtol=1e-5)
    assert type(packed.weight @ x.T) is torch.Tensor


def test_a_weight_in_rows_is_changed_through_its_data():
    packed = PackedLinear(pair()[0], "rows")
    packed.weight.data.zero_()
    assert (packed(torch.randn(5, 13)) == packed.bias).all()


def test_a_packed_weight_is_held_once():
    _, packed = pair()
    held = [x for x in [*vars(packed).values(), *packed._parameters.values()] if isinstance(x, torch.Tensor)]
    assert sorted(x.numel() for x in held) == [36, 36 * 13]
    assert is_reordered(packed)


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_a_copy_is_packed_too_and_free_of_the_first(way, calls):
    plain, packed = pair()
    x = torch.randn(5, 13)
    other = copy.deepcopy(packed) if way == "deepcopy" else pickle.loads(pickle.dumps(packed))  # noqa: S301
    packed.load_state_dict({name: tensor * 0 for name, tensor in packed.state_dict().items()})
    torch.testing.assert_close(other(x), plain(x), atol=1e-5, rtol=1e-5)
    assert calls
    assert is_reordered(other)
    assert set(other.state_dict()) == {"weight", "bias"}


def test_a_copy_of_a_plain_one_is_free_of_it():
    packed = PackedLinear(pair()[0], "rows")
    other, before = copy.deepcopy(packed), packed.weight.clone()
    other.weight[3] = 2.0
    assert torch.equal(packed.weight, before)
    assert not torch.equal(other.weight, before)


def test_a_whole_encoder_packed_gives_the_same_and_is_frozen():
    torch.manual_seed(0)
    encoder = encoder_module.Encoder(EncoderConfig(31, 12, 2, 3, 17)).eval()
    ids = torch.arange(14).view(2, 7)
    with torch.no_grad():
        expected = encoder(ids)
    packed = pack(copy.deepcopy(encoder))
    output = packed(ids)
    assert not any(p.requires_grad for p in packed.parameters())
    assert all(type(m) is not nn.Linear for m in packed.modules())
    assert set(packed.state_dict()) == set(encoder.state_dict())
    torch.testing.assert_close(output.hidden, expected.hidden, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(output.stacked(), expected.stacked(), atol=1e-5, rtol=1e-5)


def attention(layout=None, bias=True):
    torch.manual_seed(1)
    plain = mha_core.MultiHeadAttention(13, 6, 3, d_k=12, d_v=12, bias=bias).eval()
    return plain, pack(copy.deepcopy(plain), layout)


@pytest.mark.parametrize("bias", [True, False])
def test_matrices_that_read_the_same_are_one_block_held_once_and_give_the_same(bias, layout, monkeypatch):
    plain, packed = attention(bias=bias)
    x = torch.randn(2, 5, 13)
    products = []
    monkeypatch.setattr(
        packed_module, "times", lambda *given: products.append(given) or layouts.times(*given)
    )
    for mine, theirs in zip(packed(x), plain(x), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)
    shapes = {
        "panels": [(12, 13, 12), (1, 72, 13)],
        "columns": [(144, 13), (13, 72)],
        "onednn": [(72, 13), (36, 13), (36, 13), (13, 72)],
    }
    assert [tuple(kept.shape) for _, kept, _ in products] == shapes[layout]
    if layout == "onednn":
        return
    storages = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in packed.parameters()}
    assert sum(storages.values()) == 4 * sum(p.numel() for p in plain.parameters())
    assert torch.equal(packed.W_k.weight, plain.W_k.weight)


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="pages of another size are asked for on Linux")
@pytest.mark.parametrize("way", ["as it is", "pickle", "deepcopy", "other weights"])
def test_matrices_in_huge_pages_are_the_same_and_held_once(way, layout, monkeypatch):
    monkeypatch.setattr(memory_module, "LASTING", 0)
    if layout == "onednn":
        pytest.skip("oneDNN has its own memory")
    plain, packed = attention(layout)
    block, last = packed.W_q.block.kept, packed.W_o._parameters["weight"]
    assert block.untyped_storage().data_ptr() == last.untyped_storage().data_ptr()
    assert block.untyped_storage().nbytes() < 4 * sum(p.numel() for p in plain.parameters()) + (4 << 20)
    if way == "pickle":
        data = pickle.dumps(packed)
        assert len(data) < 50_000, "not the pages"
        packed = pickle.loads(data)  # noqa: S301
    elif way == "deepcopy":
        packed = copy.deepcopy(packed)
    elif way == "other weights":
        plain.W_o.weight.data.mul_(2)
        packed.load_state_dict(plain.state_dict())
    x = torch.randn(2, 5, 13)
    for mine, theirs in zip(packed(x), plain(x), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)
    assert torch.equal(packed.W_k.weight, plain.W_k.weight)


def test_parts_of_one_block_asked_for_in_another_order_are_each_their_own():
    plain, packed = attention()
    x = torch.randn(5, 13)
    q, v, k = packed_module.together(x, packed.W_q, packed.W_v, packed.W_k)
    for mine, theirs in ((k, plain.W_k), (v, plain.W_v), (q, plain.W_q)):
        torch.testing.assert_close(mine, theirs(x), atol=1e-5, rtol=1e-5)


def test_weights_loaded_into_one_block_are_the_ones_that_count():
    _, packed = attention()
    other = mha_core.MultiHeadAttention(13, 6, 3, d_k=12, d_v=12).eval()
    packed.load_state_dict(other.state_dict())
    x = torch.randn(5, 13)
    if packed.W_q.layout != "onednn":
        linears = (packed.W_q, packed.W_k, packed.W_v)
        assert packed.W_q.block.is_of(linears), "they are still read in one product"
    torch.testing.assert_close(packed(x)[0], other(x)[0], atol=1e-5, rtol=1e-5)
    packed.W_k.load_state_dict(pack(nn.Sequential(nn.Linear(13, 36)))[0].state_dict())
    assert not torch.allclose(packed(x)[0], other(x)[0])
    assert torch.equal(packed.W_q.weight, other.W_q.weight)
    assert torch.equal(packed.W_v.weight, other.W_v.weight)


def alone(monkeypatch):
    """A layer that reads texts alone, and how often it took the short way to its weights."""
    torch.manual_seed(0)
    plain = mha_core.MultiHeadAttention(24, 6).eval()
    packed, taken = pack(copy.deepcopy(plain)), []

    def counted(*given):
        taken.append(attend_to_itself(*given))
        return taken[-1]

    monkeypatch.setattr(multihead, "attend_to_itself", counted)
    return plain, packed, taken


@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize(("size", "long", "piece"), [
    ((1, 5, 24), 64, 1 << 18), ((3, 5, 24), 64, 1 << 18), ((3, 7, 24), 6, 1 << 18), ((2, 20, 24), 64, 801),
])  # fmt: skip
def test_texts_that_attend_to_themselves_take_the_short_way_to_the_same(
    size, long, piece, into, layout, monkeypatch
):
    monkeypatch.setattr(self_attention, "LONG", long)
    monkeypatch.setattr(self_attention, "PIECE", piece)
    plain, packed, taken = alone(monkeypatch)
    x = torch.randn(size)
    room = torch.full((size[0], 6, size[1], size[1]), math.nan) if into else None
    with torch.inference_mode():
        (output, weights), (theirs, looked) = packed(x, out=room), of_torch(plain, x)
    torch.testing.assert_close(output, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights, looked, atol=1e-5, rtol=1e-5)
    assert [one is not None for one in taken] == [layout != "onednn"]
    assert not into or weights is room


def of_torch(layer, x):
    """Torch's own layer on the same weights."""
    return layer.to_torch().eval()(x, x, x, need_weights=True, average_attn_weights=False)


@pytest.mark.parametrize(
    "what", ["a mask", "gates", "causal", "details", "another text", "a hook", "a new weight", "no batch"]
)
def test_what_the_short_way_does_not_fit_takes_the_general_one(what, monkeypatch):
    plain, packed, taken = alone(monkeypatch)
    x, told = torch.randn(2, 5, 24), []
    named = {
        "a mask": {"mask": torch.rand(2, 6, 5, 5) > 0.3}, "gates": {"gates": torch.rand(6)},
        "causal": {"is_causal": True}, "details": {"details": True}, "another text": {"key": torch.randn(2, 9, 24)},
    }.get(what, {})  # fmt: skip
    if what == "a hook":
        packed.W_o.register_forward_hook(lambda *given: told.append(given))
    if what == "a new weight":
        for layer in (plain, packed):
            layer.W_k.weight = nn.Parameter(torch.full((24, 24), 0.01), requires_grad=False)
    x = x[0] if what == "no batch" else x
    with torch.inference_mode():
        found, expected = packed(x, **named), plain(x, **named)
    torch.testing.assert_close(found[0], expected[0], atol=1e-5, rtol=1e-5)
    assert all(one is None for one in taken)
    assert len(told) == (what == "a hook")


def test_room_of_another_shape_is_refused_on_the_short_way_too(monkeypatch):
    _, packed, _ = alone(monkeypatch)
    another_type = torch.empty(1, 6, 5, 5, dtype=torch.float64)
    for room in (torch.empty(1, 6, 5, 6), another_type, torch.empty(1, 6, 5, 10)[..., ::2]):
        with pytest.raises(SizeError, match="out"), torch.inference_mode():
            packed(torch.randn(1, 5, 24), out=room)
    with pytest.raises(SizeError, match="24"):
        packed(torch.randn(1, 5, 25))


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "to another type and back", "gradients", "vmap"])
def test_what_one_product_does_not_fit_gives_the_same(way):
    plain, packed = attention()
    x = torch.randn(2, 5, 13)
    expected = plain(x)[0]
    if way == "gradients":
        x.requires_grad_()
    if way == "deepcopy":
        packed = copy.deepcopy(packed)
    elif way == "pickle":
        packed = pickle.loads(pickle.dumps(packed))  # noqa: S301
    elif "type" in way:
        packed = packed.double().float()
    found = torch.vmap(lambda one: packed(one)[0])(x) if way == "vmap" else packed(x)[0]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    if way == "gradients":
        ours, theirs = (torch.autograd.grad(of(x)[0].pow(2).sum(), x)[0] for of in (packed, plain))
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
