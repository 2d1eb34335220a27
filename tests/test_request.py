"""What a link may ask for: every value checked, whatever a browser sends."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core import Grid, Unit, trace
from pages.parts.frame import presets
from pages.parts.frame.links import with_params
from pages.parts.frame.page_text import prose, quoted
from pages.parts.frame.request import Request, model_allowed
from pages.parts.frame.selection import Selection, opening_word, parse_head, select

LABELS = ["[CLS]", "Ann", "saw", "it", "again", ".", "[SEP]"]
REQUEST = Request("Ann saw it again.")


def grid_of(layers=3, heads=5, labels=LABELS):
    units = tuple(Unit(label, 0, 0, 0, False, (i,)) for i, label in enumerate(labels))
    return Grid(units, np.zeros((layers, heads, len(units), len(units)), np.float32), True, "shown")


GRID = grid_of()


@given(st.text(), st.text(), st.text())
def test_no_link_raises_and_every_view_is_inside_the_picture(head, pin, to):
    view, refused = select({"head": head, "pin": pin, "to": to}, REQUEST, GRID)
    assert 0 <= view.head[0] < 3
    assert 0 <= view.head[1] < 5
    assert all(0 <= p < 7 for p in (*view.pins, view.to or 0))
    assert all(len(sentence) < 160 for sentence in refused)


@pytest.mark.slow
@given(
    st.integers(0, 2),
    st.integers(0, 4),
    st.lists(st.integers(0, 6), unique=True),
    st.none() | st.integers(0, 6),
    st.sampled_from([(), (("least", "50"), ("between", "BA")), (("sort", "weight"), ("rank", "1"))]),
)
def test_a_view_survives_its_own_link(layer, head, pins, to, look):
    view = Selection((layer, head), tuple(pins), to if pins else None, look)
    assert select(view.as_params(), REQUEST, GRID) == (view, [])


def test_a_link_has_a_text_as_a_box_of_one_line_shows_it():
    query = urlsplit(with_params("./compare", {"text": "Line & one\nline two", "pair": ""})).query
    assert parse_qs(query, keep_blank_values=True) == {"text": ["Line & one↵line two"]}


def test_a_head_that_is_not_there_is_refused_in_the_words_of_the_picture():
    def refused(shape, measure="raw"):
        return select({"head": "x"}, replace(REQUEST, measure=measure), grid_of(*shape))[1]

    assert refused((6, 12)) == ["This model has no head “x” (6 layers × 12 heads). Showing 4-2."]
    assert refused((1, 4)) == ["This model has no head “x” (1 layer × 4 heads). Showing 1-2."]
    assert refused((6, 1), "rollout") == ["This model has no head “x” (6 layers). Showing layer 4."]
    assert refused((1, 1), "gradient") == ["This model has no head “x”. Showing all layers."]


@pytest.mark.parametrize(("measure", "refused"), [("raw", 1), ("value", 1), ("rollout", 0), ("gradient", 0)])
def test_a_head_that_a_mixed_picture_lacks_is_no_mistake(measure, refused):
    view, messages = select({"head": "3-5"}, replace(REQUEST, measure=measure), grid_of(3, 1))
    assert (view.head, len(messages)) == ((2, 0), refused)


def test_a_fresh_sentence_opens_on_its_pronoun():
    assert select({}, REQUEST, GRID)[0].pins == (3,)
    assert select({"pin": "none", "to": "2"}, REQUEST, GRID) == (Selection((2, 1)), []), "no word looks at it"
    assert opening_word("x", "", ["She", "said", "it", "was", "he"]) == 0, "on the first of several"


@pytest.mark.parametrize(
    ("params", "head", "pins", "to"),
    [
        ({"head": "2-1"}, (1, 0), (1,), 0),
        ({"head": "1-3"}, (0, 2), (0,), 2),
        ({"head": "2-1", "to": "4"}, (1, 0), (), None),
        ({"head": "2-1", "pin": "3", "to": "4"}, (1, 0), (3,), 4),
        ({"head": "2-1", "pin": "none"}, (1, 0), (), None),
    ],
)
def test_a_text_without_a_word_to_follow_opens_in_the_links_head_and_its_own_link(params, head, pins, to):
    request = Request("Birds sing in old cages")
    view, refused = select(params, request, grid_of(3, 4, request.text.split()), lambda here: here)
    assert (view.head, view.pins, view.to, refused) == (head, pins, to, [])


@pytest.mark.parametrize(
    ("params", "pins", "to"),
    [
        ({}, (4,), 2),
        ({"pin": "1"}, (4,), 2),
        ({"pin": "3,1", "to": "0"}, (3,), 0),
        ({"pin": "none"}, (), None),
    ],
)
def test_across_two_texts_the_source_is_counted_first_and_only_the_target_looks(params, pins, to):
    target, source = grid_of(labels=["it", "ran"]), grid_of(labels=["er", "lief", "weg"]).units
    grid = replace(target, key_units=source, weights=np.zeros((3, 5, 2, 3), np.float32))
    view, refused = select(params, REQUEST, grid, lambda head: (1, 2))
    assert (view.pins, view.to, refused) == (pins, to, [])


def test_a_position_behind_the_last_word_is_refused_and_repeated_pins_count_once():
    view, refused = select({"pin": "1,7", "to": "6"}, REQUEST, GRID)
    assert view == Selection((2, 1), (3,), 6)
    assert refused == ["The link points at pin “1,7”; this sentence has positions 0 to 6."]
    assert select({"pin": "2,2,1"}, REQUEST, GRID)[0].pins == (2, 1)


def test_the_followed_word_and_the_candidates_of_every_preset_are_in_its_sentence(model):
    for preset in presets.SENTENCES:
        labels = trace(preset.text, model, pair=preset.pair or None).grid(words=True).labels
        assert opening_word(preset.text, preset.pair, labels) is not None, preset.name
    for pair in presets.PAIRS:
        labels = {label.casefold().removeprefix("##") for label in trace(pair.a, model).grid().labels}
        assert {pair.word, *pair.candidates} <= labels, pair.name
        assert (presets.twin_sentence(pair.a), presets.twin_sentence(pair.b)) == (pair.b, pair.a)


def test_folders_and_any_model_need_the_owners_word(monkeypatch, tmp_path):
    folder, longer = str(tmp_path), "x" * 300  # than a file system takes
    names = ["minilm", folder, f"{folder}/absent", f"{folder}\0", longer, "someone/model"]
    names += ["../../etc/passwd", "http://169.254.169.254/"]

    def allowed():
        return list(filter(model_allowed, names))

    assert allowed() == ["minilm"]
    for other in ("", "0", "no", "false"):
        monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", other)
        assert allowed() == ["minilm"]
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")
    assert allowed() == ["minilm", folder]
    monkeypatch.setenv("HEADSCOPE_ALLOW_ANY_MODEL", "1")
    assert allowed() == ["minilm", folder, "someone/model"]


@given(st.text())
def test_prose_never_lets_markup_through(text):
    shown = prose(text).replace('<bdi class="hs-word">', "").replace("</bdi>", "")
    assert "<" not in shown
    assert ">" not in shown


def test_a_long_value_is_quoted_by_its_start_and_heads_may_have_three_digits():
    assert quoted("x" * 50) == "“" + "x" * 39 + "…”"
    assert parse_head("12-100") == (11, 99)
