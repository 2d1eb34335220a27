"""Evidence on attention made by hand: what counts as right, what a baseline is, and who is called a
specialist.
"""

from dataclasses import replace

import numpy as np
import once
import pytest
from heads_by_hand import looking, tokens_of

from mha_core.corpus import PronounCase
from mha_core.heads.builtin import SEMANTIC, BuiltIn
from mha_core.heads.coreference import ChoiceCase
from mha_core.heads.evidence import EvidenceLog
from mha_core.heads.jobs import GROUPS, JOBS, KINDS, jobs_of
from mha_core.heads.samples import Sample
from mha_core.heads.verdict import MIN_CASES, Evidence, judge

WORDS = ["a", "big", "dog", "ran", "."]  # pieces 1 to 5; [CLS] is 0, [SEP] is 6
N = 7


def made(role, spans=None, words=WORDS, identity="made"):
    """A sample whose spans are given as word numbers."""
    tokens = tokens_of(words)
    at = {name: (tokens.words[i].start, tokens.words[i].end) for name, i in (spans or {}).items()}
    return Sample(BuiltIn(identity, role, None, tokens.text, at, None), tokens, None)


def chosen(answer, identity, kind="predicate"):
    """Word 0 and word 2 are candidates, word 4 is the pronoun (pieces 1, 3, 5)."""
    tokens = tokens_of(["ann", "met", "eva", "because", "she", "won"])
    spans = [(word.start, word.end) for word in tokens.words]
    choice = PronounCase(tokens.text, spans[4], (spans[0], spans[2]), answer, identity)
    case = ChoiceCase(
        tokens, np.array([5]), (np.array([1]), np.array([3])), answer, identity, (0.5,) * 4, kind
    )
    return Sample(BuiltIn(identity, "coreference", kind, tokens.text, {}, choice), tokens, case)


def tables(samples, weights):
    """`weights`: one (head, query, key) array for all samples, or one each."""
    each = weights if isinstance(weights, list) else [weights] * len(samples)
    log = EvidenceLog(1, each[0].shape[0])
    for item, one in zip(samples, each, strict=True):
        log.add(one[None], item)
    return log.result()


def test_a_head_that_looks_back_is_right_in_every_row_that_has_a_token_before_it():
    back, ahead = looking(N, {i: i - 1 for i in range(2, 6)}), looking(N, {i: i + 1 for i in range(1, 5)})
    found = tables([made("plain")], np.stack([back, ahead]))
    assert found["previous"].score.tolist() == [[1.0, 0.0]]
    assert found["next"].score.tolist() == [[0.0, 1.0]]
    assert found["previous"].baseline == pytest.approx(1 / 7)


def test_many_rows_of_one_sentence_are_one_case():
    assert tables([made("plain")] * 3, looking(N, {})[None])["previous"].n == 3


def test_from_the_dependent_the_row_counts_and_to_it_the_column():
    spans = {"determiner": 0, "noun": 2}
    row = looking(N, {1: 3})
    column = looking(N, {3: 1})
    found = tables([made("determiner", spans)], np.stack([row, column]))
    assert found["determiner"].score.tolist() == [[1.0, 0.0]]
    assert found["determiner, back"].score.tolist() == [[0.0, 1.0]]


def test_the_word_itself_and_inserted_tokens_are_no_candidates_for_a_relation():
    strong = np.full((N, N), 0.01, dtype=np.float32)
    strong[1, [0, 1, 3]] = 0.5, 0.3, 0.1
    assert (
        tables([made("determiner", {"determiner": 0, "noun": 2})], strong[None])["determiner"].score[0, 0]
        == 1
    )


def test_the_baseline_of_a_relation_is_the_best_fixed_distance():
    items = [made("determiner", {"determiner": 0, "noun": noun}) for noun in (1, 2, 2, 3)]
    table = tables(items, looking(N, {})[None])["determiner"]
    assert (table.baseline, table.baseline_name) == (0.5, "always 2 words on")


def test_a_copy_is_sought_among_earlier_tokens_only():
    item = made("copy", {"first": 1, "second": 3}, ["one", "dog", "saw", "dog", "run"])
    later, earlier = looking(N, {4: 5}), looking(N, {4: 2})
    later[4, 2] += 0.01
    assert tables([item], np.stack([earlier, later]))["copy"].score.tolist() == [[1.0, 1.0]]
    assert tables([item], looking(N, {4: 3})[None])["copy"].score.tolist() == [[0.0]]


def test_separators_are_the_inserted_tokens_and_punctuation():
    found = tables([made("plain")], np.stack([looking(N, dict.fromkeys(range(N), k)) for k in (0, 5, 6, 3)]))
    assert found["separator"].score.tolist() == [[1.0, 1.0, 1.0, 0.0]]
    assert found["separator"].baseline == pytest.approx(3 / 7)


def test_a_head_rests_only_where_half_of_its_mass_lies_on_one_kind_of_separator():
    """A fifth of a row can be its largest weight: looked at most in every row is not yet resting."""
    rests, spread = looking(N, dict.fromkeys(range(N), 0), 0.6), looking(N, dict.fromkeys(range(N), 0), 0.3)
    both = looking(N, dict.fromkeys(range(N), 0), 0.45)
    both[:, 6] += both[:, 1:5].sum(-1) * 0.9
    both[:, 1:5] *= 0.1
    items = [made("plain", identity=str(i)) for i in range(60)]
    table = tables(items, np.stack([rests, spread, both, looking(N, dict.fromkeys(range(N), 3))]))[
        "separator"
    ]
    assert table.score[0, :3].tolist() == [1.0, 1.0, 1.0]
    assert [table.verdict(0, head) for head in range(4)] == ["specialist", "unsure", "unsure", "none"]
    assert table.claim((0, 0)).label == "looks at [CLS]"
    np.testing.assert_allclose(table.rests[:, 0, 0], [0.6, 0.4 / 6, 0.4 / 6], atol=1e-6)


def test_a_rare_word_is_not_asked_for_in_its_own_row():
    item = made("rare", {"rare": 2})
    assert tables([item], looking(N, dict.fromkeys((1, 2, 4, 5), 3))[None])["rare"].score[0, 0] == 1


def test_inserted_tokens_and_the_row_itself_are_no_candidates_for_the_rarest_word():
    item = made("rare", {"rare": 2})
    weights = np.full((N, N), 0.02, dtype=np.float32)
    weights[:, 3], weights[:, 0], weights[:, 6] = 0.2, 0.3, 0.25
    weights[range(N), range(N)] = 0.4
    table = tables([item], weights[None])["rare"]
    assert table.score[0, 0] == 1
    assert table.baseline == pytest.approx(1 / 4), "four rows, each with four others to look at"


def test_the_row_of_a_punctuation_mark_is_not_asked_for_separators():
    weights = looking(N, {1: 0, 2: 6, 3: 5, 4: 0, 5: 2})
    assert tables([made("plain")], weights[None])["separator"].score[0, 0] == 1


def test_evenness_is_a_share_of_the_possible_and_its_baseline_the_middle_head():
    half = np.zeros((N, N), dtype=np.float32)
    half[:, 1:3] = 0.5
    one = looking(N, dict.fromkeys(range(N), 1), 1.0)
    table = tables([made("plain")], np.stack([looking(N, {}), half, one]))["broad"]
    assert table.score[0, :2] == pytest.approx([1, np.log(2) / np.log(7)], abs=2e-3)
    assert table.baseline == pytest.approx(np.log(2) / np.log(7), abs=2e-3), "the mean would be 0.45"
    assert table.baseline_name == "the middle head"


def test_a_pronoun_that_looks_more_at_the_right_one_is_right_and_agreement_is_a_job_of_its_own():
    items = [chosen(0, "p1"), chosen(1, "p1"), chosen(1, "g", kind="gender")]
    found = tables(items, looking(8, {5: 1})[None])
    assert found["coreference"].score[0, 0] == 0.5
    assert found["agreement"].score[0, 0] == 0.0
    assert found["agreement"].n == 1


def test_the_mass_of_a_choice_is_the_share_of_the_right_one_among_the_two():
    weights = np.full((8, 8), 0.05, dtype=np.float32)
    weights[5, 1], weights[5, 3] = 0.3, 0.1
    assert tables([chosen(0, "p")], weights[None])["coreference"].mass[0, 0, 0] == pytest.approx(0.75)
    assert tables([chosen(1, "p")], weights[None])["coreference"].mass[0, 0, 0] == pytest.approx(0.25)


def test_a_tie_between_the_two_candidates_is_half_a_success():
    assert tables([chosen(0, "p")], looking(8, {})[None])["coreference"].score[0, 0] == 0.5


@pytest.mark.parametrize(
    ("nearest", "first", "rule"),
    [
        ((0, 0, 0, 1), (1, 1, 1, 0), (0.75, "the first candidate")),
        ((1, 1, 1, 0), (0, 0, 0, 1), (0.75, "the nearest candidate")),
        ((0, 0, 0, 1), (0, 0, 0, 1), (0.75, "the last candidate")),  # a pronoun that comes before both
        ((1, 1, 1, 1), (0, 1, 0, 1), (1.0, "the nearest candidate")),
        ((0, 1, 0, 1), (1, 0, 1, 0), (0.5, "a coin")),
    ],
)
def test_a_choice_is_held_against_the_best_of_a_coin_and_three_places(nearest, first, rule):
    items = [chosen(0, f"p{i}") for i in range(4)]
    known = [(near, one, 0.5, 0.5) for near, one in zip(nearest, first, strict=True)]
    items = [
        replace(one, choice=replace(one.choice, baselines=each))
        for one, each in zip(items, known, strict=True)
    ]
    table = tables(items, looking(8, {5: 1})[None])["coreference"]
    assert (table.baseline, table.baseline_name) == rule


def right_ones(n, others_too):
    """Cases in which the pronoun's row finds the right one, and with `others_too` every other row as well."""
    items = [chosen(i % 2, f"p{i}") for i in range(n)]
    rows = range(8) if others_too else [5]
    return items, [looking(8, dict.fromkeys(rows, 3 if i % 2 else 1))[None] for i in range(n)]


def test_a_head_that_prefers_the_right_one_from_everywhere_is_no_specialist():
    honest = tables(*right_ones(60, others_too=False))["coreference"]
    favourite = tables(*right_ones(60, others_too=True))["coreference"]
    assert (honest.score[0, 0], favourite.score[0, 0]) == (1.0, 1.0)
    assert (honest.verdict(0, 0), favourite.verdict(0, 0)) == ("specialist", "unsure")


def test_the_control_leaves_out_the_row_of_the_pronoun():
    found = tables(*right_ones(40, others_too=False))["coreference"]
    assert (found.score[0, 0], found.control[0, 0]) == (1.0, 0.5), "from every other row it is a coin"


def test_twins_that_a_head_gets_right_or_wrong_together_are_worth_one_case():
    alike = [looking(8, {5: (3, 1)[(i + i // 2) % 2]})[None] for i in range(80)]
    twins, strangers = (
        tables([chosen(i % 2, f"p{i // size}") for i in range(80)], alike)["coreference"] for size in (2, 1)
    )
    assert (twins.score[0, 0], strangers.score[0, 0]) == (0.5, 0.5)
    assert (twins.independent[0, 0], strangers.independent[0, 0]) == (pytest.approx(40), pytest.approx(80))
    assert twins.high[0, 0] - twins.low[0, 0] > 1.3 * (strangers.high[0, 0] - strangers.low[0, 0])


def test_related_words_are_a_choice_of_their_own_and_their_sentences_are_asked_nothing_else():
    items = [chosen(i % 2, f"s{i}", kind=SEMANTIC) for i in range(4)]
    items = [replace(one, sentence=replace(one.sentence, role=SEMANTIC)) for one in items]
    found = tables(items, looking(8, {5: 1})[None])
    assert set(found) == {SEMANTIC, "semantic, back"}
    assert (found[SEMANTIC].n, found[SEMANTIC].score[0, 0], found[SEMANTIC].baseline) == (4, 0.5, 0.5)


def test_few_cases_make_no_specialist():
    few = tables(*right_ones(MIN_CASES - 1, others_too=False))["coreference"]
    assert few.thin
    assert few.verdict(0, 0) == "unsure"


def test_a_head_at_or_under_its_baseline_is_never_called_a_specialist():
    items = [made("determiner", {"determiner": 0, "noun": 2}, identity=str(i)) for i in range(50)]
    table = tables(items, looking(N, {1: 3})[None])["determiner"]
    assert (table.score[0, 0], table.baseline) == (1.0, 1.0)
    assert table.verdict(0, 0) == "none"


def judged(kind, score, n, baseline=0.5, **more):
    return judge(Evidence(kind, score, n, baseline, "a rule", tried=1, **more)).word


def test_thin_evidence_says_by_how_many_cases_or_by_what_they_are_worth():
    said = [
        judge(Evidence("syntactic", 1.0, n, 0.1, "a rule", tried=1, effective=worth)).because
        for n, worth in ((1, None), (29, 20.0), (40, 12.0))
    ]
    assert said == [
        "only 1 case: thin evidence",
        "only 29 cases: thin evidence",
        "only 40 cases, worth 12 independent ones: thin evidence",
    ]


def test_ten_points_over_the_baseline_are_asked_of_a_specialist():
    """The interval of 61 % begins at 57.9 % for 1,000 cases, and at 47.2 % for 50."""
    assert judged("syntactic", 0.59, 1000) == "unsure"
    assert judged("syntactic", 0.61, 1000) == "specialist"
    assert judged("syntactic", 0.61, 50) == "none"


def test_half_of_all_is_asked_where_a_blind_choice_is_rare():
    """Of a resting head half of its mass, of a syntactic one half of its cases, of one that chooses neither."""
    assert judged("separator", 0.9, 1000, 0.2, mass=0.45) == "unsure"
    assert judged("separator", 0.9, 1000, 0.2, mass=0.55) == "specialist"
    assert judged("syntactic", 0.45, 1000, 0.2) == "unsure"
    assert judged("agreement", 0.45, 1000, 0.2) == "specialist"


def test_the_luckiest_of_many_guessing_heads_is_no_specialist():
    random = np.random.default_rng(3)
    items = [chosen(i % 2, f"p{i}") for i in range(72)]
    weights = [random.dirichlet(np.ones(8), size=(144, 8)).astype(np.float32) for _ in items]
    table = tables(items, weights)["coreference"]
    best = table.order()[0]
    assert table.low[best] > 0.5  # without the correction it would look sure
    assert {table.verdict(*head) for head in table.order()} <= {"none", "unsure"}


def test_examples_are_the_clearest_of_each_kind_and_one_of_a_pair():
    items = [chosen(0, name) for name in ("p1", "p1", "p2", "p3", "p4")]
    items[1] = replace(items[1], sentence=replace(items[1].sentence, id="its twin"))
    masses = [looking(8, {5: 1}, strength) for strength in (0.9, 0.8, 0.5, 0.7, 0.6)]
    masses[4] = looking(8, {5: 3})
    table = tables(items, [one[None] for one in masses])["coreference"]
    good, bad = table.examples(0, 0), table.examples(0, 0, 1, right=False)
    assert [look.sample.family for look in good] == ["p1", "p3", "p2"]
    assert [look.sample.family for look in bad] == ["p4"]
    assert (good[0].query, good[0].target, good[0].right, bad[0].right) == ((5,), (1,), True, False)


def test_a_sentence_in_which_half_of_the_rows_are_right_is_shown_where_the_head_works():
    table = tables([made("plain")], looking(N, {2: 1, 3: 2, 4: 1, 5: 1})[None])["previous"]
    assert table.score.tolist() == [[0.5]]
    assert [look.right for look in table.examples(0, 0)] == [True]
    assert table.examples(0, 0, right=False) == ()


def test_failures_are_shown_with_the_worst_first():
    items = [chosen(0, f"p{i}") for i in range(3)]
    table = tables(items, [looking(8, {5: 3}, strength)[None] for strength in (0.5, 0.9, 0.7)])["coreference"]
    assert [look.sample.family for look in table.examples(0, 0, right=False)] == ["p1", "p2", "p0"]


def test_an_example_of_a_place_shows_a_row_that_is_right():
    head = looking(N, {3: 2, 4: 3, 5: 4}, strength=0.6)
    head[4] = looking(N, {4: 3}, strength=0.95)[4]
    look = tables([made("plain")], head[None])["previous"].examples(0, 0)[0]
    assert (look.query, look.target) == ((4,), (3,))


def test_an_example_of_a_failure_shows_a_row_that_is_wrong_though_another_puts_less_there():
    head = looking(N, {2: 1}, strength=0.3)
    for row, mass in ((3, 0.4), (4, 0.35), (5, 0.45)):
        head[row], head[row, 6], head[row, row - 1] = 0.01, 0.5, mass
    table = tables([made("plain")], head[None])["previous"]
    assert table.score.tolist() == [[0.25]]
    (look,) = table.examples(0, 0, right=False)
    assert (look.query, look.target, look.right) == ((4,), (3,), False)


def test_a_rare_word_in_pieces_is_its_control_and_no_case():
    rare = made("rare", {"rare": 1})
    twin = replace(rare, sentence=replace(rare.sentence, kind="split"))
    there = looking(N, dict.fromkeys((1, 3, 4, 5), 2))
    table = tables([rare, twin], [there[None], looking(N, dict.fromkeys((1, 3), 2) | {4: 1, 5: 1})[None]])[
        "rare"
    ]
    assert (table.n, table.score.item(), table.control.item()) == (1, 1.0, 0.5)


def test_ranks_count_from_one():
    found = tables([made("plain")], np.stack([looking(N, {}), looking(N, {i: i - 1 for i in range(2, 6)})]))
    assert (found["previous"].rank(0, 1), found["previous"].rank(0, 0)) == (1, 2)


def test_of_heads_that_are_right_equally_often_the_one_with_more_mass_ranks_first():
    heads = [looking(N, {i: i - 1 for i in range(2, 6)}, strength) for strength in (0.5, 0.9, 0.7)]
    found = tables([made("plain")], np.stack([looking(N, {}), *heads]))["previous"]
    assert found.order() == [(0, 2), (0, 3), (0, 1), (0, 0)]


def test_every_job_and_every_kind_has_cases_in_the_built_in_sentences():
    assert list(once.findings().jobs) == [job.name for job in jobs_of(is_causal=False)]
    assert {job.kind for job in JOBS} == {kind.key for kind in KINDS}
    assert {kind.group for kind in KINDS} == {group.key for group in GROUPS}
    assert not any(table.thin for table in once.findings().jobs.values())


@pytest.mark.parametrize(
    ("job", "head"),
    [
        ("previous", (0, 2)),
        ("next", (1, 8)),
        ("determiner", (3, 1)),
        ("agreement", (1, 3)),
        ("semantic", (1, 0)),
        ("semantic, back", (3, 3)),
    ],
)
def test_the_known_specialists_of_the_embedded_model_are_found(job, head):
    table = once.findings().jobs[job]
    assert table.order()[0] == head
    assert table.verdict(*head) == "specialist"


@pytest.mark.slow
def test_random_weights_have_no_specialist():
    verdicts = {
        (job, head)
        for job, table in once.findings(trained=False).jobs.items()
        for head in table.order()
        if table.verdict(*head) == "specialist"
    }
    assert verdicts == set()
