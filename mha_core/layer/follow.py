"""One query followed all the way: a token's q against every k, its weights, its values, its output.

In: a run of a layer, a head and a query position. Out: the rows that belong to that token, and the contribution of
every head to its output.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.engine.layer_activations import LayerActivations


@dataclass(frozen=True)
class QuerySteps:
    """One query's row: products (key, d_k) sum to raw; weighted (key, d_v) sum to context."""

    q: np.ndarray
    products: np.ndarray
    raw: np.ndarray
    scores: np.ndarray
    allowed: np.ndarray
    weights: np.ndarray
    weighted: np.ndarray
    context: np.ndarray


@dataclass(frozen=True)
class Shares:
    """Contribution of every head to one token's output.

    `share`: part of the output's squared length in a contribution's direction; over all heads and the bias it sums to
    one, and it can be negative.
    """

    norms: np.ndarray
    share: np.ndarray
    cosine: np.ndarray
    bias_share: float
    output_norm: float


def query_steps(run: LayerActivations, head: int, query: int) -> QuerySteps:
    """Return one query's row in one head, element by element, over the keys that it can see."""
    n, kv = run.seen(query), run.projections.kv_head(head)
    q, k, v = run.q[head, query], run.k[kv, :n], run.v[kv, :n]
    weights = run.weights[head, query, :n]
    return QuerySteps(
        q=q,
        products=q * k,
        raw=q @ k.T,
        scores=run.scores[head, query, :n],
        allowed=run.allowed[query, :n],
        weights=weights,
        weighted=weights[:, None] * v,
        context=run.context[head, query],
    )


def shares(run: LayerActivations, query: int) -> Shares:
    """Return norm, share and cosine of every head's contribution to one token's output."""
    parts, output = run.contributions[:, query], run.output[query]
    bias = np.zeros_like(output) if run.projections.b_o is None else run.projections.b_o
    norms = np.linalg.norm(parts, axis=-1)
    length = float(np.linalg.norm(output))
    along = parts @ output
    safe = length if length > 0 else 1.0
    return Shares(
        norms=norms,
        share=along / safe**2,
        cosine=along / np.where(norms > 0, norms * safe, 1.0),
        bias_share=float(bias @ output) / safe**2,
        output_norm=length,
    )


@dataclass(frozen=True)
class Spread:
    """Variance of one head's scores, and the mean largest weight of its rows."""

    variance: float
    largest: float


def spread(scores: np.ndarray, divisor: float = 1.0, allowed: np.ndarray | None = None) -> Spread:
    """Measure scores (query, key) over a divisor, where `allowed` (query, key); every row must see a key."""
    visible = np.ones(scores.shape, bool) if allowed is None else allowed
    scaled = np.where(visible, scores.astype(np.float64) / divisor, -np.inf)
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return Spread(float(scaled[visible].var()), float(weights.max(axis=-1).mean()))
