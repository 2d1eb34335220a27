"""What the verdicts must not find: anything where the gold labels are shuffled, anything in a random model.

In: what was measured, or its questions and a seed. Out: the same questions with shuffled gold, and who is called by
one. Shuffled: every dependent has the distance of another case of its relation that fits into its sentence, so the
rules of place stay as good as they were; of two names either is right as often as before; related words are
drawn in related.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mha_core.heads.verdict import DOES, judge, tries
from mha_core.heads.verdicts.entries import evidence
from mha_core.heads.verdicts.looks import Looks
from mha_core.heads.verdicts.measured import Measured
from mha_core.heads.verdicts.treebank import Asked, measure
from mha_core.wording import Head

TRIES = 20  # draws of a distance until one fits


def called(
    found: Sequence[Measured], shape: tuple[int, int], n_questions: int | None = None
) -> list[tuple[str, Head]]:
    """Every question with every head that is called by it, spreading attention aside. `n_questions`: of all of them,
    where these are some."""
    tried = tries(shape[0] * shape[1], n_questions or len(found))
    return [
        (one.asked.key, divmod(i, shape[1]))
        for one in found
        if one.rules and one.asked.kind != "broad"
        for i, each in enumerate(evidence(one, tried))
        if judge(each).word in DOES
    ]


def shuffled_trees(asked: Sequence[Asked], looks: Sequence[Looks], seed: int) -> Iterator[Measured]:
    """The questions of a treebank with shuffled gold."""
    rng = np.random.default_rng(seed)
    for one in asked:
        cases = one.cases
        length = np.array([looks[number].at.shape[-1] for number in cases.sentence])
        distances = cases.answer - cases.anchor
        answer, open_ = cases.answer.copy(), np.ones(len(cases), dtype=bool)
        for _ in range(TRIES):
            drawn = cases.anchor + rng.choice(distances, len(cases))
            fits = open_ & (drawn >= 0) & (drawn < length)
            answer[fits] = drawn[fits]
            open_ &= ~fits
        yield measure(replace(one, cases=replace(cases, answer=answer)), looks)
