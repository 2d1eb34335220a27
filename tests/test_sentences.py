"""The built-in sentences: enough of them, and so balanced that no lazy rule scores for free."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "assets" / "sentences.json"
SENTENCES = json.loads(FILE.read_text(encoding="utf-8"))
KINDS = ("animacy", "predicate", "causality", "gender", "number")
MINIMUM = {"plain": 25, "syntax": 200, "coreference": 240, "copy": 115, "rare": 115}


def coreference(kind=None):
    return [s for s in SENTENCES if s["role"] == "coreference" and kind in (None, s["kind"])]


def test_every_role_has_its_minimum():
    counts = Counter(s["role"] for s in SENTENCES)
    assert set(counts) == set(MINIMUM)
    assert {role: n for role, n in counts.items() if n < MINIMUM[role]} == {}
    assert all(len(coreference(kind)) >= 30 for kind in KINDS)


def test_a_pair_has_two_members_with_opposite_answers():
    for pair_id in {sentence["pair_id"] for sentence in coreference()}:
        members = [sentence for sentence in coreference() if sentence["pair_id"] == pair_id]
        assert len(members) == 2, pair_id
        assert {m["answer"] for m in members} == {0, 1}, pair_id
        assert len({m["kind"] for m in members}) == 1, pair_id


def nearest(s):
    start, end = s["pronoun"]
    return min((0, 1), key=lambda c: max(s["candidates"][c][0] - end, start - s["candidates"][c][1]))


def most_frequent(s):
    """Of two that are named equally often, the nearer."""
    texts = [s["text"][start:end] for start, end in s["candidates"]]
    counts = [len(re.findall(rf"\b{re.escape(text)}\b", s["text"])) for text in texts]
    return nearest(s) if counts[0] == counts[1] else int(counts[1] > counts[0])


RULES = {
    "first": lambda s: 0,
    "nearest": nearest,
    "subject": lambda s: s["subject"],
    "most frequent": most_frequent,
}


@pytest.mark.parametrize("kind", [None, *KINDS])
@pytest.mark.parametrize("rule", RULES)
def test_no_rule_of_place_is_right_for_free(kind, rule):
    right = [RULES[rule](s) == s["answer"] for s in coreference(kind)]
    assert abs(sum(right) / len(right) - 0.5) <= 0.02
