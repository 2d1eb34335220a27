"""A settled model gives what its plain layers give, whichever library multiplies."""

import copy

import pytest
import torch
from torch import nn

from mha_core import load_model
from mha_core.engine import onednn as fast
from mha_core.engine.kv_cache import LayerKVCache
from mha_core.models.families.bert import Encoder, EncoderConfig
from mha_core.models.families.classroom import Classroom, ClassroomConfig
from mha_core.models.families.gpt2 import Gpt2, Gpt2Config
from mha_core.models.families.llama import Llama, LlamaConfig

SIZES = {"vocab_size": 31, "d_model": 24, "n_layers": 3, "d_ff": 256, "max_positions": 80}
KINDS = {
    "bert": lambda: Encoder(EncoderConfig(**SIZES, n_heads=6)),
    "gpt2": lambda: Gpt2(Gpt2Config(**SIZES, n_heads=6)),
    "llama": lambda: Llama(LlamaConfig(**SIZES, n_heads=3, n_kv_heads=1, d_k=128)),
    "classroom": lambda: Classroom(ClassroomConfig(**SIZES, n_heads=6, turning=1, windows=(0, 2, 0))),
}
PIECES = ((0, 2), (2, 5), (5, 6), (6, 7))
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
DECIDE = fast.onednn_is_faster.__wrapped__  # without its cache


@pytest.fixture(autouse=True)
def onednn(monkeypatch):
    """oneDNN multiplies, whether or not it is faster on this processor."""
    monkeypatch.setattr(fast, "onednn_is_faster", lambda: True)


def plain_and_settled(kind):
    """A model with random numbers of which each matters, and a settled copy."""
    torch.manual_seed(0)
    plain = KINDS[kind]().eval()
    for parameter in plain.parameters():
        nn.init.normal_(parameter, std=0.3)
    return plain, fast.freeze_for_inference(copy.deepcopy(plain))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("texts", "n"), [(1, 1), (2, 7), (2, 70)])
def test_a_settled_model_gives_the_states_and_weights_of_the_plain_one_whole_and_in_pieces(kind, texts, n):
    plain, settled = plain_and_settled(kind)
    ids, stores = torch.randint(31, (texts, n)), [LayerKVCache(2) for _ in range(3)]
    with torch.inference_mode():
        expected, result = plain(ids), settled(ids)
        moved = copy.deepcopy(settled).double()(ids)
        torch.testing.assert_close(result.weights, expected.weights, **CLOSE)
        torch.testing.assert_close(result.hidden, expected.hidden, **CLOSE)
        torch.testing.assert_close(moved.weights.float(), expected.weights, **CLOSE)
        for start, stop in PIECES if kind in ("gpt2", "llama") and n == 7 else ():
            piece = settled(ids[:1, start:stop], stores=stores)
            torch.testing.assert_close(piece.hidden, expected.hidden[:1, start:stop], **CLOSE)
            torch.testing.assert_close(piece.weights, expected.weights[:, :1, :, start:stop, :stop], **CLOSE)
    assert not any(parameter.requires_grad for parameter in settled.parameters())
    torch.testing.assert_close(settled.state_dict(), plain.state_dict(), rtol=0, atol=0)


def test_a_settled_layer_can_be_trained_again_and_a_changed_weight_is_used():
    linear = nn.Linear(5, 3)
    (settled,) = fast.freeze_for_inference(nn.Sequential(copy.deepcopy(linear)))
    x = torch.randn(4, 5)
    settled.requires_grad_(True)
    settled(x).square().sum().backward()
    linear(x).square().sum().backward()
    torch.testing.assert_close(settled.weight.grad, linear.weight.grad)
    settled.requires_grad_(False)
    settled.weight[1] += 1
    torch.testing.assert_close(settled(x)[:, 1], (linear(x)[:, 1] + x.sum(1)).detach())


@pytest.mark.parametrize("is_faster", [True, False])
def test_a_model_is_settled_where_that_is_faster(monkeypatch, is_faster):
    monkeypatch.setattr(fast, "onednn_is_faster", lambda: is_faster)
    model = load_model("classroom", device="cpu", shared=False)
    assert isinstance(model.encoder.layer(1).up, fast.OneDnnLinear) is is_faster


@pytest.mark.parametrize(
    ("maker", "instructions", "is_faster"),
    [("AuthenticAMD", "AVX512", True), ("AuthenticAMD", "AVX2", False), ("GenuineIntel", "AVX512", False)],
)
def test_the_processor_decides_who_multiplies(monkeypatch, maker, instructions, is_faster):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: instructions)
    monkeypatch.setattr(fast.Path, "read_text", lambda *_, **__: f"vendor_id\t: {maker}\n")
    assert DECIDE() is is_faster
