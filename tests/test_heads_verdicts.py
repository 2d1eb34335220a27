"""Verdicts on real text, worked out by hand on small trees: rules, controls, halves, names; and what chance gives."""

from collections import Counter
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import bdtrc

from mha_core import trace
from mha_core.corpus import PronounCase, Sentence
from mha_core.heads.builtin import AGREEMENT, read_builtin
from mha_core.heads.coreference import ChoiceCase
from mha_core.heads.distances import of_treebank
from mha_core.heads.intervals import binomial_tail, z_for_best_of
from mha_core.heads.relations import RelationCases, RelationCounts
from mha_core.heads.survey import TextItem
from mha_core.heads.verdict import Verdict
from mha_core.heads.verdicts import choices, entries, halves, logistic, making, rules, table
from mha_core.heads.verdicts.agreement import measure_agreement, substituted
from mha_core.heads.verdicts.choices import surface
from mha_core.heads.verdicts.entries import conclude, surviving_name
from mha_core.heads.verdicts.habits import HabitLog
from mha_core.heads.verdicts.logistic import held_out_choices
from mha_core.heads.verdicts.looks import Looks, LooksLog, Tree
from mha_core.heads.verdicts.measured import Measured, Question, RuleHits
from mha_core.heads.verdicts.nulls import called, shuffled_trees
from mha_core.heads.verdicts.table import packed, unpacked
from mha_core.heads.verdicts.treebank import SIBLINGS, measure, questions
from tests.heads_by_hand import attention, random_attention, tokens_of

SHAPE = (2, 3)
FEATURES = (
    ("man", "woman"), ("boy", "girl"), ("father", "mother"), ("thomas", "laura"), ("is", "are"), ("this", "these"),
)  # fmt: skip


def sentence(number: int, words: str, heads: list[int], relations: str, tags: str) -> Sentence:
    forms = (*(f"{word}{number}" for word in words.split()), f"word{number}")
    return Sentence(
        forms,
        (*heads, heads.index(-1)),
        (*relations.split(), "dep"),
        " ".join(forms),
        number,
        (*tags.split(), "X"),
    )


def treebank(n: int = 150) -> list[Sentence]:
    """A determiner one, two or three words before its noun, an object one or two words after its verb."""
    near = ("the dog saw a cat", [1, 2, -1, 4, 2], "det nsubj root det obj", "DET NOUN VERB DET NOUN")
    far = (
        "the big red dog saw cats",
        [3, 3, 3, 4, -1, 4],
        "det amod amod nsubj root obj",
        "DET ADJ ADJ NOUN VERB NOUN",
    )
    return [sentence(i, *(near if i % 2 else far)) for i in range(n)]


def looks_of(trees: list[Sentence], heads: dict[int, str], seed: int = 0, n_heads: int = 6) -> list[Looks]:
    """Random heads, but those named: "gold" finds every head word, "noun" looks at the next noun, "one" one ahead."""
    rng, found = np.random.default_rng(seed), []
    for one in trees:
        n = len(one.words)
        at = rng.integers(0, n, (2, n_heads, n))
        for head, kind in heads.items():
            for word in range(n):
                nouns = [i for i in range(word + 1, n) if one.tags[i] == "NOUN"]
                target = {
                    "gold": one.heads[word],
                    "noun": nouns[0] if nouns else 0,
                    "one": min(word + 1, n - 1),
                }
                at[:, head, word] = max(target[kind], 0)
        found.append(Looks(one, at.astype(np.int16)))
    return found


def some(looks: list[Looks]):
    """Two of the questions."""
    asked = {one.question.key: one for one in questions(looks, "treebank", is_causal=False)}
    return [asked["det"], asked["obj"]]


def entry(looks: list[Looks], key: str, n_heads: int = 6):
    asked = {one.question.key: one for one in questions(looks, "treebank", is_causal=False)}
    return conclude(measure(asked[key], looks), (1, n_heads), 1000)


def test_the_exact_tail_is_scipys_and_is_carried_on_between_whole_numbers():
    for n, k, p in ((30, 20, 0.5), (392, 279, 0.684), (1817, 1468, 0.6), (20_000, 10_200, 0.5), (5, 5, 0.1)):
        assert binomial_tail(k / n, n, p) == pytest.approx(bdtrc(k - 1, n, p), rel=1e-8)
    between = binomial_tail(0.6, 40.5, 0.45)
    assert bdtrc(24, 41, 0.45) < between < bdtrc(23, 40, 0.45)
    assert (binomial_tail(0.0, 10, 0.5), binomial_tail(1.0, 10, 0.0)) == (1.0, 0.0)


def test_dependent_cases_have_the_standard_error_of_a_bootstrap_over_clusters():
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(200), rng.integers(1, 6, 200))
    values = (rng.random(200)[clusters] > 0.4).astype(float)
    error = float(halves.standard_error(values, clusters))
    low, high = halves.interval(values, clusters)
    assert (high - low) / (2 * 1.96) == pytest.approx(error, rel=0.06)
    assert 150 < float(halves.effective(values, clusters)) < 200 < len(values)
    assert float(halves.effective(values, np.arange(len(values)))) == pytest.approx(len(values), rel=0.01)
    assert float(halves.effective(np.ones(50), np.repeat(np.arange(20), 3)[:50])) == 17
    turned = np.tile([0.0, 1.0], 60)  # one right and one wrong in every cluster: better than independent
    turned[:6] = [1, 1, 0, 0, 1, 0]
    pairs = np.repeat(np.arange(60), 2)
    assert float(halves.effective(turned, pairs)) == 120
    assert float(halves.effective(turned, pairs, binary=False)) > 120


def test_the_best_of_many_is_scored_on_the_half_it_was_not_chosen_on():
    right = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=float)
    found = halves.choose(right, np.array([False, False, True, True]))
    assert (found.picked, found.where_chosen, found.held_out) == ((0, 1), 1.0, 0.0)
    assert halves.choose(right, np.zeros(4, dtype=bool)) is None


def test_what_a_word_looks_at_is_what_the_relations_count():
    tokens = tokens_of(["one", ["tw", "o"], "six", ["t", "e", "n"], "red"])
    heads, names = (1, 3, 1, -1, 0), ("a", "b", "a", "root", "b")
    weights = random_attention(5, *SHAPE, len(tokens))
    log, counts = LooksLog(), RelationCounts(*SHAPE)
    log.add(
        weights, Tree(Sentence(("one", "two", "six", "ten", "red"), heads, names, tokens.text, 1), tokens)
    )
    kept = [i for i in range(5) if heads[i] >= 0]
    counts.add(
        weights,
        RelationCases(
            tokens, np.array(kept), np.array([heads[i] for i in kept]), tuple(names[i] for i in kept)
        ),
    )
    table, (one,) = counts.result(), log.found
    for way, direction in enumerate(("dep->head", "head->dep")):
        for name in ("a", "b"):
            cases = [i for i in kept if names[i] == name]
            right = (one.at[way][:, cases] == [heads[i] for i in cases]).mean(-1).reshape(SHAPE)
            assert right == pytest.approx(table.accuracy(name, direction))


def test_a_word_of_a_cut_text_that_may_have_lost_its_end_is_none():
    tokens = tokens_of(["one", "two", "six"])
    tree = Sentence(("one", "two", "six"), (1, -1, 1), ("a", "root", "b"), tokens.text, 1)
    assert [Tree(tree, replace(tokens, n_cut=n)).whole for n in (0, 4)] == [3, 2]
    log = LooksLog()
    log.add(random_attention(5, *SHAPE, 5), Tree(tree, replace(tokens, n_cut=4)))
    assert log.found[0].at.shape == (2, 6, 2)


def test_a_decoder_s_word_that_gives_earlier_ones_nothing_looks_at_none_that_comes_later():
    tokens = tokens_of(["one", "two", "six", "ten"])
    tree = Sentence(("one", "two", "six", "ten"), (1, -1, 1, 1), ("d",) * 4, tokens.text, 1)
    weights = np.eye(6, dtype=np.float32)[None, None].copy()
    weights[..., 4, 4], weights[..., 4, 2] = 0.6, 0.4
    log = LooksLog(is_causal=True)
    log.add(weights, Tree(tree, tokens))
    assert log.found[0].at.tolist() == [[[0, 0, 0, 1]]]


def test_relations_are_asked_the_most_frequent_first_and_in_a_decoder_only_of_earlier_words():
    looks = looks_of(treebank(), {})
    both = {one.question.key: one for one in questions(looks, "t", is_causal=False)}
    assert list(both) == [
        key + way for key in ("det", "amod", "dep", "nsubj", "obj") for way in ("", ":back")
    ]
    assert both["obj"].question.question == "Does an object look at its verb?"
    assert both["det:back"].question.question == "Does a noun look at its determiner?"
    back = {one.question.key: one.cases for one in questions(looks, "t", is_causal=True)}
    assert list(back) == ["det:back", "amod:back", "dep", "nsubj:back", "obj"], "these partners come first"
    assert all((cases.answer < cases.anchor).all() for cases in back.values())
    heads = both["obj"].cases.answer, back["obj"].answer
    np.testing.assert_array_equal(*heads)


def test_rules_are_learnt_on_one_half_and_said_from_the_word_that_looks():
    looks = looks_of(treebank(), {0: "gold"})
    det = {rule.name: rule.score for rule in entry(looks, "det").rules}
    assert det["the next noun"] == 1.0
    assert det["always one word ahead"] == pytest.approx(2 / 3, abs=0.01)
    assert det["the distance that this word has most often"] == pytest.approx(2 / 3, abs=0.01)
    obj = {rule.name: rule.score for rule in entry(looks, "obj").rules}
    new_words = obj["the distance that this word has most often"]  # no word comes twice here
    assert new_words == max(score for name, score in obj.items() if name.startswith("always")) > 0.4
    back = [rule.name for rule in entry(looks, "det:back").rules]
    assert "always one word back" in back
    assert "the next noun, seen from the other word" in back
    assert entry(looks, "obj").rules[0].name in ("the last verb before it", "the nearest verb")


def test_of_distances_equally_common_the_nearest_is_the_rule_and_then_the_one_ahead():
    assert rules._top(Counter({2: 3, -1: 3, 1: 3, 3: 2})) == 1
    assert rules._top(Counter({2: 3, -1: 3})) == -1


def test_the_end_of_a_run_is_its_last_noun():
    tags = ("DET", "NOUN", "NOUN", "VERB", "NOUN")
    one = Sentence(("the", "gas", "pump", "broke", "down"), (2, 2, 3, -1, 3), ("d",) * 5, "t", 1, tags)
    run, next_ = (rules._tag_rule(("NOUN",), 1, run) for run in (True, False))
    assert (run.row, run.guess(one, 0), next_.guess(one, 0)) == ("the end of the next run of nouns", 2, 1)
    assert rules._tag_rule(("NOUN",), -1, run=True).guess(one, 3) == 1
    assert rules._tag_rule(("ADJ",), 1, run=False).guess(one, 0) == -1
    nearest = rules._tag_rule(("NOUN", "VERB"), 0, run=False)
    assert [nearest.guess(one, i) for i in range(5)] == [1, 2, 1, 2, 3], "of equals the one before"
    assert nearest.row == "the nearest noun or verb"
    far = Sentence(("a", "b", "c", "d"), (1, -1, 1, 1), ("d",) * 4, "t", 1, ("VERB", "DET", "DET", "VERB"))
    assert [rules._tag_rule(("VERB",), 0, run=False).guess(far, i) for i in range(4)] == [3, 0, 3, 0]


def test_distances_are_counted_in_words_without_what_hangs_on_them():
    words = ("Dogs", "do", "n't", "chase", "the", "old", "cat", "'s", "tail")
    relations = ("nsubj", "aux", "advmod", "root", "det", "amod", "nmod:poss", "case", "obj")
    heads = (3, 3, 3, -1, 6, 6, 8, 6, 3)
    found = of_treebank(
        [
            Sentence(words, heads, relations, "", 1),
            Sentence(("Cats", "sleep"), (-1, 0), ("root", "obj"), "", 2),
        ]
    )
    # Dogs don't chase the old cat's tail: "chase" is two words after "Dogs", "tail" four after "chase", and
    # between "cat" and what hangs on it there is no distance.
    assert {name: dict(counts) for name, counts in found.items() if counts} == {
        "nsubj": {2: 1}, "det": {2: 1}, "amod": {1: 1}, "obj": {-4: 1, -1: 1}, "nmod:poss": {1: 1},
    }  # fmt: skip


def test_how_far_the_best_is_above_a_rule_is_counted_on_held_out_cases_over_the_strongest():
    looks = looks_of(treebank(), {1: "noun", 4: "one"})
    found = measure(some(looks)[0], looks)
    picks = halves.choose(found.right, found.second_half)
    strongest = max(found.rules, key=lambda rule: rule.score)
    weakest = min(found.rules, key=lambda rule: rule.score)
    assert strongest.score > weakest.score
    over = conclude(found, (1, 6), 1000).over_baseline
    assert over.value == pytest.approx(picks.answers.mean() - strongest.score)
    assert over.low < over.value < over.high or over.low == over.value == over.high


def test_a_head_is_called_by_the_rule_that_equals_it_and_by_the_relation_if_none_does():
    looks = looks_of(treebank(), {1: "noun"})
    det = entry(looks, "det")
    assert (det.head, det.verdict.word, det.name) == ((0, 1), "rule", "any dependent → the next noun")
    assert det.held_out == det.score == 1.0
    blind = [Looks(one.sentence.__class__(*one.sentence.__dict__.values()), one.at) for one in looks]
    for one in blind:
        object.__setattr__(one.sentence, "tags", ("_",) * len(one.sentence.words))
    assert entry(blind, "det").verdict.word == "specialist"
    assert entry(looks_of(treebank(), {1: "one"}), "det").verdict.word == "none"


@pytest.mark.parametrize(
    ("side", "name"),
    [
        (1, "noun → the determiner before it"),
        (-1, "noun → the determiner after it"),
        (0, "noun → its determiner"),
    ],
)
def test_a_rule_that_looks_ahead_from_the_dependent_finds_it_before_the_word_that_looks(side, name):
    asked = Question(
        "det:back", "syntactic", "", "", "ud", "det", looks="noun", at="determiner", reads_column=True
    )
    told = RuleHits("the next noun", "the next noun", np.ones(9), by_place=False, side=side)
    assert surviving_name(asked, Verdict("rule", ""), (told,), (), 0.9) == name


def test_a_head_that_looks_at_one_word_from_everywhere_is_found_out_by_its_control():
    trees = treebank()
    looks = looks_of(trees, {})
    for one in looks:
        one.at[:, 2] = one.sentence.heads.index(-1)
    found = entry(looks, "obj")
    assert (found.score, found.control) == (1.0, 1.0)
    assert found.verdict.because == "the control does too: 100.0 %"
    assert found.over_control.high == 0


def test_the_word_that_the_answer_itself_depends_on_is_no_control():
    looks = looks_of(treebank(), {1: "gold"})
    for one in looks:  # the verb looks at its subject, the determiner's noun
        one.at[:, 1, one.sentence.heads.index(-1)] = one.sentence.relations.index("nsubj")
    found = entry(looks, "det")
    assert (found.head, found.score, found.control) == ((0, 1), 1.0, 0.0)


@pytest.mark.parametrize("is_causal", [False, True])
def test_every_case_of_a_treebank_its_control_and_its_other_dependents_are_those_of_a_slow_count(
    monkeypatch, is_causal
):
    monkeypatch.setattr("mha_core.heads.verdicts.treebank.MIN_RELATION", 10)
    chance, trees = np.random.default_rng(4), []
    for number in range(40):
        n = int(chance.integers(5, 9))
        heads = [int(chance.choice([j for j in range(n) if j != i])) for i in range(n)]
        heads[number % n] = -1
        names = ["root" if head < 0 else str(chance.choice(["a", "b", "punct"])) for head in heads]
        words = tuple(f"word{number}{i}" for i in range(n))
        trees.append(Sentence(words, tuple(heads), tuple(names), " ".join(words), number, ("X",) * n))
    looks = []
    for one in trees:
        other = chance.integers(1, len(one.words), (2, 3, len(one.words)))
        looks.append(Looks(one, (np.arange(len(one.words)) + other) % len(one.words)))  # nobody at itself
    measured = {one.question.key: measure(one, looks) for one in questions(looks, "t", is_causal)}

    def share(hits):
        return np.mean(hits, axis=0) if hits else np.full(3, np.nan)

    for key in ("a", "a:back", "b", "b:back"):
        name, back = key[0], key.endswith("back")
        right, control, siblings = [], [], []
        for one, seen in zip(trees, looks, strict=True):
            for dependent, head in enumerate(one.heads):
                given, wanted = (head, dependent) if back and is_causal else (dependent, head)
                if one.relations[dependent] != name or (is_causal and wanted > given):
                    continue
                hits = (seen.at[int(back and not is_causal)] == wanted).T
                free = [i for i in range(len(one.words)) if one.relations[i] != "punct"]
                free = [i for i in free if i not in (given, wanted)]
                right.append(hits[given])
                strangers = [i for i in free if one.heads[i] != wanted and one.heads[wanted] != i]
                control.append(share([hits[i] for i in strangers]))
                alike = [i for i in free if one.heads[i] == wanted and one.relations[i] != name]
                siblings.append(share([hits[i] for i in alike]))
        found = measured[key]
        np.testing.assert_array_equal(found.right, right)
        np.testing.assert_allclose(found.control, control, atol=1e-6)
        assert list(found.others) == ([] if back and is_causal else [SIBLINGS])
        for values in found.others.values():
            np.testing.assert_allclose(values, siblings, atol=1e-6)


def test_of_the_heads_as_good_as_the_best_the_best_come_first():
    case = np.arange(100) % 5
    right = np.stack([case < 3, case >= 2, (case > 0) & (case < 4), case > 5], axis=1).astype(float)
    right[2:22:5, 1] = 0.0  # 56 of 100
    right[1, 2] = 0.0  # 59 of 100
    assert right.sum(0).tolist() == [60, 56, 59, 0]
    assert entries._equals(SimpleNamespace(right=right, clusters=np.arange(100)), 0) == [2, 1]


def test_a_head_is_told_from_the_best_by_the_interval_of_their_difference():
    """Behind in 3 and in 5 of 100 cases: 1.75 and 2.28 standard errors."""
    right = np.ones((100, 3))
    right[:3, 1] = right[:5, 2] = 0.0
    assert entries._equals(SimpleNamespace(right=right, clusters=np.arange(100)), 0) == [1]


def test_other_dependents_of_the_same_word_tell_a_relation_from_any_dependent():
    found = entry(looks_of(treebank(), {3: "gold"}), "det")
    siblings = {one.name: one for one in found.substitutes}[SIBLINGS]
    assert (siblings.score, siblings.over.low) == (1.0, 0.0)
    assert found.control == 0.0, "words that depend on another look at that one"
    assert found.name.startswith("any dependent → ")


@pytest.mark.slow
def test_random_heads_are_called_by_nothing_and_a_true_one_is():
    trees = treebank()
    bad = 0
    for seed in range(10):
        looks = looks_of(trees, {}, seed)
        bad += len(called([measure(one, looks) for one in some(looks)], (1, 6), 12))
    assert bad == 0
    looks = looks_of(trees, {3: "gold"})
    assert ("det", (0, 3)) in called([measure(one, looks) for one in some(looks)], (1, 6), 12)


@pytest.mark.slow
def test_with_shuffled_gold_even_a_true_head_is_called_by_nothing():
    looks = looks_of(treebank(), {3: "gold"})
    shuffled = [list(shuffled_trees(some(looks), looks, seed)) for seed in range(10)]
    assert [called(found, (1, 6), 12) for found in shuffled] == [[]] * 10
    kept = shuffled[0][0]
    place = next(rule.score for rule in kept.rules if rule.name.startswith("always"))
    assert 0.6 < place < 0.85


def test_the_logistic_model_finds_a_surface_rule_and_nothing_in_noise():
    rng = np.random.default_rng(1)
    x, folds = rng.normal(size=(400, 5)), np.arange(400) % 10
    assert held_out_choices(x, x[:, 1] < 0, folds).mean() > 0.95
    assert abs(held_out_choices(x, rng.random(400) < 0.5, folds).mean() - 0.5) < 0.08


def test_the_logistic_model_is_the_one_of_least_loss():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 3))
    second = rng.random(80) < 1 / (1 + np.exp(x @ [1.5, -0.5, 0.0]))
    loss = lambda w: (  # noqa: E731
        np.logaddexp(0, np.where(second, 1, -1) * (x @ w)).sum() + logistic.RIDGE / 2 * w @ w
    )
    assert logistic._fitted(x, second) == pytest.approx(minimize(loss, np.zeros(3), tol=1e-12).x, abs=1e-5)


def test_surface_features_turn_their_sign_when_the_names_change_places():
    one = PronounCase("Ann, who knew Bea, left. Later she phoned Ann.", (31, 34), ((0, 3), (14, 17)), 0)
    found = surface(one)
    assert found.shape == (12,)
    assert surface(replace(one, candidates=(one.candidates[1], one.candidates[0]))) == pytest.approx(-found)
    assert found[5] == pytest.approx(np.log(2))


def test_a_control_that_does_as_well_leaves_nothing_over_and_one_that_fails_leaves_all():
    right = np.tile([1.0, 1.0, 0.0], (40, 1))
    control = np.tile([0.0, 1.0, 1.0], (40, 1))
    control[20:] = np.nan  # no such word to be asked for
    measured = SimpleNamespace(right=right, control=control, clusters=np.arange(40))
    score, over = entries._controls(measured, 1000)
    assert list(score) == [0.0, 1.0, 1.0]
    assert list(over) == [1.0, 0.0, -1.0], "without any spread the interval is its middle"
    control[:10, 0] = 1.0
    apart = np.repeat([0.0, 1.0], 10)
    width = z_for_best_of(1000) * apart.std() / np.sqrt(20)
    assert entries._controls(measured, 1000)[1][0] == pytest.approx(0.5 - width, rel=0.05)
    assert entries._controls(SimpleNamespace(control=None), 1000) == (None, None)
    measured.control = np.full_like(control, np.nan)
    assert entries._controls(measured, 1000) == (None, None)


def test_where_a_head_rests_is_counted_on_word_rows_by_mass():
    n = 6
    rows = np.full((n, n), 0.1, dtype=np.float32)
    rows[:, 0] = 0.45
    rows[0] = 0.0
    rows[0, 0] = 1.0
    log = HabitLog()
    log.add(attention(n, *rows), TextItem(tokens_of(["one", "two", "six", "ten"])))
    found = {one.asked.key: one for one in log.measured("t")}
    assert found["rest-begin"].mass == pytest.approx([0.45])
    assert found["rest-begin"].asked.title == "[CLS]"
    assert found["previous"].n == 3


def test_a_copy_is_looked_at_among_what_came_before_and_its_control_are_other_tokens():
    tokens = tokens_of(["lamp", "red", "lamp", "new"])
    rows = np.full((6, 6), 0.05, dtype=np.float32)
    rows[3, 1], rows[4, 1], rows[2, 1] = 0.5, 0.5, 0.01
    log = HabitLog()
    log.add(attention(6, *rows), TextItem(tokens))
    copy = {one.asked.key: one for one in log.measured("t")}["copy"]
    assert (copy.n, copy.right[0, 0]) == (1, 1.0)
    assert copy.mass == pytest.approx([0.5])
    assert copy.control[0, 0] == 1.0


def test_a_blind_choice_has_as_many_copies_to_find_as_there_are():
    log = HabitLog()
    tokens = tokens_of(["lamp", "red", "lamp", "new", "lamp"])
    log.add(attention(7, *np.full((7, 7), 1 / 7, dtype=np.float32)), TextItem(tokens))
    assert [one.blind.tolist() for one in log.kept["copy"]] == [[1 / 2], [2 / 4]]


def test_a_decoder_s_row_is_held_against_what_it_can_see():
    weights = np.tril(np.ones((6, 6), dtype=np.float32))
    weights /= weights.sum(-1, keepdims=True)
    log = HabitLog(is_causal=True)
    log.add(attention(6, *weights), TextItem(tokens_of(["one", "two", "six", "ten"])))
    found = {one.asked.key: one for one in log.measured("t")}
    assert found["previous"].rules[0].hits == pytest.approx([1 / 3, 1 / 4, 1 / 5])
    assert found["self"].rules[0].hits == pytest.approx([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert found["first"].rules[0].hits == pytest.approx([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert found["broad"].right == pytest.approx(np.ones((4, 1))), "each spreads over all that it sees"
    assert "next" not in found


def test_other_rows_of_the_same_word_are_no_control_of_a_copy():
    rows = np.full((7, 7), 0.05, dtype=np.float32)
    rows[4, 3] = rows[3, 1] = rows[5, 1] = 0.5
    log = HabitLog()
    log.add(attention(7, *rows), TextItem(tokens_of(["lamp", "red", "lamp", "new", "lamp"])))
    first = {one.asked.key: one for one in log.measured("t")}["copy"]
    assert first.control[0, 0] == 0.5, "of red, which sees nothing else, and new, which looks elsewhere"


def test_rows_of_punctuation_do_not_count_where_words_rest():
    rows = np.full((5, 5), 0.1, dtype=np.float32)
    rows[:, 0], rows[2, 0] = 0.25, 0.9
    log = HabitLog()
    log.add(attention(5, *rows), TextItem(tokens_of(["one", ".", "six"])))
    found = {one.asked.key: one for one in log.measured("t")}
    assert found["rest-begin"].mass == pytest.approx([0.25])


def test_a_name_is_counted_by_its_last_word():
    assert choices._count("Anna Smith saw Smith.", "Anna Smith") == 2


# [CLS] Ann saw Bea when she left [SEP], with the pronoun or without it behind both names.
NAMED = tokens_of(["Ann", "saw", "Bea", "when", "she", "left"])


def chosen(number: int, answer: int, again: str = "", pronoun: int = 5, text: str = "") -> choices.Choice:
    """A text of its own with two names, one of them perhaps said once more, and a pronoun."""
    text = text or f"Ann saw Bea when she left {number}{again}."
    source = PronounCase(text, (17, 20), ((0, 3), (8, 11)), answer)
    rules = (1.0 - answer, float(answer == 0), 0.5, 0.5)  # the nearest is none of these, the first is Ann
    case = ChoiceCase(NAMED, np.array([pronoun]), (np.array([1]), np.array([3])), answer, None, rules)
    return choices.Choice(case, source)


def looking_at(names: list[int | None]) -> np.ndarray:
    """For each head the name (0 or 1, or none) that "she" looks at; all other rows look at Bea."""
    weights = np.zeros((1, len(names), 8, 8), dtype=np.float32)
    weights[:, :, :, 3] = 1.0
    for head, name in enumerate(names):
        weights[0, head, 5] = 0.0
        if name is not None:
            weights[0, head, 5, 3 if name else 1] = 1.0
    return weights


def two_names(is_causal: bool = False) -> choices.ChoiceLog:
    """40 texts: head 1-1 is always right, 1-2 always looks at Bea, 1-3 at neither; in every fourth Bea comes twice."""
    log = choices.ChoiceLog(is_causal)
    for number in range(40):
        answer = number % 2
        again = ", and Bea stayed" if number % 4 == 0 else ""
        log.add(looking_at([answer, 1, None]), chosen(number, answer, again))
    return log


def test_a_choice_is_right_where_the_name_is_and_beside_it_stand_rules_and_other_rows():
    found = {one.asked.key: one for one in choices.measure_choices(two_names(), "p")}
    assert list(found) == ["antecedent", "antecedent:back", "antecedent-even", "antecedent-even:back"]
    whole, even = found["antecedent"], found["antecedent-even"]
    answers = np.arange(40) % 2
    assert (whole.n, even.n, even.n_clusters) == (40, 30, 30)
    np.testing.assert_array_equal(whole.right, np.stack([np.ones(40), answers, np.full(40, 0.5)], 1))
    np.testing.assert_array_equal(whole.control, np.stack([answers] * 3, 1))
    np.testing.assert_array_equal(even.right[:, 1], answers[np.arange(40) % 4 > 0])
    rules = {rule.name: rule.hits for rule in whole.rules}
    np.testing.assert_array_equal(rules["the first name"], answers == 0)
    np.testing.assert_array_equal(rules["the last name"], answers == 1)
    np.testing.assert_array_equal(rules["a coin"], np.full(40, 0.5))
    assert [rule.score for rule in whole.rules] == sorted((rule.score for rule in whole.rules), reverse=True)


def test_with_other_answers_rules_and_heads_are_asked_for_the_other_name():
    log, answers = two_names(), np.arange(40) % 2
    turned = answers.copy()
    turned[:10] = 1 - turned[:10]
    found = next(choices.measured_with(log, "p", turned))
    np.testing.assert_array_equal(found.right[:, 0], turned == answers)
    rules = {rule.name: rule.hits for rule in found.rules}
    np.testing.assert_array_equal(rules["the first name"], turned == 0)
    np.testing.assert_array_equal(rules["the last name"], turned == 1)


def test_a_decoder_is_asked_only_where_both_names_came_before_the_pronoun():
    log = two_names(is_causal=True)
    log.add(looking_at([1, 1, None]), chosen(40, 1, pronoun=2))
    assert len(log.choices) == 40
    assert [one.asked.key for one in choices.measure_choices(log, "p")] == ["antecedent", "antecedent-even"]


def test_the_same_text_never_stands_on_both_sides_of_a_fold(monkeypatch):
    asked = []
    monkeypatch.setattr(choices, "held_out_choices", lambda x, _, folds: asked.append(folds) or x[:, 0] * 0)
    log = choices.ChoiceLog()
    for number in range(62):
        log.add(looking_at([0]), chosen(number % 31, number % 2))
    list(choices.measure_choices(log, "p"))
    np.testing.assert_array_equal(asked[0][:31], asked[0][31:])
    assert 5 < len(set(asked[0])) <= logistic.FOLDS


@pytest.mark.parametrize(("kind", "heads"), [("broad", []), ("positional", [("asked", (0, 1))])])
def test_a_head_that_spreads_is_called_by_nothing_that_chance_could_not_do(kind, heads):
    right = np.column_stack([np.full(200, 0.1), np.full(200, 0.97)])
    rule = RuleHits("a blind choice", "a blind choice", np.full(200, 0.5))
    every = np.arange(200)
    found = Measured(
        Question("asked", kind, "t", "q", "c"), right, every, every % 2 == 0, (rule,), mass=right.mean(0)
    )
    assert called([found], (1, 2)) == heads


def test_where_a_head_rests_its_name_says_that_it_looks_or_rests_there():
    names = {
        kind: Question("k", kind, "the title", "q", "c").label for kind in ("separator", "sink", "syntactic")
    }
    assert names == {
        "separator": "looks at the title",
        "sink": "rests on the title",
        "syntactic": "the title",
    }


def test_one_correction_is_for_every_head_in_every_question(monkeypatch):
    looks = looks_of(treebank(), {1: "noun"})
    monkeypatch.setattr(making, "measured", lambda *_: ([measure(one, looks) for one in some(looks)], []))
    shape = {"n_layers": 2, "n_heads": 3, "info": SimpleNamespace(trained=True)}
    found = making.make(SimpleNamespace(name="m", title="M", digest="", **shape), [], lambda _: None)
    assert [found.tried, *(entry.tried for entry in found.entries)] == [12, 12, 12]


def test_what_is_left_out_of_a_corpus_is_counted_once_and_not_again_for_the_twin(monkeypatch):
    asked = []
    monkeypatch.setattr(making, "measured", lambda *given: asked.append((given[0], given[-1])) or ([], []))
    shape = {"n_layers": 2, "n_heads": 3, "name": "m", "title": "M", "digest": "", "device": "cpu"}
    ours, twin = (SimpleNamespace(**shape, info=SimpleNamespace(trained=one)) for one in (True, False))
    monkeypatch.setattr(making, "load_model", lambda *_, **__: twin)
    reading = making.Reading("skip")
    found = making.make(ours, [], lambda _: None, reading=reading, twin=True)
    assert [model for model, _ in asked] == [ours, twin]
    assert asked[0][1] is reading is not asked[1][1]
    assert asked[1][1].on_error == "skip"
    assert (found.seed, found.twin.seed) == (None, 0)


def test_verdicts_are_read_as_they_were_written():
    from mha_core.heads.verdicts.table import Verdicts

    looks = looks_of(treebank(), {1: "noun"})
    entries = tuple(entry(looks, key) for key in ("det", "det:back", "obj"))
    whole = Verdicts("m", "d", True, None, "c", "2026-01-01", 1000, {}, entries)
    again = unpacked(packed(whole))
    assert packed(again) == packed(whole)
    assert [one.key for one in again.by_head((0, 1))] == [one.key for one in whole.by_head((0, 1))]
    assert again.entry("det").rank((0, 1)) == 1
    for row, one in zip(packed(whole)["entries"], whole.entries, strict=True):
        for name in ("over_control", "over_baseline"):
            gap = getattr(one, name)
            assert row[name] == [round(number, 6) for number in (gap.value, gap.low, gap.high)]
        assert row["over_control"] != row["over_baseline"]
    *_, last = table.text(whole)
    assert last == "One correction for 1,000 attempts: all heads, directions and questions."
    assert again.entry("det").share_below((0, 1)) == pytest.approx(5 / 6)


def test_a_substitute_has_the_pronouns_feature_and_stands_in_its_place():
    sentences = [one for one in read_builtin() if one.kind in AGREEMENT and one.choice is not None]
    n = 0
    for one in sentences:
        twin = next(other for other in sentences if other.cluster == one.cluster and other.id != one.id)
        for name, choice in substituted(one, twin):
            word = choice.text[slice(*choice.pronoun)].lower()
            form = one.text[slice(*one.choice.pronoun)].lower()
            second = form in ("she", "her", "hers", "they", "them", "their", "theirs")
            assert word in {names[second] for names in FEATURES}
            assert word in {
                form.split()[-1].lower()
                for form in name.replace("another name", "thomas or laura").split(" or ")
            }
            either = {form, twin.text[slice(*twin.choice.pronoun)].lower()}
            assert choice.text[choice.pronoun[1] :].startswith("'s") == (either == {"his", "her"})
            for new, old in zip(choice.candidates, one.choice.candidates, strict=True):
                assert choice.text[slice(*new)] == one.choice.text[slice(*old)]
            n += 1
    assert n >= 4 * 48


@pytest.mark.long
def test_two_versions_of_a_sentence_are_one_cluster_and_lie_in_one_half(model, monkeypatch):
    sentences = [one for one in read_builtin() if one.kind in AGREEMENT and one.choice is not None]
    clusters = list(dict.fromkeys(one.cluster for one in sentences))[:8]
    some = [one for one in sentences if one.cluster in clusters]
    assert len(some) == 16
    monkeypatch.setattr("mha_core.heads.verdicts.agreement.read_builtin", lambda: some)
    way, back = measure_agreement(model, "b")
    assert (way.asked.key, back.asked.key) == ("agreement", "agreement:back")
    assert (way.n, way.n_clusters) == (16, 8)
    number = [clusters.index(one.cluster) for one in some]
    assert len(set(zip(number, way.clusters.tolist(), strict=True))) == 8
    assert [len(set(way.second_half[way.clusters == one])) for one in range(8)] == [1] * 8
    assert 0 < way.second_half.mean() < 1
    rules = {rule.name: rule.hits for rule in way.rules}
    np.testing.assert_array_equal(rules["the first candidate"] + rules["the last candidate"], np.ones(16))
    assert {name: values.shape for name, values in way.others.items()} == dict.fromkeys(way.others, (16, 72))

    read = cache(partial(trace, model=model))

    def asked(choice, by_rows):
        """Does each head prefer the right one: from the pronoun, and on average from the other rows; both (head,)."""
        record = read(choice.text)
        pieces = record.tokens.pieces
        spans = [
            [i for i, piece in enumerate(pieces) if piece.end > start and piece.start < end]
            for start, end in (choice.pronoun, *choice.candidates)
        ]
        (he,), (a,), (b,) = spans
        weights = record.weights if by_rows else record.weights.swapaxes(2, 3)
        side = 1 if choice.answer else -1
        likes = (1 + side * np.sign(weights[..., b] - weights[..., a])) / 2
        rest = [i for i, piece in enumerate(pieces) if not piece.special and i not in (he, a, b)]
        return likes[:, :, he].ravel(), likes[:, :, rest].mean(-1).ravel()

    for found, by_rows in ((way, True), (back, False)):
        for at, one in enumerate(some):
            right, others = asked(one.choice, by_rows)
            np.testing.assert_array_equal(found.right[at], right)
            np.testing.assert_allclose(found.control[at], others, atol=1e-6)
        twin = next(other for other in some if other.cluster == some[0].cluster and other.id != some[0].id)
        for name, choice in substituted(some[0], twin):
            np.testing.assert_array_equal(found.others[name][0], asked(choice, by_rows)[0])


def test_an_interval_is_the_same_in_whatever_order_the_sentences_were_read():
    chance = np.random.default_rng(5)
    clusters = np.repeat(np.arange(40), chance.integers(1, 6, 40))
    values = (chance.random(len(clusters)) < 0.6).astype(float)
    there = halves.interval(values, clusters)
    assert there[0] < values.mean() < there[1]
    for _ in range(3):
        other_names, order = chance.permutation(40), chance.permutation(len(values))
        assert halves.interval(values[order], other_names[clusters][order]) == there
