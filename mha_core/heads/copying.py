"""Copying heads: does what a head writes about a token speak for that token, or against it?

A token's state after layer 1 goes through a head's value and output matrices, the final norm's gain and the
unembedding. The head copies a token that is then among its own five highest logits, and suppresses one among the
five lowest. Sources: Wang et al. 2022, section 3.1 (name movers, negative ones); McDougall et al. 2023 (suppression).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from mha_core.causal.outcomes import MAX_SCORES, token_of
from mha_core.causal.residual_parts import at_least_float32, next_matrix, norm_before
from mha_core.engine.torch_modes import plain_numbers
from mha_core.errors import InputError
from mha_core.interrupt import check_interrupt
from mha_core.models.model import Model
from mha_core.models.trace import check_model

if TYPE_CHECKING:
    import pandas as pd

AMONG = 5  # logits among which the token has to be
FIRST = "The"
Weights = Literal["own", "random", "shuffled"]


def copying_scores(
    words: Sequence[str], model: Model, *, weights: Weights = "own", first: str = FIRST, seed: int = 0
) -> "pd.DataFrame":
    """Measure how many of some tokens (" Mary" with its space) every head of a decoder copies, and how many it
    suppresses, through its value and output matrices without biases.

    Each token is read after `first`, which takes the attention sink. `weights`: the head's "own"; as baselines "random"
    ones (normal, as large as its own) and "shuffled" ones (its values with another head's output matrix), both by
    `seed`. Returns a row a head: layer and head from 1, copying and negative_copying, the shares of the tokens.

    Half precision is computed in float32. Raises InputError for a model that predicts no next token, no words, and a
    word that is not one token.
    """
    import pandas as pd

    rows = list[dict[str, float]]()
    for layer, shares in enumerate(copies(words, model, weights=weights, first=first, seed=seed), 1):
        for head, (copied, suppressed) in enumerate(shares.double().mean(-1).T.tolist(), 1):
            rows.append({"layer": layer, "head": head, "copying": copied, "negative_copying": suppressed})
    return pd.DataFrame(rows)


def copies(
    words: Sequence[str], model: Model, *, weights: Weights = "own", first: str = FIRST, seed: int = 0
) -> Iterator[Tensor]:
    """Yield for each layer the tokens that its heads copy, and those that they suppress: (2, head, token), Boolean.

    All else as in `copying_scores`.
    """
    ids, model = _checked_ids(words, model, weights), at_least_float32(model)
    unembedding = next_matrix(model)
    with torch.inference_mode(), plain_numbers():
        known = torch.tensor(model.tokenizer.identities, device=model.device)
        unembedding = unembedding if len(known) == len(unembedding) else unembedding[known]
        own = torch.searchsorted(known, torch.tensor(ids, device=model.device)).repeat(model.n_heads)
    for written in written_about(words, model, weights=weights, first=first, seed=seed):
        with torch.inference_mode(), plain_numbers():
            ranks = _ranks(written.flatten(0, 1), unembedding, own)
        yield ranks.view(2, model.n_heads, -1) < AMONG


def written_about(
    words: Sequence[str], model: Model, *, weights: Weights = "own", first: str = FIRST, seed: int = 0
) -> Iterator[Tensor]:
    """Yield for each layer what its heads write about tokens, with the final norm's gain, (head, token, d_model).

    All else as in `copying_scores`.
    """
    ids, model = _checked_ids(words, model, weights), at_least_float32(model)
    generator = torch.Generator().manual_seed(seed)
    order = torch.arange(model.n_layers * model.n_heads)
    if weights == "shuffled":
        ring = order[torch.randperm(len(order), generator=generator)]
        order = torch.empty_like(order).scatter_(0, ring, ring.roll(1))  # no head keeps its own
    with torch.inference_mode(), plain_numbers():
        states = _after_layer_1(ids, token_of(first, model), model)
    for layer, outputs in enumerate(order.view(model.n_layers, -1).tolist()):
        check_interrupt()
        with torch.inference_mode(), plain_numbers():
            read, written = model.encoder.layer(layer).attention_input(states), list[Tensor]()
            for head, output in enumerate(outputs):
                W_v, W_o = _matrices(model, (layer, head), divmod(output, model.n_heads))
                if weights == "random":
                    W_v, W_o = (torch.randn(W.shape, generator=generator).to(W) * W.std() for W in (W_v, W_o))
                written.append(read @ W_v.T @ W_o.T)
            yield _gained(torch.stack(written), model)


def _checked_ids(words: Sequence[str], model: Model, weights: Weights) -> list[int]:
    """Return the tokens' ids. Raises InputError as `copying_scores` does."""
    check_model(model)
    next_matrix(model)
    if isinstance(words, str) or not words:
        raise InputError("Copying takes a list of words, each one token; give at least one.")
    if weights not in ("own", "random", "shuffled"):
        raise InputError(f"Weights can be own, random or shuffled, not '{str(weights)[:40]}'.")
    return [token_of(word, model) for word in words]


def _after_layer_1(ids: Sequence[int], first: int, model: Model) -> Tensor:
    """Return the states (token, d_model) that layer 1 makes of tokens behind a first one."""
    batch = torch.tensor([[first, identity] for identity in ids], device=model.device)
    return next(iter(model.encoder.steps(batch, need_weights=False))).hidden[:, 1]


def _matrices(model: Model, head: tuple[int, int], writer: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Return W_v (d_v, d_model) of one head and W_o (d_model, d_v) of another, or the same."""
    values, outputs = (model.encoder.layer(layer).attention for layer, _ in (head, writer))
    kv_head = head[1] * values.n_kv_heads // values.n_heads
    W_v = values.W_v.weight.view(values.n_kv_heads, -1, values.d_model)[kv_head]
    return W_v, outputs.W_o.weight.view(outputs.d_model, outputs.n_heads, -1)[:, writer[1]]


def _gained(written: Tensor, model: Model) -> Tensor:
    """Return what a head wrote with the final norm's gain, without its scale, which leaves every order as it is."""
    norm = norm_before(model, model.n_layers)
    if norm is None:
        return written
    if isinstance(norm, nn.LayerNorm):
        written = written - written.mean(-1, keepdim=True)
    return written * norm.weight


def _ranks(written: Tensor, unembedding: Tensor, own: Tensor) -> Tensor:
    """Count the other logits no smaller than that of each token itself, and those no larger, (2, token): a head that
    writes nothing neither copies nor suppresses."""
    ranks = list[Tensor]()
    at_once = max(1, MAX_SCORES // len(unembedding))
    for start in range(0, len(own), at_once):
        logits = written[start : start + at_once] @ unembedding.T
        itself = logits.gather(1, own[start : start + at_once, None])
        ranks.append(torch.stack(((logits >= itself).sum(1), (logits <= itself).sum(1))) - 1)
    return torch.cat(ranks, dim=1)
