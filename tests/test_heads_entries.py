"""Verdicts on real text: what is concluded of what was measured, and what is measured, number by number."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from heads_by_hand import tokens_of

from mha_core.corpus import PronounCase, Sentence
from mha_core.heads.coreference import ChoiceCase
from mha_core.heads.survey import TextItem
from mha_core.heads.verdict import Evidence, Verdict, judge
from mha_core.heads.verdicts import choices, entries, habits, halves, nulls, rules, table
from mha_core.heads.verdicts.entries import Substitute, conclude, surviving_name
from mha_core.heads.verdicts.halves import Gap
from mha_core.heads.verdicts.looks import Looks
from mha_core.heads.verdicts.measured import Measured, Question, RuleHits
from mha_core.heads.verdicts.treebank import Asked

N, FIRST = 300, 180  # cases, and how many lie in the first half


def measured() -> Measured:
    """Head 1-1 is the best on the first half, 2-1 on the second and on both together; three cases a sentence."""
    rng = np.random.default_rng(7)
    second = np.arange(N) >= FIRST
    chance = np.where(second[:, None], [0.4, 0.2, 0.9, 0.1], [0.7, 0.2, 0.6, 0.1])
    another = np.full((N, 4), np.nan)
    another[:50] = rng.random((50, 4)) < 0.5
    return Measured(
        Question("k", "syntactic", "t", "q", "c"),
        (rng.random((N, 4)) < chance).astype(float),
        np.arange(N) // 3,
        second,
        (
            RuleHits("the next noun", "noun", (rng.random(N) < 0.45).astype(float), by_place=False),
            RuleHits("the next word", "next", (rng.random(N) < 0.3).astype(float)),
        ),
        others={"another": another},
    )


def test_every_number_of_an_entry_is_of_the_half_the_head_and_the_cases_it_should_be_of():
    found = measured()
    one = conclude(found, (2, 2), 10)
    right = found.right
    answers = np.concatenate([right[:FIRST, 2], right[FIRST:, 0]])
    assert (one.head, one.picked) == ((1, 0), ((0, 0), (1, 0)))
    assert one.chosen == pytest.approx((right[:FIRST, 0].mean() + right[FIRST:, 2].mean()) / 2)
    assert one.held_out == pytest.approx(answers.mean())
    assert one.interval == halves.interval(answers, found.clusters)
    assert one.over_baseline == halves.gap(answers, found.rules[0].hits, found.clusters)
    assert (one.n, one.clusters, one.score) == (N, N // 3, pytest.approx(right[:, 2].mean()))
    there = found.others["another"][:50, 2]
    assert one.substitutes == (
        Substitute("another", there.mean(), 50, halves.gap(right[:50, 2], there, found.clusters[:50])),
    )


def test_a_head_is_judged_by_all_its_cases_and_by_the_best_rule_of_place():
    found = measured()
    for head, one in enumerate(entries.evidence(found, 10)):
        assert (one.n, one.score) == (N, pytest.approx(found.right[:, head].mean()))
        assert (one.baseline_name, one.rule_name) == ("the next word", "the next noun")
        assert (one.baseline, one.rule) == (found.rules[1].score, found.rules[0].score)


def test_one_substitute_that_does_as_well_is_enough_to_doubt_a_name():
    asked = Question("agreement", "agreement", "the title", "q", "c")
    same, other, absent = Substitute("a", 0.9, 40), Substitute("b", 0.5, 40), Substitute("c", 0.9, 0)

    def name(*substitutes):
        return surviving_name(asked, Verdict("specialist", ""), (), substitutes, 0.9)

    assert name(other, same) == "matches gender or number"
    assert name(other, absent) == "the title"


@pytest.mark.parametrize(("low", "name"), [(0.01, "object → its verb"), (-0.01, "any dependent → its verb")])
def test_a_name_needs_a_gap_over_other_dependents_that_is_beyond_doubt(low, name):
    asked = Question("obj", "syntactic", "t", "q", "c", "obj", looks="object", at="verb")
    siblings = Substitute("siblings", 0.5, 40, Gap(0.1, low, 0.2))
    assert surviving_name(asked, Verdict("specialist", ""), (), (siblings,), 0.9) == name


def test_what_tells_related_words_is_said_where_they_were_asked_for():
    one = conclude(measured(), (2, 2), 10)
    semantic = replace(one, asked=replace(one.asked, kind="semantic"))

    def said(*found):
        return "\n".join(table.text(table.Verdicts("m", "d", True, None, "c", "2026-01-01", 1000, {}, found)))

    assert "Related in meaning: " in said(one, semantic)
    assert "Related in meaning: " not in said(one)


# ---- rules


def tree(words: str, tags: str) -> Sentence:
    forms = tuple(words.split())
    return Sentence(forms, (-1,) * len(forms), ("d",) * len(forms), words, 1, tuple(tags.split()))


def cases(*each: tuple[Sentence, int, int]) -> rules.Cases:
    sentences, anchors, answers = zip(*each, strict=True)
    return rules.Cases(sentences, np.arange(len(each)), np.array(anchors), np.array(answers))


def test_a_word_is_the_same_with_a_capital():
    the = tree("we saw the red dog", "PRON VERB DET ADJ NOUN")
    near = tree("a dog barked", "DET NOUN VERB")
    learnt = rules.learn_form(cases((the, 2, 4), (near, 0, 1), (near, 0, 1)))
    assert learnt.guess(tree("The red dog", "DET ADJ NOUN"), 0) == 2
    assert learnt.guess(tree("Every dog", "DET NOUN"), 0) == 1, "a new word's is the commonest of all"


def test_a_rule_of_place_reaches_ten_words():
    assert rules._commonest(np.array([12, 12, 12, 3, -2, -2])) == -2
    assert rules._commonest(np.array([12, 12])) == 1


def test_the_parts_of_speech_of_a_rule_are_the_commonest_and_it_may_look_to_both_sides():
    before = tree("dog a so big a dog", "NOUN DET ADV ADJ DET NOUN")
    after = tree("dog a big so a dog", "NOUN DET ADJ ADV DET NOUN")
    rare = [(tree(f"so {tag}", f"ADV {tag}"), 0, 1) for tag in ("VERB", "ADJ", "NUM", "X")]
    learnt = rules.learn_tags(cases(*[(before, 2, 0), (after, 3, 5)] * 20, *rare))
    assert (learnt.row, learnt.side, learnt.by_place) == ("the nearest noun", 0, False)
    assert rules.learn_tags(cases((tree("so X", "_ _"), 0, 1))) is None


def test_a_run_is_of_all_the_kinds_that_a_rule_takes():
    run = rules._tag_rule(("NOUN", "PROPN"), 1, run=True)
    assert run.guess(tree("the Ohio river flows", "DET PROPN NOUN VERB"), 0) == 2


# ---- names


def test_what_the_surface_shows_of_a_name():
    text = "Old Bea Smith left. Smithson and Ann's aunt, she said, met Kim."

    def seen(name):
        at, pronoun = text.index(name), text.index("she")
        case = PronounCase(text, (pronoun, pronoun + 3), ((at, at + len(name)), (0, 3)), 0)
        return choices._seen(case, case.candidates[0])

    place = {name: text.index(name) / len(text) for name in ("Bea Smith", "Ann", "aunt", "Kim")}
    five, two, one = np.log(6), np.log(3), np.log(2)
    assert seen("Bea Smith") == pytest.approx((1, five, five, 1, 0, 0, 0, 2, 1, 0, 0, place["Bea Smith"]))
    assert seen("Ann") == pytest.approx((1, two, two, 0, 1, 0, 0, 1, 1, 1, 0, place["Ann"]))
    assert seen("aunt") == pytest.approx((1, one, one, 0, 1, 0, 0, 1, 0, 0, 1, place["aunt"]))
    assert seen("Kim") == pytest.approx((0, two, 0, 0, 1, 0, 0, 1, 0, 0, 0, place["Kim"]))


def log_of(texts: list[str], words: tuple[str, ...] = ("Ann", "saw", "Bea", "when", "she", "left")):
    log, tokens = choices.ChoiceLog(), tokens_of(words)
    at = [np.array([1 + words.index(word)]) for word in ("she", "Ann", "Bea")]
    weights = np.full((1, 1, len(tokens), len(tokens)), 0.1)
    for number, text in enumerate(texts):
        source = PronounCase(text, (17, 20), ((0, 3), (8, 11)), number % 2)
        case = ChoiceCase(tokens, at[0], (at[1], at[2]), number % 2, None, (0.5,) * 4)
        log.add(weights, choices.Choice(case, source))
    return log


def test_choices_of_one_text_belong_together_and_those_of_one_half_are_not_asked():
    texts = [f"Ann saw Bea when she left {number}." for number in range(20)]
    (one, back, *_) = choices.measure_choices(log_of(texts * 2), "p")
    assert (one.n, one.n_clusters, back.n_clusters) == (40, 20, 20)
    np.testing.assert_array_equal(one.clusters[:20], one.clusters[20:])
    some = [text for text in texts if halves.half_of(text)]
    assert 1 < len(some) < len(texts)
    assert list(choices.measure_choices(log_of(some), "p")) == []


def test_a_text_of_two_names_and_a_pronoun_has_no_control():
    assert np.isnan(log_of(["Ann saw Bea when she left."], ("Ann", "Bea", "she")).others).all()


def test_the_questions_say_who_looks_and_at_whom():
    said = {one.asked.key: (one.asked.title, one.asked.question) for one in choices.measure_choices(
        log_of([f"Ann saw Bea when she left {number}." for number in range(20)]), "p")}  # fmt: skip
    even = ", where both names occur equally often?"
    asks, back = (
        "Of two names, does a pronoun look more at the one it stands for",
        "Does the right one of two names look more at a pronoun",
    )
    assert said == {
        "antecedent": ("pronoun → its antecedent", asks + "?"),
        "antecedent:back": ("antecedent → its pronoun", back + "?"),
        "antecedent-even": ("pronoun → its antecedent, names as often", asks + even),
        "antecedent-even:back": ("antecedent → its pronoun, names as often", back + even),
    }


# ---- habits


def test_every_row_after_a_copy_that_could_see_it_is_its_control():
    """The last lamp has two copies: between them "red" sees the first alone, and "new" looks at "red"."""
    rows = np.full((7, 7), 0.05, dtype=np.float32)
    rows[4, 2] = rows[5, 1] = 0.5
    log = habits.HabitLog()
    log.add(rows[None, None], TextItem(tokens_of(["lamp", "red", "lamp", "new", "lamp"])))
    (found,) = (one for one in log.measured("t") if one.asked.key == "copy")
    assert found.control.ravel().tolist() == [0.5, 0.5]
    assert (found.n, found.binary) == (2, True)


def test_the_row_of_a_first_token_does_not_count_where_a_decoder_rests():
    tokens = tokens_of(["one", "two", "six"])
    tokens = replace(tokens, pieces=tokens.pieces[1:-1], words=())
    weights = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]], dtype=np.float32)
    log = habits.HabitLog(is_causal=True)
    log.add(weights[None, None], SimpleNamespace(tokens=tokens, text="one two six"))
    found = {one.asked.key: one for one in log.measured("t")}
    assert found["first"].mass == pytest.approx([0.375])


def test_spreading_is_a_share_and_held_against_the_middle_head():
    n = 6
    spread, sharp, middle = np.full((n, n), 1 / n), np.eye(n) * 0.9 + 0.1 / n, np.eye(n) * 0.5 + 0.5 / n
    weights = np.stack([spread, sharp, middle])[None].astype(np.float32)
    log = habits.HabitLog()
    log.add(weights, TextItem(tokens_of(["one", "two", "six", "ten"])))
    found = {one.asked.key: one for one in log.measured("t")}
    broad = found["broad"]
    assert [rule.name for rule in broad.rules] == ["the middle head"]
    assert broad.rules[0].score == pytest.approx(broad.right[:, 2].mean())
    assert broad.right[:, 1].mean() < broad.right[:, 2].mean() < broad.right[:, 0].mean()
    assert (broad.binary, found["rest-begin"].binary, found["previous"].binary) == (False, False, True)


# ---- what must find nothing


def test_a_shuffled_partner_stands_in_its_sentence(monkeypatch):
    """In every other sentence the partner is eleven words ahead, where the others end after three."""
    words = [3 if number % 2 else 12 for number in range(100)]
    sentences = [tree("a " * n, "X " * n) for n in words]
    looks = [Looks(one, np.zeros((2, 1, len(one.words)), np.int16)) for one in sentences]
    answers = np.where(np.array(words) == 3, 1, 11)
    asked = Asked(
        Question("k", "syntactic", "t", "q", "c"),
        rules.Cases(sentences, np.arange(100), np.zeros(100, int), answers),
        0,
    )
    monkeypatch.setattr(nulls, "measure", lambda one, _: one.cases)
    (drawn,) = nulls.shuffled_trees([asked], looks, seed=0)
    assert (drawn.answer < words).all()
    assert {1, 11} == set(drawn.answer[answers == 11])
    np.testing.assert_array_equal(drawn.answer[answers == 1], 1)


def test_of_some_questions_all_are_corrected_for():
    found = measured()
    assert nulls.called([found], (2, 2), 1)
    assert nulls.called([found], (2, 2), 10**60) == []


@pytest.mark.parametrize(("kind", "word"), [("copy", "unsure"), ("syntactic", "specialist")])
def test_what_the_control_of_a_copy_shows_is_held_against_nothing_and_of_a_choice_against_a_coin(kind, word):
    found = Evidence(kind, 0.9, 200, 0.1, "a rule", 10, mass=0.9, control=0.5, over_control=0.3)
    assert judge(found).word == word
