"""Path patching: one head's output reaches the query, key or value input of one later head, and nothing else.

In the text `into`, the sender's output is taken from `source`. All other heads are frozen at their outputs in `into`,
MLPs and norms are recomputed. What then arrives at a receiver's input is given to that input alone, in a run that is
otherwise the plain one. Heads that share keys and values (grouped queries) share these inputs and change together.

Sources: Wang et al. 2022, section 3.1 and appendix B; Goldowsky-Dill et al. 2023.
"""

from collections.abc import Iterator
from typing import cast

import numpy as np
import torch
from torch import Tensor

from mha_core.causal.activation_cache import ActivationCache, run_with_cache
from mha_core.causal.interventions import same_length
from mha_core.causal.outcomes import Outcome, bind
from mha_core.causal.partial_results import PartialResult
from mha_core.causal.sweep import INPUTS, SweepResult, measure_of, outcome_of, run_from, work_share
from mha_core.display_names import Head, head_name
from mha_core.engine.multihead import AttentionDetails
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.record.grid import check_heads
from mha_core.text.tokens import Tokens


def sweep_receivers(
    source: Tokens, into: Tokens, model: Model, outcome: Outcome, *, sender: Head
) -> Iterator[PartialResult[SweepResult]]:
    """Patch the path from `sender` (layer, head from 0) to one input of one later head at a time.

    Yields effects (input, later layer, head), one part a layer, the last layer first; the inputs are `INPUTS`. Raises
    InputError at the first part for a head that is not there or in the last layer, and texts of unequally many tokens.
    """
    check_heads((sender,), model.n_layers, model.n_heads)
    same_length(source, into)
    first = sender[0] + 1
    if first == model.n_layers:
        raise InputError(f"No head reads what {head_name(sender)} writes: it is in the last layer.")
    bound = bind(outcome, into, model)
    cache, source_cache = run_with_cache([into], model), run_with_cache([source], model)
    states = _states_after(sender, source_cache.contexts[sender[0]], cache, model)
    n_later, n_shared = model.n_layers - first, model.n_heads // model.config.n_kv_heads
    numbers = np.full((len(INPUTS), n_later, model.n_heads, len(bound.names)), np.nan)
    result = SweepResult(
        bound.names,
        outcome_of(cache, model, bound),
        numbers,
        outcome_of(source_cache, model, bound),
        ("input", "layer", "head"),
        first,
    )
    for layer in range(model.n_layers - 1, sender[0], -1):
        block = model.encoder.layer(layer)
        with torch.inference_mode():
            contexts = _contexts_reading(states[layer], cache.states[layer], layer, model)
            of_query, *shared = block.attention.contributions(contexts - cache.contexts[layer])
            differences = [of_query, *(each.unflatten(0, (-1, n_shared)).sum(1) for each in shared)]
            attended = cache.attended[layer] + torch.cat(differences)
            x = block.feed_forward(cache.states[layer].expand_as(attended), attended)
        after = run_from(x, layer + 1, model, measure_of(bound), [0] * len(x), None)
        numbers[0, layer - first] = after[: model.n_heads]
        of_groups = after[model.n_heads :].reshape(2, -1, after.shape[-1])
        numbers[1:, layer - first] = of_groups.repeat(n_shared, 1)
        n_tried = model.n_layers - layer
        yield PartialResult(work_share(n_tried, n_later), n_tried * model.n_heads * len(INPUTS), result)


def _states_after(sender: Head, contexts: Tensor, cache: ActivationCache, model: Model) -> dict[int, Tensor]:
    """Return the states (1, n, d_model) before each later layer with the sender's output in `contexts` (1, n_heads, n,
    d_v), all other heads' outputs as in the cache."""
    layer, head = sender
    block = model.encoder.layer(layer)
    difference = block.attention.contributions(contexts - cache.contexts[layer])[:, head]
    states = {layer + 1: block.feed_forward(cache.states[layer], cache.attended[layer] + difference)}
    for later in range(layer + 1, model.n_layers - 1):
        states[later + 1] = model.encoder.layer(later).feed_forward(states[later], cache.attended[later])
    return states


def _contexts_reading(changed: Tensor, plain: Tensor, layer: int, model: Model) -> Tensor:
    """Return a layer's contexts with queries, with keys and with values of the `changed` state (1, n, d_model) and all
    else of the plain one: (3, n_heads, n, d_v)."""
    block, rotary, n = model.encoder.layer(layer), model.encoder.rotary, plain.shape[1]
    changed, plain = block.attention_input(changed), block.attention_input(plain)
    inputs = (torch.cat([changed if i == side else plain for i in range(3)]) for side in range(3))
    visible = torch.from_numpy(model.info.visibility.in_layer(layer, n)).to(plain.device)
    rotation = None if rotary is None else rotary.at(0, n, plain)
    details = block.attention(*inputs, mask=visible, rotation=rotation, details=True)[1]
    return cast(AttentionDetails, details).context
