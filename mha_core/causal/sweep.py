"""Ablation sweep and activation patching: one head, or one state, changed at a time.

A head's change reaches the rest of the model only through the sum of its layer's heads. So the layers below are not
run again: the layer's attention output comes from one plain run, each head's own difference is added to it, and all
heads of the layer go through the layers above together, as one batch. On average half of a run a head.

Layers come from the last to the first: the last cost least, so first results come at once.

Sources: Michel et al. 2019, section 3.2 (one head at a time); Wang et al. 2022 and Zhang & Nanda 2023 for patching.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import FloatArray
from mha_core.causal.activation_cache import ActivationCache, first_replaced, run_with_cache, with_means
from mha_core.causal.intervention_hooks import InterventionHooks, intervention_hooks
from mha_core.causal.interventions import Intervention, check_factor, same_length
from mha_core.causal.outcomes import BoundOutcome, Outcome, bind
from mha_core.causal.partial_results import PartialResult
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

RUN_TOKENS = 4096  # in one batch
PART_TOKENS = 512  # in one partial result of a sweep over many prompts
INPUTS = ("query", "key", "value")  # of a head
Place = tuple[int, ...]
# Final states (run, n, d_model) and the prompt of each run to numbers (run, measure).
Measure = Callable[[Tensor, Sequence[int]], Tensor]


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Numbers of an outcome after one change at a time: `numbers` (row, column, measure), NaN where not tried yet.
    Rows and columns are layers and heads, or states and positions, as `axes` names them; measures are `names`. Path
    patching has the inputs of heads as an axis before these, and its rows begin at `first_layer`.

    `before`: without a change. `source`: of patching, in the source text.
    """

    names: tuple[str, ...]
    before: tuple[float, ...]
    numbers: FloatArray
    source: tuple[float, ...] | None = None
    axes: tuple[str, ...] = ("layer", "head")
    first_layer: int = 0

    @property
    def after(self) -> FloatArray:
        """Outcome after each change, by `axes`."""
        return self.numbers[..., 0]

    @property
    def effect(self) -> FloatArray:
        """Outcome after each change less that before, by `axes`."""
        effect: FloatArray = self.after - self.before[0]
        return effect

    @property
    def recovered(self) -> FloatArray:
        """Share of the effect that patching recovers, by `axes`; 1 is the source's outcome."""
        whole = float("nan") if self.source is None else self.source[0] - self.before[0]
        share: FloatArray = self.effect / (whole or float("nan"))
        return share

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a place: layers and heads from 1, states and tokens from 0, then `before`, `after`, `effect`.

        Patching adds `recovered`, the share of the effect; last come the other measures after the change, by name.
        """
        import pandas as pd

        places = np.indices(self.after.shape).reshape(len(self.axes), -1)
        columns: dict[str, Any] = dict(zip(self.axes, places, strict=True))
        if "input" in columns:
            columns["input"] = np.array(INPUTS)[columns["input"]]
        if "head" in columns:
            columns |= {"layer": columns["layer"] + self.first_layer + 1, "head": columns["head"] + 1}
        columns |= {"before": self.before[0], "after": self.after.ravel(), "effect": self.effect.ravel()}
        if self.source is not None:
            columns["recovered"] = self.recovered.ravel()
        return pd.DataFrame(
            columns | {name: self.numbers[..., i].ravel() for i, name in enumerate(self.names) if i}
        )

    def strongest(self, k: int = 8) -> tuple[tuple[Place, float], ...]:
        """Return the k places tried with the largest effect in either direction, and that effect."""
        flat = np.abs(self.effect).ravel()
        order = np.argsort(-np.nan_to_num(flat, nan=-1.0), kind="stable")[:k]
        return tuple(
            (tuple(map(int, np.unravel_index(i, self.after.shape))), float(self.effect.flat[i]))
            for i in order
            if not np.isnan(flat[i])
        )


def sweep_heads(
    tokens: Tokens,
    model: Model,
    outcome: Outcome,
    *,
    factor: float | None = 0.0,
    base: Sequence[Intervention] = (),
) -> Iterator[PartialResult[SweepResult]]:
    """Sweep the heads of one prompt: each times `factor` (0: zero ablation), or with None mean-ablated.

    `base`: interventions of every run, that of `before` too. Yields (layer, head), one part a layer, the last layer
    first. Mean ablation keeps a causal model's first token. Raises InputError at the first part for heads, texts or an
    outcome that do not fit.
    """
    if factor is not None:
        check_factor(factor)
    bound, hooks = bind(outcome, tokens, model), intervention_hooks(base, tokens, model)
    cache = run_with_cache([tokens], model, hooks)
    if factor is not None:
        yield from _sweep_of_text(cache, lambda layer: cache.contexts[layer] * factor, model, bound, hooks)
        return
    empty = np.full((model.n_layers, model.n_heads, len(bound.names)), np.nan)
    yield from with_means(
        model,
        SweepResult(bound.names, outcome_of(cache, model, bound), empty),
        lambda means: _sweep_of_text(
            cache, lambda layer: mean_ablated(cache.contexts[layer], means[layer], model), model, bound, hooks
        ),
    )


def mean_ablated(contexts: Tensor, means: Tensor, model: Model) -> Tensor:
    """Return contexts (batch, n_heads, n, d_v) with their means (n_heads, d_v) at every position that is replaced."""
    ablated = contexts.clone()
    ablated[:, :, first_replaced(model) :] = means[:, None]
    return ablated


def sweep_head_patches(
    source: Tokens,
    into: Tokens,
    model: Model,
    outcome: Outcome,
    *,
    positions: Sequence[int] | None = None,
) -> Iterator[PartialResult[SweepResult]]:
    """Patch one head at a time: its output in the text `source` into the text `into`, (layer, head), at `positions` or
    all. Raises InputError at the first part unless both have as many tokens.
    """
    same_length(source, into)
    bound = bind(outcome, into, model)
    cache, source_cache = run_with_cache([into], model), run_with_cache([source], model)
    places = list(range(len(into)) if positions is None else positions)

    def patched(layer: int) -> Tensor:
        contexts = cache.contexts[layer].clone()
        contexts[:, :, places] = source_cache.contexts[layer][:, :, places]
        return contexts

    yield from _sweep_of_text(cache, patched, model, bound, None, outcome_of(source_cache, model, bound))


def sweep_state_patches(
    source: Tokens, into: Tokens, model: Model, outcome: Outcome
) -> Iterator[PartialResult[SweepResult]]:
    """Patch one state of one token at a time from the text `source` into `into`, (state, token): state 0 is the
    embedding. One part a state, the last first. A state that both texts share is not run: its effect is 0.
    """
    same_length(source, into)
    bound = bind(outcome, into, model)
    cache, source_cache = run_with_cache([into], model), run_with_cache([source], model)
    before = outcome_of(cache, model, bound)
    numbers = np.full((model.n_layers + 1, len(into), len(bound.names)), np.nan)
    result = SweepResult(
        bound.names, before, numbers, outcome_of(source_cache, model, bound), ("state", "token")
    )
    for index in range(model.n_layers, -1, -1):
        own, other = cache.states[index][0], source_cache.states[index][0]
        differ = torch.nonzero((own != other).any(-1))[:, 0].tolist()
        tried = np.tile(before, (len(into), 1))
        if differ:
            x = own.repeat(len(differ), 1, 1)
            x[range(len(differ)), differ] = other[differ]
            tried[differ] = run_from(x, index, model, measure_of(bound), differ, None)
        numbers[index] = tried  # at once: others may be reading them
        n_tried = model.n_layers + 1 - index
        yield PartialResult(work_share(n_tried, model.n_layers + 1), n_tried * len(into), result)


def try_heads(
    cache: ActivationCache,
    replacement: Callable[[int], Tensor],
    model: Model,
    measure: Measure,
    hooks: InterventionHooks | None = None,
) -> Iterator[PartialResult[FloatArray]]:
    """Give one head at a time its part of `replacement(layer)`, (prompt, n_heads, n, d_v), in every prompt of a batch.

    Yields numbers (prompt, layer, head, measure), NaN where not tried yet.
    """
    n_prompts, n = cache.states[0].shape[:2]
    shape = n_prompts, model.n_layers, model.n_heads, before_change(cache, model, measure).shape[-1]
    numbers: FloatArray = np.full(shape, np.nan)
    batch_size = max(1, PART_TOKENS // (model.n_heads * n))
    for layer in range(model.n_layers - 1, -1, -1):
        block, n_tried = model.encoder.layer(layer), model.n_layers - layer
        for start in range(0, n_prompts, batch_size):
            prompts = range(start, min(start + batch_size, n_prompts))
            rows = slice(start, prompts.stop)
            with torch.inference_mode():
                differences = replacement(layer)[rows] - cache.contexts[layer][rows]
                attended = cache.attended[layer][rows, None] + block.attention.contributions(differences)
                before = cache.states[layer][rows].repeat_interleave(model.n_heads, 0)
                x = block.feed_forward(before, attended.flatten(0, 1))
                x = x if hooks is None else hooks.state(layer + 1, x)
            prompt_of_run = [prompt for prompt in prompts for _ in range(model.n_heads)]
            per_run = run_from(x, layer + 1, model, measure, prompt_of_run, hooks)
            numbers[rows, layer] = per_run.reshape(len(prompts), model.n_heads, -1)
            below, done = work_share(n_tried - 1, model.n_layers), work_share(n_tried, model.n_layers)
            fraction = below + (done - below) * prompts.stop / n_prompts
            yield PartialResult(fraction, n_tried * model.n_heads, numbers)


def before_change(cache: ActivationCache, model: Model, measure: Measure) -> FloatArray:
    """Return the numbers of the cached run, (prompt, measure)."""
    with torch.inference_mode():
        final = model.encoder.finish(cache.states[-1])
        numbers: FloatArray = measure(final, list(range(len(final)))).double().cpu().numpy()
    return numbers


def _sweep_of_text(
    cache: ActivationCache,
    replacement: Callable[[int], Tensor],
    model: Model,
    bound: BoundOutcome,
    hooks: InterventionHooks | None,
    source: tuple[float, ...] | None = None,
) -> Iterator[PartialResult[SweepResult]]:
    """Run `try_heads` on a cached run of one text."""
    before = outcome_of(cache, model, bound)
    for part in try_heads(cache, replacement, model, measure_of(bound), hooks):
        yield PartialResult(part.fraction, part.n, SweepResult(bound.names, before, part.result[0], source))


def run_from(
    x: Tensor,
    layer: int,
    model: Model,
    measure: Measure,
    prompts: Sequence[int],
    hooks: InterventionHooks | None,
) -> FloatArray:
    """Run inputs of a layer, (run, n, d_model), through the rest of the model; return numbers (run, measure)."""
    step = max(1, RUN_TOKENS // x.shape[1])
    with torch.inference_mode():
        rows = [
            measure(
                model.encoder.resume(x[start : start + step], layer, hooks=hooks),
                prompts[start : start + step],
            )
            for start in range(0, len(x), step)
        ]
    numbers: FloatArray = torch.cat(rows).double().cpu().numpy()
    return numbers


def measure_of(bound: BoundOutcome) -> Measure:
    return lambda hidden, _: bound.measure(hidden)


def outcome_of(cache: ActivationCache, model: Model, bound: BoundOutcome) -> tuple[float, ...]:
    return tuple(before_change(cache, model, measure_of(bound))[0].tolist())


def work_share(n_tried: int, n: int) -> float:
    """Return the share of the work done: a layer costs a run of the layers above it."""
    return n_tried * (n_tried + 1) / (n * (n + 1))
