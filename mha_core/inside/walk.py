"""One attention layer, from X to its output, with every number on the way and the reader's own changes.

In: x (n, d_model) and the layer's weights a head at a time. Out: q, k, v, scores, weights, context,
contributions and output. Axes in the order head, query, key, width; arrays are float32.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import torch

from mha_core.attention import scaled_dot_product_attention
from mha_core.errors import InputError, SizeError

PROJECTIONS = ("W_q", "W_k", "W_v", "W_o")


@dataclass(frozen=True)
class HeadWeights:
    """The four projections of a layer, cut into heads.

    W_q (H, d_model, d_k), b_q (H, d_k), W_k and b_k (H_kv, ..), W_v (H_kv, d_model, d_v), b_v,
    W_o (H, d_v, d_model), b_o (d_model,).
    """

    W_q: np.ndarray
    b_q: np.ndarray
    W_k: np.ndarray
    b_k: np.ndarray
    W_v: np.ndarray
    b_v: np.ndarray
    W_o: np.ndarray
    b_o: np.ndarray

    def __post_init__(self) -> None:
        h, d_model, d_k = self.W_q.shape
        h_kv, _, d_v = self.W_v.shape
        wanted = {
            "b_q": (h, d_k),
            "W_k": (h_kv, d_model, d_k),
            "b_k": (h_kv, d_k),
            "W_v": (h_kv, d_model, d_v),
            "b_v": (h_kv, d_v),
            "W_o": (h, d_v, d_model),
            "b_o": (d_model,),
        }
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                raise SizeError(f"{name} has the shape {getattr(self, name).shape}; {shape} is needed.")
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

    def kv_head(self, head: int) -> int:
        """The key and value head that a query head uses (its own, unless heads share)."""
        return head * self.n_kv_heads // self.n_heads


@dataclass(frozen=True)
class CellEdit:
    """One number of one projection of one head, replaced: (matrix, head, row, column, value)."""

    matrix: str
    head: int
    row: int
    column: int
    value: float


@dataclass(frozen=True)
class ScoreEdit:
    """One score of one head, replaced after scaling and before the softmax."""

    head: int
    query: int
    key: int
    value: float


@dataclass(frozen=True)
class Edits:
    """What the reader changed. The defaults change nothing.

    scaled, temperature, causal and hidden_keys act on all heads of the layer.
    """

    scaled: bool = True
    temperature: float = 1.0
    causal: bool = False
    hidden_keys: tuple[int, ...] = ()
    cells: tuple[CellEdit, ...] = ()
    scores: tuple[ScoreEdit, ...] = ()

    def __post_init__(self) -> None:
        numbers = [self.temperature, *(c.value for c in self.cells), *(s.value for s in self.scores)]
        if not all(np.isfinite(numbers)):
            raise InputError("Every changed value must be a finite number.")
        if self.temperature <= 0:
            raise InputError(f"The temperature must be greater than 0; {self.temperature:g} was given.")

    @property
    def any(self) -> bool:
        return self != Edits()


@dataclass(frozen=True)
class Walk:
    """All numbers of one run of one layer; `scores` are what the softmax sees, before the mask."""

    x: np.ndarray
    weights_used: HeadWeights
    edits: Edits
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    raw: np.ndarray
    scores: np.ndarray
    allowed: np.ndarray
    weights: np.ndarray
    context: np.ndarray
    contributions: np.ndarray
    output: np.ndarray
    divisor: float = field(default=1.0)

    @property
    def n(self) -> int:
        return int(self.x.shape[0])

    @property
    def n_keys(self) -> int:
        return int(self.k.shape[1])

    @property
    def concatenated(self) -> np.ndarray:
        """[z1 | z2 | .. | zh], (n, H * d_v)."""
        return np.concatenate(list(self.context), axis=-1)


def weights_from(details: Any) -> HeadWeights:
    """The projections out of a record of one layer (`layer_details`) or any object with the same names."""
    return HeadWeights(
        **{f.name: np.asarray(getattr(details, f.name), np.float32) for f in fields(HeadWeights)}
    )


def with_cells(weights: HeadWeights, cells: tuple[CellEdit, ...]) -> HeadWeights:
    """A copy of the weights with single numbers replaced; the given weights stay as they are."""
    changed: dict[str, np.ndarray] = {}
    for cell in cells:
        if cell.matrix not in PROJECTIONS:
            raise InputError(f"{cell.matrix} is not one of {', '.join(PROJECTIONS)}.")
        array = changed.setdefault(cell.matrix, np.array(getattr(weights, cell.matrix)))
        head = cell.head if cell.matrix in ("W_q", "W_o") else weights.kv_head(cell.head)
        place = (head, cell.row, cell.column)
        if not all(0 <= i < size for i, size in zip(place, array.shape, strict=True)):
            raise InputError(
                f"{cell.matrix} of a head is {array.shape[1]} by {array.shape[2]}: no such place."
            )
        array[place] = cell.value
    replaced: Mapping[str, Any] = changed
    return replace(weights, **replaced)


def walk(
    x: np.ndarray, weights: HeadWeights, edits: Edits | None = None, keys_from: np.ndarray | None = None
) -> Walk:
    """Carry x through the layer. `keys_from` (n_k, d_model) makes it cross-attention."""
    edits = edits or Edits()
    x = np.asarray(x, np.float32)
    y = x if keys_from is None else np.asarray(keys_from, np.float32)
    if x.ndim != 2 or x.shape[1] != weights.d_model or y.shape[1:] != x.shape[1:]:
        raise SizeError(f"X has the shape {x.shape}; {weights.d_model} numbers a token are needed.")
    used = with_cells(weights, edits.cells)
    q = x @ used.W_q + used.b_q[:, None]
    k = y @ used.W_k + used.b_k[:, None]
    v = y @ used.W_v + used.b_v[:, None]
    divisor = float((np.sqrt(used.d_k) if edits.scaled else 1.0) * edits.temperature)
    shared = used.n_heads // used.n_kv_heads
    raw = q @ np.repeat(k, shared, axis=0).swapaxes(-1, -2)
    scores = raw / np.float32(divisor)
    allowed, extra = _mask(scores, edits)
    context, attention = scaled_dot_product_attention(
        torch.from_numpy(q),
        torch.from_numpy(k),
        torch.from_numpy(v),
        mask=torch.from_numpy(extra),
        scale=1.0 / divisor,
    )
    for edit in edits.scores:
        scores[edit.head, edit.query, edit.key] = edit.value
    z = context.numpy()
    contributions = z @ used.W_o
    return Walk(
        x=x,
        weights_used=used,
        edits=edits,
        q=q,
        k=k,
        v=v,
        raw=raw,
        scores=scores,
        allowed=allowed,
        weights=np.zeros_like(scores) if attention is None else attention.numpy(),
        context=z,
        contributions=contributions,
        output=contributions.sum(axis=0) + used.b_o,
        divisor=divisor,
    )


def _mask(scores: np.ndarray, edits: Edits) -> tuple[np.ndarray, np.ndarray]:
    """(query, key) True = may look; and what is added to the scores: -inf, or the reader's change."""
    heads, n, n_keys = scores.shape
    allowed = np.tril(np.ones((n, n_keys), bool)) if edits.causal else np.ones((n, n_keys), bool)
    for key in edits.hidden_keys:
        if not 0 <= key < n_keys:
            raise InputError(f"There are {n_keys} tokens: position {key} cannot be hidden.")
        allowed[:, key] = False
    extra = np.zeros((heads, n, n_keys), np.float32)
    for edit in edits.scores:
        if not (0 <= edit.head < heads and 0 <= edit.query < n and 0 <= edit.key < n_keys):
            raise InputError(f"There is no score at ({edit.query}, {edit.key}) in {n} by {n_keys}.")
        extra[edit.head, edit.query, edit.key] = edit.value - scores[edit.head, edit.query, edit.key]
    return allowed, np.where(allowed, extra, np.float32(-np.inf)).astype(np.float32)
