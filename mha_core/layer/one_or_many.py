"""One head or many: the layer's own weights read as a single wide head, ranks, and the hull of the values."""

from dataclasses import dataclass

import numpy as np

from mha_core.engine.layer_activations import LayerActivations, Projections
from mha_core.layer.variants import repeat_kv_heads

ROUNDING = 1e-9  # of a distance, relative to the largest coordinate


def merge_heads(weights: Projections) -> Projections:
    """Return the same numbers as one head of width h * d_k. Shared keys and values are repeated."""
    every = repeat_kv_heads(weights)

    def wide(array: np.ndarray) -> np.ndarray:
        return array.transpose(1, 0, 2).reshape(1, array.shape[1], -1)

    def bias(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array.reshape(1, -1)

    return Projections(
        wide(every.W_q), bias(every.b_q), wide(every.W_k), bias(every.b_k), wide(every.W_v), bias(every.b_v),
        every.W_o.reshape(1, -1, every.d_model), every.b_o,
    )  # fmt: skip


def as_one_head(run: LayerActivations) -> np.ndarray:
    """Return the weights (query, key) of one head as wide as all of a run's together: their products, added up.

    Divided by the root of all widths; positions are rotated as they were head by head.
    """
    sizes = run.projections
    scores = sum(run.raw(h) for h in range(sizes.n_heads)) / np.sqrt(sizes.n_heads * sizes.d_k)
    scores = np.where(run.allowed, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: np.ndarray = powers / powers.sum(axis=-1, keepdims=True)
    return weights


@dataclass(frozen=True)
class Bilinear:
    """The form W_q W_k^T (d_model, d_model) that compares two tokens: its singular values and rank."""

    singular: np.ndarray
    rank: int
    d_model: int


def bilinear(W_q: np.ndarray, W_k: np.ndarray) -> Bilinear:
    """Return rank and singular values of W_q W_k^T; W_q and W_k are (d_model, d_k).

    From the small triangles of two QR factorisations: the large product is never made.
    """
    r_q = np.linalg.qr(W_q.astype(np.float64)).R
    r_k = np.linalg.qr(W_k.astype(np.float64)).R
    singular = np.linalg.svd(r_q @ r_k.T, compute_uv=False)
    limit = singular[0] * W_q.shape[0] * np.finfo(np.float32).eps if singular.size else 0.0
    return Bilinear(singular, int((singular > limit).sum()), W_q.shape[0])


@dataclass(frozen=True)
class Plane:
    """Points in the plane of their two strongest directions; `hull` are the corners, in order.

    `variance_share`: the share of the variance of points and marks that the plane shows.
    """

    points: np.ndarray
    hull: np.ndarray
    marks: np.ndarray
    variance_share: float


def plane(points: np.ndarray, marks: np.ndarray) -> Plane:
    """Project points and marks by their common PCA into a plane, with the convex hull of the points alone."""
    together = np.concatenate([points, marks]).astype(np.float64)
    middle = points.mean(axis=0)
    _, singular, directions = np.linalg.svd(together - middle, full_matrices=False)
    flat = (together - middle) @ directions[:2].T
    if flat.shape[1] < 2:
        flat = np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    total = float((singular**2).sum())
    share = float((singular[:2] ** 2).sum()) / total if total else 1.0
    n = len(points)
    return Plane(flat[:n], convex_hull(flat[:n]), flat[n:], share)


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull of points in a plane, counter-clockwise; both ends of a line."""
    from scipy.spatial import ConvexHull, QhullError

    corners = np.unique(points, axis=0)
    if len(corners) < 3:
        return corners
    try:
        return np.asarray(corners[ConvexHull(corners).vertices])
    except QhullError:  # all on one line
        return corners[[0, -1]]


@dataclass(frozen=True)
class HullDistance:
    """Distance of a point from a convex hull; `gap` > 0 is a proof: a plane with that margin separates them."""

    distance: float
    gap: float


def distance_to_hull(point: np.ndarray, points: np.ndarray) -> HullDistance:
    """Return the distance from a point (d,) to the convex hull of points (n, d).

    The nearest mixture m of the points p (m >= 0, sum 1) minimises |m p|^2 with the point as origin. Non-negative least
    squares of |u p|^2 + (sum u - 1)^2 has its minimum in u = s m: for every s > 0 the best m is the same.
    """
    from scipy.optimize import nnls

    p = points.astype(np.float64) - point.astype(np.float64)
    scale = float(np.abs(p).max()) or 1.0
    p /= scale
    mixture, _ = nnls(np.vstack([p.T, np.ones(len(p))]), np.append(np.zeros(p.shape[1]), 1.0))
    nearest = mixture @ p / mixture.sum()
    distance = float(np.linalg.norm(nearest))
    if distance < ROUNDING:
        return HullDistance(0.0, 0.0)
    return HullDistance(scale * distance, scale * float((p @ nearest).min()) / distance)


def sum_of_heads(run: LayerActivations, query: int) -> tuple[np.ndarray, np.ndarray]:
    """Return every head's values through its slice of W_o (H, key, d_model), and their sum over the heads. The keys are
    those that the query may look at."""
    sizes = run.projections
    shared = sizes.n_heads // sizes.n_kv_heads
    mapped = np.repeat(run.v[:, run.allowed[query]], shared, axis=0) @ sizes.W_o
    return mapped, run.contributions[:, query].sum(axis=0)
