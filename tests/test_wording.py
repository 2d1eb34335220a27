"""How heads, shares and rules of place are written for people."""

import pytest

from mha_core.wording import always, counted, head_name, percent, place_name, short_name, size_in_words


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.1234, "12.3 %"),
        (0.0005, "0.1 %"),  # halves of a tenth go up
        (0.0625, "6.3 %"),
        (0.00049, "0.0 %"),
        (1.0, "100.0 %"),
        (-0.25, "−25.0 %"),
        (-0.0004, "0.0 %"),  # what is none has no sign
    ],
)
def test_a_share_has_one_decimal_and_a_sign_below_none(share, said):
    assert percent(share) == said


def test_a_rule_of_place_says_how_far_and_which_way():
    assert [always(offset) for offset in (1, -1, 2, -7, 0)] == [
        "always one word ahead",
        "always one word back",
        "always two words ahead",
        "always 7 words back",
        "always the word itself",
    ]


def test_heads_and_layers_are_counted_from_one():
    assert head_name((3, 1)) == "4-2"
    assert [place_name((3, 1), per) for per in ("head", "layer", "model")] == [
        "head 4-2",
        "layer 4",
        "all layers",
    ]
    assert [short_name((3, 1), per) for per in ("head", "layer", "model")] == ["4-2", "layer 4", "all layers"]
    assert (size_in_words(1, 12), counted(1200, "word", ("is", "are"))) == (
        "1 layer of 12 heads",
        "1,200 words are",
    )
