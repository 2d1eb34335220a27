"""Weights made small for a screen, against loops that say the same one cell at a time."""

import numpy as np
import pytest

from mha_core.thumbnails import changes, quantise, strongest, strongest_link, thumbnails, toward

SIZES = [(5, 3), (7, 4), (10, 4), (130, 64), (9, 9), (4, 8)]


def random(*shape, low=0.0, seed=3):
    return np.random.default_rng(seed).uniform(low, 1, size=shape)


def under(values, side):
    """Of every small cell the cells under it: cell i of n lies under floor(i * side / n)."""
    found = {}
    for i in range(len(values)):
        for j in range(len(values[0])):
            at = tuple(
                place if n <= side else place * side // n
                for place, n in zip((i, j), values.shape, strict=True)
            )
            found.setdefault(at, []).append(values[i, j])
    return found


def test_a_step_is_one_of_65535_and_the_nearest():
    assert quantise(np.array([0, 1, 0.5, 1.4 / 65535, 1.6 / 65535, 1.2, -0.1])).tolist() == [
        0, 65535, 32768, 1, 2, 65535, 0
    ]  # fmt: skip


@pytest.mark.parametrize(("n", "side"), SIZES)
def test_a_small_picture_holds_the_maximum_of_the_cells_under_each_of_its_own(n, side):
    weights = random(2, 3, n, n)
    small = thumbnails(weights, side)
    assert small.shape == (2, 3, min(n, side), min(n, side))
    for layer, head in np.ndindex(2, 3):
        for at, cells in under(weights[layer, head], side).items():
            assert small[(layer, head, *at)] == round(255 * max(cells))


@pytest.mark.parametrize(("rows", "columns", "side"), [(13, 5, 4), (13, 5, 8), (3, 30, 7)])
def test_a_picture_that_is_higher_than_wide_or_wider_than_high_holds_the_maximum_too(rows, columns, side):
    weights = random(1, 2, rows, columns)
    small = thumbnails(weights, side)
    assert small.shape == (1, 2, min(rows, side), min(columns, side))
    for head in range(2):
        for at, cells in under(weights[0, head], side).items():
            assert small[(0, head, *at)] == round(255 * max(cells))


@pytest.mark.parametrize(("n", "side"), SIZES)
def test_a_small_difference_holds_the_change_of_the_largest_size_with_its_sign(n, side):
    difference = random(1, 2, n, n, low=-1.0)
    small = changes(difference, side)
    for head in range(2):
        for at, cells in under(difference[0, head], side).items():
            assert small[(0, head, *at)] == round(127 * max(cells, key=abs))


def test_the_strongest_of_every_kind_come_largest_first_and_of_equals_the_first():
    rows = np.array([[0.1, 0.3, 0.1, 0.3, 0.2], [0.0, 0.0, 1.0, 0.0, 0.0]])
    positions, steps = strongest(rows, np.array([9, 4, 4, 9, 1]))
    assert positions.tolist() == [[1, 3, 4], [2, 0, 4]]
    assert steps[0].tolist() == [round(65535 * weight) for weight in (0.3, 0.3, 0.2)]
    assert strongest(rows, np.zeros(5))[0].tolist() == [[1], [2]]


def test_toward_a_key_is_its_column():
    rows = random(2, 3, 4, 4)
    assert toward(rows, 1).tolist() == np.rint(65535 * rows[..., 1]).astype(int).tolist()


@pytest.mark.parametrize("special", [(0, 5), (0,), (0, 3, 5), (), (2, 3)])
def test_the_strongest_link_is_that_between_two_words(special):
    weights = random(3, 4, 6, 6, seed=len(special))
    is_special = np.isin(np.arange(6), special)
    found = strongest_link(weights, is_special)
    for layer, head in np.ndindex(3, 4):
        pairs = [(q, k) for q in range(6) for k in range(6) if not {q, k} & set(special)]
        q, k = max(pairs, key=lambda pair: weights[(layer, head, *pair)])
        assert found[layer, head].tolist() == [q, k, round(65535 * weights[layer, head, q, k])]


def test_where_all_tokens_are_special_the_strongest_link_is_one_of_theirs():
    weights = np.array([[[[0.2, 0.8], [0.6, 0.4]]]])
    assert strongest_link(weights, np.array([True, True]))[0, 0].tolist() == [0, 1, round(65535 * 0.8)]
