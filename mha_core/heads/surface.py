"""Two names seen without reading: surface features, and the models of them that stand beside heads for pronouns.

In: pronouns with two names each. Out: for every fold a model that is fitted on all others. Folds are drawn by document.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mha_core.arrays import FloatArray, IntArray
from mha_core.heads.cluster_stats import group_of
from mha_core.heads.corpora import PronounCase, Span
from mha_core.heads.word_weights import BoolArray

FOLDS = 10
FEATURES = (
    "stands before the pronoun", "words between (log)", "words between (log), if it stands before",
    "sentences between", "in the same sentence", "mentions (log)", "mentioned more than once", "words of the name",
    "among the first three words of a sentence", "possessive", "before a comma", "place in the text",
)  # fmt: skip


def mentions(text: str, name: str) -> int:
    """Count how often a text has the last word of a name (a person's surname)."""
    return len(re.findall(rf"(?<!\w){re.escape(name.split()[-1])}(?!\w)", text))


def fold_of(case: PronounCase) -> int:
    """Return the fold of a document, 0 to FOLDS - 1; both texts of a minimal pair have the same."""
    return group_of(case.source) % FOLDS


def surface(case: PronounCase) -> FloatArray:
    """Return the FEATURES of both names and their differences, as seen from each name: (2, 36)."""
    a, b = (np.array(_features(case, span)) for span in case.candidates)
    return np.array([np.concatenate([a, b, a - b]), np.concatenate([b, a, b - a])])


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


def logistic_model() -> Any:
    """Return a logistic model of the differences. It has no constant, since the order of the names means nothing."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    differences = FunctionTransformer(lambda views: views[:, -len(FEATURES) :])
    # Each case is seen from both names, so half the weight gives the fit on each seen once.
    model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=1000)
    return make_pipeline(differences, StandardScaler(), model)


def boosted_trees() -> Any:
    """Return scikit-learn's histogram gradient boosting as it is, of both names' features and their differences."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def fit_folds(
    make: Callable[[], Any], views: FloatArray, first_is_right: BoolArray, folds: Sequence[int] | IntArray
) -> dict[int, Any]:
    """Return by fold a model fitted on the views (case, 2, feature) of all others, each case seen from both names.

    A fold is left out where the others have one answer alone.
    """
    models = {}
    for fold in range(FOLDS):
        rest = np.asarray(folds) != fold
        if len(np.unique(first_is_right[rest])) == 2:
            seen = np.concatenate([views[rest, 0], views[rest, 1]])
            models[fold] = make().fit(seen, np.concatenate([first_is_right[rest], ~first_is_right[rest]]))
    return models
