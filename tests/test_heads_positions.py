"""Places, entropy and confidence; rare tokens and copies; worked out by hand on small texts."""

from dataclasses import dataclass

import numpy as np
import pytest

from mha_core.heads.copying import CopySums, count_tokens
from mha_core.heads.positions import PositionSums, entropy
from mha_core.tokens import Tokens
from tests.heads_by_hand import looking, tokens_of


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


def test_entropy_is_in_nats_and_a_zero_costs_nothing():
    assert entropy(np.full((4, 4), 0.25)) == pytest.approx(np.log(4))
    sharp = entropy(np.eye(4))
    expected = -(0.999925 * np.log(0.999925) + 3 * 0.000025 * np.log(0.000025))
    assert sharp == pytest.approx(expected, rel=1e-4)
    assert np.isfinite(entropy(np.eye(4, dtype=np.float32))).all()
    found = measured(np.full((6, 6), 1 / 6))
    assert found["entropy"][0, 0] == pytest.approx(np.log(6), abs=1e-6)
    assert found.uniform_entropy == pytest.approx(np.log(6))


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
