"""Weights are not the whole story: what a weight moves, where it comes from, and what it does to a
prediction.

In: tokens and a model. Out: for one kind of importance an array (layer, head, query, key) whose rows sum to
one, or, for rollout, (layer, 1, query, key), because it mixes the heads of a layer, or, for flow, (1, 1,
query, key), because it mixes the layers too.

raw: the weights. value: a weight times the length of what it brings, |a_ij f(x_j)| with f(x) = (x W_v + b_v)
W_o (Kobayashi et al. 2020). rollout: the weights multiplied through the layers, half of every row for the
residual (Abnar & Zuidema 2020). gradient: weight times the gradient of the model's prediction for a [MASK],
where it is positive (Chefer et al. 2021, equations 5 and 6); only for models with a masked head. flow: see
flow.py.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from mha_core.errors import InputError
from mha_core.heads.flow import flow_shares
from mha_core.heads.words import FloatArray
from mha_core.models import Model
from mha_core.tokens import Tokens
from mha_core.trace import LayerDetails, every_layer_details, trace_tokens

Kind = Literal["raw", "value", "rollout", "flow", "gradient"]
KINDS: tuple[Kind, ...] = ("raw", "value", "rollout", "flow", "gradient")


@dataclass(frozen=True, eq=False)
class Importance:
    """One kind of importance: weights (layer, head, query, key), `per_head` false where heads are mixed."""

    kind: Kind
    weights: FloatArray
    per_head: bool


def available_kinds(model: Model) -> tuple[Kind, ...]:
    """The kinds that this model can be asked for."""
    return KINDS if model.masked_head is not None else KINDS[:-1]


def importance(tokens: Tokens, model: Model, kind: Kind = "raw") -> Importance:
    """One kind of importance for a text. Raises InputError where the model or the text does not allow it."""
    if kind == "value":
        layers = [value_weighted(details) for details in every_layer_details(tokens, model)]
        return Importance(kind, np.stack(layers), per_head=True)
    if kind == "gradient":
        return Importance(kind, _shares(gradient_weights(tokens, model)), per_head=True)
    weights = trace_tokens(tokens, model).weights
    if kind == "rollout":
        return Importance(kind, rollout(weights)[:, None], per_head=False)
    if kind == "flow":
        return Importance(kind, flow_shares(weights)[None, None].astype(np.float32), per_head=False)
    if kind == "raw":
        return Importance(kind, weights, per_head=True)
    raise InputError(f"{kind!r} is no kind of importance; there are {', '.join(KINDS)}.")


def value_norms(details: LayerDetails) -> FloatArray:
    """|a_ij f(x_j)|, (head, query, key): the length of what each key adds to each query through each head."""
    heads = len(details.weights)
    values = np.repeat(details.v, heads // len(details.v), axis=0)
    lengths = np.linalg.norm(values @ details.W_o, axis=-1)
    found: FloatArray = details.weights * lengths[:, None, :]
    return found


def value_weighted(details: LayerDetails) -> FloatArray:
    """The same as shares of each row, (head, query, key)."""
    return _shares(value_norms(details))


def rollout(weights: FloatArray) -> FloatArray:
    """Weights (layer, head, query, key) → (layer, query, key): how much of a position at a layer is of each
    input.
    """
    n = weights.shape[-1]
    mixed = 0.5 * weights.mean(axis=1) + 0.5 * np.eye(n, dtype=weights.dtype)
    found = [mixed[0]]
    for layer in mixed[1:]:
        found.append(layer @ found[-1])
    return np.stack(found)


def gradient_weights(tokens: Tokens, model: Model) -> FloatArray:
    """max(0, weight x gradient) for the likeliest piece at the first [MASK], (layer, head, query, key)."""
    head = model.masked_head
    if head is None:
        raise InputError(f"{model.title} predicts no [MASK], so there is nothing to take a gradient of.")
    places = [i for i, piece in enumerate(tokens.pieces) if piece.id == model.tokenizer.mask_id]
    if not places:
        raise InputError("There is no [MASK] in the sentence; put it where the word to predict stands.")
    ids = torch.tensor([tokens.ids], device=model.device)
    segments = torch.tensor([tokens.segments], device=model.device)
    with torch.enable_grad():
        x = model.encoder.embeddings(ids, segments).detach().requires_grad_()
        seen = []
        for index in range(model.n_layers):
            layer = model.encoder.layer(index)
            attended, weights = layer.attention(x)
            seen.append(weights)
            x = layer.feed_forward(x, attended)
        prediction = head(x[0, places[:1]]).float().max()
        gradients = torch.autograd.grad(prediction, seen)
    products = [(w * g).clamp(min=0)[0] for w, g in zip(seen, gradients, strict=True)]
    return np.asarray(torch.stack(products).detach().float().cpu().numpy())


def relevance(gradient: FloatArray) -> FloatArray:
    """Chefer's map (query, key) out of gradient weights: R = I, then R + mean over heads · R, layer by layer."""
    found = np.eye(gradient.shape[-1])
    for layer in gradient.mean(axis=1):
        found = found + layer @ found
    return found


def disagreement(raw: FloatArray, other: FloatArray) -> FloatArray:
    """The share of rows whose largest entry lies elsewhere, (layer, head); raw is averaged where heads are
    mixed.
    """
    if other.shape[1] != raw.shape[1]:
        raw = raw.mean(axis=1, keepdims=True)
    if other.shape[0] != raw.shape[0]:
        raw = raw[-1:]
    found: FloatArray = (raw.argmax(-1) != other.argmax(-1)).mean(-1)
    return found


def _shares(rows: FloatArray) -> FloatArray:
    """Rows divided by their sums; a row of zeros stays one."""
    sums = rows.sum(axis=-1, keepdims=True)
    shares: FloatArray = np.divide(rows, sums, out=np.zeros_like(rows), where=sums > 0)
    return shares
