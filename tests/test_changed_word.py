"""A word changed where it stands: what the text becomes, and where the other words are afterwards."""

from mha_core import Unit, trace
from pages.parts.explore.changed_word import spots
from pages.parts.frame.selection import Change, change_between, recut

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."


def test_the_browser_is_told_where_the_word_of_each_unit_stands(model):
    record = trace(TIRED, model, pair="It slept.")
    texts, grid = (TIRED, "It slept."), record.grid()
    places = [spot and (spot[2], texts[spot[2]][spot[0] : spot[1]]) for spot in spots(record.tokens, grid)]
    assert [spot_ is None for spot_ in places] == [unit.special for unit in grid.units]
    assert places[grid.labels.index("didn")] == places[grid.labels.index("t")] == (0, "didn't")
    assert [word for side, word in filter(None, places) if side] == ["It", "slept", "."]


def test_one_stretch_that_differs_is_found_and_two_other_sentences_are_not(model):
    tired, other = (trace(text, model).grid().labels for text in (TIRED, WIDE))
    change = change_between(tired, other)
    assert change == Change(tired.index("tired"), 1, 1)
    assert change_between("abcdef", "abXYdef") == Change(2, 1, 2)
    assert change_between("aaa", "aa") == Change(2, 1, 0)
    assert change_between("abcdef", "abcXYZ") == Change(3, 3, 3), "half of it stays"
    assert change_between("abcdef", "abWXYZ") is None
    assert change_between(tired, trace("Birds sing.", model).grid().labels) is None


def test_a_word_is_found_again_in_its_own_text():
    pieces = [
        Unit("I", 0, 1, 0, False, (0,)),
        Unit("We", 0, 2, 1, False, (1,)),
        Unit("ran", 3, 6, 1, False, (2,)),
    ]
    words = [Unit("I", 0, 1, 0, False, (0,)), Unit("We ran", 0, 6, 1, False, (1, 2))]
    assert [recut(pieces, words, place) for place in range(4)] == [0, 1, 1, None]
    assert [recut(words, pieces, place) for place in range(2)] == [0, 1]


def test_units_are_found_again_after_the_change():
    change = Change(start=2, old=2, new=1)
    assert [change.moved(unit) for unit in range(6)] == [0, 1, 2, None, 3, 4]
    assert Change(2, 1, 0).moved(2) is None
