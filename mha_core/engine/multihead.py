"""The one attention layer: multi-head, grouped-query and multi-query, self- and cross-attention.

In: queries (batch, n_q, d_model) and optionally keys and values (batch, n_k, d_model). Out: the same shape as
the queries, and the weights (batch, n_heads, n_q, n_k). Source: Vaswani et al. 2017, section 3.2.2; Shazeer
2019 for one shared key head; Ainslie et al. 2023 for groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from mha_core.engine.attention import (
    attend,
    attention_scores,
    check_dropout,
    mixed_values,
    without_autocast,
)
from mha_core.engine.rotary import Rotation
from mha_core.errors import InputError, SizeError


@dataclass(frozen=True)
class AttentionDetails:
    """Intermediate results of one call of the layer. Shapes for batched input; unbatched lacks the batch.

    q (batch, n_heads, n_q, d_k), k (batch, n_kv_heads, n_k, d_k), v (batch, n_kv_heads, n_k, d_v); `scores`
    are q kᵀ / sqrt(d_k) before the mask, `weights` the softmax under it, both (batch, n_heads, n_q, n_k);
    `context` (batch, n_heads, n_q, d_v) is the head's output before W_o, after its gate; `contributions` (batch,
    n_heads, n_q, d_model) is the context through the head's own slice of W_o, so that their sum over heads,
    plus the bias of W_o, is `output` (batch, n_q, d_model). With rotary positions q and k are those after the
    rotation, and `q_unrotated`, `k_unrotated` those before it.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    scores: Tensor
    weights: Tensor
    context: Tensor
    contributions: Tensor
    output: Tensor
    q_unrotated: Tensor | None = None
    k_unrotated: Tensor | None = None


class KVCache(Protocol):
    """Keys and values of the tokens before, for one layer and one user; its length is the number of tokens."""

    def __len__(self) -> int: ...

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of new tokens, (batch, n_kv_heads, n, width); return all keys and values so far."""
        ...


class HeadHooks(Protocol):
    """Edits of one call's heads: their weights (batch, n_heads, n_q, n_k), if `rewrites_weights`, and their contexts
    (batch, n_heads, n_q, d_v), after the gate. Both return the tensor to go on with."""

    @property
    def rewrites_weights(self) -> bool: ...

    def weights(self, weights: Tensor) -> Tensor: ...

    def context(self, context: Tensor) -> Tensor: ...


class MultiHeadAttention(nn.Module):
    """Attention by n_heads heads of width d_k, mixed by W_o.

    `n_kv_heads` (a divisor of n_heads) key and value heads are shared by groups of query heads: n_heads of
    them is multi-head attention, one is multi-query attention. `d_k` and `d_v` default to d_model // n_heads.
    `bias` governs all four projections; without it the default layer has 4 · d_model² parameters.
    Raises SizeError for sizes that do not fit, InputError for a dropout outside [0, 1].
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        _check_sizes(d_model, n_heads, n_kv_heads, d_k, d_v)
        check_dropout(dropout)
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.d_k = d_model // n_heads if d_k is None else d_k
        self.d_v = d_model // n_heads if d_v is None else d_v
        self.dropout = dropout
        self.W_q = nn.Linear(d_model, n_heads * self.d_k, bias=bias)
        self.W_k = nn.Linear(d_model, n_kv_heads * self.d_k, bias=bias)
        self.W_v = nn.Linear(d_model, n_kv_heads * self.d_v, bias=bias)
        self.W_o = nn.Linear(n_heads * self.d_v, d_model, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = True,
        *,
        gates: Tensor | None = None,
        details: bool = False,
        out: Tensor | None = None,
        rotation: Rotation | None = None,
        store: KVCache | None = None,
        hooks: HeadHooks | None = None,
    ) -> tuple[Tensor, Tensor | AttentionDetails | None]:
        """Attend, and return (output, weights), or (output, AttentionDetails) with `details=True`.

        One argument is self-attention; `key` (and `value`, which defaults to the key) is cross-attention. All
        are (batch, n, d_model) or all unbatched (n, d_model). `mask` broadcasts to the weights' shape
        (batch, n_heads, n_q, n_k), or (n_heads, n_q, n_k) unbatched; a 3-D mask is (n_heads, n_q, n_k). Bool:
        True = may look; floating: added to the scores. `gates`, (n_heads,) or (batch, n_heads), multiplies
        each head's context before W_o: 0 switches a head off. `out`: see `scaled_dot_product_attention`.
        `rotation` turns queries and keys by their positions; `store` adds the keys and values of earlier tokens;
        `hooks` replace weights (the context is then mixed by the new ones) and contexts.
        """
        key, value = self._sources(query, key, value)
        q = self._split(self.W_q(query), self.n_heads)
        k, v = (self._split(x, self.n_kv_heads) for x in (self.W_k(key), self.W_v(value)))
        unrotated = (q, k) if details and rotation is not None else (None, None)
        if rotation is not None:
            q, k = rotation(q), rotation(k)
        if store is not None:
            k, v = store.extend(k, v)
        rewrites = hooks is not None and hooks.rewrites_weights
        returns_weights = need_weights or details
        dropout = self.dropout if self.training else 0.0
        context, weights = attend(q, k, v, mask, is_causal, None, dropout, returns_weights or rewrites, out)
        if hooks is not None and rewrites and weights is not None:
            changed = hooks.weights(weights)
            context, weights = mixed_values(changed, v), changed if out is None else out.copy_(changed)
        projections = (q, k, v) if details else None
        del q, k, v  # a long text needs their room for the output
        if gates is not None:
            context = context * self._gate(gates, context)
        if hooks is not None:
            context = hooks.context(context)
        output = self.W_o(context.transpose(-3, -2).flatten(-2))
        if projections is None or weights is None:
            return output, weights if returns_weights else None
        scores, contributions = attention_scores(projections[0], projections[1]), self.contributions(context)
        return output, AttentionDetails(
            *projections, scores, weights, context, contributions, output, *unrotated
        )

    @classmethod
    def from_torch(cls, theirs: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Build the same layer from torch's own, weights copied.

        Ours takes (batch, n, d_model), as theirs with batch_first=True, and gives the weights of every head, as theirs
        with average_attn_weights=False. Masks are the other way round: ours has True where a query may look, theirs
        (`attn_mask`, and `key_padding_mask` where a key is padding) where it may not: pass `~attn_mask`, and
        `~key_padding_mask[:, None, None, :]`. Masks of floats are added to the scores in both.

        Raises SizeError for kdim or vdim of another width, a learned key (add_bias_kv) or one of zeros (add_zero_attn).
        """
        if not isinstance(theirs, nn.MultiheadAttention):
            raise InputError(f"Expected a torch.nn.MultiheadAttention, not {type(theirs).__name__}.")
        d_model = theirs.embed_dim
        if theirs.kdim != d_model or theirs.vdim != d_model:
            raise SizeError(
                f"Its keys are {theirs.kdim} and its values {theirs.vdim} wide; this layer takes all as wide as "
                f"queries, {d_model}."
            )
        if theirs.bias_k is not None or theirs.add_zero_attn:
            raise SizeError(
                "It adds a key of its own to every text (add_bias_kv, add_zero_attn); this layer has none."
            )
        has_bias = theirs.in_proj_bias is not None
        ours = cls(d_model, theirs.num_heads, dropout=theirs.dropout, bias=has_bias)
        ours.to(device=theirs.in_proj_weight.device, dtype=theirs.in_proj_weight.dtype).train(theirs.training)
        with torch.no_grad():
            for own, other in ours._paired_weights(theirs):
                own.copy_(other)
        return ours

    def to_torch(self) -> nn.MultiheadAttention:
        """Build torch's own layer (batch_first) with the same weights, copied; on masks see `from_torch`.

        Raises SizeError for shared key heads, or heads whose widths do not sum to d_model, which torch's has not.
        """
        if self.n_kv_heads != self.n_heads:
            raise SizeError(
                f"{self.n_heads} query heads share {self.n_kv_heads} key heads; torch's layer has one for each."
            )
        if not self.n_heads * self.d_k == self.n_heads * self.d_v == self.d_model:
            raise SizeError(
                f"Heads of width {self.d_k} and {self.d_v} were given; torch's layer cuts {self.d_model} into "
                f"{self.n_heads}."
            )
        has_bias, like = self.W_q.bias is not None, self.W_q.weight
        theirs = nn.MultiheadAttention(
            self.d_model,
            self.n_heads,
            self.dropout,
            has_bias,
            batch_first=True,
            device=like.device,
            dtype=like.dtype,
        ).train(self.training)
        with torch.no_grad():
            for own, other in self._paired_weights(theirs):
                other.copy_(own)
        return theirs

    def _paired_weights(self, theirs: nn.MultiheadAttention) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield every weight and bias with its place in torch's layer, which has Q, K and V in one matrix."""
        linears = (self.W_q, self.W_k, self.W_v, self.W_o)
        yield from zip(
            (linear.weight for linear in linears),
            (*theirs.in_proj_weight.chunk(3), theirs.out_proj.weight),
            strict=True,
        )
        if theirs.in_proj_bias is not None:
            biases = (cast(Tensor, linear.bias) for linear in linears)
            places = (*theirs.in_proj_bias.chunk(3), cast(Tensor, theirs.out_proj.bias))
            yield from zip(biases, places, strict=True)

    def contributions(self, context: Tensor) -> Tensor:
        """Multiply each head's context (..., n_heads, n, d_v) by its slice of W_o: (..., n_heads, n, d_model)."""
        slices = self.W_o.weight.view(self.d_model, self.n_heads, self.d_v).permute(1, 2, 0)
        with without_autocast(context.device):
            return torch.matmul(context.to(slices.dtype), slices)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        """Reshape (..., n, heads · d) to (..., heads, n, d), as a view."""
        return x.view(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(-3, -2)

    def _sources(self, query: Tensor, key: Tensor | None, value: Tensor | None) -> tuple[Tensor, Tensor]:
        if key is None and value is not None:
            raise InputError("`value` needs `key`. Give both, or neither for self-attention.")
        self._check("query", query)
        if key is None:
            return query, query
        value = key if value is None else value
        self._check("key", key)
        self._check("value", value)
        if not (query.shape[:-2] == key.shape[:-2] == value.shape[:-2]):
            raise SizeError(
                f"Query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)} must have "
                "the same batch size, or all have none."
            )
        if key.shape[-2] != value.shape[-2]:
            raise SizeError(f"{key.shape[-2]} keys and {value.shape[-2]} values; every key needs one value.")
        return key, value

    def _check(self, name: str, x: Tensor) -> None:
        if x.dim() not in (2, 3):
            raise SizeError(
                f"The {name} has {x.dim()} axes; it is (batch, n, {self.d_model}) or (n, {self.d_model})."
            )
        if x.shape[-1] != self.d_model:
            raise SizeError(f"The {name} is {x.shape[-1]} wide; this layer takes d_model = {self.d_model}.")

    def _gate(self, gates: Tensor, context: Tensor) -> Tensor:
        batch = context.shape[:-3]
        if gates.shape != (self.n_heads,) and gates.shape != (*batch, self.n_heads):
            raise SizeError(
                f"Gates of shape {tuple(gates.shape)} were given; this layer takes one factor for each of its "
                f"{self.n_heads} heads, ({self.n_heads},) or (batch, {self.n_heads})."
            )
        return gates.to(context.dtype)[..., None, None]


def _check_sizes(d_model: int, n_heads: int, n_kv_heads: int, d_k: int | None, d_v: int | None) -> None:
    sizes = {"d_model": d_model, "n_heads": n_heads, "n_kv_heads": n_kv_heads, "d_k": d_k, "d_v": d_v}
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise SizeError(f"{name} is {size}; it must be at least 1.")
    if n_heads % n_kv_heads:
        raise SizeError(
            f"{n_heads} query heads cannot be shared evenly by {n_kv_heads} key and value heads; "
            f"n_kv_heads must divide n_heads."
        )
    if d_model % n_heads and (d_k is None or d_v is None):
        raise SizeError(
            f"d_model = {d_model} cannot be split into {n_heads} heads of equal width "
            f"({d_model} / {n_heads} = {d_model / n_heads:.2f}); give d_k and d_v, or other sizes."
        )
