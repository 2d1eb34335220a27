"""`mha_core.show`: what the page holds is the record's, it opens with what was asked for, and nothing is fetched."""

import base64
import html
import json
import re

import numpy as np
import pytest

from mha_core import InputError, record_from_weights, show

TOKENS = ["[CLS]", "The", "cat", "it's", "tired", "##ness", "[SEP]"]


def weights(*shape, seed=0):
    weights = np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1])
    return weights.astype(np.float32)


def content_of(page):
    """The JSON that a page holds."""
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    )


def cells_of(record):
    packed = record["weights"]
    return np.frombuffer(base64.b64decode(packed["base64"]), packed["type"]) / 65535


def test_the_page_holds_every_weight_of_the_record():
    record = record_from_weights(weights(2, 3, 7, 7), TOKENS)
    (sent,) = content_of(show(record).html)["records"]
    np.testing.assert_allclose(cells_of(sent), record.weights.ravel(), atol=8e-6)
    assert sent["labels"] == TOKENS
    assert "computed by the caller" in sent["model"], "not this engine's"
    (words,) = content_of(show(record, words=True, specials="hidden").html)["records"]
    assert words["labels"] == ["The", "cat", "it's", "tiredness"]
    grid = record.grid(True, "hidden")
    np.testing.assert_allclose(cells_of(words), grid.weights.ravel(), atol=8e-6)


def test_a_notebook_gets_a_sandboxed_frame_with_the_page_and_nothing_is_fetched():
    shown = show(record_from_weights(weights(1, 2, 7, 7), TOKENS))
    frames = [shown._repr_html_() for _ in range(2)]
    match = re.search(
        r"""<iframe id="([^"]+)".*?sandbox="([^"]+)".*?srcdoc='([^']*)'></iframe>""", frames[0], re.DOTALL
    )
    assert html.unescape(match[3]) == shown.html
    assert match[2] == "allow-scripts allow-downloads"
    assert match[1] not in frames[1], "two pictures in one notebook"
    assert frames[0].count(match[1]) == 2
    assert "default-src 'none'" in shown.html
    assert not re.search(r"""(?:src|href)=["']?(?!data:)[a-z]+:""", shown.html)
    assert "it's" in shown.html


def test_what_cannot_be_shown_is_refused_in_a_sentence():
    record = record_from_weights(weights(1, 2, 7, 7), TOKENS)
    for call in (
        lambda: show("text"),
        lambda: show(record, "text"),
        lambda: show(record, head="3-1"),
        lambda: show(record, word="dog"),
        lambda: show(record, to="cat"),
        lambda: show(record_from_weights(weights(1, 1, 1, 1), ["[CLS]"]), specials="hidden"),
        lambda: show(record, record_from_weights(weights(1, 2, 2, 3), ["a", "b"], keys=["x", "y", "z"])),
    ):
        with pytest.raises(InputError):
            call()


def test_words_of_two_texts_are_found_each_in_its_own_and_open_in_the_head_with_most():
    source, target = ["[CLS]", "The", "cat", "slept", ".", "x"], ["<pad>", "x", "Katze", "schlief"]
    record = record_from_weights(weights(2, 3, 4, 6, seed=4), target, keys=source)
    best = np.unravel_index(record.weights[:, :, 2, 5].argmax(), (2, 3))
    selection = content_of(show(record, word="Katze", to="x").html)["view"]["selection"]
    assert selection == {"head": list(best), "pins": [6 + 2], "to": 5}
