"""The tables under the pictures of Explore and Compare: the engine's weights, in the words of the picture."""

from dataclasses import replace

import numpy as np
import pytest
from contexts import context_of

from mha_core import trace
from pages.parts.explore import tables
from pages.parts.explore.comparison import Comparison
from pages.parts.frame.selection import Selection

TEXT = "The cat saw the cat."
HEAD = (3, 1)


@pytest.fixture(scope="module")
def record(model):
    return trace(TEXT, model)


def test_the_chosen_words_have_a_column_each_and_their_mean(record):
    grid = record.grid()
    frame = tables.looked_at(grid, HEAD, (2, 5), *tables.names_of(grid, record.tokens))
    assert [*frame] == ["Looked at", "From cat₁", "From cat₂", "Mean"]
    assert frame["Looked at"].tolist() == ["[CLS]", "The", "cat₁", "saw", "the", "cat₂", ".", "[SEP]"]
    rows = grid.weights[HEAD][[2, 5]].astype(float)
    np.testing.assert_array_equal(frame[["From cat₁", "From cat₂"]].to_numpy().T, rows)
    np.testing.assert_allclose(frame["Mean"], rows.mean(axis=0))


def test_without_a_chosen_word_every_word_has_the_one_it_looks_at_most(record):
    grid = record.grid()
    names, keys = tables.names_of(grid, record.tokens)
    frame, weights = tables.strongest(grid, HEAD, names, keys), grid.weights[HEAD]
    assert frame["Word"].tolist() == names
    assert frame["Looks most at"].tolist() == [keys[key] for key in weights.argmax(axis=1)]
    np.testing.assert_array_equal(frame["Weight"], weights.max(axis=1))


def test_what_a_word_cannot_see_has_no_number_and_a_learned_sink_is_the_last_row(record):
    grid = record.grid()
    seen = np.tri(len(grid), dtype=bool)[None].repeat(len(grid.weights), 0)
    grid = replace(grid, visible=seen, sink=np.full((6, 12, len(grid)), 0.25, dtype=np.float32))
    names = tables.names_of(grid, record.tokens)
    frame = tables.looked_at(grid, HEAD, (2,), *names)
    assert np.isnan(frame["From cat₁"]).tolist() == [False] * 3 + [True] * 5 + [False]
    assert frame.iloc[-1].tolist() == ["(sink)", 0.25]
    most = tables.strongest(replace(grid, sink=None), HEAD, *names)
    assert most.loc[0].isna().tolist() == [False, True, True], "a word without a choice looks nowhere"


def test_two_runs_stand_side_by_side_with_their_difference_in_points(record, model):
    other = trace("The cat quickly saw the dog.", model)
    a, b = (each.weights[HEAD].astype(float) for each in (record, other))
    shared = [0, 1, 2, 4, 5, 6, 7, 8]  # "quickly" is alone
    ours, theirs = a[[2, 3]].mean(axis=0), b[[2, 4]].mean(axis=0)[shared]
    both = Comparison((context_of(record, Selection(HEAD, (2, 3))), context_of(other)), {}, "")
    frame = tables.looked_at_in_both(both)
    assert frame["Looked at"].tolist() == [
        "[CLS]", "The", "cat₁ / cat", "quickly (only in B)", "saw", "the", "cat₂ / dog", ".", "[SEP]",
    ]  # fmt: skip
    wanted = np.stack([ours, theirs, 100 * (ours - theirs)], axis=1)
    np.testing.assert_allclose(frame[["A", "B", "A − B, points"]].drop(3), wanted)
    assert frame.loc[3].isna().tolist() == [False, True, False, True]
    turned = Comparison((context_of(other, Selection(HEAD, (3, 4))), context_of(record)), {}, "")
    np.testing.assert_allclose(tables.looked_at_in_both(turned)["A"], b[4])  # without "quickly"
