"""The built-in sentences: enough of them, marked exactly, and so balanced that no lazy rule scores for free.

Words are counted here by spaces, with punctuation apart; distances are in those words.
"""

import json
import re
from collections import Counter
from pathlib import Path
from statistics import mean

import pytest

FILE = Path(__file__).parent.parent / "assets" / "sentences.json"
SENTENCES = json.loads(FILE.read_text(encoding="utf-8"))
KINDS = ("animacy", "predicate", "causality", "gender", "number")
SPANS = {
    "plain": ({"stop"}, {"comma"}),
    "determiner": ({"determiner", "noun"}, set()),
    "subject-verb": ({"subject", "verb"}, {"attractor"}),
    "object": ({"verb", "object"}, set()),
    "possessive": ({"possessor", "possessed"}, set()),
    "copy": ({"first", "second"}, set()),
    "rare": ({"rare"}, set()),
}
MINIMUM = {
    "plain": 25,
    "determiner": 40,
    "subject-verb": 40,
    "object": 40,
    "possessive": 40,
    "coreference": 100,
    "copy": 30,
    "rare": 30,
}
ARTICLES = {"a", "an", "the", "this", "that", "these", "those", "every", "each", "another", "some"}
OWNERS = {"her", "his", "their", "our", "its", "my", "your"}
NOT_RARE = {"the", "a", "we", "he", "she", "my", "in", "and", "of"}


def with_role(role):
    return [s for s in SENTENCES if s["role"] == role]


def coreference(kind=None):
    return [s for s in with_role("coreference") if kind in (None, s["kind"])]


def pairs(items):
    grouped = {}
    for item in items:
        grouped.setdefault(item["pair_id"], []).append(item)
    return grouped


def all_spans(item):
    if item["role"] == "coreference":
        return {"pronoun": item["pronoun"], "first": item["candidates"][0], "second": item["candidates"][1]}
    return item["spans"]


def words(text):
    return [m.span() for m in re.finditer(r"[\w'’-]*\w[\w'’-]*|[^\w\s]", text)]


def place(item, span):
    """The number of the word that a span covers."""
    return [start for start, _ in words(item["text"])].index(span[0])


def covered(item, name):
    start, end = all_spans(item)[name]
    return item["text"][start:end]


def share(flags):
    flags = list(flags)
    return sum(flags) / len(flags)


def test_there_are_at_least_two_hundred_and_no_sentence_comes_twice():
    assert len(SENTENCES) >= 200
    assert len({s["text"].casefold() for s in SENTENCES}) == len(SENTENCES)
    assert len({s["id"] for s in SENTENCES}) == len(SENTENCES)


def test_every_role_has_its_minimum():
    counts = Counter(s["role"] for s in SENTENCES)
    assert set(counts) == set(MINIMUM)
    assert {role: n for role, n in counts.items() if n < MINIMUM[role]} == {}
    assert all(len(coreference(kind)) >= 20 for kind in KINDS)


def test_no_sentence_is_longer_than_forty_words_and_plain_ones_vary_in_length():
    assert max(len(words(s["text"])) for s in SENTENCES) <= 40
    lengths = [len(words(s["text"])) for s in with_role("plain")]
    assert min(lengths) <= 6
    assert max(lengths) >= 20


def test_every_sentence_is_one_clean_line():
    for s in SENTENCES:
        assert s["text"] == " ".join(s["text"].split()), s["id"]
        assert s["text"][-1] in '.?!”"', s["id"]


@pytest.mark.parametrize("role", SPANS)
def test_the_spans_of_a_role_are_the_ones_it_needs(role):
    needed, allowed = SPANS[role]
    for s in with_role(role):
        assert needed <= set(s["spans"]) <= needed | allowed, s["id"]


def test_spans_cover_whole_words_and_nothing_else():
    for s in SENTENCES:
        tokens = words(s["text"])
        starts, ends = {a for a, _ in tokens}, {b for _, b in tokens}
        for name, (start, end) in all_spans(s).items():
            assert 0 <= start < end <= len(s["text"]), (s["id"], name)
            assert start in starts, (s["id"], name)
            assert end in ends, (s["id"], name)
            assert " " not in s["text"][start:end], (s["id"], name)


def test_spans_point_at_the_words_they_name():
    for s in with_role("plain"):
        assert covered(s, "stop") in (".", "?", "!"), s["id"]
        assert s["spans"].get("comma") is None or covered(s, "comma") == ","
    for s in with_role("determiner"):
        assert covered(s, "determiner").lower() in ARTICLES, s["id"]
        assert covered(s, "noun").lower() not in ARTICLES, s["id"]
    for s in with_role("possessive"):
        owner = covered(s, "possessor")
        assert owner.lower() in OWNERS or owner.endswith("'s"), s["id"]
    for s in with_role("copy"):
        assert covered(s, "first").casefold() == covered(s, "second").casefold(), s["id"]
        assert s["spans"]["first"][1] < s["spans"]["second"][0], s["id"]
    for s in with_role("rare"):
        rare = covered(s, "rare").casefold()
        assert rare not in NOT_RARE
        assert sum(rare in other["text"].casefold() for other in SENTENCES) == 1, s["id"]
    for s in coreference():
        assert covered(s, "pronoun") in ("it", "he", "she", "they"), s["id"]


def test_candidates_come_in_order_before_the_pronoun():
    for s in coreference():
        (a, b), pronoun = s["candidates"], s["pronoun"]
        assert a[1] < b[0] < b[1] < pronoun[0], s["id"]
        assert s["answer"] in (0, 1)
        assert s["kind"] in KINDS


def test_a_pair_has_two_members_with_opposite_answers():
    for pair_id, members in pairs(coreference()).items():
        assert len(members) == 2, pair_id
        assert {m["answer"] for m in members} == {0, 1}, pair_id
        assert len({m["kind"] for m in members}) == 1, pair_id


def test_members_of_a_pair_differ_only_after_the_pronoun_or_only_in_it():
    for pair_id, (one, other) in pairs(coreference()).items():
        assert one["candidates"] == other["candidates"], pair_id
        texts = [m["text"] for m in (one, other)]
        before = [m["text"][: m["pronoun"][0]] for m in (one, other)]
        after = [m["text"][m["pronoun"][1] :] for m in (one, other)]
        assert before[0] == before[1], pair_id
        if one["kind"] in ("gender", "number"):
            assert after[0] == after[1], pair_id
            assert covered(one, "pronoun") != covered(other, "pronoun"), pair_id
        else:
            assert one["pronoun"] == other["pronoun"], pair_id
            same = _shared(texts[0].split(), texts[1].split())
            assert len(texts[0].split()) - same <= 3, pair_id
            assert len(texts[1].split()) - same <= 3, pair_id


def _shared(one, other):
    """Words that two lists share at their beginning and at their end."""
    head = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    rest = min(len(one), len(other)) - head
    tail = next((i for i in range(rest) if one[-1 - i] != other[-1 - i]), rest)
    return head + tail


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_neither_the_first_nor_the_nearest_candidate_is_right_for_free(kind):
    items = coreference(kind)
    first = share(s["answer"] == 0 for s in items)
    nearest = share(
        s["answer"] == min((0, 1), key=lambda c: s["pronoun"][0] - s["candidates"][c][1]) for s in items
    )
    assert abs(first - 0.5) <= 0.02
    assert abs(nearest - 0.5) <= 0.02


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_the_longer_candidate_is_not_right_for_free(kind):
    def length(s, c):
        start, end = s["candidates"][c]
        return end - start

    items = coreference(kind)
    right = mean(length(s, s["answer"]) for s in items)
    wrong = mean(length(s, 1 - s["answer"]) for s in items)
    assert abs(right - wrong) <= 0.1
    unequal = [s for s in items if length(s, 0) != length(s, 1)]
    longer = share(length(s, s["answer"]) > length(s, 1 - s["answer"]) for s in unequal)
    assert abs(longer - 0.5) <= 0.05


def test_first_and_second_candidates_are_alike_in_length():
    first = mean(a[1] - a[0] for a, _ in (s["candidates"] for s in coreference()))
    second = mean(b[1] - b[0] for _, b in (s["candidates"] for s in coreference()))
    assert abs(first - second) <= 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_pronoun_is_about_as_far_away_in_every_kind(kind):
    def far(s):
        return mean(place(s, s["pronoun"]) - place(s, c) for c in s["candidates"])

    assert abs(mean(map(far, coreference(kind))) - mean(map(far, coreference()))) <= 1.0


def test_the_animate_candidate_is_as_often_first_as_second():
    """In the animacy pairs the predicate that needs a living subject is the one the answer follows."""
    living = {"goat", "horse", "dog", "parrot", "duck", "pony", "deer", "puppy", "mouse", "bee", "owl", "hen"}
    first = [covered(m[0], "first") in living for m in pairs(coreference("animacy")).values()]
    assert sum(first) == len(first) / 2


@pytest.mark.parametrize(("kind", "mark"), [("gender", "he"), ("number", "it")])
def test_each_pronoun_finds_its_word_first_as_often_as_second(kind, mark):
    answers = [s["answer"] for s in coreference(kind) if covered(s, "pronoun") == mark]
    assert abs(share(answers) - 0.5) <= 0.02


def test_the_noun_nearest_to_the_verb_is_its_subject_only_half_of_the_time():
    def nearest_is_right(s):
        verb = s["spans"]["verb"][0]
        nouns = [s["spans"][n] for n in ("subject", "attractor") if n in s["spans"]]
        return min(nouns, key=lambda span: verb - span[1]) == s["spans"]["subject"]

    items = with_role("subject-verb")
    contested = [s for s in items if "attractor" in s["spans"]]
    assert len(contested) >= 30
    assert abs(share(map(nearest_is_right, contested)) - 0.5) <= 0.05
    assert share(map(nearest_is_right, items)) <= 0.65


def test_the_subject_is_as_far_from_its_verb_with_and_without_a_noun_between():
    def far(s):
        return place(s, s["spans"]["verb"]) - place(s, s["spans"]["subject"])

    contested = [s for s in with_role("subject-verb") if "attractor" in s["spans"]]
    between = [s for s in contested if s["spans"]["subject"] < s["spans"]["attractor"]]
    before = [s for s in contested if s["spans"]["subject"] > s["spans"]["attractor"]]
    assert abs(mean(map(far, between)) - mean(map(far, before))) <= 1.0


def test_in_agreement_pairs_subject_and_attractor_change_their_number():
    for pair_id, (one, other) in pairs(s for s in with_role("subject-verb") if "pair_id" in s).items():
        for name in ("subject", "verb"):
            assert covered(one, name) != covered(other, name), pair_id
        assert abs(place(one, one["spans"]["verb"]) - place(other, other["spans"]["verb"])) == 0, pair_id


@pytest.mark.parametrize(
    ("role", "start", "target", "bound"),
    [
        ("determiner", "determiner", "noun", 0.40),
        ("subject-verb", "verb", "subject", 0.45),
        ("object", "verb", "object", 0.35),
        ("possessive", "possessor", "possessed", 0.60),
        ("copy", "second", "first", 0.30),
    ],
)
def test_no_fixed_distance_finds_the_target_for_free(role, start, target, bound):
    items = with_role(role)
    offsets = Counter(place(s, s["spans"][target]) - place(s, s["spans"][start]) for s in items)
    assert offsets.most_common(1)[0][1] / len(items) <= bound


def test_rare_words_stand_early_in_the_middle_and_late():
    relative = [place(s, s["spans"]["rare"]) / len(words(s["text"])) for s in with_role("rare")]
    assert share(r < 1 / 3 for r in relative) >= 0.25
    assert share(r > 1 / 2 for r in relative) >= 0.25
