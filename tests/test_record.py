"""The record: frozen, refusing to be born wrong; words by Clark's rule, with and without special tokens."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from mha_core import HeadScopeError, record_from_weights, trace

CLASSIC = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def record(model):
    return trace(CLASSIC, model)


def test_it_cannot_be_changed(record):
    own = dataclasses.replace(record, weights=record.weights.copy())
    for arrays in (record, own, record.grid()):
        with pytest.raises(ValueError, match="read-only"):
            arrays.weights[0, 0, 0, 0] = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            arrays.weights = None
    with pytest.raises(TypeError):
        record.versions["torch"] = "0"


@pytest.mark.parametrize("damage", ["nan", "inf", "negative", "double", "zero"])
def test_weights_that_are_no_attention_are_refused(damage, record):
    weights = record.weights.copy()
    row = weights[3, 1, 2]
    row[:] = {"nan": np.nan, "inf": np.inf, "double": 2 * row, "zero": 0.0, "negative": row}[damage]
    if damage == "negative":
        row[:2] = (-0.5, 0.5 + row[:2].sum())
    with pytest.raises(HeadScopeError):
        dataclasses.replace(record, weights=weights)


def test_attention_to_a_word_is_the_sum_and_from_it_the_mean_over_its_pieces(record):
    grid = record.grid(words=True)
    tokens = record.tokens
    groups = [[0], *([*range(w.first, w.stop)] for w in tokens.words), [len(tokens) - 1]]
    assert [unit.pieces for unit in grid.units] == [tuple(group) for group in groups]
    for i, rows in enumerate(groups):
        for j, columns in enumerate(groups):
            expected = record.weights[:, :, rows][:, :, :, columns].sum(-1).mean(-1)
            np.testing.assert_allclose(grid.weights[:, :, i, j], expected, atol=1e-6)
    np.testing.assert_allclose(grid.weights.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("words", [False, True])
def test_special_tokens_shown_hidden_and_renormalised(words, record):
    shown, hidden, divided = (record.grid(words, how) for how in ("shown", "hidden", "renormalised"))
    words_alone = [i for i, unit in enumerate(shown.units) if not unit.special]
    assert len(shown) - len(hidden) == 2
    assert hidden.labels == divided.labels == tuple(shown.labels[i] for i in words_alone)
    np.testing.assert_array_equal(hidden.weights, shown.weights[:, :, words_alone][:, :, :, words_alone])
    assert (hidden.weights.sum(-1) < 1 + 1e-6).all()
    assert hidden.weights.sum(-1).min() < 0.1
    np.testing.assert_allclose(divided.weights.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(
        divided.weights * hidden.weights.sum(-1, keepdims=True), hidden.weights, atol=1e-6
    )


def test_words_and_pieces_are_found_by_their_spelling(record):
    assert record.grid().find("THE") == (1, 7)
    assert record.grid(words=True).find(" didn't ") == (3,)
    assert record.grid().find("cat") == ()
    assert record.grid().find("[CLS]") == (0,)


@pytest.mark.parametrize(
    "copied",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy],  # noqa: S301
    ids=["pickle", "deep", "copy"],
)
def test_copies_of_records_grids_and_heads_are_equal_and_frozen(record, model, copied):
    gated = trace(CLASSIC, model, gates=np.ones((6, 12)))
    cross = record_from_weights(np.full((1, 2, 1, 4), 0.25), ["it"], keys=list("abcd"))
    for original in (record, gated, record.grid(words=True), record["4-2"], cross):
        np.testing.assert_array_equal(copied(original).weights, original.weights)
        with pytest.raises(ValueError, match="read-only"):
            copied(original).weights[...] = 0
    other = copied(gated)
    assert (other.model, other.tokens, other.versions) == (gated.model, gated.tokens, gated.versions)
    with pytest.raises(TypeError):
        other.versions["torch"] = "0"
    with pytest.raises(ValueError, match="read-only"):
        other.gates[0] = 0
