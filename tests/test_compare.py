"""Two runs side by side: alignment, masses, change, flips; on grids small enough to do by hand."""

from dataclasses import replace

import numpy as np
import pytest

from mha_core import Grid, SizeError, Unit
from mha_core.record.compare import HeadDifference, align, counterpart, difference, head_changes


def grid_of(labels: str, weights) -> Grid:
    units = tuple(Unit(t, 0, 0, 0, t.startswith("["), (i,)) for i, t in enumerate(labels.split()))
    return Grid(units, np.asarray(weights, dtype=np.float32), words=False, specials="shown")


def rows(*first: list[float]) -> np.ndarray:
    """(1 layer, one head a row, n, n): the row of query 0 as given, the others even."""
    n = len(first[0])
    weights = np.full((1, len(first), n, n), 1 / n)
    for head, row in enumerate(first):
        weights[0, head, 0] = row
    return weights


@pytest.mark.parametrize(
    ("left", "right", "pairs"),
    [
        ("It was too tired .", "it was too wide .", [(i, i) for i in range(5)]),
        ("the cat sat", "the big fat cat sat", [(0, 0), (None, 1), (None, 2), (1, 3), (2, 4)]),
        ("a b", "a", [(0, 0), (1, None)]),
    ],
)
def test_equal_words_meet_a_changed_word_meets_its_change_and_others_stay_alone(left, right, pairs):
    aligned = align(left.split(), right.split())
    assert aligned == tuple(pairs)
    assert [counterpart(aligned, i) for i in range(len(left.split()))] == [
        b for a, b in pairs if a is not None
    ]


def test_a_difference_is_there_where_both_runs_see():
    plain = grid_of("x y z", rows([1, 0, 0]))
    back = np.tril(np.ones((1, 3, 3), dtype=bool))
    near = np.abs(np.subtract.outer(range(3), range(3)))[None] < 2
    change = difference(replace(plain, visible=back), replace(plain, visible=near))
    np.testing.assert_array_equal(change.visible, back & near)


@pytest.mark.parametrize(
    ("a", "b", "flips"),
    [
        ((0.5, 0.3), (0.1, 0.7), True),
        ((0.5, 0.3), (0.4, 0.3), False),
        ((0.5, 0.5), (0.1, 0.7), False),
        ((0.04, 0.006), (0.009, 0.012), False),
        ((0.3, 0.26), (0.1, 0.7), False),
        ((0.06, 0.009), (0.0, 0.051), True),
        ((0.5,), (0.1,), False),
        ((), (), False),
    ],
)
def test_a_head_flips_when_another_candidate_is_clearly_ahead(a, b, flips):
    assert HeadDifference((0, 0), 0.1, a, b).flips is flips


def test_models_of_two_sizes_cannot_be_compared_head_by_head():
    with pytest.raises(SizeError):
        head_changes(grid_of("x y", rows([1, 0], [1, 0])), grid_of("x y", rows([1, 0])), (0, 0))


def test_a_word_of_either_side_alone_counts_in_full():
    a, b = grid_of("x y z", rows([0.5, 0.3, 0.2])), grid_of("x z", rows([0.6, 0.4]))
    for one, other in ((a, b), (b, a)):
        assert head_changes(one, other, (0, 0))[0].moved == pytest.approx((0.1 + 0.3 + 0.2) / 2)
