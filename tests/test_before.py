"""A word changed where it stands: what the text becomes, and where the other words are afterwards."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import pytest
from visit import link, open_page, picture, run

from mha_core import Unit, trace
from pages.parts.explore import before
from pages.parts.explore.before import with_word, words_between
from pages.parts.frame import fetching, moving, state
from pages.parts.frame.moving import Change, change_between
from pages.parts.frame.request import Request

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."


@pytest.mark.parametrize(
    ("unit", "word", "expected"),
    [
        (14, "wide", WIDE),
        (5, "did", TIRED.replace("didn't", "did")),  # of a cut word, the word
        (1, "Every", TIRED.replace("The", "Every", 1)),
        (10, "it really", TIRED.replace("because it", "because it really")),
        (12, "", TIRED.replace("was too", "was")),
        (13, "", TIRED.replace(" tired", "")),
        (0, "x", None),
        (99, "x", None),
        ("1", "x", None),
        (True, "x", None),
        (1, None, None),
    ],
)
def test_a_word_is_put_where_a_unit_stands(model, unit, word, expected):
    record = trace(TIRED, model)
    units = [each.label for each in record.grid().units]
    if unit == 14:  # by its name, so that this test says what it changes
        unit = units.index("tired")
    elif unit == 12:
        unit = units.index("too")
    elif unit == 13:
        unit = units.index("tired")
    found = with_word(record.tokens, record.grid(), unit, word)
    assert found == (expected if expected is None else (expected, None))


def test_a_piece_of_a_word_stands_for_the_whole_word_and_the_second_text_is_a_text_of_its_own(model):
    record = trace("Zbigniew called.", model, pair="He was late.")
    grid = record.grid()
    assert with_word(record.tokens, grid, 2, "Ann") == ("Ann called.", "He was late.")
    late = list(grid.labels).index("late")
    assert with_word(record.tokens, grid, late, "early") == ("Zbigniew called.", "He was early.")
    words = record.grid(words=True, specials="hidden")
    assert with_word(record.tokens, words, 0, "Ann") == ("Ann called.", "He was late.")


def test_one_stretch_that_differs_is_found_and_two_other_sentences_are_not(model):
    one, other = (trace(text, model).grid().labels for text in (TIRED, WIDE))
    change = change_between(one, other)
    assert change == Change(one.index("tired"), 1, 1)
    assert change_between("abcdef", "abXYdef") == Change(2, 1, 2)
    assert change_between("aaa", "aa") == Change(2, 1, 0)
    assert change_between("abcdef", "abcXYZ") == Change(3, 3, 3), "half of it stays"
    assert change_between("abcdef", "abWXYZ") is None
    assert change_between(one, trace("Birds sing.", model).grid().labels) is None


def test_a_word_is_found_again_in_its_own_text():
    pieces = [
        Unit("I", 0, 1, 0, False, (0,)),
        Unit("We", 0, 2, 1, False, (1,)),
        Unit("ran", 3, 6, 1, False, (2,)),
    ]
    words = [Unit("I", 0, 1, 0, False, (0,)), Unit("We ran", 0, 6, 1, False, (1, 2))]
    assert [moving.cut_anew(pieces, words, place) for place in range(4)] == [0, 1, 1, None]
    assert [moving.cut_anew(words, pieces, place) for place in range(2)] == [0, 1]


def test_units_are_found_again_after_the_change():
    change = Change(start=2, old=2, new=1)
    assert [change.now(unit) for unit in range(6)] == [0, 1, 2, None, 3, 4]
    assert Change(2, 1, 0).now(2) is None


def test_the_changed_words_are_named_without_their_stops():
    assert words_between(Request(TIRED), Request(WIDE)) == ("tired", "wide")
    assert words_between(Request("a b c d"), Request("a b x c d")) == ("", "x")
    for was, now, expected in (
        ("The cat sat.", "The dog sat.", ("cat", "dog")),
        ("The cat sat.", "The cat sat still.", ("sat", "sat still")),
        ("The old cat sat.", "The cat sat.", ("old", "")),
    ):
        assert words_between(Request("Who sat?", was), Request("Who sat?", now)) == expected


def units(*labels):
    """Units with these labels, one after the other with a space between them."""
    ends = list(itertools.accumulate(len(label) + 1 for label in labels))
    return tuple(
        Unit(label, end - 1 - len(label), end - 1, 0, False, (i,))
        for i, (label, end) in enumerate(zip(labels, ends, strict=True))
    )


def ghost(at):
    """The words of the trace in the picture, before and after; None where there is none."""
    found = picture(at)["ghost"]
    return found and found["words"]


@pytest.mark.slow
def test_what_was_before_is_a_trace_until_something_else_is_changed_than_how_the_page_is_presented():
    at = open_page(text=TIRED)
    assert ghost(at) is None
    at.text_input(key="text").set_value(WIDE)
    assert ghost(run(at)) == ["tired", "wide"]
    at.button(key="presenter").click()
    assert ghost(run(at)) == ["tired", "wide"]
    (units,) = (one for one in at.get("button_group") if one.key == "unit")
    units.set_value("words")
    assert ghost(run(at)) is None


@pytest.mark.parametrize(("pin", "kept"), [("none", "none"), ("10", "10"), ("13", "14")])
def test_a_word_that_is_chosen_stays_so_where_another_one_is_changed_and_so_does_none(pin, kept):
    at = open_page(text=TIRED, pin=pin)
    at.text_input(key="text").set_value(TIRED.replace("too", "much too"))
    assert link(run(at))["pin"] == kept


def test_a_word_is_changed_in_its_own_sentence_and_in_both_runs_of_one(monkeypatch):
    other = "The cat sat."

    def after(said, against="sentence", *sides):
        session = {"text": TIRED, "pair": "", "text2": other, "against": against}
        monkeypatch.setattr(before.st, "session_state", session)
        monkeypatch.setattr(before, "retyped", lambda _: said)
        before.retype_side("compare", sides or (Request(TIRED), Request(other)))
        return session["text"], session["text2"], session["pair"]

    assert after({"side": 0, "unit": 2, "word": "dog"}) == (TIRED.replace("animal", "dog"), other, "")
    assert after({"side": 1, "unit": 2, "word": "dog"}) == (TIRED, "The dog sat.", "")
    second = Request(TIRED, "It slept."), Request(other, "It slept.")
    said = {"side": 1, "unit": 7, "word": "ran"}
    assert after(said, "sentence", *second) == (TIRED, other, "It ran.")
    assert after(said | {"unit": 2}, "sentence", *second) == (TIRED, "The ran sat.", "It slept.")
    twice = Request(TIRED), Request(TIRED, unit="words")
    assert after({"side": 1, "unit": 2, "word": "dog"}, "model", *twice)[0] == TIRED.replace("animal", "dog")
    for forged in (None, {}, {"side": 2, "unit": 2, "word": "dog"}, {"side": 0, "unit": "2", "word": "dog"}):
        assert after(forged) == (TIRED, other, "")


def test_a_word_is_found_again_under_the_same_options_whatever_stands_beside_it(monkeypatch):
    def found(was, now):
        drawn = moving.Drawn(was, (), "a record")
        monkeypatch.setattr(before.st, "session_state", {before.state.BEFORE: drawn})
        return moving.shown_before(now) is drawn

    a, b = "The cat sat.", "The dog sat."
    for beside in ({}, {"trained": False}, {"model": "smollm2"}):
        one, other = (replace(Request(text), other=replace(Request(text), **beside)) for text in (a, b))
        assert found(one, other)
    assert not found(Request(a), Request(a))
    assert not found(Request(a, trained=False), Request(b))


def test_the_words_are_found_again_once_a_model_has_been_fetched(monkeypatch):
    session = {state.DRAWN: "a picture"}
    monkeypatch.setattr(fetching.st, "session_state", session)
    fetching._agree("bert-base-cased")
    assert session[state.MOVES]


def test_a_word_of_a_second_sentence_leads_to_no_comparison_for_that_has_one_second_sentence(monkeypatch):
    def compare(was, now):
        drawn = moving.Drawn(was, units("Who", "cat"), "a record")
        monkeypatch.setattr(before.st, "session_state", {before.state.BEFORE: drawn})
        return before.ghost(now, SimpleNamespace(labels=("Who", "dog")))["compare"]

    assert compare(Request("Who?", "The cat."), Request("Who?", "The dog.")) == ""
    assert "text2=Whose" in compare(Request("Who?", "The cat."), Request("Whose?", "The cat."))
