"""The walk through one layer: every number of it against the record, against torch, and against plain NumPy."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from mha_core import InputError, Projections, SizeError, layer_details, projections_of
from mha_core.checkpoints import untrained_encoder
from mha_core.families.bert import EncoderConfig
from mha_core.inside import (
    CONFIGURATIONS,
    SUMS,
    CellEdit,
    Configuration,
    Edits,
    ScoreEdit,
    as_one_head,
    bilinear,
    convex_hull,
    distance_to_hull,
    edited,
    equal_to_torch,
    example,
    follow,
    kv_cache_bytes,
    measured_operations,
    measured_seconds,
    middle_groups,
    operations,
    origin,
    parameters,
    plane,
    pooled,
    run_layer,
    shares,
    spread,
    sum_of_heads,
    table_of,
    unsplit,
    variants,
    weights_bytes,
    without,
)
from mha_core.trace import batch_of

TIRED = "The animal didn't cross the street because it was too tired."
NEAR = 2e-5
EDITS = {
    "nothing": Edits(),
    "not divided": Edits(scaled=False),
    "warmer": Edits(temperature=2.5),
    "causal": Edits(causal=True),
    "padding": Edits(hidden_keys=(1, 3)),
    "nothing to see for the first": Edits(causal=True, hidden_keys=(0,)),
    "a score": Edits(scores=(ScoreEdit(1, 4, 2, 3.5),)),
    "a masked score": Edits(causal=True, scores=(ScoreEdit(1, 2, 4, 9.0),)),
    "a weight of W_q": Edits(cells=(CellEdit("W_q", 1, 2, 3, 4.0),)),
    "a weight of W_o": Edits(cells=(CellEdit("W_o", 0, 1, 2, -4.0),)),
    "everything": Edits(False, 0.7, True, (2,), (CellEdit("W_v", 2, 0, 1, 2.0),), (ScoreEdit(0, 4, 1, 1.0),)),
}


@pytest.fixture(scope="module")
def odd_model(model):
    """Random weights in sizes that nothing else has: d_model 35, 5 heads of 7, 3 layers."""
    config = EncoderConfig(model.config.vocab_size, d_model=35, n_layers=3, n_heads=5, d_ff=13)
    encoder = untrained_encoder(config, seed=11)
    generator = torch.Generator().manual_seed(5)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.4, generator=generator)
    return replace(
        model, name="odd", encoder=encoder.eval().requires_grad_(False), config=config, digest="odd"
    )


@pytest.fixture(params=["minilm", "odd"])
def case(request, model, odd_model):
    used = model if request.param == "minilm" else odd_model
    return used, used.tokenizer.encode(TIRED)


def small(h=3, h_kv=3, d_model=6, d_k=4, d_v=5, seed=0) -> Projections:
    rng = np.random.default_rng(seed)

    def make(*shape):
        return rng.normal(size=shape).astype(np.float32)

    return Projections(
        make(h, d_model, d_k), make(h, d_k), make(h_kv, d_model, d_k), make(h_kv, d_k),
        make(h_kv, d_model, d_v), make(h_kv, d_v), make(h, d_v, d_model), make(d_model),
    )  # fmt: skip


def by_the_book(x, w: Projections, edits: Edits):
    """Slow and obvious, in double precision: one head, one query, one key after the other."""
    x = x.astype(np.float64)
    output = np.tile(w.b_o.astype(np.float64), (len(x), 1))
    all_weights = np.zeros((w.n_heads, len(x), len(x)))
    W = {name: getattr(w, name).astype(np.float64) for name in ("W_q", "W_k", "W_v", "W_o")}
    for cell in edits.cells:
        W[cell.matrix][cell.head, cell.row, cell.column] = cell.value
    for h in range(w.n_heads):
        kv = w.kv_head(h)
        for i in range(len(x)):
            q = x[i] @ W["W_q"][h] + w.b_q[h]
            powers = np.zeros(len(x))
            for j in range(len(x)):
                k = x[j] @ W["W_k"][kv] + w.b_k[kv]
                score = q @ k / (np.sqrt(w.d_k) if edits.scaled else 1.0) / edits.temperature
                for edit in edits.scores:
                    if (edit.head, edit.query, edit.key) == (h, i, j):
                        score = edit.value
                hidden = j in edits.hidden_keys or (edits.causal and j > i)
                powers[j] = 0.0 if hidden else np.exp(score)
            weights = powers / powers.sum() if powers.sum() else powers
            all_weights[h, i] = weights
            output[i] += weights @ (x @ W["W_v"][kv] + w.b_v[kv]) @ W["W_o"][h]
    return all_weights, output


def test_the_walk_is_what_the_model_computed(case):
    used, tokens = case
    for layer in range(used.n_layers):
        found = layer_details(tokens, used, layer)
        run = run_layer(found.x, found.projections)
        for name in ("q", "k", "v", "scores", "weights", "context", "contributions", "output"):
            np.testing.assert_allclose(getattr(run, name), getattr(found, name), atol=NEAR, err_msg=name)


def test_the_walk_is_the_printed_lines_of_torch(case):
    used, tokens = case
    found = layer_details(tokens, used, 2)
    run = run_layer(found.x, found.projections)
    layer = used.encoder.layer(2).attention
    n, h, d_k = run.n, used.n_heads, used.d_k
    x = torch.from_numpy(found.x.copy())[None]
    with torch.no_grad():
        q, k, v = (getattr(layer, f"W_{name}")(x).view(1, n, h, d_k).transpose(1, 2) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / d_k**0.5
        weights = scores.softmax(dim=-1)
        z = weights @ v
        output = layer.W_o(z.transpose(1, 2).reshape(1, n, h * d_k))
    for ours, theirs in (
        (run.q, q), (run.k, k), (run.v, v), (run.scores, scores), (run.weights, weights), (run.context, z),
        (run.output, output),
    ):  # fmt: skip
        np.testing.assert_allclose(ours, theirs[0], atol=NEAR)


def test_one_changed_weight_of_the_engine_breaks_the_agreement(model):
    tokens = model.tokenizer.encode(TIRED)
    right = projections_of(model, 3)
    encoder = copy.deepcopy(model.encoder)
    broken = replace(model, encoder=encoder, digest="broken")
    attention = encoder.layer(3).attention
    changed = attention.state_dict()
    changed["W_v.weight"][40, 7] += 0.5
    attention.load_state_dict(changed)
    found = layer_details(tokens, broken, 3)
    run = run_layer(found.x, right)
    assert np.abs(run.output - found.output).max() > 1e-3


@pytest.mark.parametrize(
    "change", [{"cells": (CellEdit("W_q", 1, 2, 3, 4.0),)}, {"scores": (ScoreEdit(1, 4, 2, 3.5),)}]
)
def test_a_change_leaves_a_window_as_wide_as_it_was(change):
    x = np.random.default_rng(5).normal(size=(5, 6)).astype(np.float32)
    near = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) <= 2
    run = edited(run_layer(x, small(), window=2), Edits(**change))
    np.testing.assert_array_equal(run.allowed, near)
    assert (run.weights[:, near] > 0).all()
    assert not run.weights[:, ~near].any()


@pytest.mark.parametrize("name", EDITS)
def test_every_change_reaches_the_output_as_by_the_book(name):
    w, rng = small(), np.random.default_rng(3)
    x = rng.normal(size=(5, 6)).astype(np.float32)
    run = run_layer(x, w, EDITS[name])
    weights, output = by_the_book(x, w, EDITS[name])
    np.testing.assert_allclose(run.weights, weights, atol=NEAR)
    np.testing.assert_allclose(run.output, output, atol=NEAR * 10)
    assert (name == "nothing") == (not EDITS[name].any)


@pytest.mark.parametrize("name", EDITS)
def test_torch_agrees_whatever_was_changed(name):
    square = small(h=3, h_kv=3, d_model=12, d_k=4, d_v=4)
    x = np.random.default_rng(4).normal(size=(5, 12)).astype(np.float32)
    found = equal_to_torch(run_layer(x, square, EDITS[name]))
    assert found.against == "torch.nn.MultiheadAttention"
    assert found.output < NEAR
    assert found.weights < NEAR
    odd = equal_to_torch(run_layer(x[:, :6], small(h=4, h_kv=2), EDITS[name]))
    assert odd.against.endswith("scaled_dot_product_attention")
    assert odd.output < NEAR


@pytest.mark.parametrize("n", [4, 5])
def test_torch_is_given_the_other_text_where_one_looks_at_another(n):
    square = small(h=3, h_kv=3, d_model=12, d_k=4, d_v=4)
    x, other = (np.random.default_rng(i).normal(size=(i, 12)).astype(np.float32) for i in (5, n))
    found = equal_to_torch(run_layer(x, square, keys_from=other + 1))
    assert max(found.output, found.weights or 0) < NEAR


def test_the_comparison_with_torch_notices_a_wrong_output():
    x = np.random.default_rng(4).normal(size=(5, 12)).astype(np.float32)
    run = run_layer(x, small(d_model=12, d_v=4))
    wrong = run.output.copy()
    wrong[2, 3] += 0.01
    assert equal_to_torch(replace(run, output=wrong)).output == pytest.approx(0.01, abs=1e-4)


def test_the_comparison_with_torch_notices_wrong_weights():
    x = np.random.default_rng(4).normal(size=(5, 12)).astype(np.float32)
    run = run_layer(x, small(h=3, d_model=12, d_k=4, d_v=4))
    assert equal_to_torch(run).weights < NEAR
    wrong = replace(run, weights=run.weights + np.float32(0.01))
    assert equal_to_torch(wrong).weights == pytest.approx(0.01, abs=NEAR)


def test_minilm_equals_torch_to_a_millionth_or_so(case):
    used, tokens = case
    found = layer_details(tokens, used, 1)
    parity = equal_to_torch(run_layer(found.x, found.projections))
    assert parity.against == "torch.nn.MultiheadAttention"
    assert parity.output < 1e-5
    assert parity.weights < 1e-5


def test_the_engine_gives_it_to_animal(model):
    found = layer_details(model.tokenizer.encode(TIRED), model, 3)
    row = follow(run_layer(found.x, found.projections), 1, 10)
    assert row.weights[2] == pytest.approx(0.677, abs=5e-4)
    assert row.difference < 1e-6


@pytest.mark.parametrize("name", EDITS)
def test_one_token_alone_is_its_row_of_the_matrix_form(name):
    x = np.random.default_rng(6).normal(size=(5, 6)).astype(np.float32)
    run = run_layer(x, small(h=4, h_kv=2), replace(EDITS[name], cells=()))
    for head in range(4):
        for query in range(5):
            row = follow(run, head, query)
            assert row.difference < NEAR
            np.testing.assert_allclose(row.products.sum(axis=-1), row.raw, atol=NEAR)
            np.testing.assert_allclose(row.weighted.sum(axis=0), row.context, atol=NEAR)


def test_a_wrong_row_would_be_seen():
    x = np.random.default_rng(6).normal(size=(5, 6)).astype(np.float32)
    run = run_layer(x, small())
    context = run.context.copy()
    context[1, 2] *= 1.1
    assert follow(replace(run, context=context), 1, 2).difference > 1e-3


def test_the_parts_of_all_heads_and_the_bias_make_the_output(case):
    used, tokens = case
    found = layer_details(tokens, used, 1)
    run = run_layer(found.x, found.projections)
    for query in range(run.n):
        part = shares(run, query)
        assert part.share.sum() + part.bias_share == pytest.approx(1.0, abs=1e-4)
        assert part.difference < NEAR
        length = np.linalg.norm(found.output[query])
        expected = [
            c @ found.output[query] / np.linalg.norm(c) / length for c in found.contributions[:, query]
        ]
        np.testing.assert_allclose(part.cosine, expected, atol=1e-4)
        np.testing.assert_allclose(
            part.norms, np.linalg.norm(found.contributions[:, query], axis=-1), atol=NEAR
        )


@pytest.mark.parametrize("name", [name for name in EDITS if name != "nothing"])
def test_the_sum_of_the_parts_is_compared_with_a_product_of_its_own(name):
    x = np.random.default_rng(6).normal(size=(5, 6)).astype(np.float32)
    run = run_layer(x, small(h=3), EDITS[name])
    whole = (
        np.concatenate(list(run.context), axis=-1) @ run.projections.W_o.reshape(-1, 6) + run.projections.b_o
    )
    np.testing.assert_array_equal(run.output, whole)
    found = [shares(run, query).difference for query in range(5)]
    assert 0 < max(found) < NEAR, "two ways of adding differ in their rounding"
    wrong = run.contributions.copy()
    wrong[1, 2, 3] += 0.01
    assert shares(replace(run, contributions=wrong), 2).difference == pytest.approx(0.01, abs=1e-4)


def test_where_nothing_may_be_looked_at_no_row_is_compared(model):
    run = layer_details(model.tokenizer.encode("Birds sing."), model, 1)
    assert equal_to_torch(run).rows == run.n
    assert equal_to_torch(edited(run, Edits(hidden_keys=tuple(range(run.n))))).rows == 0
    assert equal_to_torch(edited(run, Edits(causal=True, hidden_keys=(0,)))).rows == run.n - 1


@pytest.mark.parametrize("name", SUMS)
def test_every_number_is_the_sum_of_the_products_behind_it(case, name):
    used, tokens = case
    run = layer_details(tokens, used, 1)
    table = table_of(run, 2, name)
    for row, column in ((0, 0), (run.n - 1, table.shape[1] - 1), (3, 1)):
        found = origin(run, 2, name, row, column)
        assert found.value == table[row, column]
        by_hand = sum(float(a) * float(b) for a, b in zip(found.left, found.right, strict=True)) + (
            found.added or 0
        )
        assert by_hand == pytest.approx(float(table[row, column]), abs=1e-4)
        assert found.total == pytest.approx(by_hand)
        np.testing.assert_allclose(found.products, found.left * found.right)
    with pytest.raises(InputError, match="no such place"):
        origin(run, 2, name, run.n, 0)


@pytest.mark.parametrize("name", SUMS)
def test_across_two_texts_keys_and_values_come_from_the_other_one(name):
    rng = np.random.default_rng(4)
    x, other = (rng.normal(size=(n, 6)).astype(np.float32) for n in (3, 4))
    run = run_layer(x, small(h=3), keys_from=other)
    found = origin(run, 1, name, 2, 3)
    assert found.total == pytest.approx(found.value, abs=1e-4)
    assert found.value == table_of(run, 1, name)[2, 3]


def test_a_number_of_what_is_no_sum_is_refused(model):
    run = layer_details(model.tokenizer.encode("Birds sing."), model, 1)
    with pytest.raises(InputError, match="“weights” is none of"):
        origin(run, 0, "weights", 0, 0)


def test_a_change_leaves_the_models_own_weights_alone():
    w = small()
    before = w.W_q.copy()
    run_layer(np.ones((2, 6), np.float32), w, Edits(cells=(CellEdit("W_q", 0, 0, 0, 99.0),)))
    np.testing.assert_array_equal(w.W_q, before)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda x, w: run_layer(x, w, Edits(hidden_keys=(9,))), "position 9"),
        (lambda x, w: run_layer(x, w, Edits(scores=(ScoreEdit(0, 9, 0, 1.0),))), r"no score at \(9, 0\)"),
        (lambda x, w: run_layer(x, w, Edits(cells=(CellEdit("W_q", 0, 99, 0, 1.0),))), "6 by 4"),
        (lambda x, w: run_layer(x, w, Edits(cells=(CellEdit("W_x", 0, 0, 0, 1.0),))), "W_x is not one of"),
        (lambda x, w: Edits(temperature=0.0), "greater than 0; 0"),
        (lambda x, w: Edits(temperature=float("nan")), "finite"),
    ],
)
def test_an_impossible_change_is_refused_in_a_sentence(make, match):
    with pytest.raises(InputError, match=match):
        make(np.ones((3, 6), np.float32), small())


def test_an_x_of_another_width_is_refused():
    with pytest.raises(SizeError, match="6 numbers per token"):
        run_layer(np.ones((3, 7), np.float32), small())
    with pytest.raises(SizeError, match="b_q has the shape"):
        replace(small(), b_q=np.zeros((2, 2), np.float32))


def test_dividing_keeps_the_scores_of_random_vectors_at_one():
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 400, 64))
    raw = q @ k.T
    assert spread(raw).variance == pytest.approx(64, rel=0.05)
    assert spread(raw, 8.0).variance == pytest.approx(1, rel=0.05)
    assert spread(raw).largest > 2 * spread(raw, 8.0).largest
    assert spread(raw).entropy < spread(raw, 8.0).entropy


def test_a_spread_is_the_mean_of_its_rows_by_hand():
    """Rows of 1/4 and 3/4, and of two halves."""
    found = spread(np.log([[1.0, 3.0], [1.0, 1.0]]))
    assert found.largest == pytest.approx((3 / 4 + 1 / 2) / 2)
    quarter = -(np.log(1 / 4) / 4 + 3 * np.log(3 / 4) / 4)
    assert found.entropy == pytest.approx((quarter + np.log(2)) / 2)


def test_the_worked_example_by_hand():
    made = example()
    run = run_layer(made.x, made.weights)
    np.testing.assert_allclose(run.q, [[[2, 0], [0, 4]], [[1, 1], [2, 2]]])
    np.testing.assert_allclose(run.raw(0), [[4, 0], [0, 16]])
    np.testing.assert_allclose(run.scores[0], [[4 / 2**0.5, 0], [0, 16 / 2**0.5]], rtol=1e-6)
    first = np.exp(4 / 2**0.5) / (np.exp(4 / 2**0.5) + 1)
    np.testing.assert_allclose(run.weights[0, 0], [first, 1 - first], rtol=1e-5)
    other = np.exp(2 / 2**0.5) / (np.exp(2 / 2**0.5) + np.exp(4 / 2**0.5))
    np.testing.assert_allclose(run.weights[1, 0], [other, 1 - other], rtol=1e-5)
    second = other + 2 * (1 - other)
    np.testing.assert_allclose(run.output[0], [2 * first, 4 * (1 - first), second, second], rtol=1e-5)
    np.testing.assert_allclose(run.output, run.concatenated)


def test_while_q_is_k_two_tokens_cannot_both_prefer_the_other():
    rng = np.random.default_rng(1)
    for _ in range(200):
        run = run_layer(rng.normal(size=(2, 4)), example().weights)
        for raw in (run.raw(0), run.raw(1)):
            assert not (raw[0, 1] > raw[0, 0] and raw[1, 0] > raw[1, 1])


def test_one_wide_head_is_the_same_numbers_unsplit():
    w = small(h=3, d_k=4, d_v=4, d_model=12)
    one = unsplit(w)
    x = np.random.default_rng(2).normal(size=(5, 12)).astype(np.float32)
    run, wide = run_layer(x, w), run_layer(x, one)
    np.testing.assert_allclose(wide.q[0], np.concatenate(list(run.q), axis=-1), atol=NEAR)
    np.testing.assert_allclose(wide.raw(0), run.raw(0) + run.raw(1) + run.raw(2), atol=1e-4)
    assert equal_to_torch(wide).output < 1e-6 * np.abs(wide.output).max()
    np.testing.assert_allclose(as_one_head(run), wide.weights[0], atol=NEAR)


def test_the_form_that_compares_tokens_has_the_rank_of_a_head():
    w = small(d_model=11, d_k=4)
    found = bilinear(w.W_q[1], w.W_k[1])
    product = w.W_q[1].astype(np.float64) @ w.W_k[1].T
    assert found.rank == 4 == np.linalg.matrix_rank(product)
    np.testing.assert_allclose(found.singular, np.linalg.svd(product, compute_uv=False)[:4], rtol=1e-6)
    repeated = w.W_q[1].copy()
    repeated[:, 3] = repeated[:, 0]
    assert bilinear(repeated, w.W_k[1]).rank == 3


def test_one_head_stays_inside_its_values_and_several_leave_them(case):
    used, tokens = case
    found = layer_details(tokens, used, 2)
    run = run_layer(found.x, found.projections)
    z, values = run.context[1, 4], run.v[1]
    assert distance_to_hull(z, values, 3000).distance < 0.02 * np.linalg.norm(z)
    assert distance_to_hull(z, values).gap <= 1e-6
    mapped, total = sum_of_heads(run, 4)
    np.testing.assert_allclose(total + run.projections.b_o, run.output[4], atol=NEAR)
    assert all(distance_to_hull(total, points).gap > 0 for points in mapped)


def test_of_several_calls_the_one_in_the_middle_says_how_long_one_takes(monkeypatch):
    clock = iter(np.cumsum([part for took in (9, 1, 5, 3, 7) for part in (100, took)]).astype(float))
    monkeypatch.setattr("mha_core.inside.costs.perf_counter", lambda: next(clock))
    assert measured_seconds.__wrapped__(3, 8, 2, repeats=5) == 5


def test_what_heads_that_share_values_can_mix_is_what_they_add():
    plain = example(np.random.default_rng(0).normal(size=(5, 4)))
    W = np.random.default_rng(1).normal(size=(4, 4, 2)).astype(np.float32)
    weights = replace(plain.weights, W_q=W, W_k=W[:2], W_v=W[2:], W_o=np.ones((4, 2, 4), np.float32))
    run = run_layer(plain.x, weights, is_causal=True)
    for query in (0, 3):
        mapped, total = sum_of_heads(run, query)
        seen = run.weights[:, query, run.allowed[query]]
        np.testing.assert_allclose((seen[:, :, None] * mapped).sum(1), run.contributions[:, query], atol=1e-5)
        np.testing.assert_allclose(total, run.output[query], atol=1e-5)


def test_how_far_scores_lie_apart_is_counted_over_those_that_are_there():
    scores, allowed = np.arange(9.0).reshape(3, 3) ** 2, np.tril(np.ones((3, 3), bool))
    found = spread(scores, 2.0, allowed)
    there = [scores[i, : i + 1] / 2 for i in range(3)]
    rows = [np.exp(row - row.max()) / np.exp(row - row.max()).sum() for row in there]
    assert found.variance == pytest.approx(np.concatenate(there).var())
    assert found.largest == pytest.approx(np.mean([row.max() for row in rows]))
    assert found.entropy == pytest.approx(np.mean([-(row * np.log(row)).sum() for row in rows]))


def test_the_distance_to_a_square():
    square = np.array([[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]], float)
    out = distance_to_hull(np.array([3.0, 1.0]), square)
    assert out.distance == pytest.approx(1, abs=1e-6)
    assert out.gap == pytest.approx(1, abs=1e-6)
    inside = distance_to_hull(np.array([0.5, 1.2]), square)
    assert inside.distance == pytest.approx(0, abs=1e-3)
    assert inside.gap <= 1e-9
    np.testing.assert_allclose(inside.mixture.sum(), 1)
    on_an_edge = np.vstack([square, [[1, 0], [2, 1], [0, 0]]])
    assert sorted(map(tuple, convex_hull(on_an_edge))) == sorted(map(tuple, convex_hull(square)))
    assert sorted(map(tuple, convex_hull(square))) == [(0, 0), (0, 2), (2, 0), (2, 2)]
    x, y = convex_hull(square).T
    assert (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2 == 4, "counter-clockwise: the area is positive"


def test_the_hull_of_values_has_no_corner_at_what_is_mixed_of_other_heads():
    square = np.array([[0.0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0], [1, 0.5, 0]])
    found = plane(square, np.array([[9.0, 9, 0], [1, 0.5, 0]]))
    assert len(found.hull) == 4
    sides = sorted(np.linalg.norm(np.roll(found.hull, 1, axis=0) - found.hull, axis=1))
    assert sides == pytest.approx([1, 1, 2, 2])
    assert np.linalg.norm(found.marks[0] - found.points[4]) == pytest.approx(np.hypot(8, 8.5))
    assert found.kept == pytest.approx(1)


def test_a_plane_keeps_what_is_flat():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(9, 2)) @ rng.normal(size=(2, 5))
    found = plane(flat, flat[:1])
    assert found.kept == pytest.approx(1)
    gaps = np.linalg.norm(flat[:, None] - flat, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(found.points[:, None] - found.points, axis=-1), gaps, atol=1e-8)
    np.testing.assert_allclose(found.marks, found.points[:1], atol=1e-8)
    np.testing.assert_allclose(found.points.mean(axis=0), 0, atol=1e-8)


def test_what_a_plane_keeps_is_a_share_of_the_squared_distances():
    points = np.array([[2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 0.5], [0, 0, -0.5]])
    found = plane(points, np.zeros((1, 3)))
    assert found.kept == pytest.approx((8 + 2) / (8 + 2 + 0.5))
    assert len(found.hull) == 4


def test_points_of_one_number_lie_on_a_line_of_the_plane():
    found = plane(np.array([[1.0], [3.0], [5.0]]), np.array([[4.0]]))
    np.testing.assert_allclose(np.abs(found.points), [[2, 0], [0, 0], [2, 0]], atol=1e-9)
    np.testing.assert_allclose(np.abs(found.marks), [[1, 0]], atol=1e-9)
    np.testing.assert_allclose(found.hull, [[-2, 0], [2, 0]], atol=1e-9)
    assert found.kept == pytest.approx(1)


def test_the_variants_are_what_their_names_say():
    w = small(h=6, h_kv=6, d_model=12, d_k=2, d_v=2)
    rng = np.random.default_rng(8)
    x, other = (rng.normal(size=(n, 12)).astype(np.float32) for n in (5, 7))
    made = {one.name: one for one in variants(run_layer(x, w), other, n_groups=3)}
    np.testing.assert_array_equal(made["MHA"].run.output, run_layer(x, w).output)
    assert made["GQA"].owner == (0, 0, 1, 1, 2, 2)
    assert made["MQA"].owner == (0,) * 6
    np.testing.assert_allclose(
        made["GQA"].run.k[1], (run_layer(x, w).k[2] + run_layer(x, w).k[3]) / 2, atol=NEAR
    )
    np.testing.assert_allclose(made["MQA"].run.v[0], run_layer(x, w).v.mean(axis=0), atol=NEAR)
    assert not np.triu(made["Causal"].run.weights, 1).any()
    assert made["Cross"].run.weights.shape == (6, 5, 7)
    for one in made.values():
        np.testing.assert_allclose(one.run.weights.sum(axis=-1), 1, atol=1e-5)
        assert equal_to_torch(one.run).output < NEAR
    np.testing.assert_array_equal(run_layer(x, pooled(w, 6)).output, run_layer(x, w).output)
    assert [middle_groups(h) for h in (12, 16, 7, 1)] == [4, 4, 1, 1]
    with pytest.raises(SizeError, match="6 key heads cannot be averaged into 4"):
        pooled(w, 4)


@pytest.mark.parametrize(("d_model", "heads", "kv"), [(35, 5, None), (24, 6, 2), (24, 6, 1), (768, 12, None)])
def test_what_is_counted_is_what_torch_counts(d_model, heads, kv):
    assert operations(17, d_model, heads, kv)["all"] == measured_operations(17, d_model, heads, kv)


def test_a_layer_without_heads_is_the_layer_with_their_gates_closed(case):
    used, tokens = case
    gates = torch.ones(used.n_layers, used.n_heads)
    gates[1, [0, 3]] = 0
    with torch.inference_mode():
        steps = list(used.encoder.steps(*batch_of([tokens], used), gates=gates))
    found = without(layer_details(tokens, used, 1), [3, 0, 3])
    assert found.heads == (0, 3)
    np.testing.assert_allclose(found.output, steps[1].attended[0].numpy(), atol=NEAR)
    assert found.difference < NEAR
    np.testing.assert_allclose(
        without(layer_details(tokens, used, 1), []).output, layer_details(tokens, used, 1).output, atol=NEAR
    )
    with pytest.raises(SizeError, match="There is no head 40"):
        without(layer_details(tokens, used, 1), [40])


def test_many_heads_cost_what_one_costs():
    for heads in (1, 2, 12):
        assert parameters(768, heads, bias=False)["all"] == 4 * 768**2
        assert operations(16, 768, heads) == operations(16, 768, 1)
    assert parameters(768, 12)["all"] == 4 * (768**2 + 768) == 2_362_368


def test_the_known_models_have_their_known_sizes():
    sizes = {
        c.name: (c.d_model, c.n_heads, c.d_k, c.n_layers, c.kv_heads, c.max_tokens) for c in CONFIGURATIONS
    }
    assert sizes == {
        "BERT-base": (768, 12, 64, 12, 12, 512),
        "BERT-large": (1024, 16, 64, 24, 16, 512),
        "GPT-2": (768, 12, 64, 12, 12, 1024),
        "GPT-3 175B": (12288, 96, 128, 96, 96, 2048),
        "LLaMA-7B": (4096, 32, 128, 32, 32, 2048),
        "LLaMA-2-7B": (4096, 32, 128, 32, 32, 4096),
        "LLaMA-2-70B": (8192, 64, 128, 80, 8, 4096),
        "Llama 3 8B": (4096, 32, 128, 32, 8, 8192),
    }
    assert parameters(12288, 96)["all"] == 4 * (12288**2 + 12288)
    # LLaMA-2-7B, 4,096 tokens in 16 bits: 2 GiB, as its users know.
    assert kv_cache_bytes(4096, 128, 32, 32) == 2 * 1024**3
    assert weights_bytes(512, 12, 12) == 12 * 12 * 512**2 * 4


@pytest.mark.parametrize(
    ("sizes", "match"),
    [
        ((1000, 16, 1), r"1000 / 16 = 62\.5.*992 or 1008 would do"),
        ((3, 8, 1), "8 would do"),
        ((0, 8, 1), "at least one of d_model; 0"),
        ((8, 0, 1), "at least one of heads; 0"),
    ],
)
def test_impossible_sizes_are_explained(sizes, match):
    with pytest.raises(SizeError, match=match):
        Configuration("yours", *sizes)
    with pytest.raises(SizeError, match=r"8 / 3 is not a whole number"):
        Configuration("yours", 64, 8, 1, n_kv_heads=3)
