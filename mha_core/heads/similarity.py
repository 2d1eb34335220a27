"""Which heads do the same: how far apart their rows are, a plane of the heads, and clusters.

The distance of two heads is the Jensen-Shannon divergence of their rows in nats, meaned over rows and then over texts
(Clark et al. 2019, section 6).
"""

from typing import TYPE_CHECKING

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.display_names import head_name
from mha_core.engine.visibility import EVERYTHING, Visibility
from mha_core.heads.survey import HasTokens

if TYPE_CHECKING:
    import pandas as pd

MAX_CELLS = 1 << 20
N_CLUSTERS = 8


class SimilarityCollector:
    """Adds up the distances of all heads over texts."""

    def __init__(self, n_layers: int, n_heads: int, visibility: Visibility = EVERYTHING) -> None:
        self.shape, self.visibility, self.n_texts = (n_layers, n_heads), visibility, 0
        self.total = np.zeros((n_layers * n_heads, n_layers * n_heads))

    def add(self, weights: FloatArray, item: HasTokens) -> None:
        """Count one text; weights (layer, head, query, key) over its tokens."""
        del item
        self.n_texts += 1
        self.total += js_divergence(weights.reshape(-1, *weights.shape[-2:]), self.visibility)

    def distance(self) -> FloatArray:
        """Return the mean distances so far, (head, head), in nats; heads layer by layer."""
        mean: FloatArray = self.total / max(self.n_texts, 1)
        return mean

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a head: its cluster, its place on a plane, its nearest head, and its distance from each.

        Clusters are joined by the mean distance of their members; the plane keeps distances as closely as it can
        (multidimensional scaling).
        """
        import pandas as pd
        from scipy.cluster.hierarchy import fcluster, linkage
        from scipy.spatial.distance import squareform
        from sklearn.manifold import MDS

        distance = self.distance()
        names = [head_name((layer, head)) for layer, head in np.ndindex(*self.shape)]
        joined = linkage(squareform(distance, checks=False), "average")
        plane = MDS(2, metric="precomputed", init="random", n_init=4, random_state=0).fit_transform(distance)
        apart = distance + np.where(np.eye(len(distance), dtype=bool), np.inf, 0)
        frame = pd.DataFrame(distance, columns=names)
        frame.insert(0, "head", names)
        frame.insert(1, "cluster", fcluster(joined, N_CLUSTERS, "maxclust"))
        frame.insert(2, "nearest", [names[i] for i in apart.argmin(1)])
        frame.insert(3, "nats", apart.min(1))
        frame.insert(4, "x", plane[:, 0])
        frame.insert(5, "y", plane[:, 1])
        return frame


def js_divergence(weights: FloatArray, visibility: Visibility = EVERYTHING) -> FloatArray:
    """Return the Jensen-Shannon divergence of every two heads (head, query, key) → (head, head), nats, mean over rows.

    It is the entropy of the mean of two rows minus the mean of their entropies. What no layer's row can see is zero
    in both and is not gone through.
    """
    heads, rows, _ = weights.shape
    weights = np.ascontiguousarray(weights[:, visibility.mask(rows).any(0)])
    own = np.array([float((row * _safe_log(row)).sum()) for row in weights])
    divergence = np.zeros((heads, heads))
    step = max(1, MAX_CELLS // weights[0].size)
    for i in range(heads):
        for start in range(i + 1, heads, step):
            others = slice(start, min(start + step, heads))
            mixed = (weights[others] + weights[i]) / 2
            divergence[i, others] = (own[i] + own[others]) / 2 - (mixed * _safe_log(mixed)).sum(-1)
    divergence = np.maximum(divergence, 0.0) / rows
    distances: FloatArray = divergence + divergence.T
    return distances


def _safe_log(a: FloatArray) -> FloatArray:
    logs: FloatArray = np.log(np.maximum(a, np.float32(1e-30)))
    return logs
