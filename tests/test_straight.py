"""Layers written down as one function each give what the modules give, and no change to a module is overlooked."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from mha_core import ModelError, layouts, pack
from mha_core.cached import KeyValues
from mha_core.families.bert import Encoder, EncoderConfig
from mha_core.families.classroom import Classroom, ClassroomConfig
from mha_core.families.gpt2 import Gpt2, Gpt2Config
from mha_core.families.llama import Llama, LlamaConfig
from mha_core.stack import ACTIVATIONS, Stack

SIZES = {"vocab_size": 31, "d_model": 24, "n_layers": 3, "d_ff": 256, "max_positions": 80}
KINDS = {
    "bert": lambda: Encoder(EncoderConfig(**SIZES, n_heads=6)),
    "gpt2": lambda: Gpt2(Gpt2Config(**SIZES, n_heads=6)),
    "llama": lambda: Llama(LlamaConfig(**SIZES, n_heads=3, n_kv_heads=1, d_k=128)),
    "classroom": lambda: Classroom(ClassroomConfig(**SIZES, n_heads=6, turning=1, windows=(0, 0, 0))),
}
IDS = torch.tensor([[2, 7, 19, 5, 30, 3, 8], [2, 11, 4, 3, 0, 9, 1]])


@pytest.fixture(autouse=True, params=["panels", "columns"])
def layout(request, monkeypatch):
    """Every test is held for both orders in which layers can be had so."""
    if request.param == "columns" and not layouts.packing_works():
        pytest.skip("this torch lacks oneDNN's operators")
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, request.param)


@pytest.fixture(params=list(KINDS))
def stack(request):
    return stack_of(request.param)


@pytest.fixture
def taken(monkeypatch):
    """Grows by one whenever a run goes straight."""
    found, straight = [], Stack._run_straight
    monkeypatch.setattr(
        Stack, "_run_straight", lambda self, *given: found.append(1) or straight(self, *given)
    )
    return found


def stack_of(kind):
    return wide(KINDS[kind]())


def wide(stack):
    """With random numbers of which each matters, packed."""
    torch.manual_seed(0)
    for parameter in stack.parameters():
        nn.init.normal_(parameter, std=0.3)
    return pack(stack)


def general(stack, ids=IDS):
    """States, weights and what the last layer gives, by the modules."""
    steps = list(stack.steps(ids))
    states = [step.x for step in steps] + [steps[-1].hidden]
    return states, [step.weights for step in steps], stack.finish(steps[-1].hidden)


def agree(output, expected):
    states, weights, hidden = expected
    for mine, other in zip(
        (*output.hidden_states, *output.weights, output.hidden), (*states, *weights, hidden), strict=True
    ):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=2e-6)
    assert output.stacked().data_ptr() == output.weights[0].data_ptr(), "one tensor holds all weights"


@pytest.mark.parametrize(("texts", "n"), [(1, 1), (1, 7), (2, 7), (2, 70)])
def test_states_and_weights_are_those_of_the_modules(stack, texts, n, taken):
    ids = torch.randint(31, (texts, n))
    with torch.inference_mode():
        agree(stack(ids), general(stack, ids))
    assert taken


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_is_the_modules_own(activation, taken):
    stack = wide(Encoder(EncoderConfig(**SIZES, n_heads=6, activation=activation)))
    with torch.inference_mode():
        agree(stack(IDS), general(stack))
    assert taken


def test_what_a_run_gave_stays_as_it_is(stack):
    with torch.inference_mode():
        first = stack(IDS)
        before = [each.clone() for each in (*first.hidden_states, *first.weights, first.hidden)]
        stack(IDS.flip(1))
    assert all(map(torch.equal, before, (*first.hidden_states, *first.weights, first.hidden)))
    assert len({each.data_ptr() for each in first.hidden_states}) == len(first.hidden_states)


def a_new_norm(stack):
    stack.layer(1).output_norm.weight = nn.Parameter(torch.full((24,), 0.7), requires_grad=False)


def a_norms_numbers(stack):
    stack.layer(2).attention_norm.weight.data.mul_(1.5)


def another_matrix(stack):
    stack.layer(1).down = nn.Linear(256, 24)


def other_weights(stack):
    stack.load_state_dict({name: 0.9 * tensor for name, tensor in stack.state_dict().items()})


def another_layer(stack):
    stack.layers[1] = copy.deepcopy(stack.layer(0))


CHANGES = (a_new_norm, a_norms_numbers, another_matrix, other_weights, another_layer)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_to_a_module_is_used(stack, change):
    with torch.inference_mode():
        before = stack(IDS).hidden
    change(stack)
    with torch.inference_mode():
        after = stack(IDS)
        agree(after, general(stack))
    assert not torch.allclose(after.hidden, before, atol=1e-3)


def test_a_packed_weight_still_refuses_to_be_changed(stack):
    stack(IDS)
    with pytest.raises(ModelError):
        stack.layer(0).down.weight.data.zero_()


@pytest.mark.parametrize("told_of", ["one module", "every module"])
def test_a_hook_is_told_and_may_change_what_a_module_gives(stack, told_of, taken):
    with torch.inference_mode():
        before, norm = stack(IDS).hidden, stack.layer(1).output_norm
        handle = (
            norm.register_forward_hook(lambda module, given, found: 2 * found)
            if told_of == "one module"
            else register_module_forward_hook(
                lambda module, given, found: 2 * found if module is norm else None
            )
        )
        agree(stack(IDS), general(stack))
        assert not torch.allclose(stack(IDS).hidden, before, atol=1e-3)
        handle.remove()
        assert torch.equal(stack(IDS).hidden, before)
    assert len(taken) == 2


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_a_copy_has_layers_of_its_own(stack, way):
    with torch.inference_mode():
        before = stack(IDS).hidden
        other = copy.deepcopy(stack) if way == "deepcopy" else pickle.loads(pickle.dumps(stack))  # noqa: S301
        a_norms_numbers(other)
        agree(other(IDS), general(other))
        assert torch.equal(stack(IDS).hidden, before)


@pytest.mark.parametrize(
    "way", ["gates", "padding", "details", "no weights", "doubles", "gradients", "autocast"]
)
def test_what_it_does_not_fit_goes_through_the_modules(stack, way, taken):
    stack(IDS)
    named = {
        "gates": {"gates": torch.ones(3, stack.config.n_heads)},
        "padding": {"real": torch.arange(7).expand(2, 7) < 6},
        "details": {"details_of": 1},
        "no weights": {"need_weights": False},
    }.get(way, {})
    if way == "doubles":
        stack.double()
    if way == "gradients":
        stack.layer(0).output_norm.weight.requires_grad_()
    with torch.autocast("cpu", enabled=way == "autocast"):
        output = stack(IDS, **named)
    assert len(taken) == 1
    assert output.hidden.requires_grad == (way == "gradients")
    if way in ("gates", "details", "doubles", "gradients"):
        expected = general(stack)[2]
        torch.testing.assert_close(output.hidden, expected, atol=2e-6, rtol=2e-6)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_text_read_in_pieces_gives_the_rows_of_the_whole(kind, taken):
    stack, ids = stack_of(kind), IDS[:1]
    stores = [KeyValues(2) for _ in range(3)]
    with torch.inference_mode():
        whole = stack(ids)
        stack(ids[:, :4], stores=stores)
        for at in range(4, 7):
            found = stack(ids[:, at : at + 1], stores=stores)
            torch.testing.assert_close(found.stacked()[:, 0, :, 0], whole.stacked()[:, 0, :, at, : at + 1])
            torch.testing.assert_close(found.hidden[0, 0], whole.hidden[0, at], atol=2e-6, rtol=2e-5)
    assert len(taken) == 5


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("need_weights", [True, False])
def test_tokens_that_are_read_together_after_others_see_those_and_nothing_later(kind, need_weights):
    stack, ids, stores = stack_of(kind), IDS[:1], [KeyValues(2) for _ in range(3)]
    with torch.inference_mode():
        whole = stack(ids)
        for start, stop in ((0, 2), (2, 5), (5, 7)):
            found = stack(ids[:, start:stop], stores=stores, need_weights=need_weights)
            torch.testing.assert_close(found.hidden, whole.hidden[:, start:stop], atol=2e-6, rtol=2e-5)
            if need_weights:
                expected = whole.stacked()[..., start:stop, :stop]
                torch.testing.assert_close(found.stacked(), expected, atol=2e-6, rtol=2e-5)


def test_layers_with_windows_or_in_plain_rows_go_through_the_modules(taken):
    windowed = pack(Classroom(ClassroomConfig(**SIZES, n_heads=6, turning=1, windows=(0, 2, 0))), "panels")
    for stack in (windowed, pack(KINDS["bert"](), "rows"), KINDS["bert"]().eval()):
        with torch.inference_mode():
            agree(stack(IDS), general(stack))
    assert not taken
