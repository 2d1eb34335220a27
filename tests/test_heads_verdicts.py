"""Verdicts on real text, worked out by hand on small trees: rules, controls, halves, names; and what chance gives."""

import numpy as np
import pytest
from scipy.special import bdtrc

from mha_core.heads.corpora import Sentence
from mha_core.heads.intervals import binomial_tail
from mha_core.heads.verdicts import halves
from mha_core.heads.verdicts.entries import conclude
from mha_core.heads.verdicts.logistic import held_out_choices
from mha_core.heads.verdicts.looks import Looks
from mha_core.heads.verdicts.treebank import SIBLINGS, measure, questions
from tests.nulls import called, shuffled_trees


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


def test_a_head_that_looks_at_one_word_from_everywhere_is_found_out_by_its_control():
    trees = treebank()
    looks = looks_of(trees, {})
    for one in looks:
        one.at[:, 2] = one.sentence.heads.index(-1)
    found = entry(looks, "obj")
    assert (found.score, found.control) == (1.0, 1.0)
    assert found.verdict.word != "specialist"
    assert found.over_control.high == 0


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
