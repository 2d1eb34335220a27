"""Places, entropy and confidence; rare tokens and copies; worked out by hand on small texts."""

from dataclasses import dataclass

import numpy as np
import pytest

from mha_core.errors import SizeError
from mha_core.heads.copying import CopySums, count_tokens
from mha_core.heads.positions import DISTANCES, PositionSums, entropy
from mha_core.tokens import Tokens
from tests.heads_by_hand import looking, random_attention, tokens_of


@dataclass(frozen=True)
class Item:
    tokens: Tokens


TEXT = Item(tokens_of(["stop", ",", "now", "."]))  # [CLS] stop , now . [SEP]


def measured(weights: np.ndarray, item: Item = TEXT):
    sums = PositionSums(1, 1)
    sums.add(weights[None, None].astype(np.float32), item)
    return sums.result()


def test_previous_is_to_the_left_and_next_to_the_right():
    left = measured(np.eye(6, k=-1) + np.eye(6)[0] * (np.arange(6) == 0)[:, None])
    assert left["previous"][0, 0] == pytest.approx(5 / 6)
    assert left["next"][0, 0] == 0
    assert left["self"][0, 0] == pytest.approx(1 / 6)
    right = measured(np.eye(6, k=1))
    assert (right["previous"][0, 0], right["next"][0, 0]) == (0, pytest.approx(5 / 6))


def test_all_rows_count_and_those_without_a_neighbour_have_no_mass():
    """The mean is over all six rows, special ones too; five of them have a left neighbour."""
    assert measured(np.full((6, 6), 1 / 6))["previous"][0, 0] == pytest.approx(5 / 36)


def test_separators_and_ends_are_columns():
    column = np.array([0.05, 0.1, 0.15, 0.2, 0.22, 0.28])
    found = measured(np.tile(column, (6, 1)))
    names = ("cls", "first", "comma", "last", "period", "sep")
    expected = (0.05, 0.1, 0.15, 0.22, 0.22, 0.28)
    assert [found[name][0, 0] for name in names] == pytest.approx(expected, abs=1e-6)


def test_the_separator_of_a_pair_counts_all_its_sep():
    pieces = list(TEXT.tokens.pieces)
    two = Item(Tokens("", None, (*pieces, pieces[-1]), TEXT.tokens.words))
    found = measured(np.tile([0.0, 0.1, 0.1, 0.1, 0.1, 0.2, 0.4], (7, 1)), two)
    assert found["sep"][0, 0] == pytest.approx(0.6)


def test_entropy_is_in_nats_and_a_zero_costs_nothing():
    assert entropy(np.full((4, 4), 0.25)) == pytest.approx(np.log(4))
    sharp = entropy(np.eye(4))
    expected = -(0.999925 * np.log(0.999925) + 3 * 0.000025 * np.log(0.000025))
    assert sharp == pytest.approx(expected, rel=1e-4)
    assert np.isfinite(entropy(np.eye(4, dtype=np.float32))).all()
    found = measured(np.full((6, 6), 1 / 6))
    assert found["entropy"][0, 0] == pytest.approx(np.log(6), abs=1e-6)
    assert found.uniform_entropy == pytest.approx(np.log(6))


def test_confidence_is_the_mean_of_the_largest_weights():
    assert measured(looking(6, {0: 1, 1: 2}, 0.8))["confidence"][0, 0] == pytest.approx((1.6 + 4 / 6) / 6)


def test_the_profile_of_distances_is_where_the_mass_is():
    found = measured(np.eye(6, k=2) + np.eye(6, k=-4))
    profile = dict(zip(DISTANCES.tolist(), found.distance[0, 0].tolist(), strict=True))
    assert profile[2] == pytest.approx(4 / 6)
    assert profile[-4] == pytest.approx(2 / 6)
    assert sum(profile.values()) == pytest.approx(1)


def test_the_share_of_maxima_counts_only_rows_that_reach_so_far():
    found = measured(looking(6, {1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 0: 3}))
    peaks = dict(zip(DISTANCES.tolist(), found.peak[0, 0].tolist(), strict=True))
    assert peaks[-1] == 1
    assert peaks[3] == pytest.approx(1 / 3)
    assert peaks[7] == 0


def test_the_mean_is_over_rows_and_then_over_texts():
    sums = PositionSums(1, 1)
    long = Item(tokens_of(["a"] * 10))
    sums.add(np.eye(6, dtype=np.float32)[None, None], TEXT)
    sums.add(np.zeros((1, 1, 12, 12), dtype=np.float32), long)
    assert sums.result()["self"][0, 0] == pytest.approx(0.5)


def test_parts_merge_to_the_whole():
    whole, left, right = (PositionSums(2, 3) for _ in range(3))
    for seed, part in ((1, left), (2, right), (3, left)):
        weights = random_attention(seed, 2, 3, 6)
        whole.add(weights, TEXT)
        part.add(weights, TEXT)
    left.merge(right)
    a, b = whole.result(), left.result()
    assert a.n_texts == b.n_texts == 3
    for name in a.values:
        np.testing.assert_allclose(a[name], b[name], atol=1e-12)
    np.testing.assert_allclose(a.peak, b.peak)
    np.testing.assert_allclose(a.distance, b.distance)
    with pytest.raises(SizeError, match="cannot be merged"):
        whole.merge(PositionSums(3, 2))


REPEATED = Item(tokens_of(["red", "boat", "sees", "blue", "boat"]))  # [CLS] red boat sees blue boat [SEP]


def copied(weights: np.ndarray, item: Item = REPEATED, others: tuple[Item, ...] = ()):
    counts = count_tokens([one.tokens for one in (item, *others)], 30000)
    sums = CopySums(1, 1, counts)
    sums.add(weights[None, None].astype(np.float32), item)
    return sums.result()


def test_an_earlier_copy_is_found_among_earlier_tokens_alone():
    item = Item(tokens_of(["red", "boat", "sees", "blue", "boat", "sail"]))
    weights = looking(8, {5: 0}, 0.4)
    weights[5, 6], weights[5, 7], weights[5, 2] = 0.2, 0.2, 0.1
    found = copied(weights, item)
    assert found.n_copies == 1
    assert found.copy[0, 0] == 1, "[CLS], [SEP] and later tokens are no candidates"
    assert found.copy_mass[0, 0] == pytest.approx(0.1)
    assert found.copy_baseline == pytest.approx(1 / 4)


def test_looking_after_the_copy_is_induction_and_not_copying():
    found = copied(looking(7, {5: 3}))
    assert (found.copy[0, 0], found.after_copy[0, 0]) == (0, 1)
    # Of a word said three times running, the second stands after a copy and is one itself.
    thrice = Item(tokens_of(["boat", "boat", "boat"]))
    found = copied(looking(5, {2: 1, 3: 2}), thrice)
    assert (found.n_copies, found.copy[0, 0], found.after_copy[0, 0]) == (2, 1, 0)


def test_function_words_are_no_copies():
    item = Item(tokens_of(["the", "boat", "and", "the", "cat"]))
    assert copied(looking(7, {4: 1}), item).n_copies == 0
    assert np.isnan(copied(looking(7, {4: 1}), item).copy[0, 0])


def test_the_rarest_token_is_rarest_in_the_whole_corpus():
    more = Item(tokens_of(["red", "sees", "blue", "red", "sees", "blue"]))
    item = Item(tokens_of(["red", "boat", "sees", "blue"]))
    found = copied(looking(6, {1: 2, 3: 2, 4: 2, 2: 1}), item, (more,))
    assert found.n_rare == 3, "the rare token's own row is left out"
    assert found.rare[0, 0] == 1
    assert found.rare_baseline == pytest.approx(1 / 3)
    assert copied(looking(6, {1: 3, 3: 4, 4: 1}), item, (more,)).rare[0, 0] == 0


def test_of_equally_rare_tokens_the_one_later_in_the_vocabulary_is_rarer():
    item = Item(tokens_of(["aa", "mm", "zz"]))
    ids = item.tokens.ids
    assert ids[3] > max(ids[1:3])
    assert copied(looking(5, {1: 3, 2: 3}), item).rare[0, 0] == 1
    assert copied(looking(5, {1: 2, 2: 1, 3: 1}), item).rare[0, 0] == 0


def test_lift_is_the_surprisal_of_what_is_looked_at_over_that_of_the_text():
    item = Item(tokens_of(["x", "x", "x", "y"]))
    counts = count_tokens([item.tokens], 30000)
    total = (counts + 1).sum()
    often, rare = -np.log(4 / total), -np.log(2 / total)
    found = copied(looking(6, {i: 4 for i in range(6)}, 1.0), item)  # noqa: C420 - says what it means
    assert found.lift[0, 0] == pytest.approx(rare - (3 * often + rare) / 4)
    assert copied(np.full((6, 6), 1 / 6), item).lift[0, 0] == pytest.approx(0)


def test_copies_merge_and_refuse_another_corpus():
    counts = count_tokens([REPEATED.tokens], 30000)
    whole, left, right = (CopySums(2, 3, counts) for _ in range(3))
    for seed, part in ((1, left), (2, right)):
        whole.add(random_attention(seed, 2, 3, 7), REPEATED)
        part.add(random_attention(seed, 2, 3, 7), REPEATED)
    left.merge(right)
    np.testing.assert_allclose(whole.result().lift, left.result().lift)
    np.testing.assert_allclose(whole.result().copy_mass, left.result().copy_mass)
    assert left.result().n_copies == 2
    with pytest.raises(SizeError, match="another corpus"):
        whole.merge(CopySums(2, 3, counts + 1))
