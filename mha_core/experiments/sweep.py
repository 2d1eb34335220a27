"""Ablation sweep and activation patching: one head, or one state, changed at a time.

A head's change reaches the rest of the model only through the sum of its layer's heads. So the layers below are not
run again: what the layer's attention gave is taken from one plain run, each head's own difference is added to it, and
all heads of the layer go through the layers above together, as one batch. On average half of a run a head.

Layers come from the last to the first, since the last cost least: there is something to see at once.

Sources: Michel et al. 2019, section 3.2 (one head at a time); Wang et al. 2022 and Zhang & Nanda 2023 for patching.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mha_core.experiments.changes import Changes, changes_of
from mha_core.experiments.interventions import Intervention, check_factor, same_length
from mha_core.experiments.kept import Kept, first_replaced, kept_of, with_means
from mha_core.experiments.outcomes import Bound, Outcome, bind
from mha_core.experiments.parts import Part
from mha_core.heads.word_weights import FloatArray
from mha_core.model import Model
from mha_core.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

RUN_TOKENS = 4096  # that go through the model together
PART_TOKENS = 512  # after which a sweep over many prompts says how far it is
Place = tuple[int, int]
# Final states (run, n, d_model), and of which prompt each run is, to numbers (run, measure).
Measure = Callable[[Tensor, Sequence[int]], Tensor]


@dataclass(frozen=True, eq=False)
class Effects:
    """The numbers of an outcome after one change at a time: `numbers` (row, column, measure), NaN where a place has
    not been tried yet. Rows and columns are layers and heads, or states and positions; measures are `names`.

    `before`: without a change. `source`: of patching, in the text that is taken from. `axes` names rows and columns.
    """

    names: tuple[str, ...]
    before: tuple[float, ...]
    numbers: FloatArray
    source: tuple[float, ...] | None = None
    axes: tuple[str, str] = ("layer", "head")

    @property
    def after(self) -> FloatArray:
        """The outcome after each change, (row, column)."""
        return self.numbers[..., 0]

    @property
    def effect(self) -> FloatArray:
        """After less before, (row, column)."""
        found: FloatArray = self.after - self.before[0]
        return found

    @property
    def recovered(self) -> FloatArray:
        """Of patching: the share of the effect recovered, (row, column); 1 is the source's outcome."""
        whole = float("nan") if self.source is None else self.source[0] - self.before[0]
        share: FloatArray = self.effect / (whole or float("nan"))
        return share

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a place: layers and heads from 1, states and tokens from 0, then `before`, `after`, `effect`.

        Of patching also `recovered`, the share of the effect; then the other measures after the change, by their names.
        """
        import pandas as pd

        places = np.indices(self.after.shape).reshape(2, -1) + (self.axes[1] == "head")
        found: dict[str, Any] = dict(zip(self.axes, places, strict=True))
        found |= {"before": self.before[0], "after": self.after.ravel(), "effect": self.effect.ravel()}
        if self.source is not None:
            found["recovered"] = self.recovered.ravel()
        return pd.DataFrame(
            found | {name: self.numbers[..., i].ravel() for i, name in enumerate(self.names) if i}
        )

    def strongest(self, k: int = 8) -> tuple[tuple[Place, float], ...]:
        """The k places with the largest effect in either direction, of those tried."""
        flat = np.abs(self.effect).ravel()
        order = np.argsort(-np.nan_to_num(flat, nan=-1.0), kind="stable")[:k]
        columns = self.after.shape[1]
        return tuple(
            ((int(i) // columns, int(i) % columns), float(self.effect.flat[i]))
            for i in order
            if not np.isnan(flat[i])
        )


def every_head(
    tokens: Tokens,
    model: Model,
    outcome: Outcome,
    *,
    factor: float | None = 0.0,
    base: Sequence[Intervention] = (),
) -> Iterator[Part[Effects]]:
    """Sweep the heads of one prompt: each times `factor` (0: zero ablation), or with None mean-ablated.

    `base`: interventions that are there all the time, for every head and for `before`. (layer, head); one part a
    layer, the last layer first. Mean ablation keeps a causal model's first token. Raises InputError at the first part
    for what does not fit.
    """
    if factor is not None:
        check_factor(factor)
    bound, change = bind(outcome, tokens, model), changes_of(base, tokens, model)
    kept = kept_of([tokens], model, change)
    if factor is not None:
        yield from _of_one(kept, lambda layer: kept.contexts[layer] * factor, model, bound, change)
        return
    empty = np.full((model.n_layers, model.n_heads, len(bound.names)), np.nan)
    yield from with_means(
        model,
        Effects(bound.names, _final(kept, model, bound), empty),
        lambda means: _of_one(
            kept, lambda layer: mean_ablated(kept.contexts[layer], means[layer], model), model, bound, change
        ),
    )


def mean_ablated(contexts: Tensor, means: Tensor, model: Model) -> Tensor:
    """Contexts (batch, n_heads, n, d_v) with their mean (n_heads, d_v) at every position that is replaced."""
    found = contexts.clone()
    found[:, :, first_replaced(model) :] = means[:, None]
    return found


def patch_heads(
    source: Tokens,
    into: Tokens,
    model: Model,
    outcome: Outcome,
    *,
    positions: Sequence[int] | None = None,
) -> Iterator[Part[Effects]]:
    """Patch one head at a time: its output in the text `source` into the text `into`, (layer, head); at `positions`,
    or all. Raises InputError at the first part unless both have as many tokens.
    """
    same_length(source, into)
    bound = bind(outcome, into, model)
    kept, other = kept_of([into], model), kept_of([source], model)
    at = list(range(len(into)) if positions is None else positions)

    def wanted(layer: int) -> Tensor:
        mixed = kept.contexts[layer].clone()
        mixed[:, :, at] = other.contexts[layer][:, :, at]
        return mixed

    yield from _of_one(kept, wanted, model, bound, None, _final(other, model, bound))


def patch_states(source: Tokens, into: Tokens, model: Model, outcome: Outcome) -> Iterator[Part[Effects]]:
    """Patch one state of one token at a time from the text `source` into `into`, (state, token): state 0 is the
    embedding. One part a state, the last first. Where both texts have the same state nothing is run.
    """
    same_length(source, into)
    bound = bind(outcome, into, model)
    kept, other = kept_of([into], model), kept_of([source], model)
    before = _final(kept, model, bound)
    numbers = np.full((model.n_layers + 1, len(into), len(bound.names)), np.nan)
    found = Effects(bound.names, before, numbers, _final(other, model, bound), ("state", "token"))
    for index in range(model.n_layers, -1, -1):
        own, theirs = kept.states[index][0], other.states[index][0]
        numbers[index] = before
        differ = torch.nonzero((own != theirs).any(-1))[:, 0].tolist()
        if differ:
            x = own.repeat(len(differ), 1, 1)
            x[range(len(differ)), differ] = theirs[differ]
            numbers[index, differ] = _run_on(x, index, model, _alone(bound), differ, None)
        tried = model.n_layers + 1 - index
        yield Part(_share(tried, model.n_layers + 1), tried * len(into), found)


def try_heads(
    kept: Kept,
    wanted: Callable[[int], Tensor],
    model: Model,
    measure: Measure,
    change: Changes | None = None,
) -> Iterator[Part[FloatArray]]:
    """Let one head at a time mix what `wanted(layer)`, (prompt, n_heads, n, d_v), says, in every prompt of a batch.

    Numbers (prompt, layer, head, measure), NaN where they are not known yet.
    """
    n_prompts, n = kept.states[0].shape[:2]
    shape = n_prompts, model.n_layers, model.n_heads, before_change(kept, model, measure).shape[-1]
    numbers: FloatArray = np.full(shape, np.nan)
    at_once = max(1, PART_TOKENS // (model.n_heads * n))
    for layer in range(model.n_layers - 1, -1, -1):
        block, tried = model.encoder.layer(layer), model.n_layers - layer
        for start in range(0, n_prompts, at_once):
            prompts = range(start, min(start + at_once, n_prompts))
            rows = slice(start, prompts.stop)
            with torch.inference_mode():
                differences = wanted(layer)[rows] - kept.contexts[layer][rows]
                attended = kept.attended[layer][rows, None] + block.attention.contributions(differences)
                before = kept.states[layer][rows].repeat_interleave(model.n_heads, 0)
                x = block.feed_forward(before, attended.flatten(0, 1))
                x = x if change is None else change.state(layer + 1, x)
            of_runs = [prompt for prompt in prompts for _ in range(model.n_heads)]
            found = _run_on(x, layer + 1, model, measure, of_runs, change)
            numbers[rows, layer] = found.reshape(len(prompts), model.n_heads, -1)
            done, all_done = _share(tried - 1, model.n_layers), _share(tried, model.n_layers)
            yield Part(done + (all_done - done) * prompts.stop / n_prompts, tried * model.n_heads, numbers)


def before_change(kept: Kept, model: Model, measure: Measure) -> FloatArray:
    """The numbers of the run that was kept, (prompt, measure)."""
    with torch.inference_mode():
        final = model.encoder.finish(kept.states[-1])
        found: FloatArray = measure(final, list(range(len(final)))).double().cpu().numpy()
    return found


def _of_one(
    kept: Kept,
    wanted: Callable[[int], Tensor],
    model: Model,
    bound: Bound,
    change: Changes | None,
    source: tuple[float, ...] | None = None,
) -> Iterator[Part[Effects]]:
    """The same for a single prompt."""
    before = _final(kept, model, bound)
    for part in try_heads(kept, wanted, model, _alone(bound), change):
        yield Part(part.fraction, part.n, Effects(bound.names, before, part.result[0], source))


def _run_on(
    x: Tensor, layer: int, model: Model, measure: Measure, prompts: Sequence[int], change: Changes | None
) -> FloatArray:
    """Inputs of a layer (run, n, d_model) through the rest of the model, as numbers (run, measure)."""
    step = max(1, RUN_TOKENS // x.shape[1])
    with torch.inference_mode():
        rows = [
            measure(
                model.encoder.resume(x[start : start + step], layer, change=change),
                prompts[start : start + step],
            )
            for start in range(0, len(x), step)
        ]
    numbers: FloatArray = torch.cat(rows).double().cpu().numpy()
    return numbers


def _alone(bound: Bound) -> Measure:
    return lambda hidden, _: bound.of(hidden)


def _final(kept: Kept, model: Model, bound: Bound) -> tuple[float, ...]:
    return tuple(before_change(kept, model, _alone(bound))[0].tolist())


def _share(tried: int, n: int) -> float:
    """How much of the work is done: a layer costs what lies above it."""
    return tried * (tried + 1) / (n * (n + 1))
