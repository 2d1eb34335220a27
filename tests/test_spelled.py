"""The reader's own spelling in a picture, and a head said in one sentence: every expectation here is by hand."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from mha_core.figures.lettering import FACES, FOLDER
from mha_core.picture.payload import explore_payload
from mha_core.picture.selection import Selection
from mha_core.picture.standalone import standalone_html
from mha_core.picture.text import indexed, marks, sentence_in_words, spelled, visible
from mha_core.record import Grid, Unit
from mha_core.tokens import Piece, Tokens

PALETTE = json.loads((FOLDER.parent / "palette.json").read_text(encoding="utf-8"))["page"]


def unit(label: str, start: int, end: int, segment: int = 0, special: bool = False, pieces=(0,)) -> Unit:
    return Unit(label, start, end, segment, special, pieces)


def grid(units, weights=None) -> Grid:
    n = len(units)
    if weights is None:
        weights = np.full((1, 1, n, n), 1 / n)
    return Grid(tuple(units), np.asarray(weights, dtype=np.float32), False, "shown")


def piece(text: str, word: int | None, segment: int = 0, role=None) -> Piece:
    return Piece(text, 0, 0, 0, segment, word, role is not None, role)


def test_two_units_of_one_character_are_the_character_and_what_the_model_calls_the_rest():
    units = [unit("€", 0, 1), unit("¤", 0, 1), unit("!", 1, 2)]
    said = spelled(grid(units), Tokens("€!", None, (), ()))
    assert said == {"names": ["€", "¤", "!"], "before": ["", "", ""], "after": ["", ""]}


def test_what_the_model_did_not_read_stands_behind_no_picture():
    tokens = Tokens("so far and no further", None, (), ())
    units = [unit("so", 0, 2), unit("far", 3, 6)]
    assert spelled(grid(units), tokens)["after"] == [" and no further", ""]
    assert spelled(grid(units), replace(tokens, n_cut=3))["after"] == ["", ""]


def test_the_same_word_is_numbered_from_one_and_a_single_one_is_not():
    assert indexed(["the", "cat", "the", "mat", "the"]) == ["the₁", "cat", "the₂", "mat", "the₃"]


def test_pieces_of_one_word_are_joined_and_a_second_text_begins_anew():
    pieces = (
        piece("tired", 0),
        piece("##ness", 0),
        piece("wide", 0, 1),
        piece("##r", 0, 1),
        piece("x", 1, 1),
    )
    units = [unit(one.text, 0, 1, one.segment, pieces=(i,)) for i, one in enumerate(pieces)]
    assert marks(grid(units), Tokens("a", "b", pieces, ()))["joined"] == [0, 1, 0, 1, 0]


def test_a_word_with_one_unknown_piece_is_not_known():
    pieces = (piece("cat", 0), piece("un", 1), piece("[UNK]", 1, role="unknown"))
    units = [unit("cat", 0, 3, pieces=(0,)), unit("un", 4, 6, pieces=(1, 2))]
    said = marks(grid(units), Tokens("cat un?", None, pieces, ()))
    assert (said["unknown"], said["unknownName"]) == ([0, 1], "[UNK]")
    assert "cut" not in said


@pytest.mark.parametrize(("n", "said"), [(1, "1 piece left out"), (1200, "1,200 pieces left out")])
def test_a_cut_is_said(n, said):
    assert marks(grid([unit("a", 0, 1)]), Tokens("a", None, (piece("a", 0),), (), n))["cut"] == said


def test_a_joiner_is_seen_where_it_joins_nothing():
    assert [visible(text) for text in ("\u200dab", "ab\u200d", "a\u200db")] == ["◌ab", "ab◌", "a\u200db"]


WORDS = [unit("[CLS]", 0, 0, special=True), unit("a", 0, 1), unit("b", 2, 3), unit("c", 4, 5)]


def test_of_equal_links_and_words_the_first_is_said_first_and_all_above_one_percent():
    rows = [[1, 0, 0, 0], [0.02, 0, 0.49, 0.49], [0.5, 0.49, 0.005, 0.005], [0.51, 0.49, 0, 0]]
    of_rows = grid(WORDS, [[rows]])
    assert sentence_in_words(of_rows, (0, 0), ()) == (
        "Head 1-1, its strongest links between words ([CLS] left out): “a” looks at “b” (49.0 %), “b” looks at “a” "
        "(49.0 %) and “c” looks at “a” (49.0 %)."
    )
    assert sentence_in_words(of_rows, (0, 0), (1,)) == (
        "Head 1-1: “a” looks at “b” (49.0 %), “c” (49.0 %) and “[CLS]” (2.0 %)."
    )
    assert (
        sentence_in_words(of_rows, (0, 0), (2,))
        == "Head 1-1: “b” looks at “[CLS]” (50.0 %) and “a” (49.0 %)."
    )


def test_two_words_look_on_average_and_two_separators_are_named_once():
    units = [*WORDS, unit("[SEP]", 0, 0, special=True), unit("d", 6, 7), unit("[SEP]", 0, 0, special=True)]
    rows = np.full((7, 7), 1 / 7)
    rows[1], rows[2] = [0, 0, 0, 0.8, 0.2, 0, 0], [0, 0, 0, 0.2, 0, 0.8, 0]
    of_rows = grid(units, [[rows]])
    assert sentence_in_words(of_rows, (0, 0), (1, 2)) == (
        "Head 1-1: “a” and “b” look on average at “c” (50.0 %), “d” (40.0 %) and “[SEP]₁” (10.0 %)."
    )
    assert sentence_in_words(of_rows, (0, 0), ()).startswith(
        "Head 1-1, its strongest links between words ([CLS] and [SEP] left out): “a” looks at “c” (80.0 %), “b” "
    )


def page_of(text: str, link: str = "") -> str:
    words = grid([unit(text, 0, len(text))])
    packed = explore_payload(words, Tokens(text, None, (), ()), model_title="M", selection=Selection((0, 0)))
    return standalone_html(packed, title="T", link=link)


def content_of(page: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_separators_of_lines_in_a_text_end_no_line_of_the_page():
    page = page_of("a\u2028b\u2029c")
    assert not {"\u2028", "\u2029"} & set(page)
    assert content_of(page)["records"][0]["title"] == "a\u2028b\u2029c"


def test_a_page_of_its_own_has_the_colours_of_the_palette_in_light_and_dark():
    page = page_of("a")
    rules = {
        "light": re.findall(
            r":root(?:\[data-scheme=\"light\"\])? \{ color-scheme: light[^;]*; (.*?) \}", page
        ),
        "dark": re.findall(r"dark\) \{ :root \{ (.*?) \}|color-scheme: dark; (.*?) \}", page),
    }
    for scheme, found in rules.items():
        assert len(found) == 2, scheme
        for rule in found:
            said = dict(re.findall(r"--st-(\w+)-color: (#\w+);", "".join(rule)))
            own = PALETTE[scheme]
            assert said == {"background": own["paper"], "text": own["ink"], "primary": own["accent"]}


@pytest.mark.parametrize(("text", "faces"), [("cafe", 1), ("łódź", 2)])
def test_a_page_of_its_own_has_the_typeface_of_its_letters(text, faces):
    fonts = content_of(page_of(text))["fonts"]
    assert [base64.b64decode(bytes_) for bytes_, _ in fonts] == [
        (FOLDER / name).read_bytes() for name in list(FACES)[:faces]
    ]


def test_a_page_of_its_own_says_the_address_of_the_same_view():
    assert (
        content_of(page_of("a", "https://example.org/?text=a"))["view"]["link"]
        == "https://example.org/?text=a"
    )


def test_a_row_without_a_link_worth_naming_says_so():
    units = tuple(Unit(f"w{i}", 0, 1, 0, False, (i,)) for i in range(200))
    even = Grid(units, np.full((1, 1, 200, 200), 1 / 200, dtype=np.float32), False, "shown")
    assert sentence_in_words(even, (0, 0), (3,)) == "Head 1-1: “w3” looks at nothing with 1 % or more."
