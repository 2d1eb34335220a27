"""Counts → how sure one can be of them: Wilson's interval, and heads that chance could have put in the
other's place.

Sources: Wilson 1927; Clopper and Pearson 1934 for the exact test; Efron 1979 for the bootstrap over sentences, here
over groups of them: the text of a sentence decides its group, so the order, the batches and the merging of parts change
nothing, the same sentence twice counts as one, and memory is constant.
"""

import math
import zlib
from statistics import NormalDist

import numpy as np

from mha_core.heads.words import FloatArray, IntArray

Z_95 = 1.959963984540054
N_GROUPS = 256
N_DRAWS = 1000


def z_for_best_of(tried: int) -> float:
    """How many standard errors make 95 % sure when the best of `tried` is looked at (Bonferroni)."""
    return NormalDist().inv_cdf(1 - 0.025 / max(tried, 1))


def wilson(hits: FloatArray | float, n: FloatArray | float, z: float = Z_95) -> tuple[FloatArray, FloatArray]:
    """The interval of the share hits / n (of 95 % unless `z` says otherwise), (low, high); (0, 1) where n is
    0.
    """
    n = np.asarray(n, dtype=float)
    safe = np.where(n > 0, n, 1.0)
    share = np.where(n > 0, np.asarray(hits, dtype=float) / safe, 0.5)
    centre = (share + z**2 / (2 * safe)) / (1 + z**2 / safe)
    half = z * np.sqrt(share * (1 - share) / safe + z**2 / (4 * safe**2)) / (1 + z**2 / safe)
    low, high = np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
    return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)


def binomial_tail(share: float, n: float, chance: float) -> float:
    """How likely so large a share of n cases is if each has this chance: the binomial's upper tail, exact, and carried
    on to numbers of cases that are not whole (Korn and Graubard 1998) by the incomplete beta function.
    """
    hits = share * n
    if hits <= 0 or chance >= 1:
        return 1.0
    return 0.0 if chance <= 0 else _incomplete_beta(hits, n - hits + 1, chance)


TINY, STEPS = 1e-300, 10_000


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22, evaluated as Lentz did)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or TINY)
    found = d
    for m in range(1, STEPS):
        before = found
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or TINY)
            c = 1 + term / c or TINY
            found *= c * d
        if abs(found - before) < 1e-12 * found:
            break
    return min(max(math.exp(logs) * found / a, 0.0), 1.0)


def group_of(text: str) -> int:
    """The group of a sentence, 0 to N_GROUPS - 1."""
    return zlib.crc32(text.encode("utf-8", "replace")) % N_GROUPS


def tied_with_best(hits: FloatArray | IntArray, seed: int = 0) -> IntArray:
    """Which choices cannot be told from the best one: positions, the best first, then by their hits.

    `hits` (group, choice). The choices answered the same cases, so their difference is paired: a choice is an
    equal when, over draws of the groups with replacement, the best is ahead of it in fewer than 97.5 %.
    """
    total = hits.sum(axis=0)
    best = int(total.argmax())
    behind = hits[:, [best]].astype(float) - hits
    groups = len(hits)
    draws = np.random.default_rng(seed).multinomial(groups, np.full(groups, 1 / groups), size=N_DRAWS)
    ahead = ((draws @ behind) > 0).mean(axis=0)
    equal = np.flatnonzero(ahead < 0.975)
    order = np.lexsort((equal, -total[equal], equal != best))
    found: IntArray = equal[order]
    return found
