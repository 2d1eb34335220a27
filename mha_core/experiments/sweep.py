"""Every head in turn: what does the outcome lose without it, or with another text's output in its place?

A head's change reaches the rest of the model only through the sum of its layer's heads. So the layers below are not
run again: what the layer's attention gave is taken from one plain run, each head's own difference is added to it, and
all heads of the layer go through the layers above together, as one batch. On average half of a run a head.

Layers come from the last to the first, since the last cost least: there is something to see at once.

Sources: Michel et al. 2019, section 3.2 (one head at a time); Wang et al. 2022 and Zhang & Nanda 2023 for patching.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from mha_core.experiments.changes import Changes, changes_of
from mha_core.experiments.effects import Effects
from mha_core.experiments.interventions import Intervention, check_factor, same_length
from mha_core.experiments.kept import Kept, kept_of
from mha_core.experiments.means import mean_steps
from mha_core.experiments.outcomes import Bound, Outcome, bind
from mha_core.experiments.parts import Part
from mha_core.model import Model
from mha_core.tokens import Tokens

BATCH_TOKENS = 4096
MEANS_SHARE = 0.3  # of the work, if the means are not known yet


def every_head(
    tokens: Tokens,
    model: Model,
    outcome: Outcome,
    *,
    factor: float | None = 0.0,
    base: Sequence[Intervention] = (),
) -> Iterator[Part[Effects]]:
    """The outcome with one head at a time times `factor` (0: taken away), or, with None, replaced by its mean output.

    `base`: interventions that are there all the time, for every head and for `before`. (layer, head); one part a
    layer, the last layer first. Raises InputError at the first part for what does not fit.
    """
    if factor is not None:
        check_factor(factor)
    bound, change = bind(outcome, tokens, model), changes_of(base, tokens, model)
    kept = kept_of(tokens, model, change)
    if factor is not None:
        wanted = [context * factor for context in kept.contexts]
        yield from _try_heads(kept, wanted, model, bound, change)
        return
    start = 0.0
    for part in mean_steps(model):
        means = part.result
        if part.fraction < 1:
            start = MEANS_SHARE
            yield Part(start * part.fraction, 0, _empty(kept, model, bound))
    wanted = [means[layer][None, :, None] for layer in range(model.n_layers)]
    for found in _try_heads(kept, wanted, model, bound, change):
        yield Part(start + (1 - start) * found.fraction, found.n, found.result)


def patch_heads(
    source: Tokens,
    into: Tokens,
    model: Model,
    outcome: Outcome,
    *,
    positions: Sequence[int] | None = None,
) -> Iterator[Part[Effects]]:
    """The outcome of the text `into` with one head's output at a time taken over from the text `source`, (layer,
    head); at `positions`, or all. Raises InputError at the first part unless both have as many tokens.
    """
    same_length(source, into)
    bound = bind(outcome, into, model)
    kept, other = kept_of(into, model), kept_of(source, model)
    at = list(range(len(into)) if positions is None else positions)
    wanted = list[Tensor]()
    for own, theirs in zip(kept.contexts, other.contexts, strict=True):
        mixed = own.clone()
        mixed[:, :, at] = theirs[:, :, at]
        wanted.append(mixed)
    yield from _try_heads(kept, wanted, model, bound, None, _final(other, model, bound))


def patch_states(source: Tokens, into: Tokens, model: Model, outcome: Outcome) -> Iterator[Part[Effects]]:
    """The outcome of the text `into` with one state of one token at a time taken over from `source`, (state, token):
    state 0 is the embedding. One part a state, the last first. Where both texts have the same state nothing is run.
    """
    same_length(source, into)
    bound = bind(outcome, into, model)
    kept, other = kept_of(into, model), kept_of(source, model)
    before = _final(kept, model, bound)
    numbers = np.full((model.n_layers + 1, len(into), len(bound.names)), np.nan)
    found = Effects(bound.names, before, numbers, _final(other, model, bound))
    for index in range(model.n_layers, -1, -1):
        own, theirs = kept.states[index][0], other.states[index][0]
        numbers[index] = before
        differ = torch.nonzero((own != theirs).any(-1))[:, 0].tolist()
        if differ:
            x = own.repeat(len(differ), 1, 1)
            x[range(len(differ)), differ] = theirs[differ]
            numbers[index, differ] = _run_on(x, index, model, bound, None)
        tried = model.n_layers + 1 - index
        yield Part(_share(tried, model.n_layers + 1), tried * len(into), found)


def _try_heads(
    kept: Kept,
    wanted: Sequence[Tensor],
    model: Model,
    bound: Bound,
    change: Changes | None,
    source: tuple[float, ...] | None = None,
) -> Iterator[Part[Effects]]:
    """One head at a time mixes what `wanted`, (1, n_heads, n, d_v) of every layer, says."""
    found = _empty(kept, model, bound, source)
    for layer in range(model.n_layers - 1, -1, -1):
        block = model.encoder.layer(layer)
        with torch.inference_mode():
            changed = block.attention.contributions(wanted[layer] - kept.contexts[layer])[0]
            x = block.feed_forward(kept.states[layer], kept.attended[layer] + changed)
            x = x if change is None else change.state(layer + 1, x)
        found.numbers[layer] = _run_on(x, layer + 1, model, bound, change)
        tried = model.n_layers - layer
        yield Part(_share(tried, model.n_layers), tried * model.n_heads, found)


def _run_on(x: Tensor, layer: int, model: Model, bound: Bound, change: Changes | None) -> np.ndarray:
    """Inputs of a layer (run, n, d_model) through the rest of the model, as numbers (run, measure)."""
    step = max(1, BATCH_TOKENS // x.shape[1])
    with torch.inference_mode():
        rows = [
            bound.of(model.encoder.resume(x[start : start + step], layer, change=change)).double().cpu()
            for start in range(0, len(x), step)
        ]
    return torch.cat(rows).numpy()


def _empty(kept: Kept, model: Model, bound: Bound, source: tuple[float, ...] | None = None) -> Effects:
    """What is known before the first head was tried."""
    numbers = np.full((model.n_layers, model.n_heads, len(bound.names)), np.nan)
    return Effects(bound.names, _final(kept, model, bound), numbers, source)


def _final(kept: Kept, model: Model, bound: Bound) -> tuple[float, ...]:
    with torch.inference_mode():
        return tuple(bound.of(model.encoder.finish(kept.states[-1]))[0].tolist())


def _share(tried: int, n: int) -> float:
    """How much of the work is done: a layer costs what lies above it."""
    return tried * (tried + 1) / (n * (n + 1))
