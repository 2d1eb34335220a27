"""Questions asked of heads whose answers are known: planted heads, counts by hand, and what chance gives."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mha_core.engine.visibility import Visibility
from mha_core.heads import cluster_stats as stats
from mha_core.heads.baselines import fit_first, fit_most_mentioned, fit_nearest
from mha_core.heads.cases import TIE, Baseline, ScoredCases, frame_of
from mha_core.heads.conclude import score_question
from mha_core.heads.corpora import PronounCase, Sentence
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.choices import Choice
from mha_core.heads.questions.places import PlaceQuestions
from mha_core.heads.questions.pronouns import ANTECEDENT, ChoiceQuestions
from mha_core.heads.questions.question_set import FrameCollector
from mha_core.heads.questions.syntax import SIBLINGS, RelationQuestions
from mha_core.heads.similarity import SimilarityCollector
from mha_core.heads.surface import boosted_trees, fit_folds, logistic_model
from mha_core.heads.survey import TextItem
from mha_core.heads.verdict import missing
from mha_core.heads.word_weights import entropy
from tests import planted
from tests.planted import looking

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.mark.parametrize("is_causal", [False, True])
def test_every_case_its_control_and_its_other_dependents_are_those_of_a_slow_count(monkeypatch, is_causal):
    monkeypatch.setattr(RelationQuestions, "min_cases", 10)
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
        looks.append((np.arange(len(one.words)) + other) % len(one.words))  # nobody at itself
    frame = planted.frame_of_looks(trees, [each.transpose(2, 0, 1) for each in looks], is_causal)
    measured = {one.question.key: one for one in RelationQuestions(Visibility(is_causal)).scored(frame, "t")}

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
                hits = (seen[int(back and not is_causal)] == wanted).T
                free = [i for i in range(len(one.words)) if one.relations[i] != "punct"]
                free = [i for i in free if i not in (given, wanted)]
                right.append(hits[given])
                strangers = [i for i in free if one.heads[i] != wanted and one.heads[wanted] != i]
                control.append(share([hits[i] for i in strangers]))
                alike = [i for i in free if one.heads[i] == wanted and one.relations[i] != name]
                siblings.append(share([hits[i] for i in alike]))
        result = measured[key]
        np.testing.assert_array_equal(result.right, right)
        np.testing.assert_allclose(result.control, control, atol=1e-6)
        assert list(result.others) == ([] if back and is_causal else [SIBLINGS])
        for values in result.others.values():
            np.testing.assert_allclose(values, siblings, atol=1e-6)


@pytest.mark.slow
def test_planted_heads_are_told_apart():
    heads = {0: "gold", 1: "weak gold", 2: "next noun", 3: "next word"}
    (cases,) = planted.scored(planted.looks_of(planted.treebank(), heads), "det")
    result = score_question(cases, (1, 6), planted.TRIED)
    assert [str(result.word[0, head]) for head in range(5)] == ["role", "tracks", "rule", "no", "no"]
    assert result.baselines[int(result.follows[0, 2])].does == "the next noun"
    assert result.right_there[0, [0, 2]].tolist() == [1, 0]
    assert result.as_baseline_there[0, [0, 2]].tolist() == [0, 1]


@pytest.mark.slow
def test_a_head_that_looks_at_the_root_from_everywhere_has_no_role():
    """Nor is it described by any relation, though objects hang on the root in every sentence."""
    looks = planted.looks_of(planted.treebank(), {2: "weak root"})
    result = score_question(*planted.scored(looks, "obj"), (1, 6), planted.TRIED)
    assert (result.score[0, 2] > 0.75, result.control[0, 2] > 0.6) == (True, True)
    assert "control" in missing(result.evidence((0, 2)))
    assert planted.called(planted.scored(looks, "det", "obj", "nsubj")) == []


@pytest.mark.slow
def test_random_heads_and_shuffled_gold_are_called_by_nothing():
    trees = planted.treebank()
    for seed in range(5):
        looks = planted.looks_of(trees, {3: "gold"}, seed)
        assert {head for _, head in planted.called(planted.scored(looks, "det", "obj"))} == {3}
        assert planted.called(list(planted.shuffled(looks, ["det", "obj"], seed))) == []


def choices(share: float, n: int, rule: float, where_wrong: float, seed: int = 0) -> ScoredCases:
    """A head right in a share of n choices between two, and `where_wrong` of those in which a rule is wrong."""
    rng = np.random.default_rng(seed)
    hits = (rng.permutation(n) < rule * n).astype(float)
    in_group, right = np.where(hits, (share - where_wrong * (1 - rule)) / rule, where_wrong), np.zeros((n, 1))
    for value in (0, 1):
        places = rng.permutation(np.flatnonzero(hits == value))
        right[places[: round(in_group[places[0]] * len(places))]] = 1
    question = Question("antecedent", "coreference", "pronoun → its antecedent", "", "", "pronouns")
    base = Baseline("a rule", "a rule", hits, True, np.where(hits[:, None] == 0, 1 - right, right))
    control = np.full_like(right, 0.5)
    return ScoredCases(question, right, np.arange(n), np.arange(n) % 2 == 0, (base,), control)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "n", "rule", "where_wrong", "n_comparisons", "word"),
    [
        # A head at 74 % and a rule at 69 %: 392 cases leave that open, many do not.
        (0.74, 392, 0.69, 0.55, 5000, "unclear"),
        (0.74, 5_000, 0.69, 0.55, 5000, "slight"),
        (0.60, 5_000, 0.69, 0.5, 5000, "no"),
        # At 70 % a rule leaves 30 points: a role repairs 10, a third, and 1,000 cases are 2 points sure.
        (0.80, 1_000, 0.7, 0.6, 50, "slight"),
        (0.84, 1_000, 0.7, 0.6, 50, "role"),
        (0.79, 20_000, 0.7, 0.6, 5000, "slight"),
        (0.81, 20_000, 0.7, 0.6, 5000, "role"),
        # The same two scores, case by case: clear where a head differs from the rule seldom, chance where often.
        (0.73, 2_000, 0.7, 0.2, 100, "slight"),
        (0.73, 2_000, 0.7, 0.75, 100, "tracks"),
    ],
)
def test_a_lead_counts_by_its_size_its_cases_and_how_often_a_head_differs_from_the_rule(
    share, n, rule, where_wrong, n_comparisons, word
):
    result = score_question(choices(share, n, rule, where_wrong), (1, 1), n_comparisons)
    assert result.word[0, 0] == word
    # The standard error of the paired gap, and z for one of so many attempts with 80 % power.
    won = where_wrong * (1 - rule)
    lost = rule - (share - won)
    error = np.sqrt((won + lost - (won - lost) ** 2) / n)
    expected = (NormalDist().inv_cdf(1 - 0.025 / n_comparisons) + 0.84) * error
    assert result.detectable_gap[0, 0] == pytest.approx(expected, rel=0.02)


def test_intervals_resample_documents(monkeypatch):
    """Ten sentences of one document that are all right or all wrong are worth one case."""
    monkeypatch.setattr(stats, "N_DRAWS", 1000)
    rng = np.random.default_rng(3)
    right = np.repeat(rng.random(60) < 0.7, 10)[:, None].astype(float)
    documents, ten = right.reshape(60, 10, 1).sum(1), np.full(60, 10.0)
    low, high = stats.intervals(documents, ten)
    alone, p = stats.intervals(right, np.ones(600)), right.mean()
    assert (alone[1] - alone[0])[0] == pytest.approx(2 * 1.96 * np.sqrt(p * (1 - p) / 600), rel=0.1)
    assert (high - low)[0] == pytest.approx(np.sqrt(10) * (alone[1] - alone[0])[0], rel=0.2)
    assert float(stats.effective(documents, ten)[0]) == pytest.approx(60, rel=0.01)


def test_a_mention_gets_the_sum_over_its_tokens_and_gives_their_mean(model):
    """[CLS] Ann saw Sue Gray when she left [SEP]: the mentions are 1 and 3 to 4, the pronoun is 6."""
    tokens = model.tokenizer.encode("Ann saw Sue Gray when she left")
    source = PronounCase(tokens.text, (23, 26), ((0, 3), (8, 16)), 0)
    item = Choice(tokens, np.array([6]), (np.array([1]), np.array([3, 4])), source)
    weights = np.full((1, 1, 9, 9), 0.01, np.float32)
    weights[..., 6, [1, 3, 4]] = 0.3, 0.2, 0.2
    weights[..., [1, 3, 4], 6] = 0.3, 0.2, 0.2
    louder = weights.copy()
    louder[..., [3, 4], 6] = 0.4, 0.5
    for each, prefers in ((weights, [1, 0]), (louder, [1, 1]), (0 * weights, [TIE, TIE])):
        assert ChoiceQuestions().observe(each, item)["looks"][0, :, 0].tolist() == prefers


def test_rules_are_what_a_lazy_reader_would_do():
    text = "Susan met Ann Lee. Lee said that she liked Susan Gray and the old town."

    def rules(a: str, b: str) -> tuple[float, ...]:
        spans = [(text.index(name), text.index(name) + len(name)) for name in (a, b)]
        start = text.index(" she ") + 1
        case = PronounCase(text, (start, start + 3), (spans[0], spans[1]), 1)
        frame = frame_of([("", "")], [case], [{"looks": np.zeros((1, 2, 1))}])
        cases = ChoiceQuestions().cases(frame)[ANTECEDENT]
        return tuple(float(fit(cases).score(cases)) for fit in (fit_nearest, fit_first, fit_most_mentioned))

    assert rules("Susan", "Ann Lee") == (1.0, 0.0, 1.0), "both are named twice, so the nearer one"
    assert rules("Susan Gray", "Ann Lee") == (0.0, 1.0, 1.0), "the surname counts: Gray once, Lee twice"


@pytest.mark.slow
@pytest.mark.parametrize(("make", "both"), [(logistic_model, 0.5), (boosted_trees, 0.9)])
def test_a_model_of_surface_features_finds_a_rule_and_nothing_in_noise(make, both):
    """Only trees find a rule in which more of a feature counts as much as less of it."""
    rng = np.random.default_rng(1)
    a, b, folds = rng.normal(size=(600, 12)), rng.normal(size=(600, 12)), np.arange(600) % 2
    views = np.stack([np.hstack([a, b, a - b]), np.hstack([b, a, b - a])], 1)

    def right(first: np.ndarray) -> float:
        models = fit_folds(make, views, first, folds)
        scores = np.array([models[i % 2].decision_function(each) for i, each in enumerate(views)])
        return np.mean((scores[:, 0] > scores[:, 1]) == first)

    assert right(a[:, 1] > b[:, 1]) > 0.9
    assert right(abs(a[:, 0]) > abs(b[:, 0])) == pytest.approx(both, abs=0.1)
    assert right(rng.random(600) < 0.5) == pytest.approx(0.5, abs=0.08)


def test_places_sinks_and_copies_are_counted_on_the_texts_own_rows(model):
    def placed(weights: np.ndarray) -> dict[str, ScoredCases]:
        """Return every question of place about one head, on one text said twice with another last word."""
        collector = FrameCollector(PlaceQuestions())
        for end in ("sea", "sky"):
            tokens = model.tokenizer.encode(f"red boat sees blue boat {end}")
            collector.add(weights[None, None], TextItem(tokens))
        return {each.question.key: each for each in collector.questions.scored(collector.frame(), "texts")}

    right = {
        key: cases.right.mean() for key, cases in placed(looking(8, {i: i - 1 for i in range(2, 7)})).items()
    }
    assert (right["previous"], right["next"], right["self"]) == (1, 0, 0)
    weights = looking(8, dict.fromkeys(range(1, 7), 0))
    assert placed(weights)["sink-begin"].mass[0] == pytest.approx(0.9)
    weights[5, 6], weights[5, 2] = 0.2, 0.1
    copy = placed(weights)["copy"]
    assert copy.right.tolist() == [[1], [1]], "special and later tokens are no candidates"
    assert copy.mass[0] == pytest.approx(0.1)
    assert copy.baselines[0].hits.mean() == pytest.approx(1 / 4)


def test_entropy_is_in_nats_and_a_zero_costs_nothing():
    assert entropy(np.full((4, 4), 0.25)) == pytest.approx(np.log(4))
    expected = -(0.999925 * np.log(0.999925) + 3 * 0.000025 * np.log(0.000025))
    assert entropy(np.eye(4)) == pytest.approx(expected, rel=1e-4)


def test_wilson_student_and_the_exact_tail_are_the_published_ones():
    assert tuple(map(float, stats.wilson(8, 10))) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert tuple(map(float, stats.wilson(0, 0))) == (0, 1)
    from scipy.special import bdtrc

    for n, k, p in ((30, 20, 0.5), (392, 279, 0.684), (1817, 1468, 0.6), (5, 5, 0.1)):
        assert float(stats.binomial_tail(k / n, n, p)) == pytest.approx(bdtrc(k - 1, n, p), rel=1e-8)
    assert stats.bonferroni_z(72) == pytest.approx(3.39, abs=1e-2)
    for documents, t in ((2, 12.706), (10, 2.262), (31, 2.042)):  # Student's table, two-sided 5 %
        assert stats.bonferroni_t(1, documents) == pytest.approx(t, abs=1e-3)


def test_the_best_of_many_is_scored_on_the_half_it_was_not_chosen_on():
    right = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=float)
    halves = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    result = stats.choose(right[:, None] * halves[..., None], halves)
    assert (result.picked, result.where_chosen, result.held_out) == ((0, 1), 1.0, 0.0)
    assert stats.choose(right[:2, None] * halves[:2, :, None], halves[:2]) is None


def test_heads_that_are_alike_share_a_cluster_and_the_plane_keeps_their_distances():
    """Eight groups on a plane, of which every distance is known."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(8), [1, 2, 3, 1, 2, 3, 1, 2])
    points = np.stack([groups % 3 * 7.0, groups // 3 * 11.0], 1) + rng.random((15, 2))
    log = SimilarityCollector(3, 5)
    log.total, log.n_texts = 4 * cdist(points, points), 4
    frame = log.to_frame()
    np.testing.assert_allclose(cdist(frame[["x", "y"]], frame[["x", "y"]]), log.distance(), atol=0.5)
    clusters = frame["cluster"].to_numpy()
    np.testing.assert_array_equal(np.equal.outer(clusters, clusters), np.equal.outer(groups, groups))
