"""What can be seen of two names without reading, and a logistic model of it: the strongest rule for pronouns.

In: pronouns with two names each. Out: features of the first name minus those of the second, and for every fold the
weights that are fitted on all others.
"""

import re

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.heads.cluster_stats import group_of
from mha_core.heads.corpora import PronounCase, Span
from mha_core.heads.word_weights import BoolArray

SURFACE = "a logistic model of twelve surface features"
FOLDS = 10


def mentions(text: str, name: str) -> int:
    """Count how often a text has the last word of a name (a person's surname)."""
    return len(re.findall(rf"(?<!\w){re.escape(name.split()[-1])}(?!\w)", text))


def fold_of(case: PronounCase) -> int:
    """Return the fold of a text, 0 to FOLDS - 1; both texts of a minimal pair have the same."""
    return group_of(case.pair or case.text) % FOLDS


def surface(case: PronounCase) -> FloatArray:
    """Return the twelve features of A minus those of B."""
    a, b = (np.array(_features(case, span)) for span in case.candidates)
    difference: FloatArray = a - b
    return difference


def _features(case: PronounCase, span: Span) -> tuple[float, ...]:
    text, (start, stop) = case.text, case.pronoun
    between = text[span[1] : start] if span[1] <= start else text[stop : span[0]]
    away, comes_first = len(between.split()), span[1] <= start
    count = max(1, mentions(text, text[slice(*span)]))
    sentence = text[max((text.rfind(mark, 0, span[0]) for mark in ".!?"), default=0) + 1 : span[0]]
    return (
        float(comes_first),
        float(np.log1p(away)),
        float(comes_first) * float(np.log1p(away)),
        float(len(re.findall(r"[.!?]\s", between))),
        float(not re.search(r"[.!?]\s", between)),
        float(np.log(count)),
        float(count > 1),
        float(len(text[slice(*span)].split())),
        float(len(sentence.split()) < 3),
        float(text[span[1] : span[1] + 2] in ("'s", "’s")),
        float(text[span[1] : span[1] + 1] == ","),
        span[0] / len(text),
    )


def fold_weights(features: FloatArray, second_is_right: BoolArray, folds: IntArray) -> dict[int, FloatArray]:
    """Return by fold the weights (feature,) of a logistic model fitted on features (case, feature) of all others.

    A positive sum chooses the first name. There is no constant, since the order of the names means nothing. A fold is
    left out where the others have one answer alone.
    """
    from sklearn.linear_model import LogisticRegression

    scale = np.sqrt((features**2).mean(0))
    scale = np.where(scale > 0, scale, 1.0)
    weights = {}
    for fold in range(FOLDS):
        rest = folds != fold
        if len(np.unique(second_is_right[rest])) == 2:
            model = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=1000)
            weights[fold] = model.fit(features[rest] / scale, ~second_is_right[rest]).coef_[0] / scale
    return weights
