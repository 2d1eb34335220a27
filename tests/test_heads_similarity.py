"""How far apart heads are, the map of them, and clusters."""

import json

import numpy as np
import pytest

from mha_core import export, load_model
from mha_core.errors import InputError, SizeError
from mha_core.heads.similarity import SimilaritySums, clusters, js_divergence, plane
from mha_core.heads.tables import similarity_data, similarity_text
from tests.heads_by_hand import looking, random_attention


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


def test_long_texts_are_compared_in_parts_with_the_same_result(monkeypatch):
    weights = random_attention(4, 1, 6, 9)[0]
    whole = js_divergence(weights)
    monkeypatch.setattr("mha_core.heads.similarity.MAX_CELLS", 100)
    np.testing.assert_allclose(js_divergence(weights), whole, atol=1e-9)


def test_the_mean_is_over_texts_and_parts_merge():
    a, b = random_attention(1, 2, 2, 5), random_attention(2, 2, 2, 9)
    whole, left, right = (SimilaritySums(2, 2) for _ in range(3))
    for one, part in ((a, left), (b, right)):
        whole.add(one, object())
        part.add(one, object())
    left.merge(right)
    expected = (js_divergence(a.reshape(4, 5, 5)) + js_divergence(b.reshape(4, 9, 9))) / 2
    np.testing.assert_allclose(whole.result().distance, expected)
    np.testing.assert_allclose(left.result().distance, expected)
    assert whole.result().mean == pytest.approx(expected[np.triu_indices(4, 1)].mean())
    with pytest.raises(SizeError, match="cannot be merged"):
        whole.merge(SimilaritySums(1, 2))


def test_relatives_are_the_nearest_other_heads():
    sums = SimilaritySums(2, 2)
    one, near, far = looking(6, {1: 2}, 0.9), looking(6, {1: 2}, 0.8), looking(6, {1: 4, 2: 5, 3: 0}, 1.0)
    sums.add(np.stack([one, far, near, far]).reshape(2, 2, 6, 6), object())
    (layer, head, distance), *_ = sums.result().relatives(0, 0)
    assert (layer, head) == (1, 0)
    assert 0 < distance < 0.1
    assert len(sums.result().relatives(0, 0, 2)) == 2


@pytest.mark.parametrize(("heads", "others"), [(1, []), (2, [(0, 1)]), (3, [(0, 1), (0, 2)])])
def test_a_head_is_never_its_own_relative(heads, others):
    sums = SimilaritySums(1, heads)
    sums.add(random_attention(3, 1, heads, 5), object())
    found = sums.result().relatives(0, 0)
    assert sorted((layer, head) for layer, head, _ in found) == others
    assert all(np.isfinite(distance) for *_, distance in found)
    assert np.isnan(sums.result().mean) == (heads == 1)
    assert "nan" not in similarity_text(sums.result())


def test_of_a_head_alone_there_is_a_file_in_which_no_number_is_made_up():
    sums = SimilaritySums(1, 1)
    sums.add(random_attention(3, 1, 1, 5), object())
    data = similarity_data(sums.result(), load_model().info)
    told = json.loads(export.json_of(data))
    assert (told["mean"], told["map"], told["distance"]) == (None, [[0, 0]], [[0]])


def test_points_of_a_plane_are_found_again():
    points = np.random.default_rng(7).normal(size=(11, 2))
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    found, stress = plane(apart)
    again = np.sqrt(((found[:, None] - found) ** 2).sum(-1))
    np.testing.assert_allclose(again, apart, atol=1e-5)
    assert stress < 1e-6


def test_a_head_alone_has_its_place_on_the_map_too():
    found, stress = plane(np.zeros((1, 1)))
    assert (found.tolist(), stress) == ([[0, 0]], 0)


def test_the_map_is_better_than_classical_scaling_and_always_the_same():
    from mha_core.heads.similarity import _apart, _classical

    apart = np.abs(np.random.default_rng(8).normal(size=(13, 13)))
    apart = np.triu(apart, 1) + np.triu(apart, 1).T
    found, stress = plane(apart)
    start = _classical(apart)
    before = np.sqrt(((_apart(start) - apart) ** 2).sum() / (apart**2).sum())
    assert stress < before
    again = np.sqrt(((found[:, None] - found) ** 2).sum(-1))
    assert stress == pytest.approx(np.sqrt(((again - apart) ** 2).sum() / (apart**2).sum())), (
        "Kruskal's first"
    )
    np.testing.assert_array_equal(found, plane(apart)[0])


def test_clusters_join_what_is_near_by_the_mean_distance():
    points = np.array([0.0, 0.1, 5.0, 5.2, 9.0])
    apart = np.abs(points[:, None] - points)
    assert clusters(apart, 3).tolist() == [0, 0, 1, 1, 2]
    assert clusters(apart, 2).tolist() == [0, 0, 1, 1, 1]
    assert clusters(apart, 5).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="6 clusters were asked of 5 heads"):
        clusters(apart, 6)


def test_clusters_agree_with_scipy():
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy", reason="scipy is not installed")
    from scipy.spatial.distance import squareform

    points = np.random.default_rng(9).normal(size=(23, 3))
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    tree = hierarchy.linkage(squareform(apart, checks=False), method="average")
    for count in (2, 5, 9):
        ours, theirs = clusters(apart, count), hierarchy.fcluster(tree, count, "maxclust")
        assert len({(a, b) for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)}) == count
