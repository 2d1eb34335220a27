"""Two runs side by side: alignment, masses, change, flips; on grids small enough to do by hand."""

import numpy as np
import pytest

from mha_core import Grid, InputError, SizeError, Unit
from mha_core.compare import HeadChange, align, candidates, counterpart, head_changes, most_changed


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


def test_equal_words_meet_and_a_changed_word_meets_its_change():
    assert align(["It", "was", "too", "tired", "."], ["it", "was", "too", "wide", "."]) == tuple(
        (i, i) for i in range(5)
    )


def test_a_capital_makes_no_other_word():
    assert align(["The", "cat"], ["So", "the", "cat"]) == ((None, 0), (0, 1), (1, 2))
    assert align(["the", "cat"], ["So", "The", "cat"]) == ((None, 0), (0, 1), (1, 2))


def test_a_word_that_fills_a_long_sentence_is_aligned_too():
    pairs = align(["so", *["the"] * 300], ["the"] * 300)
    assert pairs == ((0, None), *((i + 1, i) for i in range(300)))


def test_words_without_a_counterpart_stay_alone():
    pairs = align(["the", "cat", "sat"], ["the", "big", "fat", "cat", "sat"])
    assert pairs == ((0, 0), (None, 1), (None, 2), (1, 3), (2, 4))
    assert counterpart(pairs, 1) == 3
    assert counterpart(align(["a", "b"], ["a"]), 1) is None


def test_repeated_words_keep_their_order():
    assert align(["a", "b", "a"], ["a", "b", "a"]) == ((0, 0), (1, 1), (2, 2))


def test_moved_is_the_share_of_attention_that_is_elsewhere_now():
    a = grid_of("x y z", rows([0.7, 0.2, 0.1], [1, 0, 0]))
    b = grid_of("x y z", rows([0.1, 0.8, 0.1], [1, 0, 0]))
    first, second = head_changes(a, b, (0, 0))
    assert (first.head, second.head) == ((0, 0), (0, 1))
    assert first.moved == pytest.approx(0.6)
    assert second.moved == 0


def test_a_word_that_is_gone_counts_in_full():
    a = grid_of("x y z", rows([0, 0, 1]))
    b = grid_of("x y", rows([0.5, 0.5]))
    assert head_changes(a, b, (0, 0))[0].moved == pytest.approx(1)


def test_the_masses_of_the_candidates_are_those_of_the_chosen_word():
    a = grid_of("x y z", rows([0.2, 0.5, 0.3]))
    b = grid_of("x y w", rows([0.2, 0.1, 0.7]))
    change = head_changes(a, b, (0, 0), [(1, 1), (2, 2)])[0]
    assert change.masses_a == pytest.approx((0.5, 0.3))
    assert change.masses_b == pytest.approx((0.1, 0.7))
    assert change.flips


def test_a_candidate_is_looked_up_where_it_stands_in_each_sentence():
    a = grid_of("x y z", rows([0.2, 0.5, 0.3]))
    b = grid_of("x w y z", rows([0.1, 0.2, 0.3, 0.4]))
    assert head_changes(a, b, (0, 0), [(1, 2)])[0].masses_b == pytest.approx((0.3,))


def test_the_chosen_word_is_looked_up_where_it_stands_in_each_sentence():
    even = np.full((4, 4), 0.25)
    moved_on, stayed = even.copy(), even.copy()
    moved_on[1], stayed[2] = [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4]
    a, b = grid_of("w x y z", moved_on[None, None]), grid_of("w x y z", stayed[None, None])
    assert head_changes(a, b, (1, 2))[0].moved == pytest.approx(0)
    assert head_changes(a, b, (1, 1))[0].moved == pytest.approx(0.2)
    assert candidates(a, b, (1, 2), [(3, 3)])[0].mean_b == pytest.approx(0.4)


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
    assert HeadChange((0, 0), 0.1, a, b).flips is flips


def test_a_candidate_has_its_mean_over_heads_and_its_strongest_head():
    a = grid_of("x y z", rows([0.2, 0.5, 0.3], [0.8, 0.1, 0.1]))
    b = grid_of("x y w", rows([0.2, 0.1, 0.7], [0, 0.6, 0.4]))
    assert candidates(a, b, (0, 0), [(2, 2)])[0].label_a == "z"
    assert candidates(a, b, (0, 0), [(2, 2)])[0].label_b == "w"
    found = candidates(a, b, (0, 0), [(1, 1)])[0]
    assert (found.mean_a, found.mean_b) == pytest.approx((0.3, 0.35))
    assert (found.top_a, found.top_b) == pytest.approx((0.5, 0.6))
    assert (found.head_a, found.head_b) == ((0, 0), (0, 1))


def test_models_of_two_sizes_cannot_be_compared_head_by_head():
    with pytest.raises(SizeError, match="A has 1 × 2 and B has 1 × 1"):
        head_changes(grid_of("x y", rows([1, 0], [1, 0])), grid_of("x y", rows([1, 0])), (0, 0))


def test_a_position_outside_the_sentence_is_refused():
    a = grid_of("x y", rows([1, 0]))
    with pytest.raises(InputError, match="no position 7 in a sentence of 2"):
        head_changes(a, a, (7, 7))


def test_tired_and_wide_in_head_4_2(model):
    from mha_core import trace

    a, b = (
        trace(f"The animal didn't cross the street because it was too {word}.", model).grid()
        for word in ("tired", "wide")
    )
    it, animal = a.find("it")[0], a.find("animal")[0]
    change = {c.head: c for c in head_changes(a, b, (it, it), [(animal, animal)])}[3, 1]
    assert change.masses_a[0] == pytest.approx(0.677, abs=1e-3)
    assert change.masses_b[0] == pytest.approx(0.281, abs=1e-3)
    row_a, row_b = a.weights[3, 1, it], b.weights[3, 1, it]
    assert change.moved == pytest.approx(np.abs(row_a.astype(float) - row_b).sum() / 2, abs=1e-6)


def test_the_link_that_changes_most_is_between_words_that_both_have():
    a, b = np.zeros((1, 2, 4, 4)), np.zeros((1, 2, 5, 5))
    a[0, 0, 2, 1] = 0.3  # z to y, which stand at 3 and 1 in B
    a[0, 0, 1, 0], b[0, 0, 1, 2] = 1, 1  # to a special token, and to a word that only B has
    b[0, 0, 3, 3] = 0.2
    one, other = grid_of("[CLS] y z [SEP]", a), grid_of("[CLS] y new z [SEP]", b)
    assert most_changed(one, other, (0, 0)) == (2, 1)
    assert most_changed(other, one, (0, 0)) == (3, 1)
    masked = np.zeros((1, 2, 4, 4))
    masked[0, 0, 2, 1] = 0.1
    masked[0, 0, 1, 2] = 1  # from a word that is [MASK] in the other
    hidden = grid_of("[CLS] [MASK] z w", np.zeros((1, 2, 4, 4)))
    masked[0, 0, 3, 2] = 0.2
    assert most_changed(grid_of("[CLS] y z w", masked), hidden, (0, 0)) == (3, 2)
    alone = np.zeros((1, 2, 4, 4))
    alone[0, 0, 1, 1], alone[0, 0, 2, 1] = 0.9, 0.1
    assert most_changed(grid_of("[CLS] y z [SEP]", alone), grid_of("[CLS] y z [SEP]", 0 * alone), (0, 0)) == (
        2,
        1,
    ), "from a word to itself is no link between two words"
    assert most_changed(one, one, (0, 0)) is None
    assert most_changed(one, grid_of("[CLS] y z [SEP]", a[:, :1]), (0, 1)) is None


def test_a_swing_is_as_less_bs_and_what_b_does_not_prefer_is_no_flip():
    assert HeadChange((0, 0), 0.1, (0.75, 0.25), (0.125, 0.5)).swing == 0.875
    assert HeadChange((0, 0), 0.1, (0.125, 0.5), (0.75, 0.25)).swing == -0.875
    assert not HeadChange((0, 0), 0.1, (0.5, 0.1), (0.02, 0.04)).flips, "B has no favourite"
