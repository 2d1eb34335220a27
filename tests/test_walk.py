"""The walk through one layer: every number in plain NumPy, its changes by the book, its variants, what it costs."""

import numpy as np
import pytest

from mha_core import Projections, SizeError, layer_details
from mha_core.layer import (
    CONFIGURATIONS,
    ablate_in_layer,
    convex_hull,
    distance_to_hull,
    equal_to_torch,
    measured_operations,
    middle_groups,
    operations,
    parameters,
    pool_kv_heads,
    run_layer,
    variants,
    weights_bytes,
)

NEAR = 2e-5
SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "Ann gave her dog a bone.",
    "Fish swim, birds fly; stones do neither, as the old man said.",
)


def rotated(x: np.ndarray, base: float) -> np.ndarray:
    """(head, n, d_k) turned by its positions, halves as pairs (Su et al. 2021, section 3.4.2)."""
    n, half = x.shape[1], x.shape[2] // 2
    turns = np.exp(1j * np.outer(np.arange(n), base ** (-np.arange(half) / half)))
    pairs = (x[..., :half] + 1j * x[..., half:]) * turns
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def by_numpy(run) -> dict[str, np.ndarray]:
    """The layer again in double precision, from x and the matrices alone."""
    w, x = run.projections, run.x.astype(np.float64)
    q, k, v = (
        x @ W + (0 if b is None else b[:, None]) for W, b in ((w.W_q, w.b_q), (w.W_k, w.b_k), (w.W_v, w.b_v))
    )
    if run.rotary is not None:
        q, k = rotated(q, run.rotary.theta), rotated(k, run.rotary.theta)
    k, v = (np.repeat(part, w.n_heads // w.n_kv_heads, axis=0) for part in (k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(w.d_k)
    if run.is_causal:
        scores = np.where(np.tri(run.n) > 0, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    parts = weights @ v @ w.W_o
    output = parts.sum(axis=0) + (0 if w.b_o is None else w.b_o)
    return {
        "q": q, "scores": scores, "weights": weights, "context": weights @ v, "contributions": parts,
        "output": output,
    }  # fmt: skip


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize(
    ("name", "layers"), [("model", (0, 3)), pytest.param("smollm2", (13,), marks=pytest.mark.slow)]
)
def test_every_number_of_a_layer_is_that_of_numpy(name, layers, text, request):
    model = request.getfixturevalue(name)
    for layer in layers:
        run = layer_details(model.tokenizer.encode(text), model, layer)
        truth = by_numpy(run)
        without = truth["output"] - truth["contributions"][1] - truth["contributions"][7]
        results = {part: getattr(run, part) for part in truth} | {"without": ablate_in_layer(run, [1, 7])}
        for part, values in (truth | {"without": without}).items():
            cells = np.isfinite(values)
            reach = NEAR * (1 + np.abs(values[cells]).max())
            np.testing.assert_allclose(results[part][cells], values[cells], atol=reach, err_msg=part)


def test_the_distance_to_a_square():
    square = np.array([[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]], float)
    out = distance_to_hull(np.array([3.0, 1.0]), square)
    assert out.distance == pytest.approx(1, abs=1e-6)
    assert out.gap == pytest.approx(1, abs=1e-6)
    inside = distance_to_hull(np.array([0.5, 1.2]), square)
    assert inside.distance == pytest.approx(0, abs=1e-3)
    assert inside.gap <= 1e-9
    on_an_edge = np.vstack([square, [[1, 0], [2, 1], [0, 0]]])
    assert sorted(map(tuple, convex_hull(on_an_edge))) == sorted(map(tuple, convex_hull(square)))
    assert sorted(map(tuple, convex_hull(square))) == [(0, 0), (0, 2), (2, 0), (2, 2)]
    x, y = convex_hull(square).T
    assert (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2 == 4, "counter-clockwise: the area is positive"


def test_the_variants_are_what_their_names_say():
    rng = np.random.default_rng(8)
    shapes = [*[(6, 12, 2), (6, 2)] * 3, (6, 2, 12), (12,), (5, 12), (7, 12)]  # W and b of q, k, v, then of o
    *numbers, x, other = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    w = Projections(*numbers)
    by_name = {variant.name: variant for variant in variants(run_layer(x, w), other, n_groups=3)}
    np.testing.assert_array_equal(by_name["MHA"].run.output, run_layer(x, w).output)
    assert by_name["GQA"].owner == (0, 0, 1, 1, 2, 2)
    assert by_name["MQA"].owner == (0,) * 6
    np.testing.assert_allclose(by_name["GQA"].run.k[1], run_layer(x, w).k[2:4].mean(axis=0), atol=NEAR)
    np.testing.assert_allclose(by_name["MQA"].run.v[0], run_layer(x, w).v.mean(axis=0), atol=NEAR)
    assert not np.triu(by_name["Causal"].run.weights, 1).any()
    assert by_name["Cross"].run.weights.shape == (6, 5, 7)
    for variant in by_name.values():
        np.testing.assert_allclose(variant.run.weights.sum(axis=-1), 1, atol=1e-5)
        assert equal_to_torch(variant.run).output < NEAR
    np.testing.assert_array_equal(run_layer(x, pool_kv_heads(w, 6)).output, run_layer(x, w).output)
    assert [middle_groups(h) for h in (12, 16, 7, 1)] == [4, 4, 1, 1]
    with pytest.raises(SizeError):
        pool_kv_heads(w, 4)


@pytest.mark.parametrize(("d_model", "heads", "kv"), [(35, 5, None), (24, 6, 2), (24, 6, 1), (768, 12, None)])
def test_what_is_counted_is_what_torch_counts(d_model, heads, kv):
    assert operations(17, d_model, heads, kv)["all"] == measured_operations(17, d_model, heads, kv)


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
    assert weights_bytes(512, 12, 12) == 12 * 12 * 512**2 * 4
