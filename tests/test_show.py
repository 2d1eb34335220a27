"""`mha_core.show`: what the page holds is the record's, it opens with what was asked for, and nothing is fetched."""

import base64
import html
import json
import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser

import numpy as np
import pytest

from mha_core import CrossRecord, InputError, SizeError, record_of, show
from mha_core.picture import about as numbers
from mha_core.picture import crossed, notebook
from mha_core.picture.crossed import cross_payload
from mha_core.picture.selection import Selection
from mha_core.tokens import Piece, Tokens

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


def test_two_records_are_both_drawn_as_they_are_asked_for():
    a, b = record_of(weights(1, 2, 7, 7), TOKENS), record_of(weights(1, 2, 6, 6, seed=1), TOKENS[:6])
    found = content_of(show(a, b, words=True, specials="renormalised").html)
    for kept, record in zip(found["records"], (a, b), strict=True):
        grid = record.grid(True, "renormalised")
        assert kept["labels"] == list(grid.labels)
        np.testing.assert_allclose(cells_of(kept), grid.weights.ravel(), atol=8e-6)


def test_a_selection_that_is_taken_inside_is_shown_as_before():
    look = (("tab", "lines"), ("least", "10"))
    chosen = Selection((9, 9), (2, 40), 3, look).inside((2, 3, 7, 7))
    assert chosen == Selection((1, 2), (2,), 3, look)


def test_a_long_text_brings_small_pictures_and_the_chosen_head(monkeypatch):
    monkeypatch.setattr(notebook, "FULL_BYTES", 100)
    record = record_of(weights(2, 3, 7, 7), TOKENS)
    found = content_of(show(record, head="2-1").html)
    assert found["records"][0]["packing"] == "small"
    opened = found["view"]["opened_0"]
    cells = np.frombuffer(base64.b64decode(opened["base64"]), opened["type"])
    np.testing.assert_array_equal(cells.reshape(7, 7), record.weights[1, 0])


def test_in_a_notebook_more_comes_in_full_than_in_the_app():
    n = 190  # three heads: 650 kB fit the app; twelve are 2.6 MB
    records = [record_of(weights(1, 12, n, n, seed=seed), ["x"] * n) for seed in (0, 1)]
    assert 680_000 < 12 * n * n * 2 < 8_000_000
    assert content_of(show(records[0]).html)["records"][0]["packing"] == "full"
    assert [kept["packing"] for kept in content_of(show(*records).html)["records"]] == ["full", "full"]


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
        (
            lambda: show(record, record_of(weights(1, 2, 2, 3), ["a", "b"], keys=["x", "y", "z"])),
            "Cross-attention is drawn by itself",
        ),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_the_word_asked_for_is_followed_from_its_own_strongest_link():
    record = record_of(weights(2, 3, 7, 7), TOKENS)
    words = [1, 2, 3, 4, 5]
    for q in words:
        others = [k for k in words if k != q]
        best = np.unravel_index(record.weights[:, :, q][..., others].max(axis=-1).argmax(), (2, 3))
        chosen = content_of(show(record, word=TOKENS[q].removeprefix("##")).html)["view"]["selection"]
        assert chosen == {"head": list(best), "pins": [q], "to": None}


class Frame(HTMLParser):
    """The attributes of the frame that a notebook gets."""

    def handle_starttag(self, tag, attrs):
        if tag == "iframe":
            self.said = dict(attrs)


def test_a_frame_has_the_texts_own_title_of_a_length_that_people_read():
    record = record_of(weights(1, 2, 2, 2), ['"so" & <so>', "x" * 200])
    shown = show(record)
    assert len(shown.title) == 120
    assert shown.title.startswith('HeadScope: "so" & <so> xxx')
    frame = Frame()
    frame.feed(shown._repr_html_())
    assert (frame.said["title"], frame.said["srcdoc"]) == (shown.title, shown.html)


def test_each_of_two_records_says_what_it_is_itself():
    a, b = (
        record_of(weights(2, 3, 7, 7), TOKENS),
        record_of(weights(2, 3, 3, 3, seed=1), ["A", "tired", "##ness"]),
    )
    found = content_of(show(a, replace(b, interventions=("a head is off",)), words=True).html)
    said = [record["columns"] for record in found["records"]]
    assert [one["text"] for one in said] == [a.tokens.text, b.tokens.text]
    assert [one["unit"] for one in said] == ["words", "words"]
    assert found["records"][1]["labels"] == ["A", "tiredness"]
    assert [title.endswith(", changed") for title in found["view"]["titles"]] == [False, True]
    on, off = (replace(a, gates=np.array([[1, 1, last], [1, 1, 1]], dtype=np.float32)) for last in (1, 0))
    titles = content_of(show(on, off).html)["view"]["titles"]
    assert [title.endswith(", changed") for title in titles] == [False, True], "a head is switched off"
    alone = content_of(show(off).html)
    assert alone["records"][0]["model"].endswith(", changed")
    assert alone["records"][0]["columns"]["changed"] == "1-3 times 0"


# One text that looks at another

SOURCE, TARGET = ["[CLS]", "The", "cat", "slept", ".", "x"], ["<pad>", "x", "Katze", "schlief"]


def cross_of(**options) -> CrossRecord:
    return record_of(weights(2, 3, 4, 6, seed=4), TARGET, keys=SOURCE, **options)


def test_of_two_texts_the_source_comes_first_and_every_weight_is_the_records():
    record = cross_of()
    found = content_of(show(record, word="Katze", to="x").html)
    (kept,) = found["records"]
    assert kept["labels"] == [*SOURCE, *TARGET]
    assert kept["segments"] == [0] * 6 + [1] * 4
    assert kept["specials"] == [1, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert (kept["layers"], kept["heads"], kept["keys"]) == (2, 3, 6)
    assert kept["title"] == "The cat slept . x → x Katze schlief"
    np.testing.assert_allclose(cells_of(kept), record.weights.ravel(), atol=8e-6)
    best = np.unravel_index(record.weights[:, :, 2, 5].argmax(), (2, 3))
    assert found["view"]["selection"] == {"head": list(best), "pins": [6 + 2], "to": 5}
    assert kept["columns"]["text"] == record.queries.text
    assert kept["columns"]["source"] == record.keys.text


def test_of_two_texts_the_strongest_link_is_between_words_of_both():
    given = np.full((1, 1, 4, 6), 0.05, dtype=np.float32)
    given[0, 0, 1, 0], given[0, 0, 0, 2], given[0, 0, 2, 3] = 0.75, 0.75, 0.5
    record = record_of(given / given.sum(-1, keepdims=True), TARGET, keys=SOURCE)
    view = content_of(show(record).html)["view"]
    # [CLS] of the source and <pad> of the target have more, and are no words.
    assert view["selection"] == {"head": [0, 0], "pins": [6 + 2], "to": 3}


def two_texts(first: str, second: str, role=None, n_cut: int = 0) -> Tokens:
    """A pair of one word each."""
    pieces = tuple(
        Piece(text, 0, 0, len(text), segment, 0, role is not None, role if segment else None)
        for segment, text in enumerate((first, second))
    )
    return Tokens(first, second, pieces, (), n_cut)


def test_a_side_of_two_texts_is_one_line_with_its_own_cuts_and_unknown_pieces():
    source = two_texts("Ann", "Bo", role="unknown", n_cut=2)
    record = replace(record_of(weights(1, 2, 2, 2), ["a", "b"], keys=["c", "d"]), keys=source)
    kept = cross_payload(record, record.grid(), Selection((0, 0)))["records"][0]
    assert (kept["labels"], kept["before"]) == (["Ann", "Bo", "a", "b"], ["", " ", "", " "])
    assert (kept["unknown"], kept["joined"]) == ([0, 1, 0, 0], [0] * 4)
    assert kept["cut"] == "2 pieces left out"
    both = replace(record, queries=two_texts("Cy", "Di", n_cut=1))
    kept = cross_payload(both, both.grid(), Selection((0, 0)))["records"][0]
    assert kept["cut"] == "2 pieces left out, 1 piece left out"
    assert kept["before"] == ["", " ", "", " "]


def test_special_tokens_are_treated_in_one_of_three_ways():
    for record in (cross_of(), record_of(np.full((1, 1, 2, 2), 0.5), ["a", "b"])):
        for how in ("shown", "hidden", "renormalised"):
            record.grid(specials=how)
        with pytest.raises(InputError, match=r"hidden or renormalised, not 'left'\."):
            record.grid(specials="left")


def test_two_texts_of_too_many_weights_are_refused(monkeypatch):
    record = cross_of()
    monkeypatch.setattr(crossed, "MOST_BYTES", 2 * record.weights.size)
    show(record)
    monkeypatch.setattr(crossed, "MOST_BYTES", 2 * record.weights.size - 1)
    with pytest.raises(
        SizeError, match=r"144 weights are too many for one picture \(143 at most\); show a shorter text"
    ):
        show(record)


# What files say


@dataclass(frozen=True)
class Mixed:
    key: str = "rollout"
    label: str = "Rollout"
    per: str = "layer"


def test_a_file_says_its_measure_what_it_is_of_and_both_texts():
    record = record_of(weights(1, 2, 2, 2), ["a", "b"])
    both = replace(record, tokens=two_texts("Ann", "Bo"))
    said = numbers.about(both, both.grid(), measure=Mixed())
    assert (said["measure"], said["measureSaid"], said["per"]) == ("rollout", "Rollout", "layer")
    assert (said["about"]["measure"], said["about"]["per"]) == ("rollout", "layer")
    assert said["columns"]["measure"] == "rollout"
    assert (said["columns"]["text"], said["columns"]["pair"]) == ("Ann", "Bo")
    assert "pair" not in numbers.columns(record, record.grid())
