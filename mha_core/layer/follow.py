"""One query followed all the way: a token's q against every k, its weights, its values, its output.

In: a run of a layer, a head and a query position. Out: the rows that belong to that token, the token computed
alone (vector by vector, no matrix form), and the contribution of every head to its output.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.engine.layer_activations import LayerActivations
from mha_core.layer.rotation import rotate_vector


@dataclass(frozen=True)
class QuerySteps:
    """One query's row: products (key, d_k) sum to raw; weighted (key, d_v) sum to context.

    `difference`: from the context of the same token computed alone, vector by vector.
    """

    q: np.ndarray
    products: np.ndarray
    raw: np.ndarray
    scores: np.ndarray
    allowed: np.ndarray
    weights: np.ndarray
    weighted: np.ndarray
    context: np.ndarray
    difference: float


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
    context = run.context[head, query]
    return QuerySteps(
        q=q,
        products=q * k,
        raw=q @ k.T,
        scores=run.scores[head, query, :n],
        allowed=run.allowed[query, :n],
        weights=weights,
        weighted=weights[:, None] * v,
        context=context,
        difference=float(np.abs(one_token(run, head, query) - context).max()),
    )


def one_token(run: LayerActivations, head: int, query: int) -> np.ndarray:
    """Return the context (d_v,) of one token from its own vector, without any matrix of queries."""
    sizes, kv = run.projections, run.projections.kv_head(head)
    q = run.x[query] @ sizes.W_q[head]
    if sizes.b_q is not None:
        q = q + sizes.b_q[head]
    if run.rotary is not None:
        q = rotate_vector(run.rotary, q, query)
    scores = np.array([np.dot(q, key) / run.divisor for key in run.k[kv]])
    for edit in run.edits.scores:
        if (edit.head, edit.query) == (head, query):
            scores[edit.key] = edit.value
    visible = np.flatnonzero(run.allowed[query])
    if not visible.size:
        return np.zeros(sizes.d_v, np.float32)
    exponentials = np.exp(scores[visible] - scores[visible].max())
    mixed = (exponentials / exponentials.sum()) @ run.v[kv][visible]
    return np.asarray(mixed, np.float32)


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
