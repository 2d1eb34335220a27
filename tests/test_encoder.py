"""The encoder: gates, padding, segments, one tensor for all weights, and nothing kept between calls."""

import hashlib
import threading

import pytest
import torch

from mha_core import Encoder, EncoderConfig, MaskedHead, SizeError, pack

CONFIG = EncoderConfig(vocab_size=31, d_model=15, n_layers=4, n_heads=3, d_ff=17, max_positions=11)
IDS = torch.tensor([[2, 7, 19, 5, 30, 3], [2, 11, 4, 3, 0, 0]])
REAL = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    encoder = Encoder(CONFIG)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return encoder.eval()


def digest(module):
    found = hashlib.sha256()
    for name, tensor in module.state_dict().items():
        found.update(name.encode() + tensor.numpy().tobytes())
    return found.hexdigest()


def test_it_gives_the_states_and_weights_of_every_layer(encoder):
    output = encoder(IDS)
    assert [tuple(state.shape) for state in output.hidden_states] == [(2, 6, 15)] * 5
    assert [tuple(weights.shape) for weights in output.weights] == [(2, 3, 6, 6)] * 4
    assert output.hidden is output.hidden_states[-1]
    torch.testing.assert_close(output.stacked().sum(-1), torch.ones(4, 2, 3, 6))


def test_a_padded_member_gives_what_it_gives_alone(encoder):
    together = encoder(IDS, real=REAL)
    alone = encoder(IDS[1:, :4])
    torch.testing.assert_close(together.stacked()[:, 1, :, :4, :4], alone.stacked()[:, 0])
    torch.testing.assert_close(together.hidden[1, :4], alone.hidden[0])
    assert (together.stacked()[:, 1, :, :, 4:] == 0).all()


def test_what_stands_in_the_padding_does_not_matter(encoder):
    other = IDS.clone()
    other[1, 4:] = 23
    one, two = encoder(IDS, real=REAL), encoder(other, real=REAL)
    assert torch.equal(one.stacked()[:, 1, :, :4], two.stacked()[:, 1, :, :4])
    assert torch.equal(one.hidden[1, :4], two.hidden[1, :4])


def test_positions_and_segments_matter(encoder):
    plain = encoder(IDS)
    segments = torch.tensor([[0, 0, 0, 1, 1, 1]] * 2)
    assert torch.equal(encoder(IDS, torch.zeros_like(IDS)).hidden, plain.hidden)
    assert not torch.allclose(encoder(IDS, segments).hidden, plain.hidden)
    assert not torch.allclose(encoder(IDS.flip(1)).hidden.flip(1), plain.hidden)


def test_a_gate_changes_no_weights_of_its_own_and_earlier_layers(encoder):
    gates = torch.ones(4, 3)
    gates[1, 2] = 0
    plain, gated = encoder(IDS), encoder(IDS, gates=gates)
    for layer in (0, 1):
        assert torch.equal(plain.weights[layer], gated.weights[layer])
    for layer in (2, 3):
        assert not torch.allclose(plain.weights[layer], gated.weights[layer])
    assert torch.equal(encoder(IDS, gates=torch.ones(4, 3)).hidden, plain.hidden)


def test_gates_differ_between_members_where_they_are_given_so(encoder):
    gates = torch.rand(4, 2, 3)
    together = encoder(IDS, gates=gates)
    for member in range(2):
        alone = encoder(IDS[member : member + 1], gates=gates[:, member])
        torch.testing.assert_close(together.hidden[member], alone.hidden[0])


@pytest.mark.parametrize("frozen", [False, True])
def test_gates_carry_gradient_through_a_frozen_model_too(encoder, frozen):
    encoder = pack(encoder) if frozen else encoder
    gates = torch.ones(4, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(encoder(IDS, gates=gates).hidden.pow(3).sum(), gates)
    step = torch.zeros(4, 3)
    step[2, 1] = 1e-2
    with torch.no_grad():
        up, down = (encoder(IDS, gates=1 + sign * step).hidden.double().pow(3).sum() for sign in (1, -1))
    assert gradient.shape == (4, 3)
    assert gradient[2, 1].item() == pytest.approx((up - down).item() / 2e-2, rel=2e-2)


def test_declining_weights_changes_no_state(encoder):
    full, bare = encoder(IDS, real=REAL), encoder(IDS, real=REAL, need_weights=False)
    torch.testing.assert_close(full.hidden[0], bare.hidden[0])
    assert bare.weights == ()
    with torch.no_grad():
        assert encoder(IDS, need_weights=False).whole is None


def test_under_autocast_it_gives_its_weights_as_well(encoder):
    with torch.no_grad():
        expected = encoder(IDS)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = encoder(IDS)
    torch.testing.assert_close(output.stacked().float(), expected.stacked(), atol=0.1, rtol=0)


def test_a_text_of_exactly_the_models_length_is_read(encoder):
    assert encoder(torch.arange(11)[None]).hidden.shape == (1, 11, 15)


@pytest.mark.parametrize("layer", [0, 3])
@pytest.mark.parametrize("need_weights", [True, False])
def test_details_of_one_layer_are_those_of_its_attention(encoder, layer, need_weights):
    with torch.inference_mode():
        output = encoder(IDS, real=REAL, details_of=layer, need_weights=need_weights)
        _, expected = encoder.layer(layer).attention(
            output.hidden_states[layer], mask=REAL[:, None, None, :], details=True
        )
    for name in ("q", "k", "v", "scores", "weights", "context", "contributions", "output"):
        torch.testing.assert_close(getattr(output.details, name), getattr(expected, name))
    assert len(output.weights) == (4 if need_weights else 0)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_weights_of_all_layers_are_one_tensor_uncopied(encoder, mode):
    with mode():
        output = encoder(IDS)
    assert output.stacked().data_ptr() == output.weights[0].data_ptr()
    with torch.enable_grad():
        trained = encoder(IDS)
    torch.testing.assert_close(trained.stacked().detach(), output.stacked())


def test_gradients_reach_every_parameter(encoder):
    encoder(IDS, real=REAL).hidden.pow(3).sum().backward()
    silent = {name for name, p in encoder.named_parameters() if not p.grad.abs().sum() > 1e-6}
    # A bias of the keys moves all scores of a row alike, which the softmax does not see.
    assert all(name.endswith("W_k.bias") for name in silent)


@pytest.mark.slow
def test_many_threads_with_gates_of_their_own_do_not_disturb_each_other(encoder):
    before = digest(encoder)
    gates = torch.rand(8, 4, 3)
    with torch.no_grad():
        expected = [encoder(IDS, gates=gates[i]).hidden for i in range(8)]
    wrong = []

    def work(i):
        with torch.no_grad():
            wrong.extend(
                i for _ in range(10) if not torch.equal(encoder(IDS, gates=gates[i]).hidden, expected[i])
            )

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert digest(encoder) == before


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_it_works_in_other_precisions(encoder, dtype):
    expected = encoder(IDS, real=REAL)
    with torch.inference_mode():
        output = encoder.to(dtype)(IDS, real=REAL, gates=torch.ones(4, 3))
    assert output.hidden.dtype == output.stacked().dtype == dtype
    torch.testing.assert_close(output.hidden.float()[0], expected.hidden[0], atol=0.2, rtol=0.1)


def test_a_masked_head_scores_every_piece(encoder):
    head = MaskedHead(CONFIG)
    assert head(encoder(IDS).hidden).shape == (2, 6, 31)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab_size": 0}, "vocab_size is 0"),
        ({"n_layers": 0}, "n_layers is 0"),
        ({"n_heads": -1}, "n_heads is -1"),
        ({"n_heads": 0}, "n_heads is 0"),
        ({"d_ff": 0}, "d_ff is 0"),
        ({"max_positions": 0}, "max_positions is 0"),
        ({"n_segments": 0}, "n_segments is 0"),
        ({"n_heads": 4}, "d_model = 15 cannot be split into 4 heads"),
        ({"activation": "swish9"}, "'swish9' is not one of gelu"),
    ],
)
def test_impossible_sizes_are_refused_with_their_numbers(change, message):
    with pytest.raises(SizeError, match=message):
        EncoderConfig(**{"vocab_size": 31, "d_model": 15, "n_layers": 4, "n_heads": 3, "d_ff": 17, **change})


def test_inputs_that_do_not_fit_are_refused_with_their_numbers(encoder):
    cases = [
        ({"ids": torch.zeros(1, 12, dtype=torch.long)}, "12 tokens were given; this model takes 11"),
        ({"ids": IDS[0]}, r"\(6,\) .* must be \(batch, n\)"),
        ({"ids": IDS, "segments": IDS[:, :3]}, "must be"),
        ({"ids": IDS, "gates": torch.ones(3, 4)}, "4 layers of 3 heads"),
        ({"ids": IDS, "gates": torch.ones(4, 5, 3)}, "4 layers of 3 heads"),
    ]
    for arguments, message in cases:
        with pytest.raises(SizeError, match=message):
            encoder(**arguments)
