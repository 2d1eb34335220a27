"""How sure a share is when the cases of one document belong together, and what is left of the best of many.

In: of every document how many of its cases were right, and how many it has. Out: standard errors, intervals, tests.

Sources: Wilson 1927; Clopper and Pearson 1934 for the exact test, with the number of independent cases that have the
same standard error (Korn and Graubard 1998); Efron 1979 for the bootstrap, here over clusters.
"""

import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from mha_core.arrays import FloatArray

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


def bonferroni_z(n_comparisons: int) -> float:
    """Return the standard errors beyond which the best of so many is by a chance of 2.5 % (one-sided; Bonferroni)."""
    return NormalDist().inv_cdf(1 - 0.025 / max(n_comparisons, 1))


def bonferroni_t(n_comparisons: int, documents: int) -> float:
    """Return as many standard errors where these are estimated from so many documents (Student's t)."""
    from scipy.special import stdtrit

    return float(stdtrit(max(documents - 1, 1), 1 - 0.025 / max(n_comparisons, 1)))


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


def digests_of(texts: Iterable[str]) -> npt.NDArray[np.uint64]:
    """Return 64 bits of every text's SHA-256, (text,): the same wherever and whenever it is read."""
    digests = (hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in texts)
    return np.array([int.from_bytes(digest[:8], "big") for digest in digests], dtype=np.uint64)


def half_of(text: str) -> int:
    """Return the half of a text, 0 or 1, so that the same sentence twice never stands on both sides."""
    return group_of(text) % 2


def mean_of(sums: FloatArray, n: FloatArray) -> FloatArray:
    """Return the mean over all cases of sums by document (document, ...) → (...); n (document,) are their cases."""
    mean: FloatArray = sums.sum(0) / n.sum()
    return mean


def standard_error(sums: FloatArray, n: FloatArray) -> FloatArray:
    """Return the standard error of the mean over all cases, sums (document, ...) → (...): the bootstrap's over
    documents, in closed form."""
    residuals = sums - mean_of(sums, n) * n.reshape(-1, *[1] * (sums.ndim - 1))
    error: FloatArray = np.sqrt((residuals**2).sum(0)) / n.sum()
    return error


def effective(sums: FloatArray, n: FloatArray, *, binary: bool = True) -> FloatArray:
    """Return the effective sample size of each mean, sums (document, ...) → (...).

    It is the number of documents where no case is wrong or none is right. `binary`: every case is right or wrong, so no
    more are independent than there are.
    """
    share, error = mean_of(sums, n), standard_error(sums, n)
    spread = share * (1 - share)
    known = (error > 0) & (spread > 0)
    size = np.where(known, spread / np.where(known, error, 1.0) ** 2, np.count_nonzero(n))
    bounded: FloatArray = np.minimum(size, n.sum() if binary else np.inf)
    return bounded


def intervals(sums: FloatArray, n: FloatArray, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return the 95 % interval of each mean, sums (document, ...) → (...), by bootstrap over documents."""
    flat, size = sums.reshape(len(n), -1), len(n)
    draws = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=N_DRAWS)
    means = (draws @ flat) / np.maximum(draws @ n, 1)[:, None]
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    return low.reshape(sums.shape[1:]), high.reshape(sums.shape[1:])


def gap(differences: FloatArray, n: FloatArray) -> Gap:
    """Return the mean of differences with its interval, from their sums by document (document,)."""
    low, high = intervals(differences, n)
    return Gap(float(mean_of(differences, n)), float(low), float(high))


def detectable(error: FloatArray, n_comparisons: int) -> FloatArray:
    """Return the gap that would be seen with 80 % power as one of so many comparisons, from its standard error."""
    difference: FloatArray = (bonferroni_z(n_comparisons) + NormalDist().inv_cdf(POWER)) * error
    return difference


@dataclass(frozen=True)
class SplitSelection:
    """The best of many, chosen on each half: which (two), its score where it was chosen and on the other half, and
    how often the choice of the other half is right, by document (document,)."""

    picked: tuple[int, int]
    where_chosen: float
    held_out: float
    answers: FloatArray


def choose(right: FloatArray, n: FloatArray) -> SplitSelection | None:
    """Choose from right (document, half, head), sums of n (document, half) cases; None where a half has no case."""
    cases = n.sum(0)
    if not cases.all():
        return None
    means = right.sum(0) / cases[:, None]
    first, second = (int(half.argmax()) for half in means)
    answers = right[:, 1, first] + right[:, 0, second]
    inside = (means[0, first] + means[1, second]) / 2
    return SplitSelection((first, second), float(inside), float(answers.sum() / cases.sum()), answers)
