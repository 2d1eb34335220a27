"""More text than one machine holds: parts of it add up to the very same answers, in any order and grouping."""

import numpy as np
import pytest

from mha_core.heads.conclude import conclude
from mha_core.heads.questions.base import Baseline, Measured, Question
from mha_core.heads.table import _packed
from mha_core.heads.tally import MOST_DOCUMENTS, tally

QUESTION = Question("det", "syntactic", "determiner → its noun", "", "", "treebank")


def cases(seed: int, n: int = 60, documents: int = 30) -> Measured:
    """Random heads and rules on random cases of documents that other parts have too; scores are no round numbers."""
    rng = np.random.default_rng(seed)
    right, same = rng.random((n, 3)), rng.random((n, 3)).round()
    rules = (Baseline("one", "", rng.random(n).round(), True, same), Baseline("two", "", rng.random(n)))
    control = np.where(rng.random((n, 1)) < 0.2, np.nan, rng.random((n, 3)))
    clusters = rng.integers(0, documents, n).astype(np.uint64) << np.uint64(40)
    steps = rng.integers(-3, 4, n), rng.integers(-3, 4, (n, 3))
    return Measured(
        QUESTION,
        right,
        clusters,
        rng.random(n) < 0.5,
        rules,
        control,
        mass=rng.random(3),
        chance=rng.random(n),
        steps=steps,
        weight=rng.integers(1, 9, n).astype(float),
    )


def whole(parts: list[Measured]) -> Measured:
    """All cases at once."""

    def joined(values):
        return np.concatenate(list(values))

    rules = tuple(
        Baseline(
            one.name, "", joined(p.baselines[i].hits for p in parts), True,
            None if one.same is None else joined(p.baselines[i].same for p in parts),
        )
        for i, one in enumerate(parts[0].baselines)
    )  # fmt: skip
    return Measured(
        QUESTION,
        joined(p.right for p in parts),
        joined(p.clusters for p in parts),
        joined(p.second_half for p in parts),
        rules,
        joined(p.control for p in parts),
        mass=sum(p.mass * p.n for p in parts) / sum(p.n for p in parts),
        chance=joined(p.chance for p in parts),
        steps=(joined(p.steps[0] for p in parts), joined(p.steps[1] for p in parts)),
        weight=joined(p.weight for p in parts),
    )


@pytest.mark.parametrize("documents", [30, 3 * MOST_DOCUMENTS])
def test_tallies_add_up_to_the_same_bits_in_any_order_and_grouping(documents):
    """Also where documents are more than are kept apart, and so are gathered into groups."""
    parts = [cases(seed, 2000, documents) for seed in range(8)]
    tallies = [tally(one) for one in parts]
    one_by_one = sum(tallies[1:], tallies[0])
    backwards = sum(tallies[-2::-1], tallies[-1])
    pairs = [tallies[i] + tallies[i + 4] for i in range(4)]
    in_pairs = pairs[2] + pairs[0] + (pairs[3] + pairs[1])
    answers = [_packed(conclude(found, (1, 3), 10)) for found in (one_by_one, backwards, in_pairs)]
    assert answers[0] == answers[1] == answers[2]
    at_once = conclude(whole(parts), (1, 3), 10)
    assert len(one_by_one.documents) <= MOST_DOCUMENTS
    assert at_once.documents == answers[0]["numbers"][1]
    np.testing.assert_allclose(answers[0]["arrays"]["score"], at_once.score.ravel(), atol=1e-6)
    slow = np.average(whole(parts).right, axis=0, weights=whole(parts).weight)
    np.testing.assert_allclose(at_once.score[0], slow, atol=1e-6)
