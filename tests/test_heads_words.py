"""Pieces into words: to a word the sum, from it the mean, [CLS] and [SEP] left out and not renormalised."""

import numpy as np
import pytest

from mha_core.errors import SizeError
from mha_core.heads.words import merge_words, word_bounds
from tests.heads_by_hand import random_attention, tokens_of

SPLIT = tokens_of(["the", ["ea", "gle"], "saw", ["x", "y", "z"]])


def slow(weights: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The definition, one cell at a time."""
    found = np.zeros((*weights.shape[:-2], len(bounds), len(bounds)))
    for i, (a, b) in enumerate(bounds):
        for j, (c, d) in enumerate(bounds):
            found[..., i, j] = sum(weights[..., q, c:d].sum(-1) for q in range(a, b)) / (b - a)
    return found


def test_to_a_word_is_the_sum_and_from_it_the_mean():
    tokens = tokens_of(["a", ["b", "c"]])
    weights = np.array(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.1, 0.0, 0.3, 0.4, 0.2],
            [0.2, 0.5, 0.1, 0.1, 0.1],
            [0.2, 0.1, 0.3, 0.2, 0.2],
            [0.2, 0.2, 0.2, 0.2, 0.2],
        ]
    )
    words = merge_words(weights, word_bounds(tokens))
    np.testing.assert_allclose(words, [[0.0, 0.7], [0.3, 0.35]], atol=1e-12)


def test_merging_equals_the_definition_for_all_heads_at_once():
    weights = random_attention(1, 2, 3, len(SPLIT))
    np.testing.assert_allclose(
        merge_words(weights, word_bounds(SPLIT)), slow(weights, word_bounds(SPLIT)), atol=1e-6
    )


def test_a_word_row_and_its_shares_of_the_specials_sum_to_one():
    weights = random_attention(2, 2, 3, len(SPLIT))
    bounds = word_bounds(SPLIT)
    words = merge_words(weights, bounds).sum(-1)
    specials = weights[..., [0, -1]].sum(-1)
    shares = np.stack([specials[..., a:b].mean(-1) for a, b in bounds], axis=-1)
    np.testing.assert_allclose(words + shares, 1, atol=1e-6)
    assert words.max() < 1


@pytest.mark.parametrize("tokens", [SPLIT, tokens_of(["one", "two", "three"])])
def test_nothing_is_written_into_the_weights(tokens):
    weights = random_attention(3, 1, 2, len(tokens))
    before = weights.copy()
    words = merge_words(weights, word_bounds(tokens))
    words[:] = -1
    np.testing.assert_array_equal(weights, before)


def test_words_agree_with_the_grid_of_a_record(model):
    from mha_core import trace

    record = trace("The unbelievably tired animal didn't cross.", model)
    words = merge_words(record.weights, word_bounds(record.tokens))
    np.testing.assert_allclose(words, record.grid(words=True, specials="hidden").weights, atol=1e-6)


def test_words_outside_the_weights_are_refused():
    with pytest.raises(SizeError, match="pieces 1 to 9, and there are 4"):
        merge_words(np.eye(4), np.array([[1, 9]]))
    with pytest.raises(SizeError, match="there are 4"):
        merge_words(np.eye(4), np.array([[2, 2]]))
