"""Evidence on attention made by hand: what counts as right, what a baseline is, and who is called a
specialist.
"""

import numpy as np
import once
import pytest
from heads_by_hand import looking, tokens_of

from mha_core.heads.builtin import BuiltIn
from mha_core.heads.coreference import ChoiceCase
from mha_core.heads.corpora import PronounCase
from mha_core.heads.evidence import EvidenceLog
from mha_core.heads.samples import Sample

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


def test_from_the_dependent_the_row_counts_and_to_it_the_column():
    spans = {"determiner": 0, "noun": 2}
    row = looking(N, {1: 3})
    column = looking(N, {3: 1})
    found = tables([made("determiner", spans)], np.stack([row, column]))
    assert found["determiner"].score.tolist() == [[1.0, 0.0]]
    assert found["determiner, back"].score.tolist() == [[0.0, 1.0]]


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


def test_a_head_at_or_under_its_baseline_is_never_called_a_specialist():
    items = [made("determiner", {"determiner": 0, "noun": 2}, identity=str(i)) for i in range(50)]
    table = tables(items, looking(N, {1: 3})[None])["determiner"]
    assert (table.score[0, 0], table.baseline) == (1.0, 1.0)
    assert table.verdict(0, 0) == "none"


def test_the_luckiest_of_many_guessing_heads_is_no_specialist():
    random = np.random.default_rng(3)
    items = [chosen(i % 2, f"p{i}") for i in range(72)]
    weights = [random.dirichlet(np.ones(8), size=(144, 8)).astype(np.float32) for _ in items]
    table = tables(items, weights)["coreference"]
    best = table.order()[0]
    assert table.low[best] > 0.5  # without the correction it would look sure
    assert {table.verdict(*head) for head in table.order()} <= {"none", "unsure"}


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
