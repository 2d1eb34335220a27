"""What a decoder's word cannot see is known to the core, and leaves it as something that is not there."""

import numpy as np
import pytest
from causal_runs import WORDS, causal_record

from mha_core import AttentionRecord, HeadScopeError
from mha_core.record.first_difference import first_change
from pages.parts.explore.changes import in_words


@pytest.fixture(scope="module")
def record() -> AttentionRecord:
    return causal_record()


def test_a_word_sees_every_word_that_begins_no_later_than_it_ends(record):
    grid = record.grid(words=True)
    assert grid.labels == tuple(WORDS)
    assert grid.visible[0].tolist() == [[k <= q for k in range(7)] for q in range(7)]
    # the first piece of "unlocked" cannot see the second, and yet the word sees itself
    assert grid.weights[0, 0, 1, 1] == pytest.approx(
        (record.weights[0, 0, 1, 1] + record.weights[0, 0, 2, 1:3].sum()) / 2, abs=1e-6
    )
    assert grid.weights.sum(-1) == pytest.approx(1, abs=1e-5)
    assert not grid.weights[..., ~grid.visible[0]].any()


def test_a_decoder_that_looks_ahead_is_refused(record):
    weights = record.weights.copy()
    weights[1, 3, 2, 2:4] = [0, weights[1, 3, 2, 2]]
    with pytest.raises(HeadScopeError):
        AttentionRecord(record.model, record.tokens, weights)


def test_later_words_are_ranked_by_how_much_their_rows_moved():
    words = ["a", "b", "c", "d", "e", "f"]
    a = causal_record([*words[:2], "x", *words[3:]], seed=1, split=None, same_up_to=2)
    b = causal_record([*words[:2], "y", *words[3:]], seed=2, split=None, same_up_to=2)
    change = first_change(a.grid(), a.tokens, b.grid(), b.tokens)
    moved = np.abs(a.weights - b.weights).sum(-1) / 2
    assert sorted(mover.places[0] for mover in change.movers) == [2, 3, 4, 5]
    assert [m.moved for m in change.movers] == sorted((m.moved for m in change.movers), reverse=True)
    for mover in change.movers:
        rows = moved[:, :, mover.places[0]]
        assert mover.moved == pytest.approx(rows.mean(), abs=1e-6)
        assert [share for _, share in mover.heads] == pytest.approx(sorted(rows.ravel())[:-5:-1], abs=1e-6)
        assert all(rows[head] == pytest.approx(share, abs=1e-6) for head, share in mover.heads)
    assert in_words(change, a.grid()).startswith("Up to `b` both runs are identical")


@pytest.mark.parametrize("texts", [("ab cd", "ab x y cd"), ("ab x y cd", "ab cd")])
def test_a_word_that_one_text_lacks_counts_in_full_in_what_moved(texts):
    a, b = (causal_record(text.split(), seed=i, split=None) for i, text in enumerate(texts))
    change = first_change(a.grid(), a.tokens, b.grid(), b.tokens)
    (last,) = (mover for mover in change.movers if a.grid().labels[mover.places[0]] == "cd")
    rows = [dict(zip(r.grid().labels, np.moveaxis(r.weights[:, :, -1], -1, 0), strict=True)) for r in (a, b)]
    moved = sum(abs(rows[0].get(word, 0) - rows[1].get(word, 0)) for word in rows[0] | rows[1]) / 2
    assert last.moved == pytest.approx(moved.mean(), abs=1e-6)


def test_a_text_that_goes_on_differs_nowhere():
    a, b = causal_record(WORDS[:4], seed=7), causal_record(WORDS, seed=7)
    change = first_change(a.grid(), a.tokens, b.grid(), b.tokens)
    assert (change.place, change.movers) == (5, ())
    assert "earlier word" in in_words(change, a.grid())
