"""Scaled dot-product attention: its laws, torch's own function beside it, and every sentence of its contract.

Sizes are small and all different, so that a swapped axis cannot pass.
"""

import math
import mmap
import pickle

import numpy as np
import pytest
import reference
import torch
import torch.nn.functional as F

from mha_core import DtypeError, InputError, SizeError, causal_mask, layouts, masked_softmax
from mha_core import in_place as in_place_module
from mha_core import memory as memory_module
from mha_core import scaled_dot_product_attention as sdpa
from mha_core.attention import attention_scores
from mha_core.memory import new_room

B, H, N_Q, N_K, D_K, D_V = 2, 6, 5, 7, 3, 11
PATHS = ("in place", "textbook", "fused", "fused with gradients")


def qkv(*, h_kv=H, n_q=N_Q, n_k=N_K, batch=(B,), dtype=torch.float32, seed=0, size=1.0):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((*batch, H, n_q, D_K), (*batch, h_kv, n_k, D_K), (*batch, h_kv, n_k, D_V))
    return [(size * torch.randn(s, generator=generator, dtype=torch.float64)).to(dtype) for s in shapes]


def by_path(path, q, k, v, mask=None, is_causal=False, **options):
    """The same call through each of the ways that the function can take."""
    if "gradients" in path or path == "textbook":
        q = q.clone().requires_grad_()
    return sdpa(q, k, v, mask, is_causal, need_weights="fused" not in path, **options)


@pytest.fixture
def one_by_one(monkeypatch):
    """Key heads of a few scores are done one after the other, as those of long texts are."""
    monkeypatch.setattr(in_place_module, "ALONE_TEXT", 23)
    monkeypatch.setattr(in_place_module, "ALONE_HEAD", 23)


# Laws


@pytest.mark.parametrize("h_kv", [6, 2, 1])
@pytest.mark.parametrize("is_causal", [False, True])
def test_rows_sum_to_one(h_kv, is_causal):
    _, weights = sdpa(*qkv(h_kv=h_kv), is_causal=is_causal)
    assert weights.shape == (B, H, N_Q, N_K)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, N_Q))


def test_permuting_keys_and_values_permutes_the_weights_and_leaves_the_context():
    q, k, v = qkv()
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    context, weights = sdpa(q, k, v)
    context_2, weights_2 = sdpa(q, k[:, :, order], v[:, :, order])
    torch.testing.assert_close(weights_2, weights[..., order])
    torch.testing.assert_close(context_2, context)


@pytest.mark.parametrize("path", PATHS)
def test_the_future_cannot_reach_the_past(path):
    q, k, v = qkv()
    changed_k, changed_v = k.clone(), v.clone()
    changed_k[:, :, 3:], changed_v[:, :, 3:] = 17.0, -1e6
    before, _ = by_path(path, q, k, v, is_causal=True)
    after, _ = by_path(path, q, changed_k, changed_v, is_causal=True)
    assert torch.equal(before[:, :, :3], after[:, :, :3])
    assert not torch.equal(before[:, :, 3:], after[:, :, 3:])


def test_multi_query_is_grouped_query_with_one_head_repeated():
    q, k, v = qkv(h_kv=1)
    for h_kv in (2, 3, 6):
        repeated = sdpa(q, k.expand(-1, h_kv, -1, -1), v.expand(-1, h_kv, -1, -1))
        for one, other in zip(sdpa(q, k, v), repeated, strict=True):
            torch.testing.assert_close(one, other)


def test_query_head_j_reads_key_head_j_over_the_group_size():
    q, k, v = qkv(h_kv=2)
    _, weights = sdpa(q, k, v)
    for j in range(H):
        _, alone = sdpa(q[:, j : j + 1], k[:, j // 3 : j // 3 + 1], v[:, j // 3 : j // 3 + 1])
        torch.testing.assert_close(weights[:, j : j + 1], alone)


def test_members_of_a_batch_do_not_see_each_other():
    q, k, v = qkv()
    context, weights = sdpa(q, k, v)
    for member in range(B):
        alone = sdpa(q[member], k[member], v[member])
        torch.testing.assert_close(context[member], alone[0])
        torch.testing.assert_close(weights[member], alone[1])


def test_a_heads_context_lies_between_the_smallest_and_largest_of_its_values():
    q, k, v = qkv()
    context, weights = sdpa(q, k, v)
    assert (weights >= 0).all()
    assert (context <= v.amax(-2, keepdim=True) + 1e-6).all()
    assert (context >= v.amin(-2, keepdim=True) - 1e-6).all()


def test_nothing_is_written_into_the_arguments():
    q, k, v = qkv()
    mask = torch.randn(N_Q, N_K)
    before = [x.clone() for x in (q, k, v, mask)]
    sdpa(q, k, v, mask, True)
    sdpa(q, k, v, mask, True, need_weights=False)
    assert all(torch.equal(x, y) for x, y in zip((q, k, v, mask), before, strict=True))


# Against the slow double and torch


def masks(n_q=N_Q, n_k=N_K):
    generator = torch.Generator().manual_seed(5)
    allowed = torch.rand(B, H, n_q, n_k, generator=generator) > 0.4
    added = torch.randn(n_q, n_k, generator=generator)
    some_off = added.clone()
    some_off[1, 2] = some_off[0, 1] = -math.inf
    least = torch.zeros(B, 1, 1, n_k)
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


@pytest.mark.parametrize("h_kv", [6, 3, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("masked", [False, True])
def test_torchs_own_function_gives_the_same_context_and_gradients(h_kv, dtype, masked):
    ours = [x.requires_grad_() for x in qkv(h_kv=h_kv, dtype=dtype)]
    theirs = [x.detach().clone().requires_grad_() for x in ours]
    mask = torch.randn(N_Q, N_K, dtype=dtype) if masked else None
    context, _ = sdpa(*ours, mask)
    expected = F.scaled_dot_product_attention(*theirs, mask, enable_gqa=True)
    torch.testing.assert_close(context, expected)
    for one, other in zip(
        torch.autograd.grad(context.pow(2).sum(), ours),
        torch.autograd.grad(expected.pow(2).sum(), theirs),
        strict=True,
    ):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("n_q", "n_k"), [(5, 7), (7, 5)])
def test_causal_is_aligned_top_left_as_in_torch(n_q, n_k):
    q, k, v = qkv(n_q=n_q, n_k=n_k)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    for path in PATHS:
        context, _ = by_path(path, q, k, v, is_causal=True)
        torch.testing.assert_close(context, expected)
    assert causal_mask(2, 3).tolist() == [[True, False, False], [True, True, False]]


@pytest.mark.slow
@pytest.mark.parametrize("is_causal", [False, True])
def test_gradients_are_those_of_finite_differences(is_causal):
    q, k, v = (x.requires_grad_() for x in qkv(h_kv=2, batch=(), n_q=2, n_k=3, dtype=torch.float64))
    mask = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    dead = torch.tensor([[True, False, True], [False, False, False]])
    assert torch.autograd.gradcheck(lambda *x: sdpa(*x, is_causal=is_causal), (q, k, v, mask))
    assert torch.autograd.gradcheck(lambda *x: sdpa(*x, dead, is_causal), (q, k, v))


def test_a_mask_that_is_learnt_alone_has_its_gradient():
    q, k, v = qkv(h_kv=2, batch=(), n_q=2, n_k=3)
    mask = torch.zeros(2, 3, requires_grad=True)
    context, weights = sdpa(q, k, v, mask)
    (context.sum() + weights[..., 0].sum()).backward()
    scores = (q @ k.repeat_interleave(q.shape[0] // 2, 0).mT / math.sqrt(q.shape[-1])).requires_grad_()
    again = scores.softmax(-1)
    (again @ v.repeat_interleave(q.shape[0] // 2, 0)).sum().backward(retain_graph=True)
    again[..., 0].sum().backward()
    torch.testing.assert_close(mask.grad, scores.grad.sum(0))


# Dead rows


def dead_row_masks():
    off = torch.ones(N_Q, N_K, dtype=torch.bool)
    off[2] = False
    low = torch.zeros(N_Q, N_K).masked_fill(~off, -math.inf)
    later = torch.ones(N_Q, N_K, dtype=torch.bool)
    later[:3, :3] = False
    return {
        "by a bool mask": (off, False, [2]),
        "by minus infinity": (low, False, [2]),
        "by mask and causality together": (later, True, [0, 1, 2]),
        "by minus infinity and causality": (low.masked_fill(~later, -math.inf), True, [0, 1, 2]),
        "everywhere": (torch.zeros(1, N_K, dtype=torch.bool), False, list(range(N_Q))),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("path", [*PATHS, "one by one"])
@pytest.mark.parametrize("why", list(dead_row_masks()))
def test_a_query_that_may_look_at_nothing_gives_zeros(why, path, dtype, request):
    if path == "one by one":
        request.getfixturevalue("one_by_one")
    mask, is_causal, dead = dead_row_masks()[why]
    if mask.dtype != torch.bool:
        mask = mask.to(dtype)
    context, weights = by_path(path, *qkv(dtype=dtype), mask, is_causal)
    alive = [i for i in range(N_Q) if i not in dead]
    assert context.isfinite().all()
    assert (context[:, :, dead] == 0).all()
    assert (context[:, :, alive].abs().sum(-1) > 0).all()
    if weights is not None:
        assert (weights[:, :, dead] == 0).all()
        sums = weights[:, :, alive].float().sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=0.02, rtol=0)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("why", list(dead_row_masks()))
def test_gradients_through_dead_rows_are_finite(why, need_weights):
    mask, is_causal, dead = dead_row_masks()[why]
    q, k, v = (x.requires_grad_() for x in qkv())
    context, weights = sdpa(q, k, v, mask, is_causal, need_weights=need_weights)
    loss = context.pow(2).sum() + (weights.pow(2).sum() if need_weights else 0)
    gradients = torch.autograd.grad(loss, (q, k, v))
    assert all(g.isfinite().all() for g in gradients)
    assert (gradients[0][:, :, dead] == 0).all()


def test_a_softmax_over_dead_rows_alone_is_zero():
    scores = torch.randn(2, 3, requires_grad=True)
    result = masked_softmax(scores, torch.zeros(2, 3, dtype=torch.bool))
    assert (result == 0).all()
    assert (torch.autograd.grad(result.sum(), scores)[0] == 0).all()


# In place


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("h_kv", [6, 2, 1])
@pytest.mark.parametrize("n_k", [7, 19], ids=["short rows", "longer rows"])
@pytest.mark.parametrize("alone", [True, False])
def test_what_is_written_in_place_is_what_the_formula_gives(batch, h_kv, n_k, alone, request):
    if alone:
        request.getfixturevalue("one_by_one")
    q, k, v = qkv(batch=batch, h_kv=h_kv, n_k=n_k)
    for is_causal in (False, True):
        for mask_name in ("none", "bool of heads", "float with -inf"):
            mask = masks(n_k=n_k)[mask_name]
            context, weights = sdpa(q, k, v, mask, is_causal)
            expected_context, expected_weights = by_path("textbook", q, k, v, mask, is_causal)
            torch.testing.assert_close(context, expected_context.detach(), atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(weights, expected_weights.detach(), atol=1e-6, rtol=1e-5)


def test_what_stood_in_the_room_before_does_not_matter():
    q, k, v = qkv()
    room = torch.full((B, H, N_Q, N_K), math.nan)
    context, weights = sdpa(q, k, v, out=room)
    assert weights.data_ptr() == room.data_ptr()
    assert weights.isfinite().all()
    assert context.isfinite().all()


@pytest.mark.parametrize("scores", [1, 1 << 10])
@pytest.mark.parametrize("strip", [2, 3, 7])
@pytest.mark.parametrize("h_kv", [6, 2, 1])
def test_long_texts_under_a_causal_mask_go_in_strips_to_the_same(h_kv, strip, scores, monkeypatch):
    monkeypatch.setattr(in_place_module, "STRIP", strip)
    monkeypatch.setattr(in_place_module, "STRIP_SCORES", scores)
    q, k, v = qkv(h_kv=h_kv, n_q=7)
    room = torch.full((B, H, 7, 7), math.nan)
    context, weights = sdpa(q, k, v, is_causal=True, out=room)
    for mine, theirs in zip((context, weights), by_path("textbook", q, k, v, is_causal=True), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-6)
    assert weights is room
    k[..., 5, :] = math.inf
    _, poisoned = sdpa(q, k, v, is_causal=True)
    torch.testing.assert_close(poisoned[..., :5, :], weights[..., :5, :], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("long_row", [1, 64], ids=["exponentials", "softmax"])
@pytest.mark.parametrize("tile", [1, 2, 1 << 10])
@pytest.mark.parametrize("h_kv", [6, 2, 1])
def test_heads_of_long_texts_go_in_tiles_to_the_same(h_kv, tile, long_row, one_by_one, monkeypatch):
    monkeypatch.setattr(in_place_module, "TILE", tile)
    monkeypatch.setattr(in_place_module, "LONG_ROW", long_row)
    q, k, v = qkv(h_kv=h_kv)
    found, expected = sdpa(q, k, v), by_path("textbook", q, k, v)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-6)


@pytest.mark.skipif(not layouts.packing_works(), reason="this torch lacks oneDNN's operators")
@pytest.mark.parametrize("long_row", [1, 64], ids=["exponentials", "softmax"])
@pytest.mark.parametrize("tile", [2, 1 << 10])
@pytest.mark.parametrize("h_kv", [6, 2, 1])
def test_where_onednn_is_faster_heads_of_long_texts_are_multiplied_by_it(h_kv, tile, long_row, monkeypatch):
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, "columns")
    monkeypatch.setattr(in_place_module, "ONEDNN_TILE", tile)
    monkeypatch.setattr(in_place_module, "LONG_ROW", long_row)
    monkeypatch.setattr(in_place_module, "ALONE_TEXT", 1)
    products, multiply = [], in_place_module.times_packed
    monkeypatch.setattr(
        in_place_module, "times_packed", lambda *given: products.append(given) or multiply(*given)
    )
    q, k, v = qkv(h_kv=h_kv)
    expected = by_path("textbook", q, k, v)
    scores = q.shape[-2] * k.shape[-2]
    for least, by_onednn in ((scores + 1, False), (scores, True)):
        monkeypatch.setattr(in_place_module, "ONEDNN_HEAD", least)
        # as a layer's own are: views into what all heads were projected to
        views = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
        for mine, theirs in zip(sdpa(*views), expected, strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-6)
        assert bool(products) is by_onednn
    assert all(weight.is_contiguous() or weight.t().is_contiguous() for _, weight, _ in products)
    products.clear()
    for mine, theirs in zip(sdpa(q.double(), k.double(), v.double()), expected, strict=True):
        torch.testing.assert_close(mine.float(), theirs, atol=1e-6, rtol=1e-6)
    assert not products, "it is given numbers of fp32 alone"


@pytest.mark.parametrize("offset", [0, 300, -300, 40, -40, math.nan])
@pytest.mark.parametrize("way", ["tiles", "tiles of oneDNN", "all at once"])
def test_scores_too_large_or_too_small_for_their_exponentials_give_the_same(way, offset, monkeypatch):
    q, k, v = (x.detach().double() for x in qkv(h_kv=H, n_q=70, n_k=70))
    q[..., 0], k[..., 0] = offset, D_K**0.5  # the same number is added to every score
    single = [x[0].float() for x in (q, k, v)]
    weights, context = torch.full((H, 70, 70), math.nan), torch.full((H, 70, v.shape[-1]), math.nan)
    monkeypatch.setattr(in_place_module, "ONEDNN_HEAD", 1)
    monkeypatch.setattr(in_place_module, "is_onednn_faster", lambda: way == "tiles of oneDNN")
    if way == "tiles of oneDNN" and not layouts.packing_works():
        pytest.skip("this torch lacks oneDNN's operators")
    if way.startswith("tiles"):
        in_place_module.in_tiles(*single, D_K**-0.5, weights, context)
    else:
        keys = single[1].transpose(1, 2)
        in_place_module.mix(weights, single[0], keys, single[2], D_K**-0.5, context)
    expected = torch.softmax(q[0] @ k[0].transpose(1, 2) * D_K**-0.5, dim=-1)
    torch.testing.assert_close(weights, expected.float(), atol=1e-4, rtol=2e-4, equal_nan=True)
    torch.testing.assert_close(context, (expected @ v[0]).float(), atol=1e-4, rtol=2e-4, equal_nan=True)


@pytest.mark.parametrize("sums", [1e-30, 1e30, math.inf, math.nan])
def test_one_row_whose_exponentials_lose_digits_is_noticed(sums):
    assert in_place_module.are_sums_safe(torch.ones(3, 5))
    assert not in_place_module.are_sums_safe(torch.ones(3, 5).index_fill(0, torch.tensor([1]), sums))


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="pages of another size are asked for on Linux")
def test_matrices_that_stay_lie_one_after_the_other_in_huge_pages(monkeypatch):
    monkeypatch.setattr(memory_module, "LASTING", 0)
    like = torch.empty(0)
    pages = memory_module.Pages(4 * (15 + 32))
    first, second = (pages.empty(shape, like).fill_(value) for shape, value in (((3, 5), 2), ((4, 8), 3)))
    assert first.data_ptr() % memory_module.HUGE_PAGE == 0
    assert second.data_ptr() == first.data_ptr() + 64, "from a line of the cache on"
    others = (pages.empty((1 << 20,), like), pages.empty((3,), torch.empty(0, dtype=torch.float64)))
    for other in others:  # too large, and of another type
        assert other.untyped_storage().data_ptr() != first.untyped_storage().data_ptr()
    del pages
    assert (first.sum(), second.sum()) == (30, 96)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_room_for_large_weights_is_as_any_other(dtype, monkeypatch):
    small = new_room((3, 5), torch.empty(0, dtype=dtype))
    monkeypatch.setattr(memory_module, "LARGE", 0)
    for room in (small, new_room((3, 5), torch.empty(0, dtype=dtype))):
        assert (room.shape, room.dtype, room.is_contiguous()) == ((3, 5), dtype, True)
        room.copy_(torch.arange(15, dtype=dtype).view(3, 5))
        assert room.sum() == 105
        del room


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="pages of another size are asked for on Linux")
@pytest.mark.parametrize("fails", ["mmap", "madvise"])
def test_a_system_without_huge_pages_gives_ordinary_ones(fails, monkeypatch):
    class Refusing(mmap.mmap):
        def madvise(self, *_):
            raise OSError(22, "Invalid argument")

    def refuse(*_, **__):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(memory_module, "LARGE", 0)
    monkeypatch.setattr(memory_module, "_KEPT", [])
    monkeypatch.setattr(memory_module.mmap, "mmap", Refusing if fails == "madvise" else refuse)
    assert new_room((3, 5), torch.empty(0)).fill_(2).sum() == 30


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="rooms are mapped on Linux")
def test_a_large_room_is_used_again_once_it_was_let_go_and_not_before(monkeypatch):
    monkeypatch.setattr(memory_module, "LARGE", 0)
    monkeypatch.setattr(memory_module, "_KEPT", [])

    def room(n=3_000_000):
        return new_room((n,), torch.empty(0)).fill_(n)

    first = room()
    place, part = first.data_ptr(), first[7:9]
    del first
    assert room().data_ptr() != place, "a part of the first is in use"
    assert part.tolist() == [3_000_000] * 2
    memory_module._KEPT.clear()
    del part
    second, third = room(2_900_000), room()
    assert second.data_ptr() == place
    assert third.data_ptr() != place
    assert second[-1] == 2_900_000
    del second, third
    assert room(9_000_000).sum() > 0, "the kept one is too small"
    assert len(memory_module._KEPT) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("h_kv", [6, 2])
def test_heads_that_are_done_one_after_the_other_give_what_torch_gives(h_kv, dtype):
    n_q, n_k = 611, 547
    assert n_q * n_k > in_place_module.ALONE_HEAD
    q, k, v = qkv(batch=(1,), h_kv=h_kv, n_q=n_q, n_k=n_k, dtype=dtype)
    mask = torch.rand(n_q, n_k, generator=torch.Generator().manual_seed(3)) > 0.3
    mask[300] = False
    with torch.no_grad():
        context, weights = sdpa(q, k, v, mask, True)
    allowed = mask & causal_mask(n_q, n_k)
    alive = allowed.any(-1)
    expected = F.scaled_dot_product_attention(q, k, v, allowed | ~alive[:, None], enable_gqa=True)
    torch.testing.assert_close(context[:, :, alive], expected[:, :, alive], atol=1e-5, rtol=1e-4)
    assert (context[:, :, ~alive] == 0).all()
    assert (weights[:, :, ~alive] == 0).all()
    every_v = v.repeat_interleave(H // h_kv, dim=1)
    torch.testing.assert_close(torch.matmul(weights, every_v), context, atol=1e-5, rtol=1e-4)


def test_the_weights_are_written_into_the_tensor_given():
    q, k, v = qkv()
    room = torch.empty(B, H, N_Q, N_K)
    _, weights = sdpa(q, k, v, out=room)
    assert weights is room
    torch.testing.assert_close(room, sdpa(q, k, v)[1])
    doubles = [x.double() for x in (q, k, v)]
    assert sdpa(*doubles, out=(room_64 := room.double()))[1] is room_64
    with pytest.raises(SizeError, match=r"shape \(2, 6, 5, 7\)"):
        sdpa(q, k, v, out=torch.empty(B, H, N_K, N_Q))
    with pytest.raises(InputError, match="without gradients"):
        sdpa(q.requires_grad_(), k, v, out=room)


# Scale, dropout, types


@pytest.mark.parametrize("path", PATHS)
def test_a_scale_of_zero_is_a_value_and_gives_equal_weights(path):
    q, k, v = qkv()
    context, weights = by_path(path, q, k, v, scale=0.0)
    torch.testing.assert_close(context, v.mean(-2, keepdim=True).expand(-1, -1, N_Q, -1))
    if weights is not None:
        torch.testing.assert_close(weights, torch.full_like(weights, 1 / N_K))


@pytest.mark.parametrize("path", PATHS)
def test_a_negative_scale_turns_the_order_round(path):
    q, k, v = qkv()
    expected, _ = sdpa(-q, k, v, scale=0.7)
    torch.testing.assert_close(by_path(path, q, k, v, scale=-0.7)[0], expected)
    torch.testing.assert_close(sdpa(q, k, v)[0], sdpa(q, k, v, scale=D_K**-0.5)[0])


def test_dropout_acts_on_what_is_mixed_and_not_on_the_weights():
    q, k, v = qkv()
    context, weights = sdpa(q, k, v)
    torch.manual_seed(1)
    dropped_context, dropped_weights = sdpa(q, k, v, dropout_p=0.5, training=True)
    torch.testing.assert_close(dropped_weights, weights)
    assert not torch.allclose(dropped_context, context)
    torch.manual_seed(1)
    torch.testing.assert_close(dropped_context, torch.matmul(F.dropout(weights, 0.5), v))


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout_is_only_for_training_and_all_of_it_gives_zeros(need_weights):
    q, k, v = qkv()
    calm = sdpa(q, k, v, dropout_p=0.9, training=False, need_weights=need_weights)[0]
    torch.testing.assert_close(calm, sdpa(q, k, v)[0])
    q.requires_grad_()
    nothing = sdpa(q, k, v, dropout_p=1.0, training=True, need_weights=need_weights)[0]
    assert (nothing == 0).all()
    assert torch.autograd.grad(nothing.sum(), q)[0].isfinite().all()


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout_keeps_the_mean(need_weights):
    q, k, v = qkv(batch=(1,), n_q=997)
    torch.manual_seed(0)
    same = torch.ones_like(v)
    context, _ = sdpa(q, k, same, dropout_p=0.25, training=True, need_weights=need_weights)
    assert abs(context.mean().item() - 1) < 0.05
    assert context.std() > 0.1


def test_the_returned_weights_carry_gradient():
    q, k, v = qkv()
    q.requires_grad_()
    _, weights = sdpa(q, k, v)
    assert torch.autograd.grad(weights[..., 0].sum(), q)[0].abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("path", PATHS)
def test_the_context_and_weights_have_the_type_of_the_queries(dtype, path):
    context, weights = by_path(path, *qkv(dtype=dtype))
    assert context.dtype == dtype
    assert weights is None or weights.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("path", PATHS)
def test_half_precision_is_as_near_as_its_rounding(dtype, path):
    inputs = qkv(dtype=dtype, h_kv=3)
    expected, _ = sdpa(*(x.double() for x in inputs))
    context, _ = by_path(path, *inputs)
    torch.testing.assert_close(context.double(), expected, atol=0.03, rtol=0.02)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("path", ["in place", "textbook"])
def test_half_precision_is_computed_in_fp32_and_rounded_once(dtype, path):
    """With scores of some tens: computed in half precision a weight would be off by several percent."""
    q, k, v = qkv(dtype=dtype, size=4.0)
    assert (q.float() @ k.float().transpose(-1, -2)).abs().max() > 50
    _, weights = by_path(path, q, k, v)
    _, expected = reference.attend(*(x[0].double().numpy() for x in (q, k, v)))
    one_rounding = torch.finfo(dtype).eps / 2
    np.testing.assert_allclose(weights[0].detach().double(), expected, rtol=1.01 * one_rounding, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("path", PATHS)
def test_half_precision_takes_an_fp32_mask_as_it_is(dtype, path):
    """2000.25 and 2000 are one number in half precision; in fp32 the first key gets 1 / (1 + exp(-1/4))."""
    q, k = (torch.zeros(1, 1, 2, 3, dtype=dtype) for _ in range(2))
    v = torch.tensor([[1.0], [0.0]], dtype=dtype)[None, None]
    context, _ = by_path(path, q, k, v, torch.tensor([2000.25, 2000.0]))
    torch.testing.assert_close(context.float(), torch.full((1, 1, 2, 1), 0.56218), atol=3e-3, rtol=0)


def test_the_scores_alone_are_the_scaled_products():
    q, k, _ = qkv(h_kv=2, dtype=torch.float64)
    for scale, factor in ((None, 1 / math.sqrt(D_K)), (0.3, 0.3), (0.0, 0.0)):
        scores = attention_scores(q, k, scale)
        assert scores.shape == (B, H, N_Q, N_K)
        for head in range(H):
            expected = factor * np.einsum("bic,bjc->bij", q[:, head], k[:, head // 3])
            np.testing.assert_allclose(scores[:, head], expected, atol=1e-12)


class Unwritable(torch.Tensor):
    """A tensor of another library's class: what writes into it is refused."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        assert "out" not in (kwargs or {}), "written into"
        return super().__torch_function__(function, types, args, kwargs or {})


def test_a_tensor_of_a_class_of_its_own_is_not_written_into():
    q, k, v = qkv()
    expected, _ = sdpa(q, k, v)
    context, _ = sdpa(*(x.as_subclass(Unwritable) for x in (q, k, v)))
    torch.testing.assert_close(context.as_subclass(torch.Tensor), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mask_name", ["none", "float with the least number"])
def test_scores_beyond_fp16s_range_stay_finite(dtype, path, mask_name):
    q, k, v = qkv(dtype=dtype, size=300.0)  # scores to about 1e5, above 65,504
    assert (q.double() @ k.double().transpose(-1, -2)).abs().max() > 70_000
    context, weights = by_path(path, q, k, v, masks()[mask_name])
    assert context.isfinite().all()
    assert weights is None or weights.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("path", PATHS)
def test_a_very_low_number_is_not_minus_infinity(dtype, path):
    """-1e9 in an fp32 mask hides nothing from a row that has it everywhere; as fp16 it would be minus infinity."""
    q, k, v = qkv(dtype=dtype)
    context, _ = by_path(path, q, k, v, torch.full((N_Q, N_K), -1e9))
    expected = v.float().mean(-2, keepdim=True).expand(-1, -1, N_Q, -1)  # fp32 near 1e9 has steps of 64
    torch.testing.assert_close(context.float(), expected, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("path", PATHS)
def test_under_autocast_the_scores_are_not_rounded(path):
    q, k, v = qkv(size=5.0)
    expected = by_path(path, q, k, v)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        context = by_path(path, q, k, v)[0]
    torch.testing.assert_close(context, expected)


def test_meta_tensors_give_shapes_without_numbers():
    q, k, v = (x.to("meta") for x in qkv(h_kv=2))
    mask = torch.ones(N_Q, N_K, dtype=torch.bool, device="meta")
    for need_weights in (True, False):
        context, weights = sdpa(q, k, v, mask, True, need_weights=need_weights)
        assert context.shape == (B, H, N_Q, D_V)
        assert context.is_meta
    assert sdpa(q, k, v)[1].shape == (B, H, N_Q, N_K)
    assert weights is None


@pytest.mark.parametrize("need_weights", [True, False])
def test_nothing_to_look_at_or_from_is_no_error(need_weights):
    for sizes in ({"n_k": 0}, {"n_q": 0}, {"batch": (0,)}):
        q, k, v = qkv(**sizes)
        context, _ = sdpa(q, k, v, need_weights=need_weights)
        assert context.shape == (*q.shape[:-1], D_V)
        assert (context == 0).all()


# Refusals


def test_sizes_that_do_not_fit_are_refused_with_their_numbers():
    q, k, v = qkv()
    cases = [
        ((q[0, 0], k, v), "three axes"),
        ((q, k[:1], v[:1]), r"same batch sizes; given: q \(2, 6, 5, 3\), k \(1, 6, 7, 3\)"),
        ((q[:1], k, v), "same batch sizes"),
        ((q, k, v[0]), "same batch sizes"),
        ((q[..., :2], k, v), "width 2 and k 3"),
        ((q[..., :0], k[..., :0], v), "above zero"),
        ((q, k[:, :, :4], v), "4 keys and 7 values"),
        ((q, k[:, :4], v[:, :4]), "6 query heads cannot share 4 key heads"),
        ((q, k[:, :3], v[:, :2]), "3 key heads and 2 value heads"),
        ((q, k[:, :0], v[:, :0]), "0 key heads"),
        ((q[:, :0], k, v), "0 query heads"),
        ((q[:, :3], k, v), "3 query heads cannot share 6"),
    ]
    for arguments, message in cases:
        for need_weights in (True, False):
            with pytest.raises(SizeError, match=message):
                sdpa(*arguments, need_weights=need_weights)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_mask_that_would_enlarge_the_scores_is_refused(need_weights):
    q, k, v = qkv(batch=(1,), n_q=1)
    for shape in ((3, H, 1, N_K), (1, H, N_Q, N_K), (1, 1, H, 1, N_K), (H - 1, 1, N_K), (N_K + 1,)):
        with pytest.raises(SizeError, match="does not broadcast"):
            sdpa(q, k, v, torch.ones(shape, dtype=torch.bool), need_weights=need_weights)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.int32])
def test_an_integer_mask_is_refused_and_told_what_a_mask_is(dtype):
    with pytest.raises(TypeError, match=r"must be bool .* or floating"):
        sdpa(*qkv(), torch.ones(N_Q, N_K, dtype=dtype))


def test_mixed_and_integer_types_are_refused():
    q, k, v = qkv()
    for arguments in (
        (q.double(), k, v),
        (q, k.half(), v),
        (q, k, v.bfloat16()),
        (q.long(), k.long(), v.long()),
    ):
        with pytest.raises(DtypeError, match="must share one floating type"):
            sdpa(*arguments)
    assert issubclass(DtypeError, ValueError)
    assert issubclass(DtypeError, TypeError)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_a_dropout_that_is_no_probability_is_refused(p):
    with pytest.raises(ValueError, match="from 0 to 1"):
        sdpa(*qkv(), dropout_p=p)


# Compiled


@pytest.mark.slow
@pytest.mark.parametrize("need_weights", [True, False])
def test_compiled_it_gives_the_same(need_weights):
    torch._dynamo.reset()
    compiled = torch.compile(sdpa, backend="eager", fullgraph=True)
    q, k, v = qkv(h_kv=2)
    mask = masks()["bool"]
    expected = sdpa(q, k, v, mask, True, need_weights=need_weights)
    context, weights = compiled(q, k, v, mask, True, need_weights=need_weights)
    torch.testing.assert_close(context, expected[0])
    assert (weights is None) == (not need_weights)
    if weights is not None:
        torch.testing.assert_close(weights, expected[1])


def test_the_errors_survive_a_pickle():
    error = pickle.loads(pickle.dumps(SizeError("3 and 5")))  # noqa: S301 - our own bytes
    assert str(error) == "3 and 5"
