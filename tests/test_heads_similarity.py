"""How far apart heads are, the map of them, and clusters."""

import numpy as np
import pytest

from mha_core.heads.similarity import SimilaritySums, clusters, js_divergence, plane
from tests.heads_by_hand import random_attention


def slow(p: np.ndarray, q: np.ndarray) -> float:
    """Jensen-Shannon divergence of two rows by its definition."""
    m = (p + q) / 2
    halves = [sum(a * np.log(a / b) for a, b in zip(x, m, strict=True) if a > 0) for x in (p, q)]
    return sum(halves) / 2


def test_heads_that_never_agree_are_log_two_apart_and_equal_ones_zero():
    left, right = np.eye(4), np.roll(np.eye(4), 1, axis=1)
    found = js_divergence(np.stack([left, right, left]).astype(np.float32))
    assert found[0, 1] == pytest.approx(np.log(2), abs=1e-6)
    assert found[0, 2] == 0
    assert (np.diag(found) == 0).all()


def test_the_distance_is_the_mean_over_rows_of_the_definition():
    weights = random_attention(3, 1, 5, 7)[0]
    found = js_divergence(weights)
    for a in range(5):
        for b in range(5):
            rows = [slow(weights[a, i].astype(float), weights[b, i].astype(float)) for i in range(7)]
            assert found[a, b] == pytest.approx(np.mean(rows), abs=1e-5)


def test_the_mean_is_over_texts():
    a, b = random_attention(1, 2, 2, 5), random_attention(2, 2, 2, 9)
    sums = SimilaritySums(2, 2)
    for one in (a, b):
        sums.add(one, object())
    expected = (js_divergence(a.reshape(4, 5, 5)) + js_divergence(b.reshape(4, 9, 9))) / 2
    np.testing.assert_allclose(sums.result().distance, expected)
    assert sums.result().mean == pytest.approx(expected[np.triu_indices(4, 1)].mean())


def test_points_of_a_plane_are_found_again():
    points = np.random.default_rng(7).normal(size=(11, 2))
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    found, stress = plane(apart)
    again = np.sqrt(((found[:, None] - found) ** 2).sum(-1))
    np.testing.assert_allclose(again, apart, atol=1e-5)
    assert stress < 1e-6


def test_clusters_agree_with_scipy():
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy", reason="scipy is not installed")
    from scipy.spatial.distance import squareform

    points = np.random.default_rng(9).normal(size=(23, 3))
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    tree = hierarchy.linkage(squareform(apart, checks=False), method="average")
    for count in (2, 5, 9):
        ours, theirs = clusters(apart, count), hierarchy.fcluster(tree, count, "maxclust")
        assert len({(a, b) for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)}) == count
