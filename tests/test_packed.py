"""Packed linear layers: the same numbers as plain ones, and the plain way wherever packing does not fit."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mha_core import EncoderConfig, ModelError, PackedLinear, pack
from mha_core import packed as packed_module
from mha_core.families import bert as encoder_module

NEEDS_OPERATORS = pytest.mark.skipif(
    not packed_module.packing_works(), reason="this torch lacks oneDNN's operators, so nothing is packed"
)


def pair(bias=True):
    torch.manual_seed(0)
    plain = nn.Linear(13, 29, bias=bias)
    return plain, PackedLinear(copy.deepcopy(plain))


@pytest.fixture
def calls(monkeypatch):
    """How often the packed way was taken."""
    taken = []
    run = PackedLinear._run

    def counted(self, *arguments):
        taken.append(arguments)
        return run(self, *arguments)

    monkeypatch.setattr(PackedLinear, "_run", counted)
    return taken


@NEEDS_OPERATORS
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(13,), (1, 13), (2, 5, 13), (2, 3, 5, 13)])
def test_packed_gives_what_plain_gives(bias, shape, calls):
    plain, packed = pair(bias)
    x = torch.randn(shape)
    torch.testing.assert_close(packed(x), plain(x), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(packed.gelu(x), F.gelu(plain(x)), atol=1e-5, rtol=1e-5)
    assert len(calls) == 2


@NEEDS_OPERATORS
def test_rows_that_do_not_lie_together_in_memory_are_read_right(calls):
    plain, packed = pair()
    x = torch.randn(13, 7, 5).permute(2, 1, 0)
    torch.testing.assert_close(packed(x), plain(x), atol=1e-5, rtol=1e-5)
    assert calls


def test_without_the_operators_the_plain_way_gives_the_same(monkeypatch, calls):
    plain, _ = pair()
    monkeypatch.setattr(packed_module, "packing_works", lambda: False)
    packed = PackedLinear(plain)
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
    assert not packed_module.packing_works.__wrapped__()
    monkeypatch.setattr(torch.ops, "mkldnn", object())
    assert not packed_module.packing_works.__wrapped__()


def test_what_is_packed_while_it_trains_drops_nothing_out():
    plain, _ = pair()
    x = torch.randn(5, 13)
    packed = pack(nn.Sequential(copy.deepcopy(plain), nn.Dropout(0.5)).train())
    torch.testing.assert_close(packed(x), plain(x).detach(), atol=1e-5, rtol=1e-5)


def test_what_is_laid_by_columns_while_it_trains_drops_nothing_out():
    plain, _ = pair()
    x = torch.randn(5, 13)
    laid = packed_module.lay_by_columns(nn.Sequential(copy.deepcopy(plain), nn.Dropout(0.5)).train())
    torch.testing.assert_close(laid(x), plain(x).detach(), atol=1e-5, rtol=1e-5)


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
    assert packed(x.to("meta")).shape == (5, 29)
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
    assert packed._parameters["weight"].is_mkldnn == packed_module.packing_works(), (
        "they are packed as the first were"
    )


@NEEDS_OPERATORS
def test_the_plain_weight_is_given_back_to_the_last_bit_and_cannot_be_changed_unnoticed():
    plain, packed = pair()
    assert torch.equal(packed.weight, plain.weight)
    assert torch.equal(packed.state_dict()["weight"], plain.weight)
    with torch.no_grad(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        packed.weight.view(13, 29)[3] = 2.0


def add_one(layer):
    layer.weight += 1


@NEEDS_OPERATORS
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda layer: layer.weight.data.zero_(),
        lambda layer: layer.weight.data.__setitem__(3, 2.0),
        lambda layer: layer.weight.__setitem__(3, 2.0),
        lambda layer: layer.weight.mul_(2),
        lambda layer: nn.init.normal_(layer.weight),
        lambda layer: setattr(layer.weight, "data", torch.zeros(29, 13)),
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


def test_a_weight_that_is_not_packed_is_changed_through_its_data(monkeypatch):
    monkeypatch.setattr(packed_module, "packing_works", lambda: False)
    _, packed = pair()
    packed.weight.data.zero_()
    assert (packed(torch.randn(5, 13)) == packed.bias).all()


@NEEDS_OPERATORS
def test_a_packed_weight_is_held_once():
    _, packed = pair()
    held = [x for x in [*vars(packed).values(), *packed._parameters.values()] if isinstance(x, torch.Tensor)]
    assert sorted(tuple(x.shape) for x in held) == [(29,), (29, 13)]
    assert sum(x.is_mkldnn for x in held) == 1


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_a_copy_is_packed_too_and_free_of_the_first(way, calls):
    plain, packed = pair()
    x = torch.randn(5, 13)
    other = copy.deepcopy(packed) if way == "deepcopy" else pickle.loads(pickle.dumps(packed))  # noqa: S301
    packed.load_state_dict({name: tensor * 0 for name, tensor in packed.state_dict().items()})
    torch.testing.assert_close(other(x), plain(x), atol=1e-5, rtol=1e-5)
    assert bool(calls) == packed_module.packing_works()
    assert set(other.state_dict()) == {"weight", "bias"}


def test_a_copy_of_a_plain_one_is_free_of_it(monkeypatch):
    monkeypatch.setattr(packed_module, "packing_works", lambda: False)
    _, packed = pair()
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


def test_matrices_laid_by_columns_are_held_once_and_give_the_same():
    plain, _ = pair()
    laid = packed_module.lay_by_columns(nn.Sequential(copy.deepcopy(plain)))
    assert laid[0].weight.stride() == (1, 29)
    assert laid[0].weight.untyped_storage().nbytes() == 4 * 13 * 29
    assert not laid[0].weight.requires_grad
    x = torch.randn(5, 13)
    torch.testing.assert_close(laid(x), plain(x), atol=1e-5, rtol=1e-5)
