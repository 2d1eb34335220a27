"""One query followed all the way: a token's q against every k, its weights, its values, its output.

In: a run of a layer, a head and a query position. Out: the rows that belong to that token, the token computed
alone (vector by vector, no matrix form), and what every head adds to its output.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.inside.rotation import turned
from mha_core.layer_run import LayerRun


@dataclass(frozen=True)
class Follow:
    """products (key, d_k) sum to raw; weighted (key, d_v) sum to context."""

    query: int
    head: int
    q: np.ndarray
    products: np.ndarray
    raw: np.ndarray
    scores: np.ndarray
    allowed: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    weighted: np.ndarray
    context: np.ndarray
    alone: np.ndarray
    difference: float


@dataclass(frozen=True)
class Shares:
    """What every head adds to one token's output.

    `share` is the part of the output's squared length that lies in a contribution's direction:
    over all heads and the bias it sums to one, and it can be negative.
    """

    norms: np.ndarray
    share: np.ndarray
    cosine: np.ndarray
    bias_share: float
    output_norm: float
    difference: float


def follow(run: LayerRun, head: int, query: int) -> Follow:
    """The row of one query in one head, element by element, over the keys that are there for it."""
    n, kv = run.seen(query), run.projections.kv_head(head)
    q, k, v = run.q[head, query], run.k[kv, :n], run.v[kv, :n]
    weights = run.weights[head, query, :n]
    products = q * k
    alone = one_token(run, head, query)
    return Follow(
        query=query,
        head=head,
        q=q,
        products=products,
        raw=q @ k.T,
        scores=run.scores[head, query, :n],
        allowed=run.allowed[query, :n],
        weights=weights,
        values=v,
        weighted=weights[:, None] * v,
        context=run.context[head, query],
        alone=alone,
        difference=float(np.abs(alone - run.context[head, query]).max()),
    )


def one_token(run: LayerRun, head: int, query: int) -> np.ndarray:
    """The context of one token from its own vector, with no matrix of queries anywhere."""
    used, kv = run.projections, run.projections.kv_head(head)
    q = run.x[query] @ used.W_q[head]
    if used.b_q is not None:
        q = q + used.b_q[head]
    if run.rotary is not None:
        q = turned(run.rotary, q, query)
    scores = np.array([np.dot(q, key) / run.divisor for key in run.k[kv]])
    for edit in run.edits.scores:
        if (edit.head, edit.query) == (head, query):
            scores[edit.key] = edit.value
    seen = np.flatnonzero(run.allowed[query])
    if not seen.size:
        return np.zeros(used.d_v, np.float32)
    exponentials = np.exp(scores[seen] - scores[seen].max())
    mixed = (exponentials / exponentials.sum()) @ run.v[kv][seen]
    return np.asarray(mixed, np.float32)


def shares(run: LayerRun, query: int) -> Shares:
    """Norm, share and cosine of every head's contribution to one token's output."""
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
        difference=float(np.abs(parts.sum(axis=0) + bias - output).max()),
    )


@dataclass(frozen=True)
class Spread:
    """How far apart one head's scores lie, and how sharp that makes its rows."""

    variance: float
    largest: float
    entropy: float


def spread(scores: np.ndarray, divisor: float = 1.0, allowed: np.ndarray | None = None) -> Spread:
    """Variance of scores (query, key) over a divisor; mean largest weight; mean entropy in nats.

    `allowed` (query, key) says which of them there are; every row has one.
    """
    there = np.ones(scores.shape, bool) if allowed is None else allowed
    scaled = np.where(there, scores.astype(np.float64) / divisor, -np.inf)
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    safe = np.where(weights > 0, weights, 1.0)
    entropy = -(weights * np.log(safe)).sum(axis=-1)
    return Spread(
        float(scaled[there].var()), float(weights.max(axis=-1).mean()), max(0.0, float(entropy.mean()))
    )
