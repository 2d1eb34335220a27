"""From two words in Explore to the Atlas: the link, and what it opens."""

import re

import numpy as np
import pytest
from visit import asked_by_links, unopened

from mha_core import trace
from mha_core.wording import percent
from pages.parts.explore import elsewhere
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection

TEXT = "The old kitten chased the kitten."


@pytest.fixture
def asked(monkeypatch, model):
    drawn = []
    monkeypatch.setattr(elsewhere, "markup", drawn.append)
    record = trace(TEXT, model)

    def ask(selection, pair=None, words=False):
        drawn.clear()
        elsewhere.elsewhere(Request(text=TEXT, pair=pair), record, record.grid(words), selection)
        return drawn[0] if drawn else ""

    return ask


def test_two_words_that_are_chosen_open_the_atlas_with_them(asked):
    said = asked(Selection((3, 1), (6,), 3))
    params = asked_by_links(said)[0]
    assert params == {"ask": [TEXT], "looks": ["6: kitten"], "seen": ["3: kitten"]}


def test_of_whole_words_the_atlas_is_asked_for_their_last_pieces(monkeypatch, model):
    drawn, text = [], "Zbigniew saw Zbigniew."  # pieces 1 to 4, and 6 to 9
    monkeypatch.setattr(elsewhere, "markup", drawn.append)
    record = trace(text, model)
    elsewhere.elsewhere(Request(text=text), record, record.grid(words=True), Selection((3, 1), (3,), 1))
    params = asked_by_links(drawn[0])[0]
    assert (params["looks"], params["seen"]) == (["9: ##ew"], ["4: ##ew"])


def test_there_is_no_link_without_two_words_of_one_sentence(asked):
    assert asked(Selection((3, 1), (6,))) == ""
    assert asked(Selection((3, 1), (6, 2), 3)) == ""
    assert asked(Selection((3, 1), (6,), 0)) == ""  # [CLS]
    assert asked(Selection((3, 1), (6,), 3), pair="Another.") == ""


@pytest.mark.slow
def test_the_atlas_opens_with_these_words_and_their_weights(model):
    record = trace(TEXT, model)
    weights = record.weights[:, :, 6, 3]
    layer, head = np.unravel_index(weights.argmax(), weights.shape)
    at = unopened("pages/atlas.py", ask=TEXT, looks="6: kitten", seen="3: kitten").run()
    assert not at.exception
    assert (at.selectbox(key="looks").value, at.selectbox(key="seen").value) == ("6: kitten", "3: kitten")
    (table,) = [block.proto.body for block in at.get("html") if "Weight here" in block.proto.body]
    first = re.search(r">([0-9]+-[0-9]+)</a></th><td>([^<]+)</td>", table)
    assert first.groups() == (f"{layer + 1}-{head + 1}", percent(float(weights.max())))
