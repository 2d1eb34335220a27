"""The weights path under torch's transformations: vmap, and export with a length that stays free."""

import pytest
import torch
from torch import nn

from mha_core import scaled_dot_product_attention

HEADS = pytest.mark.parametrize("kv_heads", [6, 2])


def inputs(n, kv_heads, batch=5):
    torch.manual_seed(n)
    return tuple(torch.randn(batch, heads, n, 3) for heads in (6, kv_heads, kv_heads))


@HEADS
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_vmap_over_the_batch_gives_what_the_batch_gives(kv_heads, is_causal, grad):
    q, k, v = inputs(7, kv_heads)
    with torch.set_grad_enabled(grad):
        expected = scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        found = torch.vmap(lambda a, b, c: scaled_dot_product_attention(a, b, c, is_causal=is_causal))(
            q, k, v
        )
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-6, rtol=1e-5)


def test_vmap_over_masks_alone_gives_each_its_own():
    q, k, v = inputs(7, 2)
    masks = torch.rand(4, 7, 7) > 0.3
    with torch.no_grad():
        found = torch.vmap(lambda m: scaled_dot_product_attention(q, k, v, m)[1])(masks)
        for mask, mine in zip(masks, found, strict=True):
            torch.testing.assert_close(mine, scaled_dot_product_attention(q, k, v, mask)[1])


class Core(nn.Module):
    def __init__(self, is_causal):
        super().__init__()
        self.is_causal = is_causal

    def forward(self, q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)


@pytest.mark.slow
@HEADS
@pytest.mark.parametrize("is_causal", [False, True])
def test_an_exported_program_takes_every_length(kv_heads, is_causal):
    n = torch.export.Dim("n", min=2, max=600)
    core = Core(is_causal)
    with torch.no_grad():
        program = torch.export.export(
            core, inputs(9, kv_heads), dynamic_shapes={name: {2: n} for name in ("q", "k", "v")}
        ).module()
        for length in (2, 9, 31):
            given = inputs(length, kv_heads)
            for mine, other in zip(program(*given), core(*given), strict=True):
                torch.testing.assert_close(mine, other, atol=1e-6, rtol=1e-5)
