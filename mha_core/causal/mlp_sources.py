"""The earlier heads that an MLP needed for its part of a link's score.

An MLP is opaque to `why`: what it writes is one part. It can be asked by recomputing it, and it alone, at one token
without what an earlier head wrote there: how far does its part of the score fall? All else stays as it was, the scales
of norms outside of the MLP too. Falls of several heads do not add up, because an MLP is not linear.
"""

import math
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from mha_core.causal.activation_cache import ActivationCache
from mha_core.causal.residual_parts import (
    FoldedReader,
    ResidualComponent,
    read_parts,
    run_rows_with_cache,
    writer_columns,
)
from mha_core.causal.why import ResolvedLink, find_link, queries_and_keys, query_and_key_matrix, rotated
from mha_core.engine.torch_modes import plain_numbers
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

Side = Literal["query", "key"]


def mlp_sources(
    text: str | Tokens,
    model: Model,
    *,
    head: str,
    query: str | int,
    key: str | int,
    mlp: int,
    side: Side,
) -> "pd.DataFrame":
    """Measure how far an MLP's part of a link's score falls without each earlier head, the largest fall first.

    The link as in `why`; `mlp`: its layer from 1; `side`: whether it wrote into the query or into the key. Returns a
    row a head of its own layer and those before: layer and head from 1, `after` (the part without that head's writing
    at that token) and `fall`; `attrs["score"]` is the part itself.

    Raises InputError as `why` does, and for an MLP that writes after the link's head reads.
    """
    import pandas as pd

    link = find_link(text, model, head, query, key)
    if not 1 <= mlp <= link.head[0]:
        raise InputError(f"MLP {mlp} does not write before head {head} reads; choose an earlier layer.")
    row = link.query if side == "query" else link.key
    with torch.inference_mode(), plain_numbers():
        cache = run_rows_with_cache(link.tokens, link.model, link.seen)
        heads, changed = _without_each_head(link.model, _row(cache, row), mlp - 1)
        reader = FoldedReader.of_attention(cache, link.model, link.head[0], query_and_key_matrix(link)[0])
        written = next(
            written
            for writer, written in reader.back(cache, link.model)
            if writer == ResidualComponent("mlp", mlp)
        )
        readings = torch.stack([reader.read(written)] * (1 + len(heads)))
        readings[1:, row] = reader.scale[row] * (changed @ reader.matrix.T)
        score, *after = _scores(link, cache, readings, side).tolist()
    frame = pd.DataFrame(writer_columns(heads)).drop(columns="part")
    frame["after"], frame["fall"] = after, [score - rest for rest in after]
    frame = frame.iloc[(-frame.fall.abs()).argsort(kind="stable")].reset_index(drop=True)
    frame.attrs = {"score": score}
    return frame


def _row(cache: ActivationCache, row: int) -> ActivationCache:
    """Return the run at one position."""
    rows = slice(row, row + 1)
    return ActivationCache(
        [state[rows] for state in cache.states],
        [attended[rows] for attended in cache.attended],
        [context[:, rows] for context in cache.contexts],
    )


def _without_each_head(
    model: Model, here: ActivationCache, layer: int
) -> tuple[list[ResidualComponent], Tensor]:
    """Return the heads that the MLP of `layer` (from 0) reads, and its output without each, (head, d_model)."""
    block, state = model.encoder.layer(layer), here.states[0]
    residual = block.residual(here.states[layer], here.attended[layer])
    identity = torch.eye(state.shape[-1], device=state.device, dtype=state.dtype)
    writers, parts = read_parts(FoldedReader(identity, state, layer, is_at_mlp=True), here, model)
    heads = [index for index, writer in enumerate(writers) if writer.part == "head"]
    return [writers[index] for index in heads], block.mlp(residual - parts[heads, 0])


def _scores(link: ResolvedLink, cache: ActivationCache, readings: Tensor, side: Side) -> Tensor:
    """Return the score that readings (..., key, 2 d_k) give the link on one side, above the mean of the keys."""
    q, k = queries_and_keys(link, cache.states[link.head[0]])
    d_k = q.shape[-1]
    if side == "query":
        scores = rotated(link, readings[..., :d_k])[..., link.query, :] @ (k[link.key] - k.mean(0))
    else:
        keys = rotated(link, readings[..., d_k:])
        scores = (keys[..., link.key, :] - keys.mean(-2)) @ q[link.query]
    return scores / math.sqrt(d_k)
