"""How sure a share is when the cases of one document belong together, and what is left of the best of many.

In: what was right in every case, and the document (cluster) of every case. Out: standard errors, intervals, tests.

Sources: Wilson 1927; Clopper and Pearson 1934 for the exact test, with the number of independent cases that have the
same standard error (Korn and Graubard 1998); Efron 1979 for the bootstrap, here over clusters.
"""

import zlib
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from mha_core.heads.words import BoolArray, FloatArray, IntArray

Z_95 = 1.959963984540054
POWER = 0.8
N_GROUPS = 256
N_DRAWS = 1000


@dataclass(frozen=True)
class Gap:
    """A difference of two shares of the same cases, with its 95 % interval."""

    value: float
    low: float
    high: float


def z_for_best_of(tried: int) -> float:
    """Return the standard errors that make 95 % sure when the best of `tried` is looked at (Bonferroni)."""
    return NormalDist().inv_cdf(1 - 0.025 / max(tried, 1))


def wilson(hits: FloatArray | float, n: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's 95 % interval of the share hits / n, (low, high); (0, 1) where n is 0."""
    n = np.asarray(n, dtype=float)
    safe = np.where(n > 0, n, 1.0)
    share = np.where(n > 0, np.asarray(hits, dtype=float) / safe, 0.5)
    centre = (share + Z_95**2 / (2 * safe)) / (1 + Z_95**2 / safe)
    half = Z_95 * np.sqrt(share * (1 - share) / safe + Z_95**2 / (4 * safe**2)) / (1 + Z_95**2 / safe)
    low, high = np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
    return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)


def binomial_tail(share: FloatArray | float, n: FloatArray | float, chance: float) -> FloatArray:
    """Return how likely so large a share of n cases is at this chance: the exact upper tail, n whole or not."""
    from scipy.special import betainc

    hits = np.asarray(share, dtype=float) * n
    if chance >= 1:
        return np.ones_like(hits)
    tail = betainc(np.maximum(hits, 1e-12), np.asarray(n) - hits + 1, chance)
    return np.where(hits > 0, tail, 1.0)


def group_of(text: str) -> int:
    """Return the group of a text, 0 to N_GROUPS - 1: the same wherever and whenever it is read."""
    return zlib.crc32(text.encode("utf-8", "replace")) % N_GROUPS


def half_of(text: str) -> int:
    """Return the half of a text, 0 or 1, so that the same sentence twice never stands on both sides."""
    return group_of(text) % 2


def sums_by_cluster(values: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sum values (case, ...) to (cluster, ...), with the number of cases (cluster,) of each."""
    _, place = np.unique(clusters, return_inverse=True)
    n = np.bincount(place).astype(float)
    found = np.zeros((len(n), *values.shape[1:]))
    np.add.at(found, place, values)
    return found, n


def standard_error(values: FloatArray, clusters: IntArray) -> FloatArray:
    """Return that of the mean over all cases (case, ...) → (...): the bootstrap's over clusters, in closed form."""
    sums, n = sums_by_cluster(values, clusters)
    apart = sums - values.mean(0) * n.reshape(-1, *[1] * (values.ndim - 1))
    found: FloatArray = np.sqrt((apart**2).sum(0)) / n.sum()
    return found


def effective(values: FloatArray, clusters: IntArray, *, binary: bool = True) -> FloatArray:
    """Return the effective sample size of each mean (case, ...) → (...).

    It is the number of clusters where no case is wrong or none is right. `binary`: every case is right or wrong, so no
    more are independent than there are.
    """
    share, error = values.mean(0), standard_error(values, clusters)
    spread = share * (1 - share)
    known = (error > 0) & (spread > 0)
    found = np.where(known, spread / np.where(known, error, 1.0) ** 2, len(np.unique(clusters)))
    result: FloatArray = np.minimum(found, len(values) if binary else np.inf)
    return result


def intervals(values: FloatArray, clusters: IntArray, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return the 95 % interval of each mean (case, ...) → (...), by bootstrap over clusters.

    The draws depend on the sums of the clusters and not on the order in which they were read.
    """
    sums, n = sums_by_cluster(values, clusters)
    flat = sums.reshape(len(n), -1)
    order = np.lexsort((n, flat[:, 0]))
    flat, n, size = flat[order], n[order], len(n)
    draws = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=N_DRAWS)
    means = (draws @ flat) / np.maximum(draws @ n, 1)[:, None]
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    return low.reshape(values.shape[1:]), high.reshape(values.shape[1:])


def gap(first: FloatArray, second: FloatArray, clusters: IntArray) -> Gap:
    """Return how far the first is above the second, case by case (case,)."""
    apart = first.astype(float) - second
    low, high = intervals(apart, clusters)
    return Gap(float(apart.mean()), float(low), float(high))


def detectable(error: FloatArray, tried: int) -> FloatArray:
    """Return the gap that would be seen with 80 % power as one of `tried`, from its standard error."""
    found: FloatArray = (z_for_best_of(tried) + NormalDist().inv_cdf(POWER)) * error
    return found


@dataclass(frozen=True)
class Chosen:
    """The best of many, chosen on each half: which (two), its score where it was chosen and on the other half, and
    the cases as the choice of the other half answers them (case,)."""

    picked: tuple[int, int]
    where_chosen: float
    held_out: float
    answers: FloatArray


def choose(right: FloatArray, second_half: BoolArray) -> Chosen | None:
    """Choose from right (case, head) with the second half's cases (case,); None where a half has no case."""
    first_half = ~second_half
    if not first_half.any() or not second_half.any():
        return None
    picked = [int(right[half].mean(0).argmax()) for half in (first_half, second_half)]
    inside = [right[half, best].mean() for half, best in zip((first_half, second_half), picked, strict=True)]
    answers = np.where(second_half, right[:, picked[0]], right[:, picked[1]]).astype(float)
    return Chosen((picked[0], picked[1]), float(np.mean(inside)), float(answers.mean()), answers)
