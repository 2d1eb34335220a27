"""Does it hold? Which question a link is a case of, and what is said and drawn of the chosen head there."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mha_core.grid import Unit
from mha_core.heads.link_kind import link_kind
from mha_core.heads.verdicts.shipped import read_evidence
from pages.parts.explore import holds

KNOWN = (
    "det",
    "det:back",
    "case",
    "nmod:poss",
    "antecedent",
    "copy",
    "previous",
    "next",
    "self",
    "rest-begin",
)


def units(text: str) -> list[Unit]:
    """[CLS], the words, each a unit."""
    words = ["[CLS]", *text.split()]
    return [Unit(word, 0, 0, 0, i == 0, (i,)) for i, word in enumerate(words)]


@pytest.mark.parametrize(
    ("text", "query", "key", "kind"),
    [
        ("The old dog ran", 1, 3, "det"),
        ("The old dog ran", 3, 1, "det:back"),
        ("They saw a dog", 2, 3, "next"),
        ("The dog saw it was near", 4, 2, "antecedent"),
        ("They sat in the old house", 3, 6, "case"),
        ("They sold their house", 3, 4, "nmod:poss"),
        ("A dog met a dog", 5, 2, "copy"),
        ("A dog met a dog", 2, 5, None),
        ("Dogs run fast", 2, 1, "previous"),
        ("Dogs saw them run", 3, 2, "previous"),
        ("Dogs run fast", 2, 3, "next"),
        ("Dogs run fast", 2, 2, "self"),
        ("Dogs run very fast", 1, 4, None),
        ("The very old red dog", 1, 5, "det"),
        ("The very old red dog", 5, 1, "det:back"),
        ("The a b c d dog", 1, 6, None),
        ("The end of the day", 3, 4, "next"),
        ("The end of the day", 4, 3, "previous"),
        ("The end of the day", 4, 1, None),
        ("Their own her old dog", 1, 3, None),
        ("The dog saw the one it had", 6, 1, None),
        ("The dog saw the one it had", 6, 4, None),
    ],
)
def test_a_link_is_a_case_of_the_question_that_its_words_ask(text, query, key, kind):
    assert link_kind(units(text), query, key, KNOWN) == kind


def test_words_of_two_texts_stand_at_no_distance_from_each_other():
    words = units("Maria hid the book . She knew")[1:]
    both = [replace(unit, segment=int(i > 3)) for i, unit in enumerate(words)]
    across = [link_kind(both, *link, KNOWN) for link in ((3, 4), (4, 3), (2, 6))]
    assert across == [None, None, None]
    assert [link_kind(both, *link, KNOWN) for link in ((3, 2), (2, 3))] == ["det:back", "det"]
    assert link_kind(both, 5, 0, KNOWN) == "antecedent", "which is no matter of place"


def test_a_special_token_is_a_rest_and_a_question_that_was_not_asked_is_none():
    assert link_kind(units("Dogs run"), 1, 0, KNOWN, "begin") == "rest-begin"
    assert link_kind(units("Dogs run"), 1, 0, KNOWN, "separator") is None
    assert link_kind(units("Dogs run"), 0, 1, KNOWN) is None
    assert link_kind(units("The dog ran"), 1, 2, ("next",)) == "next"


def test_what_rests_on_a_special_token_is_asked_by_the_one_that_is_looked_at():
    words = ["[CLS]", "dogs", "run", "[SEP]"]
    special = {0: "begin", 3: "separator"}
    grid = SimpleNamespace(units=[Unit(word, 0, 0, 0, i in special, (i,)) for i, word in enumerate(words)])
    pieces = [SimpleNamespace(role=special.get(i)) for i in range(4)]
    record = SimpleNamespace(tokens=SimpleNamespace(pieces=pieces))
    questions = ("rest-begin", "rest-separator", "next")
    found = SimpleNamespace(by_key=dict.fromkeys(questions), entry=str)
    links = (1, 0), (2, 3), (0, 3), (3, 0), (1, 2), (0, 1)
    asked = [holds.asked(found, record, grid, link) for link in links]
    assert asked == ["rest-begin", "rest-separator", "rest-separator", "rest-begin", "next", None]


def test_heads_that_score_alike_share_a_rank_in_the_sentence_as_in_the_picture():
    found = read_evidence("minilm")
    entry, grid = found.entry("case"), SimpleNamespace(units=units("They sat in the house"))
    alike = [head for head in np.ndindex(6, 12) if (entry.heads == entry.heads[head]).sum() > 1]
    assert alike
    for head in alike:
        rank = f"rank {1 + int((entry.heads > entry.heads[head]).sum())} of 72"
        assert f"{rank};" in holds.said(found, entry, grid, (3, 5), head)
        assert f"{rank} heads" in holds._strip(found, None, "case", head)["said"]
