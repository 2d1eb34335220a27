"""Activations of one layer's attention in one run, from x to the output, with the layer's weights.

In NumPy, float32, without a batch; axes in the order head, query, key, width. H query heads of widths d_k and d_v
share G key and value heads (G = H unless queries are grouped).
"""

from dataclasses import dataclass

import numpy as np

from mha_core.arrays import Array, Mask
from mha_core.engine.edits import Edits
from mha_core.engine.rotary import Rotary
from mha_core.errors import SizeError

NOTHING = Edits()


@dataclass(frozen=True, eq=False)
class Projections:
    """The four matrices of a layer, cut into heads: q = x W_q + b_q, and so on. Raises SizeError unless they fit.

    W_q (H, d_model, d_k), W_k (G, d_model, d_k), W_v (G, d_model, d_v), W_o (H, d_v, d_model); b_q (H, d_k),
    b_k (G, d_k), b_v (G, d_v), b_o (d_model,), each None where the model has none.
    """

    W_q: Array
    b_q: Array | None
    W_k: Array
    b_k: Array | None
    W_v: Array
    b_v: Array | None
    W_o: Array
    b_o: Array | None

    def __post_init__(self) -> None:
        h, d_model, d_k = self.W_q.shape
        h_kv, _, d_v = self.W_v.shape
        wanted = {
            "b_q": (h, d_k), "W_k": (h_kv, d_model, d_k), "b_k": (h_kv, d_k), "b_v": (h_kv, d_v),
            "W_o": (h, d_v, d_model), "b_o": (d_model,),
        }  # fmt: skip
        for name, shape in wanted.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise SizeError(f"{name} has the shape {array.shape}; {shape} is needed.")
        if h % h_kv:
            raise SizeError(f"{h} query heads cannot share {h_kv} key heads evenly.")

    @property
    def n_heads(self) -> int:
        return int(self.W_q.shape[0])

    @property
    def n_kv_heads(self) -> int:
        return int(self.W_k.shape[0])

    @property
    def d_model(self) -> int:
        return int(self.W_q.shape[1])

    @property
    def d_k(self) -> int:
        return int(self.W_q.shape[2])

    @property
    def d_v(self) -> int:
        return int(self.W_v.shape[2])

    @property
    def has_bias(self) -> bool:
        """True if any of the four has one."""
        return any(bias is not None for bias in (self.b_q, self.b_k, self.b_v, self.b_o))

    def kv_head(self, head: int) -> int:
        """Return the key and value head that a query head uses (its own, unless heads share)."""
        return head * self.n_kv_heads // self.n_heads

    def group(self, head: int) -> tuple[int, ...]:
        """Return the query heads that read the same keys and values as this one, itself included."""
        shared = self.n_heads // self.n_kv_heads
        first = self.kv_head(head) * shared
        return tuple(range(first, first + shared))


@dataclass(frozen=True, eq=False)
class LayerActivations:
    """All that the attention of one layer computed for one text, as the model ran it or with a user's `edits`.

    x (n, d_model) is the attention's input, `keys_from` the source of keys and values (x itself, but for
    cross-attention). q (H, n, d_k), k (G, n, d_k), v (G, n, d_v): after the rotation where there is one, before
    it in `q_unrotated` and `k_unrotated` (else None). scores (H, n, n) are q kᵀ / divisor, as the softmax is given
    them but for the mask; allowed (n, n) is True where a token may look; weights (H, n, n); context (H, n, d_v),
    after its gate if it had one; contributions (H, n, d_model) sum, plus b_o, to output (n, d_model). Of the
    model's own run also stream (n, d_model), the layer's input, of which x is the norm (pre-LN) or which is x itself;
    residual = LayerNorm(stream + output), or that sum itself (pre-LN); hidden, the whole layer's output.
    `window`: tokens that the layer sees to each side; None: all.
    """

    projections: Projections
    x: Array
    keys_from: Array
    q: Array
    k: Array
    v: Array
    scores: Array
    allowed: Mask
    weights: Array
    context: Array
    contributions: Array
    output: Array
    divisor: float
    is_causal: bool = False
    rotary: Rotary | None = None
    q_unrotated: Array | None = None
    k_unrotated: Array | None = None
    stream: Array | None = None
    residual: Array | None = None
    hidden: Array | None = None
    edits: Edits = NOTHING
    window: int | None = None

    @property
    def n(self) -> int:
        return int(self.x.shape[0])

    @property
    def n_keys(self) -> int:
        return int(self.k.shape[1])

    @property
    def is_pre_norm(self) -> bool:
        """True if x is the layer's input normalised first."""
        return self.stream is not None and self.stream is not self.x

    @property
    def concatenated(self) -> Array:
        """[z1 | z2 | .. | zh], (n, H * d_v)."""
        return np.concatenate(list(self.context), axis=-1)

    def raw(self, head: int) -> Array:
        """Return one head's products q · k, (query, key), before they are divided or changed."""
        products: Array = self.q[head] @ self.k[self.projections.kv_head(head)].T
        return products

    def seen(self, query: int) -> int:
        """Count the keys, from the first, of a query: all, or those up to itself under a causal model."""
        return min(query + 1, self.n_keys) if self.is_causal else self.n_keys
