"""How sure a share is when cases of one sentence belong together, and what is left of the best of many.

In: what was right in every case, and the sentence (cluster) of every case. Out: standard errors, intervals, and the
score of a choice made on one half of the sentences and counted on the other. The text of a sentence decides its half,
so that the same sentence twice never stands on both sides.

Sources: Efron 1979 for the bootstrap, here over clusters; Korn and Graubard 1998 for the exact binomial interval with
the number of independent cases that have the same standard error.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.heads.intervals import N_DRAWS, group_of
from mha_core.heads.words import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Gap:
    """A difference of two shares of the same cases, with its 95 % interval."""

    value: float
    low: float
    high: float


def half_of(text: str) -> int:
    """The half of a sentence, 0 or 1."""
    return group_of(text) % 2


def sums_by_cluster(values: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """Values (case, ...) → their sums (cluster, ...) and the numbers of cases (cluster,), of those that have any."""
    _, place = np.unique(clusters, return_inverse=True)
    n = np.bincount(place).astype(float)
    found = np.zeros((len(n), *values.shape[1:]))
    np.add.at(found, place, values)
    return found, n


def standard_error(values: FloatArray, clusters: IntArray) -> FloatArray:
    """Of the mean over all cases (case, ...) → (...): the bootstrap's over clusters, in closed form."""
    sums, n = sums_by_cluster(values, clusters)
    total = n.sum()
    apart = sums - values.mean(0) * n.reshape(-1, *[1] * (values.ndim - 1))
    found: FloatArray = np.sqrt((apart**2).sum(0)) / total
    return found


def effective(values: FloatArray, clusters: IntArray, *, binary: bool = True) -> FloatArray:
    """So many independent cases have the same standard error; the number of clusters where none is wrong or right.

    `binary`: every case is right or wrong, so no more are independent than there are.
    """
    share, error = values.mean(0), standard_error(values, clusters)
    spread = share * (1 - share)
    n_clusters = len(np.unique(clusters))
    known = (error > 0) & (spread > 0)
    found = np.where(known, spread / np.where(known, error, 1.0) ** 2, n_clusters)
    most = len(values) if binary else np.inf
    result: FloatArray = np.minimum(found, most)
    return result


def interval(values: FloatArray, clusters: IntArray, seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of the mean of values (case,), by bootstrap over clusters. What decides the draws are the sums
    of the clusters, and not the order in which they were read."""
    sums, n = sums_by_cluster(values, clusters)
    order = np.lexsort((n, sums))
    sums, n, size = sums[order], n[order], len(n)
    draws = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=N_DRAWS)
    low, high = np.percentile((draws @ sums) / np.maximum(draws @ n, 1), (2.5, 97.5))
    return float(low), float(high)


def gap(first: FloatArray, second: FloatArray, clusters: IntArray) -> Gap:
    """How far the first is above the second, case by case (case,)."""
    apart = first.astype(float) - second
    return Gap(float(apart.mean()), *interval(apart, clusters))


@dataclass(frozen=True)
class Chosen:
    """The best of many, chosen on each half: which (two), its score where it was chosen and on the other half, and
    the cases as the choice of the other half answers them (case,)."""

    picked: tuple[int, int]
    where_chosen: float
    held_out: float
    answers: FloatArray


def choose(right: FloatArray, second_half: BoolArray) -> Chosen | None:
    """Right (case, head) and which cases lie in the second half (case,); None where a half has no case."""
    first_half = ~second_half
    if not first_half.any() or not second_half.any():
        return None
    picked = [int(right[half].mean(0).argmax()) for half in (first_half, second_half)]
    inside = [right[half, best].mean() for half, best in zip((first_half, second_half), picked, strict=True)]
    answers = np.where(second_half, right[:, picked[0]], right[:, picked[1]]).astype(float)
    return Chosen((picked[0], picked[1]), float(np.mean(inside)), float(answers.mean()), answers)
