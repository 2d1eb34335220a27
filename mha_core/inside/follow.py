"""One query followed all the way: a token's q against every k, its weights, its values, its output.

In: a walk, a head and a query position. Out: the rows that belong to that token, the token computed
alone (vector by vector, no matrix form), and what every head adds to its output.
"""

from dataclasses import dataclass

import numpy as np

from mha_core.inside.walk import Walk


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


def follow(walk: Walk, head: int, query: int) -> Follow:
    """The row of one query in one head, element by element."""
    kv = walk.weights_used.kv_head(head)
    q, k, v = walk.q[head, query], walk.k[kv], walk.v[kv]
    weights = walk.weights[head, query]
    alone = one_token(walk, head, query)
    return Follow(
        query=query,
        head=head,
        q=q,
        products=q * k,
        raw=walk.raw[head, query],
        scores=walk.scores[head, query],
        allowed=walk.allowed[query],
        weights=weights,
        values=v,
        weighted=weights[:, None] * v,
        context=walk.context[head, query],
        alone=alone,
        difference=float(np.abs(alone - walk.context[head, query]).max()),
    )


def one_token(walk: Walk, head: int, query: int) -> np.ndarray:
    """The context of one token from its own vector, with no matrix of queries anywhere."""
    used, kv = walk.weights_used, walk.weights_used.kv_head(head)
    q = walk.x[query] @ used.W_q[head] + used.b_q[head]
    scores = np.array([np.dot(q, key) / walk.divisor for key in walk.k[kv]])
    for edit in walk.edits.scores:
        if (edit.head, edit.query) == (head, query):
            scores[edit.key] = edit.value
    seen = np.flatnonzero(walk.allowed[query])
    if not seen.size:
        return np.zeros(used.d_v, np.float32)
    exponentials = np.exp(scores[seen] - scores[seen].max())
    mixed = (exponentials / exponentials.sum()) @ walk.v[kv][seen]
    return np.asarray(mixed, np.float32)


def shares(walk: Walk, query: int) -> Shares:
    """Norm, share and cosine of every head's contribution to one token's output."""
    parts, output = walk.contributions[:, query], walk.output[query]
    bias = walk.weights_used.b_o
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


def spread(scores: np.ndarray, divisor: float = 1.0) -> Spread:
    """Variance of scores (query, key) over a divisor; mean largest weight; mean entropy in nats."""
    scaled = scores.astype(np.float64) / divisor
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    safe = np.where(weights > 0, weights, 1.0)
    entropy = -(weights * np.log(safe)).sum(axis=-1)
    return Spread(float(scaled.var()), float(weights.max(axis=-1).mean()), max(0.0, float(entropy.mean())))
