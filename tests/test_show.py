"""`mha_core.show`: what the page holds is the record's, it opens with what was asked for, and nothing is fetched."""

import base64
import html
import json
import re

import numpy as np
import pytest

from mha_core import InputError, record_of, show
from mha_core.picture import notebook

TOKENS = ["[CLS]", "The", "cat", "it's", "tired", "##ness", "[SEP]"]


def weights(*shape, seed=0):
    found = np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1])
    return found.astype(np.float32)


def content_of(page):
    """The JSON that a page holds."""
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    )


def cells_of(record):
    kept = record["weights"]
    return np.frombuffer(base64.b64decode(kept["base64"]), kept["type"]) / 65535


def test_the_page_holds_every_weight_of_the_record():
    record = record_of(weights(2, 3, 7, 7), TOKENS)
    (kept,) = content_of(show(record).html)["records"]
    np.testing.assert_allclose(cells_of(kept), record.weights.ravel(), atol=8e-6)
    assert kept["labels"] == TOKENS
    assert "computed by the caller" in kept["model"], "not this engine's"
    (words,) = content_of(show(record, words=True, specials="hidden").html)["records"]
    assert words["labels"] == ["The", "cat", "it's", "tiredness"]
    grid = record.grid(True, "hidden")
    np.testing.assert_allclose(cells_of(words), grid.weights.ravel(), atol=8e-6)


def test_it_opens_with_what_was_asked_for_and_else_with_the_strongest_link():
    record = record_of(weights(2, 3, 7, 7), TOKENS)
    chosen = content_of(show(record, head="2-3", word="cat", to="tired").html)["view"]["selection"]
    assert chosen == {"head": [1, 2], "pins": [2], "to": 4}
    best = np.unravel_index(record.weights[:, :, 2, 4].argmax(), (2, 3))
    chosen = content_of(show(record, word="cat", to="tired").html)["view"]["selection"]
    assert chosen["head"] == list(best)
    between = record.weights.copy()
    between[:, :, [0, 6]] = between[:, :, :, [0, 6]] = 0
    between[:, :, np.arange(7), np.arange(7)] = 0
    from_cat = np.unravel_index(between[:, :, 2].max(axis=-1).argmax(), (2, 3))
    assert content_of(show(record, word="cat").html)["view"]["selection"] == {
        "head": list(from_cat), "pins": [2], "to": None,
    }  # fmt: skip
    layer, head, q, k = (int(i) for i in np.unravel_index(between.argmax(), between.shape))
    chosen = content_of(show(record).html)["view"]["selection"]
    assert chosen == {"head": [layer, head], "pins": [q], "to": k}
    q, k = (int(i) for i in np.unravel_index(between[0, 1].argmax(), (7, 7)))
    chosen = content_of(show(record, head="1-2").html)["view"]["selection"]
    assert chosen == {"head": [0, 1], "pins": [q], "to": k}


def test_two_records_are_drawn_against_each_other():
    a, b = record_of(weights(2, 3, 7, 7), TOKENS), record_of(weights(2, 3, 6, 6, seed=1), TOKENS[:6])
    found = content_of(show(a, b, head="1-2").html)
    assert found["view"]["mode"] == "compare"
    for kept, record in zip(found["records"], (a, b), strict=True):
        np.testing.assert_allclose(cells_of(kept), record.weights.ravel(), atol=8e-6)
    assert found["view"]["pairs"] == [[i, i] for i in range(6)] + [[6, None]]


def test_a_long_text_brings_small_pictures_and_the_chosen_head(monkeypatch):
    monkeypatch.setattr(notebook, "FULL_BYTES", 100)
    record = record_of(weights(2, 3, 7, 7), TOKENS)
    found = content_of(show(record, head="2-1").html)
    assert found["records"][0]["packing"] == "small"
    opened = found["view"]["opened_0"]
    cells = np.frombuffer(base64.b64decode(opened["base64"]), opened["type"])
    np.testing.assert_array_equal(cells.reshape(7, 7), record.weights[1, 0])


def test_a_notebook_gets_a_sandboxed_frame_with_the_page_and_nothing_is_fetched():
    shown = show(record_of(weights(1, 2, 7, 7), TOKENS))
    frames = [shown._repr_html_() for _ in range(2)]
    found = re.search(
        r"""<iframe id="([^"]+)".*?sandbox="([^"]+)".*?srcdoc='([^']*)'></iframe>""", frames[0], re.DOTALL
    )
    assert html.unescape(found[3]) == shown.html
    assert found[2] == "allow-scripts allow-downloads"
    assert found[1] not in frames[1], "two pictures in one notebook"
    assert frames[0].count(found[1]) == 2
    assert "default-src 'none'" in shown.html
    assert not re.search(r"""(?:src|href)=["']?(?!data:)[a-z]+:""", shown.html)
    assert "it's" in shown.html
    assert repr(shown).startswith("Picture of head 1-")


def test_a_page_is_saved_as_it_is(tmp_path):
    shown = show(record_of(weights(1, 2, 7, 7), TOKENS))
    assert shown.save(tmp_path / "picture.html").read_text(encoding="utf-8") == shown.html


def test_what_cannot_be_shown_is_refused_in_a_sentence():
    record = record_of(weights(1, 2, 7, 7), TOKENS)
    for call, message in (
        (lambda: show("text"), "A record is asked for, as trace gives it; str was given"),
        (lambda: show(record, "text"), "str was given"),
        (lambda: show(record, head="3-1"), "There is no head 3-1"),
        (lambda: show(record, word="dog"), "'dog' is not in the sentence"),
        (lambda: show(record, to="cat"), "give word="),
        (lambda: show(record_of(weights(1, 1, 1, 1), ["[CLS]"]), specials="hidden"), "Nothing of this text"),
    ):
        with pytest.raises(InputError, match=message):
            call()
