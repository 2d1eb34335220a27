"""A slow and obvious double of the engine in NumPy: loops, one number at a time, no tricks. For the tests alone.

Shapes as in the engine, without a batch: q (h_q, n_q, d_k), k (h_kv, n_k, d_k), v (h_kv, n_k, d_v).
"""

import math

import numpy as np


def attend(q, k, v, may_look=None, added=None, is_causal=False, scale=None):
    """(context, weights). `may_look` and `added` are (h_q, n_q, n_k) or nothing."""
    heads, n_q, d_k = q.shape
    n_k, d_v = v.shape[1:]
    scale = 1 / math.sqrt(d_k) if scale is None else scale
    weights, context = np.zeros((heads, n_q, n_k)), np.zeros((heads, n_q, d_v))
    for head in range(heads):
        shared = head // (heads // len(k))
        for i in range(n_q):
            scores = {}
            for j in range(n_k):
                score = scale * sum(q[head, i, c] * k[shared, j, c] for c in range(d_k))
                score += 0.0 if added is None else added[head, i, j]
                allowed = (may_look is None or may_look[head, i, j]) and not (is_causal and j > i)
                if allowed and score > -math.inf:
                    scores[j] = score
            highest = max(scores.values(), default=0.0)
            total = sum(math.exp(score - highest) for score in scores.values())
            for j, score in scores.items():
                weights[head, i, j] = math.exp(score - highest) / total
                context[head, i] += weights[head, i, j] * v[shared, j]
    return context, weights


def project(x, linear, heads):
    """x (n, d_model) through a linear layer, cut into heads: (heads, n, width)."""
    weight = linear.weight.detach().double().numpy()
    bias = 0.0 if linear.bias is None else linear.bias.detach().double().numpy()
    y = x @ weight.T + bias
    return np.stack(np.split(y, heads, axis=1))


def layer(module, query, key=None, value=None, gates=None, **options):
    """(output (n_q, d_model), weights (n_heads, n_q, n_k)) of a MultiHeadAttention on unbatched arrays."""
    key = query if key is None else key
    value = key if value is None else value
    q = project(query, module.W_q, module.n_heads)
    k = project(key, module.W_k, module.n_kv_heads)
    v = project(value, module.W_v, module.n_kv_heads)
    context, weights = attend(q, k, v, **options)
    if gates is not None:
        context = context * np.asarray(gates)[:, None, None]
    joined = np.concatenate(list(context), axis=1)
    (output,) = project(joined, module.W_o, 1)
    return output, weights
