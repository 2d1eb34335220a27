"""What the score of one link is made of: all that was written before its head reads, exactly.

With the norms' scales held, score(i, j) = q_i · k_j / sqrt(d_k) is the sum over parts a of the query and parts b of the
key of q_i^a · k_j^b / sqrt(d_k). Softmax ignores what all keys share, so every part counts as far as it is above its
mean over the keys that the query can see. A large part is no cause by itself: `weight_without_head` removes it.

Sources: Elhage et al. 2021 (QK circuits, composition); Kobayashi et al. 2021 (norms held); Wang et al. 2022 (path
patching); McDougall et al. 2023 (a head's query and key split among heads).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from mha_core.causal.activation_cache import ActivationCache, first_replaced, mean_head_outputs
from mha_core.causal.interventions import MeanAblation, ScaleHeads
from mha_core.causal.residual_parts import (
    FoldedReader,
    ResidualComponent,
    at_least_float32,
    read_parts,
    run_rows_with_cache,
    writer_columns,
)
from mha_core.causal.single_run import trace_with_interventions
from mha_core.display_names import Head, head_name
from mha_core.engine.torch_modes import plain_numbers
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.models.trace import as_tokens, check_model
from mha_core.record.grid import head_from_name, units_of
from mha_core.record.links import find_unit
from mha_core.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ResolvedLink:
    """One cell of one head's weights: `head` from 0; `query` and `key` counted from the first token that is `seen`."""

    tokens: Tokens
    model: Model
    head: Head
    seen: slice
    query: int
    key: int


def score_attribution(
    text: str | Tokens, model: Model, *, head: str, query: str | int, key: str | int, pairs: bool = False
) -> "pd.DataFrame":
    """Split the score of one link ("19-7", from 1) among the parts of its query and of its key, strongest first.

    `query`, `key`: a token by its spelling, "it#2" for the second, "#20" for the 20th token, or its position from 0.
    Returns a row a part: side (query, key), part (embedding, head, mlp, bias), layer and head from 1, score, share. A
    bias with a layer is that of the head's own W_q or W_k, the one without is of all norms and W_o before.
    Each side is the whole score, split another way: its scores sum to the link's score above the mean of the keys that
    can be seen, its shares to 1. A share is negative where a part works against that score; the others of its side then
    sum to more than 1. With `pairs` a row is a part of the query and one of the key. `attrs` has the link's score,
    above that mean, and its weight.

    Half precision is computed in float32. Raises InputError for a model computed by transformers, a head or token that
    is not there, a key that the query cannot see, and a query that sees one token alone: nothing is to be split there.
    """
    import pandas as pd

    link = find_link(text, model, head, query, key)
    with torch.inference_mode(), plain_numbers():
        writers, queries, keys = _split(link)
        row = (keys.sum(0) @ queries.sum(0)).softmax(-1)
        key_parts = keys[:, link.key] - keys.mean(1)
        if pairs:
            scores = (queries @ key_parts.T).flatten().tolist()
        else:
            scores = [*(key_parts @ queries.sum(0)).tolist(), *(queries @ key_parts.sum(0)).tolist()]
        total = float(key_parts.sum(0) @ queries.sum(0))
    if pairs:
        of_query = writer_columns([writer for writer in writers for _ in writers], "query_")
        frame = pd.DataFrame({**of_query, **writer_columns(writers * len(writers), "key_")})
    else:
        side = ["key"] * len(writers) + ["query"] * len(writers)
        frame = pd.DataFrame({"side": side, **writer_columns(writers * 2)})
    frame["score"] = scores
    frame["share"] = frame["score"] / (total or math.nan)  # keys that are all alike
    sides = np.zeros(len(frame)) if pairs else np.arange(len(frame)) // len(writers)
    frame = frame.iloc[np.lexsort((-frame["score"].abs(), sides))].reset_index(drop=True)
    frame.attrs = {"score": total, "weight": float(row[link.key])}
    return frame


def weight_without_head(
    text: str | Tokens,
    model: Model,
    *,
    head: str,
    query: str | int,
    key: str | int,
    without: str,
    means: bool = True,
) -> "pd.DataFrame":
    """Measure the weight of a link without one earlier head (`without`, as "17-1"), and without another of its layer.

    The link as in `why`. Returns a row for each place and replacement: `place` is everywhere (the head ablated in the
    whole run), query or key (path patching: only what it wrote into this query or this key, all else as it was, norms
    computed anew); `replacement` is zero, or the head's mean output, see `MeanAblation`; `before` and `after` are
    weights. `control` is the other head, drawn at random but always the same for a link, `after_control` the weight
    without it; both are missing where the layer has one head. `means`: False leaves out mean ablation, whose first call
    for a model reads the built-in sentences.

    Raises InputError as `why` does, and for a head that writes after the link's head reads.
    """
    import pandas as pd

    link = find_link(text, model, head, query, key)
    sender = head_from_name(without, model.n_layers, model.n_heads)
    if sender[0] >= link.head[0]:
        raise InputError(f"Head {without} writes after head {head} reads; choose a head of an earlier layer.")
    others = [(sender[0], other) for other in range(model.n_heads) if other != sender[1]]
    seed = (*link.head, link.query, link.key, *sender)
    control = others[np.random.default_rng(seed).integers(len(others))] if others else None
    rows = list[dict[str, object]]()
    with torch.inference_mode(), plain_numbers():
        cache = run_rows_with_cache(link.tokens, link.model, link.seen)
        q, k = queries_and_keys(link, cache.states[link.head[0]])
        for replacement in ("zero", "mean")[: 1 + means]:
            beside = _weights_without(link, cache, control, replacement) if control else {}
            for place, weight in _weights_without(link, cache, sender, replacement).items():
                numbers = {"before": _weight(link, q, k), "after": weight}
                compared = {"control": control and head_name(control), "after_control": beside.get(place)}
                rows.append({"place": place, "replacement": replacement, **numbers, **compared})
    return pd.DataFrame(rows)


def _weights_without(
    link: ResolvedLink, cache: ActivationCache, head: Head, replacement: str
) -> dict[str, float]:
    """Return the link's weight without a head, or with its mean output: everywhere, in the query and in the key."""
    change = ScaleHeads((head,)) if replacement == "zero" else MeanAblation((head,))
    ablated = trace_with_interventions(link.tokens, link.model, (change,)).weights[link.head]
    q, k = queries_and_keys(link, cache.states[link.head[0]])
    q_after, k_after = queries_and_keys(link, _patched(link, cache, head, change))
    return {
        "everywhere": float(ablated[link.query + link.seen.start, link.key + link.seen.start]),
        "query": _weight(link, _with_row(q, q_after, link.query), k),
        "key": _weight(link, q, _with_row(k, k_after, link.key)),
    }


def find_link(text: str | Tokens, model: Model, head: str, query: str | int, key: str | int) -> ResolvedLink:
    """Return the link that is named. Raises InputError as `why` does."""
    check_model(model)
    tokens = as_tokens(text, model)
    place = head_from_name(head, model.n_layers, model.n_heads)
    i, j = _position(tokens, query), _position(tokens, key)
    visible = model.info.visible(len(tokens))
    keys = range(len(tokens)) if visible is None else visible[place[0], i].nonzero()[0].tolist()
    labels = [unit.label for unit in units_of(tokens)]
    if j not in keys:
        raise InputError(
            f"Head {head_name(place)} cannot look from '{labels[i]}' (token {i + 1}) to '{labels[j]}' (token {j + 1})."
        )
    if len(keys) == 1:
        raise InputError(
            f"Head {head_name(place)} sees only '{labels[i]}' there: nothing is to be explained."
        )
    first = keys[0]
    return ResolvedLink(
        tokens, at_least_float32(model), place, slice(first, keys[-1] + 1), i - first, j - first
    )


def _position(tokens: Tokens, name: str | int) -> int:
    """Return a token's position, by its name or by itself."""
    return find_unit(units_of(tokens), f"#{name + 1}" if isinstance(name, int) else name)


def _split(link: ResolvedLink) -> tuple[list[ResidualComponent], Tensor, Tensor]:
    """Return the writers, the parts of the query, divided by sqrt(d_k), (part, d_k), and those of all keys that it
    sees, (part, key, d_k), both after the rotation, where there is one."""
    (layer, head), model = link.head, link.model
    matrix, biases = query_and_key_matrix(link)
    d_k = len(matrix) // 2
    cache = run_rows_with_cache(link.tokens, model, link.seen)
    writers, parts = read_parts(FoldedReader.of_attention(cache, model, layer, matrix), cache, model)
    if biases is not None:
        writers = [*writers, ResidualComponent("bias", layer + 1, head + 1)]
        parts = torch.cat([parts, biases.expand(1, *parts.shape[1:])])
    queries, keys = (rotated(link, side) for side in (parts[..., :d_k], parts[..., d_k:]))
    return writers, queries[:, link.query] / math.sqrt(d_k), keys


def query_and_key_matrix(link: ResolvedLink) -> tuple[Tensor, Tensor | None]:
    """Return the head's own rows of W_q above those of W_k, (2 d_k, d_model), and their biases (2 d_k,) or None."""
    attention = link.model.encoder.layer(link.head[0]).attention
    d_k, head = attention.d_k, link.head[1]
    kv_head = head * attention.n_kv_heads // attention.n_heads
    own, shared = (slice(index * d_k, (index + 1) * d_k) for index in (head, kv_head))
    linears = ((attention.W_q, own), (attention.W_k, shared))
    matrix = torch.cat([linear.weight[rows] for linear, rows in linears])
    has_bias = attention.W_q.bias is not None
    return matrix, torch.cat([linear.bias[rows] for linear, rows in linears]) if has_bias else None


def rotated(link: ResolvedLink, x: Tensor, first: int = 0) -> Tensor:
    """Return (..., n, d_k) turned by the positions of what the query sees, from its token `first` on."""
    rotary = link.model.encoder.rotary
    return x if rotary is None else rotary.at(link.seen.start + first, x.shape[-2], x)(x)


def queries_and_keys(link: ResolvedLink, state: Tensor) -> tuple[Tensor, Tensor]:
    """Return the head's queries and keys, (n, d_k) each, of the states (n, d_model) before its layer."""
    layer, head = link.head
    block = link.model.encoder.layer(layer)
    attention, read = block.attention, block.attention_input(state)
    kv_head = head * attention.n_kv_heads // attention.n_heads
    q = attention.W_q(read).view(len(read), attention.n_heads, -1)[:, head]
    k = attention.W_k(read).view(len(read), attention.n_kv_heads, -1)[:, kv_head]
    return rotated(link, q), rotated(link, k)


def _weight(link: ResolvedLink, q: Tensor, k: Tensor) -> float:
    """Return the weight of the link among the keys that the query sees."""
    return float((k @ q[link.query] / math.sqrt(q.shape[-1])).softmax(-1)[link.key])


def _with_row(x: Tensor, other: Tensor, row: int) -> Tensor:
    """Return (n, d_k) with one row of another."""
    changed = x.clone()
    changed[row] = other[row]
    return changed


def _patched(
    link: ResolvedLink, cache: ActivationCache, sender: Head, change: ScaleHeads | MeanAblation
) -> Tensor:
    """Return the states (n, d_model) before the link's layer without one head's writing to the same token, or with its
    mean; all other writing stays."""
    (layer, head), model = sender, link.model
    contexts = cache.contexts[layer].clone()
    if isinstance(change, ScaleHeads):
        contexts[head] = 0
    else:
        contexts[head, max(first_replaced(model) - link.seen.start, 0) :] = mean_head_outputs(model)[sender]
    attention = model.encoder.layer(layer).attention
    difference = attention.contributions(contexts - cache.contexts[layer])[head]
    x = cache.states[layer]
    for index in range(layer, link.head[0]):
        block, attended = model.encoder.layer(index), cache.attended[index]
        written = block.mlp(block.residual(cache.states[index], attended))
        attended = attended + difference if index == layer else attended
        x = block.output(block.residual(x, attended), written)
    return x
