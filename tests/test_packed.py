"""A packed model runs by shorter ways: it gives what its plain layers give."""

import copy

import pytest
import torch
from torch import nn

from mha_core import pack
from mha_core.cached import KeyValues
from mha_core.families.bert import Encoder, EncoderConfig
from mha_core.families.classroom import Classroom, ClassroomConfig
from mha_core.families.gpt2 import Gpt2, Gpt2Config
from mha_core.families.llama import Llama, LlamaConfig

SIZES = {"vocab_size": 31, "d_model": 24, "n_layers": 3, "d_ff": 256, "max_positions": 80}
KINDS = {
    "bert": lambda: Encoder(EncoderConfig(**SIZES, n_heads=6)),
    "gpt2": lambda: Gpt2(Gpt2Config(**SIZES, n_heads=6)),
    "llama": lambda: Llama(LlamaConfig(**SIZES, n_heads=3, n_kv_heads=1, d_k=128)),
    "classroom": lambda: Classroom(ClassroomConfig(**SIZES, n_heads=6, turning=1, windows=(0, 2, 0))),
}
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def plain_and_packed(kind):
    """A model with random numbers of which each matters, and a packed copy."""
    torch.manual_seed(0)
    plain = KINDS[kind]().eval()
    for parameter in plain.parameters():
        nn.init.normal_(parameter, std=0.3)
    return plain, pack(copy.deepcopy(plain))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("texts", "n"), [(1, 1), (2, 7), (2, 70)])
def test_a_packed_model_gives_the_states_and_weights_of_the_plain_one(kind, texts, n):
    plain, packed = plain_and_packed(kind)
    ids = torch.randint(31, (texts, n))
    with torch.inference_mode():
        expected, found = plain(ids), packed(ids)
    torch.testing.assert_close(found.stacked(), expected.stacked(), **CLOSE)
    torch.testing.assert_close(found.hidden, expected.hidden, **CLOSE)
    assert not any(parameter.requires_grad for parameter in packed.parameters())
    assert set(packed.state_dict()) == set(plain.state_dict())


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_text_read_in_pieces_gives_the_rows_of_the_whole(kind):
    plain, packed = plain_and_packed(kind)
    ids, stores = torch.tensor([[2, 7, 19, 5, 30, 3, 8]]), [KeyValues(2) for _ in range(3)]
    with torch.inference_mode():
        whole = plain(ids)
        for start, stop in ((0, 2), (2, 5), (5, 6), (6, 7)):
            found = packed(ids[:, start:stop], stores=stores)
            torch.testing.assert_close(found.hidden, whole.hidden[:, start:stop], **CLOSE)
            torch.testing.assert_close(found.stacked(), whole.stacked()[..., start:stop, :stop], **CLOSE)
