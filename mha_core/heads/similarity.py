"""Which heads do the same: how far apart their rows are, a map of the heads, and clusters.

In: weights (layer, head, query, key), one text at a time. Out: distance (head, head), heads in the order
layer, head: the Jensen-Shannon divergence of two heads' rows in nats, meaned over rows and then over texts;
points (head, 2) whose distances follow these as closely as a plane allows; a number of clusters.

Sources: Clark et al. 2019, section 6, for the distance and the map; de Leeuw 1977 for SMACOF, which starts
from classical scaling (Torgerson 1952); clusters are joined by the mean distance of their members (Sokal
1958).
"""

from dataclasses import dataclass

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.positions import HasTokens
from mha_core.heads.seen import seen
from mha_core.heads.words import FloatArray, IntArray

MAX_CELLS = 1 << 20


@dataclass(frozen=True)
class SimilarityTable:
    """`distance` (head, head) with heads counted through all layers; `shape` is (layers, heads)."""

    n_texts: int
    shape: tuple[int, int]
    distance: FloatArray

    @property
    def mean(self) -> float:
        """The mean distance of two different heads; nan where there is one only."""
        pairs = self.distance[np.triu_indices(len(self.distance), 1)]
        return float(pairs.mean()) if len(pairs) else np.nan

    def relatives(self, layer: int, head: int, count: int = 3) -> tuple[tuple[int, int, float], ...]:
        """The nearest other heads of one head: (layer, head, distance), all from 0; fewer where there are fewer."""
        row = self.distance[layer * self.shape[1] + head].copy()
        row[layer * self.shape[1] + head] = np.inf
        nearest = row.argsort()[: min(count, len(row) - 1)]
        return tuple((int(i) // self.shape[1], int(i) % self.shape[1], float(row[i])) for i in nearest)


class SimilaritySums:
    """Sums over texts, which can be merged."""

    def __init__(self, n_layers: int, n_heads: int, is_causal: bool = False) -> None:
        self.shape = (n_layers, n_heads)
        self.is_causal = is_causal
        self.n_texts = 0
        self.total = np.zeros((n_layers * n_heads, n_layers * n_heads))

    def add(self, weights: FloatArray, item: HasTokens) -> None:
        """Count one text; weights (layer, head, query, key) over its pieces."""
        del item
        self.n_texts += 1
        self.total += js_divergence(weights.reshape(-1, *weights.shape[-2:]), self.is_causal)

    def result(self) -> SimilarityTable:
        """The mean distances so far."""
        return SimilarityTable(self.n_texts, self.shape, self.total / max(self.n_texts, 1))


def js_divergence(weights: FloatArray, is_causal: bool = False) -> FloatArray:
    """Jensen-Shannon divergence of every two heads (head, query, key) → (head, head), nats, mean over rows.

    It is the entropy of the mean of two rows minus the mean of their entropies. What a decoder's row cannot see
    is zero in both and is not gone through.
    """
    heads, rows, _ = weights.shape
    weights = np.ascontiguousarray(weights[:, seen(rows, is_causal)])
    own = np.array([_log_sum(row) for row in weights])
    found = np.zeros((heads, heads))
    step = max(1, MAX_CELLS // weights[0].size)
    for i in range(heads):
        for start in range(i + 1, heads, step):
            others = slice(start, min(start + step, heads))
            mixed = (weights[others] + weights[i]) / 2
            log_sums = (mixed * _safe_log(mixed)).sum(-1)
            found[i, others] = (own[i] + own[others]) / 2 - log_sums
    found = np.maximum(found, 0.0) / rows
    distances: FloatArray = found + found.T
    return distances


def _safe_log(a: FloatArray) -> FloatArray:
    found: FloatArray = np.log(np.maximum(a, np.float32(1e-30)))
    return found


def _log_sum(rows: FloatArray) -> float:
    return float((rows * _safe_log(rows)).sum())


def plane(distance: FloatArray, n_steps: int = 300) -> tuple[FloatArray, float]:
    """Points (head, 2) whose distances follow `distance`, and the stress that is left (0 is perfect).

    Stress is Kruskal's first: the root of squared misses over squared distances. The same distances always
    give the same map.
    """
    n = len(distance)
    points = _classical(distance)
    for _ in range(n_steps):
        apart = _apart(points)
        ratio = np.divide(distance, apart, out=np.zeros_like(apart), where=apart > 1e-12)
        pull = -ratio
        pull[np.arange(n), np.arange(n)] = ratio.sum(1)
        moved = pull @ points / n
        if np.abs(moved - points).max() < 1e-9:
            break
        points = moved
    miss = ((_apart(points) - distance) ** 2).sum()
    return points, float(np.sqrt(miss / max(float((distance**2).sum()), 1e-30)))


def _classical(distance: FloatArray) -> FloatArray:
    n = len(distance)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    top = values.argsort()[::-1][:2]
    points = vectors[:, top] * np.sqrt(np.maximum(values[top], 0))
    # An eigenvector's sign is arbitrary: fix it so that the largest coordinate is positive.
    signs = np.sign(points[np.abs(points).argmax(0), np.arange(len(top))])
    found: FloatArray = np.zeros((n, 2))  # of a head alone there is one axis only
    found[:, : len(top)] = points * np.where(signs == 0, 1, signs)
    return found


def _apart(points: FloatArray) -> FloatArray:
    found: FloatArray = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    return found


def clusters(distance: FloatArray, count: int) -> IntArray:
    """The cluster of every head (0 to count - 1, the cluster of the first head is 0), joined by mean
    distance.
    """
    n = len(distance)
    if not 1 <= count <= n:
        raise InputError(f"{count} clusters were asked of {n} heads; between 1 and {n} are possible.")
    apart = distance.astype(float).copy()
    np.fill_diagonal(apart, np.inf)
    members = np.ones(n)
    label = np.arange(n)
    for _ in range(n - count):
        a, b = divmod(int(apart.argmin()), n)
        joined = (members[a] * apart[a] + members[b] * apart[b]) / (members[a] + members[b])
        apart[a], apart[:, a] = joined, joined
        apart[b], apart[:, b] = np.inf, np.inf
        apart[a, a] = np.inf
        members[a] += members[b]
        label[label == b] = a
    found: IntArray = np.unique(label, return_inverse=True)[1]
    order = {int(old): new for new, old in enumerate(dict.fromkeys(found.tolist()))}
    return np.array([order[int(c)] for c in found])
